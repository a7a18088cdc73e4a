//! Rows dealt to folds, every class in equal shares, numbers in the order of their size.

use swarmwood_search::rng::Stream;

use crate::fold_split::FoldSplit;
use crate::pool::Pool;
use crate::ranked::{Ranked, Target};

/// Streams of the dealing of rows.
const STREAM: u64 = 5 << 32;

/// Rows to fit on and rows to judge by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// The rows of the other folds, ascending.
    pub train: Vec<u32>,
    /// The rows of this fold, ascending.
    pub test: Vec<u32>,
}

/// Deals the rows to `count` folds; `repeat` names the dealing. In a hurry there are none.
pub fn deal(table: &Ranked, count: usize, seed: u64, repeat: u64, pool: &Pool) -> Vec<Fold> {
    if pool.hurried() {
        return Vec::new();
    }
    let count = count.clamp(2, table.rows().max(2));
    let split =
        FoldSplit::new(table.rows(), count, Stream::new(seed, STREAM, repeat), |a, b| match table
            .target()
        {
            Target::Classes { of_row, .. } => of_row[a].cmp(&of_row[b]),
            Target::Numbers { of_row, .. } => of_row[a].total_cmp(&of_row[b]),
        });
    let short = |rows: Vec<usize>| rows.into_iter().map(|row| row as u32).collect();
    pool.map(count, |fold| Fold {
        train: short(split.train_rows(fold)),
        test: short(split.test_rows(fold)),
    })
}
