//! How good out-of-fold scores are: what candidates are chosen by, and the temperature that
//! calibrates classes.

use swarmwood_model::Link;

use crate::pool::{Pool, even_ranges};

/// Scores of rows that the fit has not seen, with their answers.
#[derive(Debug, Clone, Default)]
pub struct Unseen {
    /// Raw scores, row after row, one an output.
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

impl Unseen {
    /// Adds another fold's rows.
    pub fn append(&mut self, other: Unseen) {
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

    /// The probability of a row's own class, and its squared distance to the truth, when raw scores
    /// are multiplied by `factor`.
    fn row(&self, row: usize, link: Link, factor: f64) -> (f64, f64) {
        match link {
            Link::Softmax => {
                let outputs = self.raw.len() / self.target.len().max(1);
                softmax_row(
                    &self.raw[row * outputs..(row + 1) * outputs],
                    factor,
                    self.target[row] as usize,
                )
            }
            _ => {
                let raw = self.raw[row];
                let signed = if self.target[row] > 0.5 { raw } else { -raw } * factor;
                let wrong = 1.0 / (1.0 + signed.exp());
                (1.0 - wrong, 2.0 * wrong * wrong)
            }
        }
    }

    /// The weighted mean of something over all rows. Rows are looked at side by side and summed in
    /// their order.
    fn mean(&self, pool: &Pool, of_row: impl Fn(usize) -> f64 + Sync) -> f64 {
        let blocks = even_ranges(self.target.len(), self.target.len().div_ceil(BLOCK));
        let terms = pool.map(blocks.len(), |at| {
            blocks[at].clone().map(|row| self.weight(row) * of_row(row)).collect::<Vec<f64>>()
        });
        terms.iter().flatten().sum::<f64>() / self.weights()
    }

    /// Mean log loss.
    fn log_loss(&self, link: Link, factor: f64, pool: &Pool) -> f64 {
        -self.mean(pool, |row| self.row(row, link, factor).0.max(1e-15).ln())
    }

    /// Mean Brier score.
    fn brier(&self, link: Link, factor: f64, pool: &Pool) -> f64 {
        self.mean(pool, |row| self.row(row, link, factor).1)
    }

    /// The factor on raw scores that gives the least log loss, and the Brier score with it. In a
    /// hurry it is found roughly.
    pub fn calibrated(&self, link: Link, pool: &Pool) -> (f64, f64) {
        // The log loss is convex in the factor; golden section on its logarithm.
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (LEAST_FACTOR.ln(), MOST_FACTOR.ln());
        let at = |place: f64| self.log_loss(link, place.exp(), pool);
        let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
        let (mut at_left, mut at_right) = (at(left), at(right));
        for _ in 0..25 {
            if pool.hurried() {
                break;
            }
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = at(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = at(right);
            }
        }
        let factor = ((low + high) / 2.0).exp();
        (factor, self.brier(link, factor, pool))
    }
}

/// Rows that are looked at together.
const BLOCK: usize = 4096;

/// Range of the calibrating factor.
const LEAST_FACTOR: f64 = 0.2;
const MOST_FACTOR: f64 = 5.0;

/// Probability of the true class, and the squared distance to the truth.
fn softmax_row(raw: &[f64], factor: f64, class: usize) -> (f64, f64) {
    let most = raw.iter().fold(f64::NEG_INFINITY, |most, &r| most.max(r * factor));
    let sum: f64 = raw.iter().map(|r| (r * factor - most).exp()).sum();
    let p = |k: usize| (raw[k] * factor - most).exp() / sum;
    let square = (0..raw.len()).map(|k| (p(k) - f64::from(u8::from(k == class))).powi(2)).sum();
    (p(class), square)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    #[test]
    fn scores_that_are_too_sure_are_cooled_by_the_planted_factor() {
        let mut stream = Stream::new(1, 0, 0);
        let mut unseen = Unseen::default();
        for _ in 0..40_000 {
            let honest = 3.0 * stream.normal();
            let hit = stream.unit() < 1.0 / (1.0 + (-honest).exp());
            unseen.raw.push(honest * 2.5);
            unseen.target.push(f64::from(u8::from(hit)));
        }
        let pool = Pool::new(1).unwrap();
        let (factor, brier) = unseen.calibrated(Link::Sigmoid, &pool);
        assert!((factor * 2.5 - 1.0).abs() < 0.03, "{factor}");
        assert!(brier < unseen.brier(Link::Sigmoid, 1.0, &pool));
        assert_eq!((factor, brier), unseen.calibrated(Link::Sigmoid, &Pool::new(3).unwrap()));
    }

    #[test]
    fn two_classes_score_alike_as_one_output_and_as_two() {
        let raw = [0.3, -1.2, 2.0, 0.1];
        let target = vec![1.0, 0.0, 0.0, 1.0];
        let one = Unseen { raw: raw.to_vec(), target: target.clone(), ..Unseen::default() };
        let two = Unseen {
            raw: raw.iter().flat_map(|&r| [0.0, r]).collect(),
            target,
            ..Unseen::default()
        };
        let pool = Pool::new(1).unwrap();
        let (a, b) =
            (one.log_loss(Link::Sigmoid, 1.7, &pool), two.log_loss(Link::Softmax, 1.7, &pool));
        assert!((a - b).abs() < 1e-12);
        let (a, b) = (one.brier(Link::Sigmoid, 1.7, &pool), two.brier(Link::Softmax, 1.7, &pool));
        assert!((a - b).abs() < 1e-12);
    }
}
