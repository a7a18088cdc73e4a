//! Incremental leaf statistics for the absolute loss, whose optimal leaf value is a median.
//!
//! A leaf keeps weight and weighted target by the rank of the target in a Fenwick tree (Fenwick
//! 1994): a row moves, and the loss is known again, in the logarithm of the number of distinct
//! targets.

use crate::rank_table::{RankTable, RankTarget};

/// The medians and the total loss of some leaves, updated while rows move between them.
#[derive(Debug, Clone)]
pub(crate) struct MedianLeafStats {
    /// The distinct targets, ascending.
    values: Vec<f64>,
    leaves: Vec<MedianLeaf>,
    losses: Vec<f64>,
    total: f64,
    min_leaf: u32,
    small: usize,
    touched: Vec<u16>,
}

#[derive(Debug, Clone)]
struct MedianLeaf {
    /// Weight and weighted target, each as a Fenwick tree over target ranks.
    sums: Vec<[f64; 2]>,
    all: [f64; 2],
    rows: u32,
}

impl MedianLeafStats {
    /// Empty leaves for the targets of the given rows.
    pub fn new(table: &RankTable, rows: &[u32], leaves: usize, min_leaf: usize) -> Self {
        let RankTarget::Numbers { of_row, .. } = table.target() else {
            unreachable!("the absolute loss is checked to be one of numbers")
        };
        let mut values: Vec<f64> = rows.iter().map(|&row| of_row[row as usize]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let leaf = MedianLeaf { sums: vec![[0.0; 2]; values.len() + 1], all: [0.0; 2], rows: 0 };
        MedianLeafStats {
            values,
            leaves: vec![leaf; leaves],
            losses: vec![0.0; leaves],
            total: 0.0,
            min_leaf: min_leaf as u32,
            small: 0,
            touched: Vec::new(),
        }
    }

    /// Adds a row to a leaf.
    pub fn add(&mut self, leaf: u16, weight: f64, target: f64) {
        self.change(leaf, weight, target, 1);
    }

    /// Moves a row from one leaf to another.
    pub(crate) fn move_rows(&mut self, from: u16, to: u16, weight: f64, target: f64) {
        self.change(from, weight, target, -1);
        self.change(to, weight, target, 1);
    }

    fn change(&mut self, leaf: u16, weight: f64, target: f64, rows: i32) {
        let rank = self.values.partition_point(|&value| value < target) + 1;
        let weight = weight * f64::from(rows);
        let change = [weight, weight * target];
        let min_leaf = self.min_leaf;
        let stats = &mut self.leaves[usize::from(leaf)];
        let mut place = rank;
        while let Some(sums) = stats.sums.get_mut(place) {
            *sums = [sums[0] + change[0], sums[1] + change[1]];
            place += place & place.wrapping_neg();
        }
        stats.all = [stats.all[0] + change[0], stats.all[1] + change[1]];
        let is_small = |rows: u32| rows > 0 && rows < min_leaf;
        let before = is_small(stats.rows);
        stats.rows = stats.rows.wrapping_add_signed(rows);
        self.small = self.small + usize::from(is_small(stats.rows)) - usize::from(before);
        if self.touched.last() != Some(&leaf) {
            self.touched.push(leaf);
        }
    }

    /// The loss of all leaves together.
    pub(crate) fn total_loss(&mut self) -> f64 {
        for leaf in self.touched.drain(..).map(usize::from) {
            let loss = self.leaves[leaf].loss(&self.values);
            self.total += loss - self.losses[leaf];
            self.losses[leaf] = loss;
        }
        self.total
    }

    /// Whether every leaf is empty or has at least `min_leaf` rows.
    pub(crate) fn leaves_are_large_enough(&self) -> bool {
        self.small == 0
    }

    /// The median of a leaf: the least target with at least half of the weight at or below it, and
    /// where exactly half of it is, the middle between that target and the next.
    pub fn median(&self, leaf: usize) -> f64 {
        self.leaves[leaf].median(&self.values)
    }
}

impl MedianLeaf {
    /// How many targets lie below the median's rank, and the sums up to them.
    fn descend(&self) -> (usize, [f64; 2]) {
        let half = self.all[0] / 2.0;
        let (mut place, mut below) = (0, [0.0; 2]);
        let mut step = self.sums.len().next_power_of_two() / 2;
        while step > 0 {
            if let Some(sums) = self.sums.get(place + step).filter(|sums| below[0] + sums[0] < half)
            {
                place += step;
                below = [below[0] + sums[0], below[1] + sums[1]];
            }
            step /= 2;
        }
        (place, below)
    }

    fn loss(&self, values: &[f64]) -> f64 {
        if self.rows == 0 {
            return 0.0;
        }
        let (place, below) = self.descend();
        let median = values[place.min(values.len() - 1)];
        // Targets below the median, and those from it on.
        (median * below[0] - below[1])
            + ((self.all[1] - below[1]) - median * (self.all[0] - below[0]))
    }

    fn median(&self, values: &[f64]) -> f64 {
        if self.rows == 0 {
            return 0.0;
        }
        let (place, _) = self.descend();
        let place = place.min(values.len() - 1);
        let (mut up_to, mut at) = (0.0, place + 1);
        while at > 0 {
            up_to += self.sums[at][0];
            at -= at & at.wrapping_neg();
        }
        if up_to * 2.0 > self.all[0] {
            return values[place];
        }
        // Exactly half of the weight: the next target that has rows ends the interval of medians.
        let next = (place + 2..=values.len()).find(|&rank| self.weight_at(rank) > 0.0);
        next.map_or(values[place], |rank| values[place] / 2.0 + values[rank - 1] / 2.0)
    }

    fn weight_at(&self, rank: usize) -> f64 {
        let prefix = |mut at: usize| {
            let mut sum = 0.0;
            while at > 0 {
                sum += self.sums[at][0];
                at -= at & at.wrapping_neg();
            }
            sum
        };
        prefix(rank) - prefix(rank - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Chunk;
    use swarmwood_search::rng::Stream;

    #[test]
    fn rows_that_move_leave_the_loss_of_a_fresh_count() {
        let mut stream = Stream::new(7, 0, 0);
        let target: Vec<f64> = (0..40).map(|_| stream.below(12) as f64).collect();
        let weight: Vec<f64> = (0..40).map(|_| 1.0 + stream.below(3) as f64).collect();
        let chunk = Chunk { target, weight: weight.clone(), rows: 40, ..Chunk::default() };
        let table = RankTable::new(&chunk, &[], None, 10);
        let RankTarget::Numbers { of_row, .. } = table.target() else { unreachable!() };
        let rows: Vec<u32> = (0..40).collect();
        let mut stats = MedianLeafStats::new(&table, &rows, 2, 1);
        let mut leaf_of = [0_u16; 40];
        for row in 0..40 {
            stats.add(0, weight[row], of_row[row]);
        }
        for _ in 0..100 {
            let row = stream.below(40) as usize;
            let to = 1 - leaf_of[row];
            stats.move_rows(leaf_of[row], to, weight[row], of_row[row]);
            leaf_of[row] = to;
            let total = stats.total_loss();
            let mut expected = 0.0;
            for leaf in 0..2 {
                let of_leaf: Vec<usize> = (0..40).filter(|&row| leaf_of[row] == leaf).collect();
                let cost = |value: f64| {
                    of_leaf.iter().map(|&row| weight[row] * (of_row[row] - value).abs()).sum()
                };
                let best =
                    of_leaf.iter().map(|&row| cost(of_row[row])).fold(f64::INFINITY, f64::min);
                let best: f64 = if of_leaf.is_empty() { 0.0 } else { best };
                expected += best;
                let median: f64 = cost(stats.median(usize::from(leaf)));
                assert!((median - best).abs() < 1e-9, "{median} {best}");
            }
            assert!((total - expected).abs() < 1e-9, "{total} {expected}");
        }
    }
}
