//! The training loss of a leaf with its optimal value, and leaf statistics that are updated while
//! rows move between leaves.
//!
//! Learners of a single tree ask how the loss changes when rows move from one leaf to another.
//! `SumLeafStats` serves losses that are functions of a few sums (weight per class, or weight and
//! weighted target); `MedianLeafStats` serves the absolute loss, which needs the rows in order.

mod median_stats;
mod sum_stats;

use std::sync::Arc;

pub(crate) use median_stats::MedianLeafStats;
pub(crate) use sum_stats::{RowStats, SumLeafStats};

/// The loss of a tree: the sum over its leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum LeafLoss {
    /// Misclassified weight.
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
    /// Misclassification cost of the cheapest class, given a cost matrix.
    Costs(CostMatrix),
    /// Squared error, up to an additive constant.
    Squared,
    /// Absolute error.
    Absolute,
}

/// The cost of predicting one class when another is true.
#[derive(Debug, Clone, PartialEq)]
pub struct CostMatrix {
    classes: usize,
    /// Row by row: true class, then predicted class.
    cost: Arc<[f64]>,
}

impl CostMatrix {
    /// `cost[truth * classes + predicted]`.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn new(classes: usize, cost: Vec<f64>) -> Self {
        assert_eq!(cost.len(), classes * classes, "one cost for each truth and decision");
        CostMatrix { classes, cost: cost.into() }
    }

    /// The cost of predicting a class for rows with these class weights.
    pub fn of(&self, counts: &[f64], decision: usize) -> f64 {
        counts
            .iter()
            .enumerate()
            .map(|(truth, count)| count * self.cost[truth * self.classes + decision])
            .sum()
    }
}

impl LeafLoss {
    /// Whether it is a loss of classes.
    pub fn is_of_classes(&self) -> bool {
        !matches!(self, LeafLoss::Squared | LeafLoss::Absolute)
    }

    /// The loss of a leaf whose rows have these sums: the weight per class, or weight and weighted
    /// target. The absolute loss is not a function of sums and counts as 0.
    ///
    /// ```
    /// use swarmwood_learn::leaf_loss::LeafLoss;
    /// assert_eq!(LeafLoss::Error.of(&[3.0, 1.0]), 1.0);
    /// assert_eq!(LeafLoss::Gini.of(&[3.0, 1.0]), 1.5);
    /// assert_eq!(LeafLoss::Squared.of(&[2.0, 6.0]), -18.0);
    /// ```
    #[inline]
    pub fn of(&self, sums: &[f64]) -> f64 {
        match self {
            LeafLoss::Error => error(sums),
            LeafLoss::Gini => gini(sums),
            LeafLoss::Entropy => entropy(sums),
            LeafLoss::Mix { share } => (1.0 - share) * error(sums) + share * gini(sums),
            LeafLoss::Costs(costs) => (0..sums.len())
                .map(|decision| costs.of(sums, decision))
                .fold(f64::INFINITY, f64::min),
            LeafLoss::Squared if sums[0] > 0.0 => -sums[1] * sums[1] / sums[0],
            LeafLoss::Squared | LeafLoss::Absolute => 0.0,
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
    gini_of_moments([total, squares])
}

/// Weight times Gini impurity of a leaf, given its weight and the sum of its squared class weights.
#[inline]
fn gini_of_moments([total, squares]: [f64; 2]) -> f64 {
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
        let costs =
            LeafLoss::Costs(CostMatrix::new(3, vec![0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]));
        for counts in [[3.0, 1.0, 2.0], [0.0, 0.0, 5.0], [0.0; 3]] {
            assert_eq!(costs.of(&counts), LeafLoss::Error.of(&counts));
        }
    }

    #[test]
    fn a_dear_mistake_is_avoided() {
        // Missing class 1 costs ten.
        let costs = CostMatrix::new(2, vec![0.0, 1.0, 10.0, 0.0]);
        assert_eq!(LeafLoss::Costs(costs).of(&[5.0, 1.0]), 5.0);
    }

    #[test]
    fn entropy_is_the_log_loss_of_the_shares() {
        let expected = -(3.0 * 0.75_f64.ln() + 0.25_f64.ln());
        assert!((LeafLoss::Entropy.of(&[3.0, 1.0]) - expected).abs() < 1e-12);
        assert_eq!(LeafLoss::Entropy.of(&[3.0, 0.0]), 0.0);
    }
}
