//! How good out-of-fold scores are: what candidates are chosen by, and the temperature that calibrates classes.

use swarmwood_model::Link;

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
        (0..self.target.len()).map(|row| self.weight(row)).sum()
    }

    /// Mean log loss and mean Brier score when raw scores are multiplied by `factor`.
    fn classes(&self, link: Link, factor: f64) -> (f64, f64) {
        let outputs = self.raw.len() / self.target.len().max(1);
        let (mut log, mut brier) = (0.0, 0.0);
        for (row, raw) in self.raw.chunks_exact(outputs.max(1)).enumerate() {
            let (own, square) = match link {
                Link::Softmax => softmax_row(raw, factor, self.target[row] as usize),
                _ => {
                    let signed = if self.target[row] > 0.5 { raw[0] } else { -raw[0] } * factor;
                    let wrong = 1.0 / (1.0 + signed.exp());
                    (1.0 - wrong, 2.0 * wrong * wrong)
                }
            };
            log -= self.weight(row) * own.max(1e-15).ln();
            brier += self.weight(row) * square;
        }
        let all = self.weights();
        (log / all, brier / all)
    }

    /// The factor on raw scores that gives the least log loss, and the Brier score with it.
    pub fn calibrated(&self, link: Link) -> (f64, f64) {
        // The log loss is convex in the factor; golden section on its logarithm.
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (LEAST_FACTOR.ln(), MOST_FACTOR.ln());
        let at = |place: f64| self.classes(link, place.exp()).0;
        let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
        let (mut at_left, mut at_right) = (at(left), at(right));
        for _ in 0..25 {
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
        (factor, self.classes(link, factor).1)
    }
}

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
        let (factor, brier) = unseen.calibrated(Link::Sigmoid);
        assert!((factor * 2.5 - 1.0).abs() < 0.03, "{factor}");
        assert!(brier < unseen.classes(Link::Sigmoid, 1.0).1);
    }

    #[test]
    fn two_classes_score_alike_as_one_output_and_as_two() {
        let raw = [0.3, -1.2, 2.0, 0.1];
        let target = vec![1.0, 0.0, 0.0, 1.0];
        let one = Unseen { raw: raw.to_vec(), target: target.clone(), ..Unseen::default() };
        let two = Unseen { raw: raw.iter().flat_map(|&r| [0.0, r]).collect(), target, ..Unseen::default() };
        let (a, b) = (one.classes(Link::Sigmoid, 1.7), two.classes(Link::Softmax, 1.7));
        assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12);
    }
}
