//! Rows dealt to folds, every class in equal shares.

use swarmwood_search::rng::Stream;

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

/// Deals the rows to `count` folds; `repeat` names the dealing.
pub fn deal(table: &Ranked, count: usize, seed: u64, repeat: u64) -> Vec<Fold> {
    let mut order: Vec<u32> = (0..table.rows() as u32).collect();
    Stream::new(seed, STREAM, repeat).shuffle(&mut order);
    match table.target() {
        Target::Classes { of_row, .. } => order.sort_by_key(|&row| of_row[row as usize]),
        Target::Numbers { of_row, .. } => {
            order.sort_by(|&a, &b| of_row[a as usize].total_cmp(&of_row[b as usize]));
        }
    }
    let count = count.clamp(2, table.rows().max(2));
    let pick = |number: usize, test: bool| {
        let of_fold = order.iter().enumerate().filter(|(at, _)| (at % count == number) == test);
        let mut rows: Vec<u32> = of_fold.map(|(_, &row)| row).collect();
        rows.sort_unstable();
        rows
    };
    (0..count).map(|number| Fold { train: pick(number, false), test: pick(number, true) }).collect()
}
