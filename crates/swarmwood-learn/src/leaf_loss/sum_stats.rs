//! Incremental leaf statistics for losses that are functions of sums.

use swarmwood_model::monotone::Direction;

use super::{LeafLoss, gini_of_moments};
use crate::rank_table::{RankTable, RankTarget};

/// The sums and the total loss of some leaves, updated while rows move between them.
#[derive(Debug, Clone)]
pub(crate) struct SumLeafStats<'a> {
    table: &'a RankTable,
    loss: &'a LeafLoss,
    width: usize,
    sums: Vec<f64>,
    rows: Vec<u32>,
    losses: Vec<f64>,
    total: f64,
    min_leaf: u32,
    /// Number of leaves that have rows, but fewer than `min_leaf`.
    small: usize,
    /// Leaves whose loss is out of date, possibly repeated.
    touched: Vec<u16>,
    /// For the Gini impurity of many classes: the weight of each leaf and the sum of its squared
    /// class weights, so that a move of rows costs the same for any number of classes.
    gini: Option<Vec<[f64; 2]>>,
}

/// Rows up to which the squared class weights add up exactly if every row weighs 1, so that the
/// order of the additions does not matter.
const EXACT_SQUARES: usize = 90_000_000;

/// The contribution of one or more rows to the sums of a leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowStats {
    /// Rows of a class: its number and their weight.
    Class(usize, f64),
    /// Weight and weighted target.
    Moments(f64, f64),
}

impl<'a> SumLeafStats<'a> {
    /// Empty leaves.
    pub fn new(table: &'a RankTable, loss: &'a LeafLoss, leaves: usize, min_leaf: usize) -> Self {
        let width = match table.target() {
            RankTarget::Classes { count, .. } => *count,
            RankTarget::Numbers { .. } => 2,
        };
        let is_exact = !table.is_weighted() && table.rows() <= EXACT_SQUARES;
        let gini =
            (*loss == LeafLoss::Gini && width > 2 && is_exact).then(|| vec![[0.0; 2]; leaves]);
        SumLeafStats {
            table,
            loss,
            width,
            sums: vec![0.0; leaves * width],
            rows: vec![0; leaves],
            losses: vec![0.0; leaves],
            total: 0.0,
            min_leaf: min_leaf as u32,
            small: 0,
            touched: Vec::new(),
            gini,
        }
    }

    /// The contribution of one row.
    #[inline]
    pub(crate) fn row_stats(&self, row: u32) -> RowStats {
        let weight = self.table.weight(row);
        match self.table.target() {
            RankTarget::Classes { of_row, .. } => {
                RowStats::Class(usize::from(of_row[row as usize]), weight)
            }
            RankTarget::Numbers { of_row, .. } => {
                RowStats::Moments(weight, weight * of_row[row as usize])
            }
        }
    }

    /// Adds rows to a leaf.
    #[inline]
    pub fn add(&mut self, leaf: u16, row_stats: RowStats, rows: u32) {
        self.apply(leaf, row_stats, 1.0);
        self.count(leaf, rows as i32);
    }

    /// Moves rows from one leaf to another.
    #[inline]
    pub(crate) fn move_rows(&mut self, from: u16, to: u16, row_stats: RowStats, rows: u32) {
        self.apply(from, row_stats, -1.0);
        self.apply(to, row_stats, 1.0);
        self.count(from, -(rows as i32));
        self.count(to, rows as i32);
    }

    #[inline]
    fn apply(&mut self, leaf: u16, row_stats: RowStats, sign: f64) {
        let first = usize::from(leaf) * self.width;
        match row_stats {
            RowStats::Class(class, weight) => {
                let sum = &mut self.sums[first + class];
                let before = *sum;
                *sum += sign * weight;
                if let Some(gini) = &mut self.gini {
                    let [total, squares] = &mut gini[usize::from(leaf)];
                    *total += sign * weight;
                    *squares += *sum * *sum - before * before;
                }
            }
            RowStats::Moments(weight, target) => {
                self.sums[first] += sign * weight;
                self.sums[first + 1] += sign * target;
            }
        }
        if self.touched.last() != Some(&leaf) {
            self.touched.push(leaf);
        }
    }

    #[inline]
    fn count(&mut self, leaf: u16, change: i32) {
        let rows = &mut self.rows[usize::from(leaf)];
        let is_small = |rows: u32| rows > 0 && rows < self.min_leaf;
        let before = is_small(*rows);
        *rows = rows.wrapping_add_signed(change);
        self.small = self.small + usize::from(is_small(*rows)) - usize::from(before);
    }

    /// The loss of all leaves together.
    #[inline]
    pub(crate) fn total_loss(&mut self) -> f64 {
        for leaf in self.touched.drain(..).map(usize::from) {
            let first = leaf * self.width;
            // An empty leaf keeps no rounding residue; exact sums have none.
            if self.rows[leaf] == 0 && self.gini.is_none() {
                self.sums[first..first + self.width].fill(0.0);
            }
            let loss = match &self.gini {
                Some(gini) => gini_of_moments(gini[leaf]),
                None => self.loss.of(&self.sums[first..first + self.width]),
            };
            self.total += loss - self.losses[leaf];
            self.losses[leaf] = loss;
        }
        self.total
    }

    /// Whether every leaf is empty or has at least `min_leaf` rows.
    #[inline]
    pub(crate) fn leaves_are_large_enough(&self) -> bool {
        self.small == 0
    }

    /// Whether, of two leaves, the second is not above the first in a direction: by its mean, or by its
    /// share of the second of two classes.
    #[inline]
    pub(crate) fn is_in_order(&self, direction: Option<Direction>) -> bool {
        let Some(direction) = direction else { return true };
        let weight_and_sum = |leaf: usize| match (self.table.target(), self.of(leaf)) {
            (RankTarget::Classes { .. }, &[first, second]) => (first + second, second),
            (_, sums) => (sums[0], sums[1]),
        };
        let ((weight, sum), (below, low)) = (weight_and_sum(0), weight_and_sum(1));
        (sum * below - low * weight) * direction.sign() >= 0.0
    }

    /// The sums of a leaf.
    pub fn of(&self, leaf: usize) -> &[f64] {
        &self.sums[leaf * self.width..(leaf + 1) * self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Chunk;

    #[test]
    fn the_gini_impurity_of_many_classes_is_that_of_its_sums() {
        let rows = 60_u32;
        let target: Vec<f64> = (0..rows).map(|row| f64::from(row * row % 7)).collect();
        let chunk = Chunk { target, rows: rows as usize, ..Chunk::default() };
        let table = RankTable::new(&chunk, &[], Some(7), 10);
        let mut stats = SumLeafStats::new(&table, &LeafLoss::Gini, 3, 1);
        assert!(stats.gini.is_some());

        (0..rows).for_each(|row| stats.add(0, stats.row_stats(row), 1));
        for row in 0..rows {
            stats.move_rows(0, 1 + (row % 2) as u16, stats.row_stats(row), 1);
            if row % 4 == 3 {
                stats.move_rows(2, 1, stats.row_stats(row), 1);
            }
            stats.total_loss();
            for leaf in 0..3 {
                assert_eq!(stats.losses[leaf], LeafLoss::Gini.of(stats.of(leaf)), "row {row}");
            }
        }
    }
}
