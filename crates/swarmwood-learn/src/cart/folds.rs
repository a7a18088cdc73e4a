//! Stratified folds of a rank table: every class in equal shares, numbers in order of their size.

use swarmwood_search::rng::Stream;

use crate::context::Context;
use crate::fold_split::FoldSplit;
use crate::rank_table::{RankTable, RankTarget};

/// Round of the random streams that shuffle the rows.
const STREAM: u64 = 5 << 32;

/// The training and test rows of one fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFold {
    /// The rows of the other folds, ascending.
    pub train: Vec<u32>,
    /// The rows of this fold, ascending.
    pub test: Vec<u32>,
}

/// Splits the rows into `count` folds; `repeat` numbers repeated splits. Empty when the budget is
/// interrupted.
pub fn stratified_folds(
    table: &RankTable,
    count: usize,
    seed: u64,
    repeat: u64,
    context: Context<'_>,
) -> Vec<TreeFold> {
    if context.budget.is_interrupted() {
        return Vec::new();
    }
    let count = count.clamp(2, table.rows().max(2));
    let stream = Stream::new(seed, STREAM, repeat);
    let split = FoldSplit::new(table.rows(), count, stream, |a, b| match table.target() {
        RankTarget::Classes { of_row, .. } => of_row[a].cmp(&of_row[b]),
        RankTarget::Numbers { of_row, .. } => of_row[a].total_cmp(&of_row[b]),
    });

    let as_u32 = |rows: Vec<usize>| rows.into_iter().map(|row| row as u32).collect();
    context.pool.map(count, |fold| TreeFold {
        train: as_u32(split.train_rows(fold)),
        test: as_u32(split.test_rows(fold)),
    })
}
