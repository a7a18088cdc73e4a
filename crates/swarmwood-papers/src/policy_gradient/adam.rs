//! Adam (Kingma and Ba 2015): gradient descent whose steps are scaled by running moments.

use swarmwood_search::{Datum, Error};

/// Decay rates of the first and of the second moment, and what keeps steps finite.
const BETAS: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

/// The state of the optimiser.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Adam {
    rate: f64,
    /// Running means of the gradient and of its square.
    moments: [Vec<f64>; 2],
    steps: u32,
}

impl Adam {
    /// An optimiser of so many weights.
    pub(super) fn new(rate: f64, weights: usize) -> Self {
        Adam { rate, moments: [vec![0.0; weights], vec![0.0; weights]], steps: 0 }
    }

    /// One step down the gradient (algorithm 1 of the paper).
    pub(super) fn step(&mut self, weights: &mut [f64], gradient: &[f64]) {
        self.steps = self.steps.saturating_add(1);
        let power = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let corrections = BETAS.map(|beta| 1.0 - beta.powi(power));

        let [first, second] = &mut self.moments;
        for (at, &slope) in gradient.iter().enumerate() {
            first[at] = BETAS[0] * first[at] + (1.0 - BETAS[0]) * slope;
            second[at] = BETAS[1] * second[at] + (1.0 - BETAS[1]) * slope * slope;
            let (mean, square) = (first[at] / corrections[0], second[at] / corrections[1]);
            weights[at] -= self.rate * mean / (square.sqrt() + EPSILON);
        }
    }

    pub(super) fn save(&self) -> Datum {
        let [first, second] = &self.moments;
        let steps = Datum::Natural(u64::from(self.steps));
        Datum::List(vec![steps, Datum::reals(first), Datum::reals(second)])
    }

    /// The state that [`Adam::save`] stored, of an optimiser of so many weights.
    pub(super) fn load(datum: &Datum, rate: f64, weights: usize) -> Result<Self, Error> {
        let [steps, first, second] = datum.tuple()?;
        Ok(Adam {
            rate,
            moments: [first.to_reals(weights)?, second.to_reals(weights)?],
            steps: u32::try_from(steps.natural()?).unwrap_or(u32::MAX),
        })
    }
}
