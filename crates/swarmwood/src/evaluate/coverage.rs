//! How many targets intervals and sets contain, and how large they are.

use swarmwood_learn::data::Chunk;
use swarmwood_model::predict::Predictions;

use crate::Result;
use crate::predict::Scorer;

/// Sums over rows.
#[derive(Debug, Clone, Default)]
pub(super) struct IntervalCoverage {
    weight: f64,
    covered: f64,
    /// Widths of intervals, or numbers of classes.
    size: f64,
}

impl IntervalCoverage {
    /// Adds rows, if the model has intervals or sets.
    pub(super) fn add(&mut self, scorer: &Scorer<'_>, chunk: &Chunk) -> Result<()> {
        if let Some(ends) = scorer.intervals(chunk)? {
            for (row, ends) in ends.chunks_exact(2).enumerate() {
                let is_covered = (ends[0]..=ends[1]).contains(&chunk.target[row]);
                self.add_row(chunk, row, (is_covered, ends[1] - ends[0]));
            }
        }
        if scorer.class_sets().is_none() {
            return Ok(());
        }
        if let Predictions::Classes { probabilities, .. } = scorer.predictions(chunk)? {
            let classes = scorer.model().schema.target.kind.classes().len();
            for (row, probabilities) in probabilities.chunks_exact(classes.max(1)).enumerate() {
                let set = scorer.model().class_set(probabilities).unwrap_or_default();
                let is_covered = set.get(chunk.target[row] as usize).copied().unwrap_or(false);
                let size = set.iter().filter(|is_in| **is_in).count();
                self.add_row(chunk, row, (is_covered, size as f64));
            }
        }
        Ok(())
    }

    fn add_row(&mut self, chunk: &Chunk, row: usize, (is_covered, size): (bool, f64)) {
        let weight = chunk.weight.get(row).copied().unwrap_or(1.0);
        self.weight += weight;
        self.covered += if is_covered { weight } else { 0.0 };
        self.size += weight * size;
    }

    /// The metrics; none without rows.
    pub(super) fn finish(self, has_classes: bool) -> Vec<(&'static str, f64)> {
        if self.weight <= 0.0 {
            return Vec::new();
        }
        let size = if has_classes { "mean_set_size" } else { "mean_interval_width" };
        vec![("coverage", self.covered / self.weight), (size, self.size / self.weight)]
    }
}
