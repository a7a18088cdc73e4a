//! Sums over a sample of a slot's rows, by coarse bins of a few features, and bits of such rows.

use super::Shard;
use crate::bins::CODES;
use crate::dataset::Plan;
use crate::kernels::quantise::gradient;
use crate::stats::codec::{CodecError, Encode};

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

    /// The sample of the rows whose hash is below a number; all rows for the largest number.
    pub fn below(below: u32) -> Self {
        HashSample { below }
    }

    /// The number of [`HashSample::below`].
    pub fn threshold(&self) -> u32 {
        self.below
    }

    fn contains(&self, row: usize) -> bool {
        self.below == u32::MAX || ((row_hash(row) >> 32) as u32) < self.below
    }
}

/// Which half of a sample a row belongs to.
fn half(row: usize) -> u8 {
    (row_hash(row) >> 20 & 1) as u8
}

/// Well-mixed bits of a row's place in the data set.
fn row_hash(row: usize) -> u64 {
    let mixed = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Some rows of a shard, copied so that they lie side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledRows {
    /// Packed derivatives.
    packed: Vec<u64>,
    /// The half of the sample that each row belongs to.
    halves: Vec<u8>,
    /// Stored codes, column after column.
    codes: Vec<Vec<u8>>,
}

/// A feature in coarse bins.
#[derive(Debug, Clone)]
pub struct CoarseColumn {
    /// The place of its stored column among those of [`SampledRows`].
    pub place: usize,
    /// The bin of each stored code.
    pub bins: [u8; CODES],
}

impl Shard {
    /// The rows of a slot that a sample holds, with their codes in some stored columns.
    pub fn sampled(
        &self,
        slot: usize,
        sample: HashSample,
        plan: &Plan,
        columns: &[usize],
    ) -> SampledRows {
        let (mut rows, mut halves) = (Vec::new(), Vec::new());
        for &row in &self.order[self.spans[slot].clone()] {
            let global = plan.global(self.number, row as usize);
            if sample.contains(global) {
                rows.push(row);
                halves.push(half(global));
            }
        }
        let packed = self.packed();
        let codes_of = |&column: &usize| -> Vec<u8> {
            let codes = &self.rows.columns[column];
            rows.iter().map(|&row| codes[row as usize]).collect()
        };
        SampledRows {
            packed: rows.iter().map(|&row| packed[row as usize]).collect(),
            halves,
            codes: columns.iter().map(codes_of).collect(),
        }
    }
}

impl Encode for SampledRows {
    fn write(&self, out: &mut Vec<u8>) {
        self.packed.write(out);
        self.halves.write(out);
        self.codes.write(out);
    }

    fn read(from: &mut &[u8]) -> Result<Self, CodecError> {
        let (packed, halves) = (Vec::<u64>::read(from)?, Vec::<u8>::read(from)?);
        let codes = Vec::<Vec<u8>>::read(from)?;
        let fits = halves.len() == packed.len()
            && halves.iter().all(|&half| half < 2)
            && codes.iter().all(|codes| codes.len() == packed.len());
        let rows = SampledRows { packed, halves, codes };
        fits.then_some(rows).ok_or(CodecError::Invalid { kind: "a sample of rows" })
    }
}

impl SampledRows {
    /// How many stored columns there are.
    pub fn columns(&self) -> usize {
        self.codes.len()
    }

    /// How many rows there are of each half.
    pub fn sizes(&self) -> [usize; 2] {
        let second = self.halves.iter().filter(|&&half| half == 1).count();
        [self.halves.len() - second, second]
    }

    /// How many rows have each stored code, column after column.
    pub fn count_codes(&self) -> Vec<u32> {
        let mut counts = vec![0; self.codes.len() * CODES];
        for (counts, codes) in counts.chunks_exact_mut(CODES).zip(&self.codes) {
            codes.iter().for_each(|&code| counts[usize::from(code)] += 1);
        }
        counts
    }

    /// Packed sums of both halves over the cells of a few columns, the last one contiguous.
    pub fn cell_sums(&self, axes: &[(&CoarseColumn, usize)]) -> [Vec<u64>; 2] {
        let cells: usize = axes.iter().map(|(_, width)| width).product();
        let mut places = vec![0u8; self.packed.len()];
        // A table has at most 64 cells, so that a place is a byte.
        for (axis, width) in axes {
            let codes = &self.codes[axis.place];
            for (place, &code) in places.iter_mut().zip(codes) {
                *place = *place * *width as u8 + axis.bins[usize::from(code)];
            }
        }
        let mut sums = vec![0u64; 2 * cells];
        for ((&place, &half), &packed) in places.iter().zip(&self.halves).zip(&self.packed) {
            let sum = &mut sums[usize::from(half) * cells + usize::from(place)];
            *sum = sum.wrapping_add(packed);
        }
        let second = sums.split_off(cells);
        [sums, second]
    }

    /// As many rows with a positive gradient as others, evenly taken; those with a positive
    /// gradient come first.
    pub fn balanced_rows(&self) -> Vec<u32> {
        let is_positive = |row: &u32| gradient(self.packed[*row as usize]) > 0;
        let (positive, others): (Vec<u32>, Vec<u32>) =
            (0..self.packed.len() as u32).partition(is_positive);
        let count = positive.len().min(others.len());
        let evenly = |rows: &[u32]| -> Vec<u32> {
            (0..count).map(|at| rows[at * rows.len() / count]).collect()
        };
        let mut balanced = evenly(&positive);
        balanced.extend(evenly(&others));
        balanced
    }

    /// One bit per row: that of the row's stored code in a column.
    pub fn code_bits(&self, rows: &[u32], place: usize, bits: &[bool; CODES]) -> Vec<u64> {
        let codes = &self.codes[place];
        let word = |rows: &[u32]| {
            let bit = |row: u32| u64::from(bits[usize::from(codes[row as usize])]);
            rows.iter().enumerate().fold(0, |word, (at, &row)| word | bit(row) << at)
        };
        rows.chunks(64).map(word).collect()
    }
}
