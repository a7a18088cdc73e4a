//! Rows chosen by a hash of their number: the same whatever the chunks, the passes or the threads.

use swarmwood_learn::data::{Chunk, Column};

use super::packed_chunk::PackedChunk;

/// The finishing step of SplitMix64 (Steele, Lea, Flood 2014): a bijection, so no two rows share a
/// value.
pub(super) fn hash(row: u64, seed: u64) -> u64 {
    let mut z =
        (row ^ seed.wrapping_mul(0xD1B5_4A32_D192_ED03)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of the sample that bins are made from; it is fixed, so that bins depend on the rows
/// alone.
const SAMPLE_SEED: u64 = 0;

/// The largest hash among the `size` rows with the smallest ones: rows up to it are the sample.
pub(super) fn threshold(rows: u64, size: usize) -> u64 {
    if rows <= size as u64 {
        return u64::MAX;
    }
    cut((0..rows).map(|row| hash(row, SAMPLE_SEED)), size)
}

/// The `size`-th smallest of more than `size` distinct values, without holding more than twice as
/// many.
fn cut(values: impl Iterator<Item = u64>, size: usize) -> u64 {
    let mut smallest = Vec::with_capacity(2 * size);
    let mut limit = u64::MAX;
    for value in values {
        if value <= limit {
            smallest.push(value);
        }
        if smallest.len() == 2 * size {
            limit = *smallest.select_nth_unstable(size - 1).1;
            smallest.truncate(size);
        }
    }
    *smallest.select_nth_unstable(size - 1).1
}

/// Whether a row belongs to the sample with this threshold.
pub(super) fn is_sampled(row: u64, threshold: u64) -> bool {
    hash(row, SAMPLE_SEED) <= threshold
}

/// Sampled rows of one chunk, with their numbers.
#[derive(Debug)]
pub(super) struct SampleBatch {
    pub(super) rows: Vec<u64>,
    pub(super) chunk: PackedChunk,
}

/// Collects the sample of a stream whose length is not known: rows that may still belong to it are
/// kept, and thinned out whenever they are twice as many as wanted.
#[derive(Debug)]
pub(super) struct Sampler {
    size: usize,
    threshold: u64,
    batches: Vec<SampleBatch>,
    stored: usize,
    next_row: u64,
}

impl Sampler {
    pub(super) fn new(size: usize) -> Sampler {
        Sampler { size, threshold: u64::MAX, batches: Vec::new(), stored: 0, next_row: 0 }
    }

    /// Looks at the next rows of the stream.
    pub(super) fn add(&mut self, chunk: &Chunk) {
        let first = self.next_row;
        self.next_row += chunk.rows as u64;
        let rows: Vec<u64> =
            (first..self.next_row).filter(|&row| is_sampled(row, self.threshold)).collect();
        if rows.is_empty() {
            return;
        }
        let indices: Vec<usize> = rows.iter().map(|row| (row - first) as usize).collect();
        self.stored += rows.len();
        self.batches.push(SampleBatch { rows, chunk: PackedChunk::new(&pick(chunk, &indices)) });
        if self.stored >= 2 * self.size {
            self.thin();
        }
    }

    /// The sample, in row order.
    pub(super) fn finish(mut self) -> Vec<SampleBatch> {
        self.thin();
        self.batches
    }

    fn thin(&mut self) {
        if self.stored <= self.size {
            return;
        }
        let hashes = self
            .batches
            .iter()
            .flat_map(|batch| batch.rows.iter())
            .map(|&row| hash(row, SAMPLE_SEED));
        self.threshold = cut(hashes, self.size);
        self.stored = 0;
        for batch in &mut self.batches {
            let stays = |&index: &usize| is_sampled(batch.rows[index], self.threshold);
            let indices: Vec<usize> = (0..batch.rows.len()).filter(stays).collect();
            if indices.len() < batch.rows.len() {
                batch.chunk = PackedChunk::new(&pick(&batch.chunk.unpack(), &indices));
                batch.rows = indices.iter().map(|&index| batch.rows[index]).collect();
            }
            self.stored += indices.len();
        }
        self.batches.retain(|batch| !batch.rows.is_empty());
    }
}

/// The rows of a chunk at these positions.
pub(super) fn pick(chunk: &Chunk, indices: &[usize]) -> Chunk {
    Chunk {
        columns: chunk.columns.iter().map(|column| pick_column(column, indices)).collect(),
        target: pick_values(&chunk.target, indices),
        weight: pick_values(&chunk.weight, indices),
        rows: indices.len(),
    }
}

/// The cells of a column at these positions.
pub(super) fn pick_column(column: &Column, indices: &[usize]) -> Column {
    match column {
        Column::Number(values) => Column::Number(pick_values(values, indices)),
        Column::Category(codes) => {
            Column::Category(indices.iter().map(|&index| codes[index]).collect())
        }
    }
}

/// The values at these positions; a vector that is not in use stays empty.
pub(super) fn pick_values(values: &[f64], indices: &[usize]) -> Vec<f64> {
    if values.is_empty() {
        Vec::new()
    } else {
        indices.iter().map(|&index| values[index]).collect()
    }
}

/// Adds the cells of `more` to a column of the same kind.
pub(super) fn append(column: &mut Column, more: Column) {
    match (column, more) {
        (Column::Number(values), Column::Number(more)) => values.extend(more),
        (Column::Category(codes), Column::Category(more)) => codes.extend(more),
        // Columns of one schema never differ in kind.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(first: u64, rows: usize) -> Chunk {
        let values = (first..first + rows as u64).map(|row| row as f64).collect();
        Chunk { columns: vec![Column::Number(values)], rows, ..Chunk::default() }
    }

    #[test]
    fn the_sample_is_the_smallest_hashes_in_row_order_whatever_the_chunks() {
        let (rows, size) = (1000, 37);
        let mut by_hash: Vec<u64> = (0..rows).collect();
        by_hash.sort_by_key(|&row| hash(row, SAMPLE_SEED));
        let mut expected = by_hash[..size].to_vec();
        expected.sort_unstable();
        let limit = threshold(rows, size);
        let direct: Vec<u64> = (0..rows).filter(|&row| is_sampled(row, limit)).collect();
        assert_eq!(direct, expected);
        for step in [1, 7, 100, 1000] {
            let mut sampler = Sampler::new(size);
            for first in (0..rows).step_by(step) {
                sampler.add(&numbered(first, step.min((rows - first) as usize)));
            }
            let batches = sampler.finish();
            let found: Vec<u64> = batches.iter().flat_map(|batch| batch.rows.clone()).collect();
            assert_eq!(found, expected, "chunks of {step}");
            for batch in &batches {
                let Column::Number(values) = batch.chunk.column(0) else {
                    panic!("numbers went in")
                };
                assert_eq!(values, batch.rows.iter().map(|&row| row as f64).collect::<Vec<f64>>());
            }
        }
    }

    #[test]
    fn a_small_table_is_its_own_sample() {
        assert_eq!(threshold(37, 37), u64::MAX);
        let mut sampler = Sampler::new(37);
        sampler.add(&numbered(0, 37));
        assert_eq!(sampler.finish().iter().map(|batch| batch.rows.len()).sum::<usize>(), 37);
    }
}
