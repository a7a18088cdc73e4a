//! What a leaf costs, from sums over its rows, given the best value it could have.
//!
//! A learner of a single tree asks how much worse or better leaves get when rows move from one to
//! another. [`Sums`] keeps the books for losses that follow from a few sums (counts of classes, or
//! weight and weighted target); [`Medians`] for the absolute loss, which needs the rows in order.

mod medians;
pub mod sums;

use std::sync::Arc;

pub use medians::Medians;
pub use sums::Sums;

/// The loss of a tree: the sum over its leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum Loss {
    /// Weight of the rows that are not of the leaf's class.
    Error,
    /// Weight times Gini impurity.
    Gini,
    /// Weight times entropy in nats: the log loss of the training rows.
    Entropy,
    /// `(1 - share) * error + share * gini`.
    Mix {
        /// The share of the Gini impurity.
        share: f64,
    },
    /// The cost of deciding for the cheapest class, by a matrix of costs.
    Costs(Costs),
    /// Squared error; a constant is left out.
    Squared,
    /// Absolute error.
    Absolute,
}

/// What it costs to decide for a class when another is true.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    classes: usize,
    /// Row by row: true class, then decision.
    cost: Arc<[f64]>,
}

impl Costs {
    /// `cost[truth * classes + decision]`.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn new(classes: usize, cost: Vec<f64>) -> Self {
        assert_eq!(cost.len(), classes * classes, "one cost for each truth and decision");
        Costs { classes, cost: cost.into() }
    }

    /// The cost of each decision for rows with these class weights.
    pub fn of(&self, counts: &[f64], decision: usize) -> f64 {
        counts
            .iter()
            .enumerate()
            .map(|(truth, count)| count * self.cost[truth * self.classes + decision])
            .sum()
    }
}

impl Loss {
    /// Whether it is a loss of classes.
    pub fn is_of_classes(&self) -> bool {
        !matches!(self, Loss::Squared | Loss::Absolute)
    }

    /// The loss of a leaf whose rows have these sums: the weight of each class, or weight and
    /// weighted target. The absolute loss does not follow from sums and counts as 0.
    ///
    /// ```
    /// use swarmwood_learn::leaf_loss::Loss;
    /// assert_eq!(Loss::Error.of(&[3.0, 1.0]), 1.0);
    /// assert_eq!(Loss::Gini.of(&[3.0, 1.0]), 1.5);
    /// assert_eq!(Loss::Squared.of(&[2.0, 6.0]), -18.0);
    /// ```
    #[inline]
    pub fn of(&self, sums: &[f64]) -> f64 {
        match self {
            Loss::Error => error(sums),
            Loss::Gini => gini(sums),
            Loss::Entropy => entropy(sums),
            Loss::Mix { share } => (1.0 - share) * error(sums) + share * gini(sums),
            Loss::Costs(costs) => (0..sums.len())
                .map(|decision| costs.of(sums, decision))
                .fold(f64::INFINITY, f64::min),
            Loss::Squared if sums[0] > 0.0 => -sums[1] * sums[1] / sums[0],
            Loss::Squared | Loss::Absolute => 0.0,
        }
    }
}

#[inline]
fn error(counts: &[f64]) -> f64 {
    let (mut total, mut most) = (0.0, 0.0_f64);
    for &count in counts {
        total += count;
        most = most.max(count);
    }
    total - most
}

#[inline]
fn gini(counts: &[f64]) -> f64 {
    let (mut total, mut squares) = (0.0, 0.0);
    for &count in counts {
        total += count;
        squares += count * count;
    }
    if total > 0.0 { total - squares / total } else { 0.0 }
}

fn entropy(counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    counts.iter().filter(|&&count| count > 0.0).map(|&count| count * (total / count).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_matrix_of_ones_is_the_error() {
        let costs = Loss::Costs(Costs::new(3, vec![0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]));
        for counts in [[3.0, 1.0, 2.0], [0.0, 0.0, 5.0], [0.0; 3]] {
            assert_eq!(costs.of(&counts), Loss::Error.of(&counts));
        }
    }

    #[test]
    fn a_dear_mistake_is_avoided() {
        // Missing class 1 costs ten.
        let costs = Costs::new(2, vec![0.0, 1.0, 10.0, 0.0]);
        assert_eq!(Loss::Costs(costs).of(&[5.0, 1.0]), 5.0);
    }

    #[test]
    fn entropy_is_the_log_loss_of_the_shares() {
        let expected = -(3.0 * 0.75_f64.ln() + 0.25_f64.ln());
        assert!((Loss::Entropy.of(&[3.0, 1.0]) - expected).abs() < 1e-12);
        assert_eq!(Loss::Entropy.of(&[3.0, 0.0]), 0.0);
    }
}
