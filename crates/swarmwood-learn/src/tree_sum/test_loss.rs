//! The loss of a fitted sum on rows that it was not fitted to.

use super::leaf_fit::SumFit;
use crate::rank_table::{RankTable, RankTarget};

/// Sums over test rows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TestLoss {
    /// Weighted squared errors, or weighted log loss.
    pub(super) loss: f64,
    /// Number of misclassified rows.
    pub(super) errors: f64,
    /// Weight of the rows.
    pub(super) weight: f64,
}

/// The loss on the rows of a table; scores of numbers were divided by `scale`.
pub(super) fn test_loss(fit: &SumFit, scale: f64, table: &RankTable) -> TestLoss {
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let outputs = fit.intercept.len();
    let mut scores = vec![fit.intercept.clone(); rows.len()];
    for (tree, values) in fit.trees.iter().zip(&fit.values) {
        let leaves = tree.assign_leaves(table, tree.root(), &rows);
        for (scores, leaf) in scores.iter_mut().zip(leaves) {
            let values = &values[leaf as usize * outputs..][..outputs];
            scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
        }
    }

    let mut sums = TestLoss::default();
    for (row, scores) in rows.into_iter().zip(scores) {
        let (loss, is_wrong) = row_loss(&scores, scale, table.target(), row as usize);
        sums.loss += table.weight(row) * loss;
        sums.errors += f64::from(u8::from(is_wrong));
        sums.weight += table.weight(row);
    }
    sums
}

/// The loss of a row, and whether another class has a greater score than its own.
fn row_loss(scores: &[f64], scale: f64, target: &RankTarget, row: usize) -> (f64, bool) {
    match target {
        RankTarget::Numbers { of_row, .. } => ((scores[0] * scale - of_row[row]).powi(2), false),
        RankTarget::Classes { of_row, count: 0..=2 } => {
            let margin = if of_row[row] == 1 { -scores[0] } else { scores[0] };
            (margin.max(0.0) + (-margin.abs()).exp().ln_1p(), margin > 0.0)
        }
        RankTarget::Classes { of_row, .. } => {
            let own = scores[usize::from(of_row[row])];
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
            (most + sum.ln() - own, own < most)
        }
    }
}
