//! Rows in memory: all of them while they fit, otherwise a sample.

use swarmwood_learn::data::Chunk;

use super::WEIGHT_SUMS;
use super::borrowed::BorrowedTable;
use super::frame::ChunkFrame;
use super::location::SourceLocation;
use super::packed_chunk::PackedChunk;
use super::sample::{SampleBatch, Sampler};
use super::source::ReadMeter;
use crate::Result;
use crate::memory::size_text;

/// Bytes of training for each row beside its codes: target, scores, derivatives, leaves.
const BYTES_PER_ROW: usize = 64;

/// Bytes of the codes of a cell: they are stored by column and by row.
const BYTES_PER_CELL: usize = 2;

/// The share of a file from which the number of all rows is estimated.
const LEAST_SHARE: f64 = 0.02;

/// How much is stored in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetentionLimits {
    /// Bytes of packed rows beyond which only a sample is kept.
    pub(super) bytes: usize,
    /// Rows of the sample.
    pub(super) sample: usize,
}

impl Default for RetentionLimits {
    fn default() -> RetentionLimits {
        RetentionLimits { bytes: 256 << 20, sample: super::SAMPLE_ROWS }
    }
}

/// The rows of a finished reading.
#[derive(Debug)]
pub(super) enum StoredRows {
    /// All of them.
    All(Vec<PackedChunk>),
    /// A sample; the rest must be read again. The classes of all rows are kept, for splits by
    /// class.
    Sample {
        /// The sampled rows.
        batches: Vec<SampleBatch>,
        /// Chunks that have nothing but a target; none if targets are numbers.
        targets: Vec<PackedChunk>,
    },
    /// None: they are in the caller's memory.
    Borrowed(BorrowedTable),
    /// None: they are in other processes.
    Elsewhere {
        /// The rows that bins are made from.
        sample: BorrowedTable,
        /// The targets of all rows.
        target: Vec<f64>,
        /// Their weights; empty if every row weighs one.
        weight: Vec<f64>,
    },
}

/// Collects the chunks of a reading.
#[derive(Debug)]
pub(super) struct ChunkCollector {
    limits: RetentionLimits,
    meter: Option<ReadMeter>,
    chunks: Vec<PackedChunk>,
    bytes: usize,
    sampler: Option<Sampler>,
    targets: Vec<PackedChunk>,
    rows: usize,
    weight: f64,
}

impl ChunkCollector {
    /// An empty collector; the meter has the progress of the reading.
    pub(super) fn new(limits: RetentionLimits, meter: Option<ReadMeter>) -> ChunkCollector {
        ChunkCollector {
            limits,
            meter,
            chunks: Vec::new(),
            bytes: 0,
            sampler: None,
            targets: Vec::new(),
            rows: 0,
            weight: 0.0,
        }
    }

    pub(super) fn add(&mut self, chunk: &Chunk) {
        self.rows += chunk.rows;
        self.weight += chunk.weight.iter().sum::<f64>();
        if let Some(sampler) = &mut self.sampler {
            sampler.add(chunk);
            self.targets.push(PackedChunk::of_target(&chunk.target));
            return;
        }
        let packed = PackedChunk::new(chunk);
        self.bytes += packed.bytes();
        self.chunks.push(packed);
        if self.bytes > self.limits.bytes || self.will_exceed() {
            let mut sampler = Sampler::new(self.limits.sample);
            // Each chunk is given back before the next is looked at.
            for packed in std::mem::take(&mut self.chunks) {
                let chunk = packed.unpack();
                self.targets.push(PackedChunk::of_target(&chunk.target));
                sampler.add(&chunk);
            }
            self.sampler = Some(sampler);
        }
    }

    /// Refuses rows that need more memory than there is, as soon as that is clear: a small file may
    /// hold many compressed rows.
    pub(super) fn check_memory(
        &self,
        chunk: &Chunk,
        limit: u64,
        location: &SourceLocation,
    ) -> Result<()> {
        let row_bytes = (BYTES_PER_ROW + BYTES_PER_CELL * chunk.columns.len()) as f64;
        let share = self.meter.as_ref().map_or(1.0, ReadMeter::share);
        let now = self.rows as f64 * row_bytes;
        let expected = if share >= LEAST_SHARE { now / share } else { now };

        // What is expected is not exact, so it must exceed the limit clearly.
        if now <= limit as f64 && expected <= 1.5 * limit as f64 {
            return Ok(());
        }
        let message = format!(
            "there are {} rows or more, and training on them takes {} of memory or more; the limit \
             is {}",
            (now.max(expected) / row_bytes) as u64,
            size_text(now.max(expected) as u64),
            size_text(limit)
        );
        let help = "use fewer rows or columns, or raise the limit with --max-memory";
        Err(location.fault(message, help))
    }

    /// Whether the rows to come will clearly not fit, so that keeping these any longer only takes
    /// memory.
    fn will_exceed(&self) -> bool {
        let Some(share) = self.meter.as_ref().map(ReadMeter::share) else { return false };
        self.bytes as f64 > 1.2 * self.limits.bytes as f64 * share
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Weights that are all zero would leave nothing to learn from.
    pub(super) fn check_weight(&self, frame: &ChunkFrame) -> Result<()> {
        match &frame.weight {
            Some((slot, _)) if !WEIGHT_SUMS.contains(&self.weight) => {
                let help = "at least one row must weigh more than 0; multiply all weights by a \
                            constant so that they sum to a number from 1e-30 to 1e30";
                Err(frame.location.column(
                    &slot.name,
                    format!("the weights sum to {}", self.weight),
                    help,
                ))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn finish(self) -> StoredRows {
        match self.sampler {
            Some(sampler) => {
                StoredRows::Sample { batches: sampler.finish(), targets: self.targets }
            }
            None => StoredRows::All(self.chunks),
        }
    }
}

impl StoredRows {
    fn chunks_mut(&mut self) -> Box<dyn Iterator<Item = &mut PackedChunk> + '_> {
        match self {
            StoredRows::All(chunks) => Box::new(chunks.iter_mut()),
            StoredRows::Sample { batches, targets } => {
                Box::new(batches.iter_mut().map(|batch| &mut batch.chunk).chain(targets))
            }
            StoredRows::Borrowed(_) | StoredRows::Elsewhere { .. } => Box::new(std::iter::empty()),
        }
    }

    /// The same without the targets of rows that are not stored.
    pub(super) fn without_targets(self) -> StoredRows {
        match self {
            StoredRows::Sample { batches, .. } => {
                StoredRows::Sample { batches, targets: Vec::new() }
            }
            stored => stored,
        }
    }

    /// Gives every code of a category column a new value.
    pub(super) fn recode(&mut self, column: usize, new_codes: &[u32]) {
        self.chunks_mut().for_each(|chunk| chunk.recode(column, new_codes));
    }

    /// Gives every target a new value.
    pub(super) fn map_target(&mut self, new_value: impl Fn(f64) -> f64) {
        self.chunks_mut().for_each(|chunk| chunk.map_target(&new_value));
    }
}
