//! Sums over a sample of a slot's rows, by coarse bins of a few features, and bits of such rows.

use super::Shard;
use crate::bins::CODES;
use crate::dataset::Plan;
use crate::kernels::quantise::gradient;

/// Which rows belong to a sample: follows from their place in the data set alone.
#[derive(Debug, Clone, Copy)]
pub struct HashSample {
    below: u32,
}

impl HashSample {
    /// A sample of about `wanted` of so many rows; all of them if they are fewer.
    pub fn new(wanted: usize, rows: usize) -> Self {
        let share = wanted as f64 / rows.max(1) as f64;
        let below = (share * 32f64.exp2()).min(f64::from(u32::MAX)) as u32;
        HashSample { below: if wanted >= rows { u32::MAX } else { below } }
    }

    fn contains(&self, row: usize) -> bool {
        self.below == u32::MAX || ((row_hash(row) >> 32) as u32) < self.below
    }
}

/// Which half of a sample a row belongs to.
fn half(row: usize) -> usize {
    (row_hash(row) >> 20 & 1) as usize
}

/// Well-mixed bits of a row's place in the data set.
fn row_hash(row: usize) -> u64 {
    let mixed = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A feature in coarse bins: the stored column, and the bin of each stored code.
#[derive(Debug, Clone)]
pub struct CoarseColumn {
    pub column: usize,
    pub bins: [u8; CODES],
}

impl Shard {
    /// The rows of a slot that a sample holds, with the half that each belongs to.
    pub fn sampled_rows(&self, slot: usize, sample: HashSample, plan: &Plan) -> Vec<[u32; 2]> {
        let rows = &self.order[self.spans[slot].clone()];
        let of_sample = rows.iter().filter_map(|&row| {
            let global = plan.global(self.number, row as usize);
            sample.contains(global).then(|| [row, half(global) as u32])
        });
        of_sample.collect()
    }

    /// How many of some rows have each stored code, column after column.
    pub fn count_codes(&self, rows: &[[u32; 2]], columns: &[usize]) -> Vec<u32> {
        let mut counts = vec![0; columns.len() * CODES];
        for (counts, &column) in counts.chunks_exact_mut(CODES).zip(columns) {
            let codes = &self.rows.columns[column];
            rows.iter().for_each(|&[row, _]| counts[usize::from(codes[row as usize])] += 1);
        }
        counts
    }

    /// Packed sums of both halves of some rows over the cells of a few columns, the last one
    /// contiguous.
    pub fn cell_sums(&self, rows: &[[u32; 2]], axes: &[(&CoarseColumn, usize)]) -> [Vec<u64>; 2] {
        let cells: usize = axes.iter().map(|(_, width)| width).product();
        let mut sums = [vec![0u64; cells], vec![0u64; cells]];
        let packed = self.packed();
        for &[row, half] in rows {
            let row = row as usize;
            let cell = axes.iter().fold(0, |cell, (axis, width)| {
                let code = self.rows.columns[axis.column][row];
                cell * width + usize::from(axis.bins[usize::from(code)])
            });
            let sum = &mut sums[half as usize][cell];
            *sum = sum.wrapping_add(packed[row]);
        }
        sums
    }

    /// As many rows with a positive gradient as others, evenly taken from some rows; those with a
    /// positive gradient come first.
    pub fn balanced_rows(&self, rows: &[[u32; 2]]) -> Vec<u32> {
        let packed = self.packed();
        let is_positive = |row: &u32| gradient(packed[*row as usize]) > 0;
        let (positive, others): (Vec<u32>, Vec<u32>) =
            rows.iter().map(|&[row, _]| row).partition(is_positive);
        let count = positive.len().min(others.len());
        let evenly = |rows: &[u32]| -> Vec<u32> {
            (0..count).map(|at| rows[at * rows.len() / count]).collect()
        };
        let mut balanced = evenly(&positive);
        balanced.extend(evenly(&others));
        balanced
    }

    /// One bit per row: that of the row's stored code.
    pub fn code_bits(&self, rows: &[u32], column: usize, bits: &[bool; CODES]) -> Vec<u64> {
        let codes = &self.rows.columns[column];
        let word = |rows: &[u32]| {
            let bit = |row: u32| u64::from(bits[usize::from(codes[row as usize])]);
            rows.iter().enumerate().fold(0, |word, (at, &row)| word | bit(row) << at)
        };
        rows.chunks(64).map(word).collect()
    }
}
