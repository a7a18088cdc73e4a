//! Success-history based adaptation of the scale factor F and the crossover rate CR.
//!
//! Tanabe and Fukunaga, "Success-history based parameter adaptation for differential evolution",
//! CEC 2013 (SHADE), sections III-A and III-B: a memory of a few pairs of means. A trial picks a
//! random slot, and samples CR (normal, deviation 0.1) and F (Cauchy, scale 0.1) around its means.
//! After each generation the successful pairs, weighted by their improvement, set the means of the
//! next slot: the arithmetic mean of CR, and the Lehmer mean of F, which favours large steps.
//!
//! Deviation: improvements are divided by the largest of the generation before they are summed, so
//! that the sum does not overflow.

use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};

/// Size of the memory. The paper uses the population size; six slots learn faster in short runs
/// (Tanabe and Fukunaga 2014).
const SLOTS: usize = 6;
const SCALE: f64 = 0.1;

/// The scale factor F and the crossover rate CR of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ControlParams {
    pub(super) f: f64,
    pub(super) cr: f64,
}

/// The memory of successful pairs, one mean per slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SuccessHistory {
    slots: Vec<ControlParams>,
    /// The slot to be written next.
    next: usize,
}

impl SuccessHistory {
    pub(super) fn new() -> Self {
        SuccessHistory { slots: vec![ControlParams { f: 0.5, cr: 0.5 }; SLOTS], next: 0 }
    }

    /// Samples a pair around the means of a random slot.
    pub(super) fn sample(&self, stream: &mut Stream) -> ControlParams {
        let slot = self.slots[stream.below(SLOTS as u64) as usize];
        let cr = (slot.cr + SCALE * stream.normal()).clamp(0.0, 1.0);
        // A Cauchy variate is the tangent of a uniform angle. Factors that are not positive are
        // sampled again.
        let mut cauchy = || slot.f + SCALE * (std::f64::consts::PI * (stream.unit() - 0.5)).tan();
        let f = (0..100).map(|_| cauchy()).find(|f| *f > 0.0).unwrap_or(slot.f).min(1.0);
        ControlParams { f, cr }
    }

    /// Updates the memory from successful pairs and their improvements.
    pub(super) fn update(&mut self, successes: &[(ControlParams, f64)]) {
        let largest = successes.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
        if largest <= 0.0 {
            return;
        }
        let sum = |of: &dyn Fn(&ControlParams) -> f64| {
            successes.iter().map(|(params, gain)| gain / largest * of(params)).sum::<f64>()
        };
        let cr = sum(&|params| params.cr) / sum(&|_| 1.0);
        let f = sum(&|params| params.f * params.f) / sum(&|params| params.f);
        self.slots[self.next] = ControlParams { f, cr };
        self.next = (self.next + 1) % SLOTS;
    }

    pub(super) fn save(&self) -> Datum {
        let slots: Vec<f64> = self.slots.iter().flat_map(|slot| [slot.f, slot.cr]).collect();
        Datum::List(vec![Datum::reals(&slots), Datum::Natural(self.next as u64)])
    }

    pub(super) fn load(data: &Datum) -> Result<Self, Error> {
        let [slots, next] = data.tuple()?;
        let slots: Vec<ControlParams> = slots
            .to_reals(2 * SLOTS)?
            .chunks(2)
            .map(|slot| ControlParams { f: slot[0], cr: slot[1] })
            .collect();
        let next = next.count()?;
        let valid =
            |slot: &ControlParams| slot.f > 0.0 && slot.f <= 1.0 && (0.0..=1.0).contains(&slot.cr);
        if next >= SLOTS || !slots.iter().all(valid) {
            return Err(damaged("means out of bounds"));
        }
        Ok(SuccessHistory { slots, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_gain() {
        let mut history = SuccessHistory::new();
        let (a, b) = (ControlParams { f: 0.2, cr: 0.1 }, ControlParams { f: 0.8, cr: 0.9 });
        history.update(&[(a, 1.0), (b, 3.0)]);
        // Rates: (.1 + 3 · .9) / 4. Factors: (.04 + 3 · .64) / (.2 + 3 · .8).
        assert!((history.slots[0].cr - 0.7).abs() < 1e-12);
        assert!((history.slots[0].f - 1.96 / 2.6).abs() < 1e-12);
        assert_eq!(history.slots[1], ControlParams { f: 0.5, cr: 0.5 });
        history.update(&[(a, 1e308), (a, 1e308)]);
        assert!(
            (history.slots[1].cr - 0.1).abs() < 1e-12 && (history.slots[1].f - 0.2).abs() < 1e-12
        );
        let before = history.clone();
        history.update(&[]);
        assert_eq!(history, before);
        assert_eq!(SuccessHistory::load(&history.save()), Ok(before));
    }

    #[test]
    fn draws_lie_around_the_means() {
        let mut history = SuccessHistory::new();
        history.slots.fill(ControlParams { f: 0.3, cr: 0.6 });
        let mut stream = Stream::new(1, 0, 0);
        let params: Vec<ControlParams> = (0..4_000).map(|_| history.sample(&mut stream)).collect();
        assert!(params.iter().all(|p| p.f > 0.0 && p.f <= 1.0 && (0.0..=1.0).contains(&p.cr)));
        let mean = params.iter().map(|params| params.cr).sum::<f64>() / 4_000.0;
        assert!((mean - 0.6).abs() < 0.01, "{mean}");
        let mut factors: Vec<f64> = params.iter().map(|params| params.f).collect();
        factors.sort_by(f64::total_cmp);
        assert!(
            (factors[2_000] - 0.32).abs() < 0.03,
            "the median, a little up for what was drawn again"
        );
    }
}
