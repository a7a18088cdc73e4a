//! Out-of-fold predictions: the score that candidates are compared by, and the temperature that
//! calibrates class probabilities.

use swarmwood_model::Link;

use crate::context::Context;
use crate::pool::even_ranges;

/// Raw scores of held-out rows, with their targets.
#[derive(Debug, Clone, Default)]
pub struct OutOfFold {
    /// Raw scores, row after row, one per output.
    pub raw: Vec<f64>,
    /// Targets.
    pub target: Vec<f64>,
    /// Weights; empty if every row weighs one.
    pub weight: Vec<f64>,
    /// The weighted sum of the objective's losses.
    pub loss: f64,
    /// The weighted sum of squared errors of the prediction.
    pub squares: f64,
}

impl OutOfFold {
    /// Adds another fold's rows.
    pub fn append(&mut self, other: OutOfFold) {
        self.raw.extend(other.raw);
        self.target.extend(other.target);
        self.weight.extend(other.weight);
        self.loss += other.loss;
        self.squares += other.squares;
    }

    fn weight(&self, row: usize) -> f64 {
        self.weight.get(row).copied().unwrap_or(1.0)
    }

    /// Sum of weights.
    pub fn weights(&self) -> f64 {
        if self.weight.is_empty() { self.target.len() as f64 } else { self.weight.iter().sum() }
    }

    /// Raw scores of a row, one per output.
    fn outputs(&self, row: usize) -> &[f64] {
        let outputs = self.raw.len() / self.target.len().max(1);
        &self.raw[row * outputs..(row + 1) * outputs]
    }

    /// The probability of a row's own class, when raw scores are multiplied by `factor`.
    fn probability(&self, row: usize, link: Link, factor: f64) -> f64 {
        match link {
            Link::Softmax => {
                SoftmaxRow::new(self.outputs(row), factor).probability(self.target[row] as usize)
            }
            _ => 1.0 - self.wrong(row, factor),
        }
    }

    /// The squared distance of a row's predicted probabilities to the truth.
    fn squared_distance(&self, row: usize, link: Link, factor: f64) -> f64 {
        match link {
            Link::Softmax => SoftmaxRow::new(self.outputs(row), factor)
                .squared_distance(self.target[row] as usize),
            _ => {
                let wrong = self.wrong(row, factor);
                2.0 * wrong * wrong
            }
        }
    }

    /// Two classes: the probability of the class that a row does not have.
    fn wrong(&self, row: usize, factor: f64) -> f64 {
        let raw = self.raw[row];
        let signed = if self.target[row] > 0.5 { raw } else { -raw } * factor;
        1.0 / (1.0 + signed.exp())
    }

    /// The weighted mean of a term over all rows, or `None` if the run is interrupted. Terms are
    /// computed in parallel and added in the order of the rows.
    fn mean(&self, context: Context<'_>, term: impl Fn(usize) -> f64 + Sync) -> Option<f64> {
        let blocks = even_ranges(self.target.len(), self.target.len().div_ceil(BLOCK));
        let terms = context.pool.map(blocks.len(), |at| {
            if context.budget.is_interrupted() {
                return Vec::new();
            }
            blocks[at].clone().map(|row| self.weight(row) * term(row)).collect::<Vec<f64>>()
        });
        let mean = terms.iter().flatten().sum::<f64>() / self.weights();
        (!context.budget.is_interrupted()).then_some(mean)
    }

    /// Mean log loss.
    fn log_loss(&self, link: Link, factor: f64, context: Context<'_>) -> Option<f64> {
        let term = |row| self.probability(row, link, factor).max(1e-15).ln();
        self.mean(context, term).map(|mean| -mean)
    }

    /// Mean Brier score.
    fn brier(&self, link: Link, factor: f64, context: Context<'_>) -> Option<f64> {
        self.mean(context, |row| self.squared_distance(row, link, factor))
    }

    /// The factor on raw scores that minimises the log loss, and the Brier score with it; `None` if
    /// the run is interrupted.
    pub fn calibrated(&self, link: Link, context: Context<'_>) -> Option<(f64, f64)> {
        // The log loss is convex in the factor; golden section on its logarithm.
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (LEAST_FACTOR.ln(), MOST_FACTOR.ln());
        let at = |logarithm: f64| self.log_loss(link, logarithm.exp(), context);
        let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
        let (mut at_left, mut at_right) = (at(left)?, at(right)?);

        for _ in 0..25 {
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = at(left)?;
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = at(right)?;
            }
        }

        let factor = ((low + high) / 2.0).exp();
        Some((factor, self.brier(link, factor, context)?))
    }
}

/// The softmax of raw scores that are multiplied by a factor.
struct SoftmaxRow<'a> {
    raw: &'a [f64],
    factor: f64,
    largest: f64,
    sum: f64,
}

impl<'a> SoftmaxRow<'a> {
    fn new(raw: &'a [f64], factor: f64) -> Self {
        let largest = raw.iter().fold(f64::NEG_INFINITY, |most, &r| most.max(r * factor));
        let sum = raw.iter().map(|r| (r * factor - largest).exp()).sum();
        SoftmaxRow { raw, factor, largest, sum }
    }

    fn probability(&self, class: usize) -> f64 {
        (self.raw[class] * self.factor - self.largest).exp() / self.sum
    }

    fn squared_distance(&self, class: usize) -> f64 {
        let truth = |k: usize| f64::from(u8::from(k == class));
        (0..self.raw.len()).map(|k| (self.probability(k) - truth(k)).powi(2)).sum()
    }
}

/// Rows per block.
const BLOCK: usize = 4096;

/// Range of the calibrating factor.
const LEAST_FACTOR: f64 = 0.2;
const MOST_FACTOR: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::pool::Pool;
    use swarmwood_search::rng::Stream;

    #[test]
    fn the_factor_that_made_scores_overconfident_is_found() {
        let mut stream = Stream::new(1, 0, 0);
        let mut held_out = OutOfFold::default();
        for _ in 0..40_000 {
            let logit = 3.0 * stream.normal();
            let hit = stream.unit() < 1.0 / (1.0 + (-logit).exp());
            held_out.raw.push(logit * 2.5);
            held_out.target.push(f64::from(u8::from(hit)));
        }
        let (one, three, budget) =
            (Pool::new(1).unwrap(), Pool::new(3).unwrap(), Budget::unlimited());
        let context = Context { pool: &one, budget: &budget };
        let (factor, brier) = held_out.calibrated(Link::Sigmoid, context).unwrap();
        assert!((factor * 2.5 - 1.0).abs() < 0.03, "{factor}");
        assert!(brier < held_out.brier(Link::Sigmoid, 1.0, context).unwrap());

        let on_three = Context { pool: &three, budget: &budget };
        assert_eq!(held_out.calibrated(Link::Sigmoid, on_three), Some((factor, brier)));
        budget.cancel();
        assert_eq!(held_out.calibrated(Link::Sigmoid, context), None);
    }

    #[test]
    fn two_classes_score_alike_as_one_output_and_as_two() {
        let raw = [0.3, -1.2, 2.0, 0.1];
        let target = vec![1.0, 0.0, 0.0, 1.0];
        let one = OutOfFold { raw: raw.to_vec(), target: target.clone(), ..OutOfFold::default() };
        let two = OutOfFold {
            raw: raw.iter().flat_map(|&r| [0.0, r]).collect(),
            target,
            ..OutOfFold::default()
        };
        let (pool, budget) = (Pool::new(1).unwrap(), Budget::unlimited());
        let context = Context { pool: &pool, budget: &budget };
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-12;
        assert!(close(
            one.log_loss(Link::Sigmoid, 1.7, context),
            two.log_loss(Link::Softmax, 1.7, context)
        ));
        assert!(close(
            one.brier(Link::Sigmoid, 1.7, context),
            two.brier(Link::Softmax, 1.7, context)
        ));
    }
}
