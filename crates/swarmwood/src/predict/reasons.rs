//! Reason codes: the features that contribute most to the prediction of a row.

use swarmwood_learn::data::Chunk;
use swarmwood_model::predict::Predictions;

use super::Scorer;
use crate::Result;

/// The features with the largest contributions of each row.
pub(crate) struct Reasons {
    /// Features asked for per row.
    count: usize,
    /// Row by row so many pairs of a feature and its contribution to the raw score; `None` where
    /// fewer features contribute.
    of_rows: Vec<Option<(usize, f64)>>,
}

impl Reasons {
    /// The reasons of all rows: exact contributions to the raw score, of three or more classes to
    /// that of the predicted class, the largest in absolute value first.
    pub(crate) fn new(scorer: &Scorer<'_>, chunk: &Chunk, count: usize) -> Result<Reasons> {
        let model = scorer.model();
        let (outputs, features) = (model.outputs(), model.schema.features.len());
        let contributions = scorer.contributions(chunk)?;
        let classes = match scorer.predictions(chunk)? {
            Predictions::Classes { classes, .. } if outputs > 1 => classes,
            _ => vec![0; chunk.rows],
        };

        let mut of_rows = Vec::with_capacity(chunk.rows * count);
        let width = outputs * (features + 1);
        for (row, class) in contributions.chunks_exact(width.max(1)).zip(classes) {
            let start = class as usize * (features + 1);
            let mut ranked: Vec<(usize, f64)> =
                row[start..start + features].iter().copied().enumerate().collect();
            ranked.retain(|(_, contribution)| *contribution != 0.0);
            ranked.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            of_rows.extend((0..count).map(|at| ranked.get(at).copied()));
        }
        Ok(Reasons { count, of_rows })
    }

    /// The reasons of a row.
    pub(crate) fn of_row(&self, row: usize) -> &[Option<(usize, f64)>] {
        &self.of_rows[row * self.count..(row + 1) * self.count]
    }
}
