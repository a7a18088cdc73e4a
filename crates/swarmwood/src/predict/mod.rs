//! Batch prediction of rows, block by block, on several threads.

mod columns;
mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod reasons;
mod table;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::ops::Range;
use std::sync::OnceLock;

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::pool::Pool;
use swarmwood_model::explain::Explainer;
use swarmwood_model::predict::{Block, ColumnView, FeatureValue, MISSING, Predictions, Predictor};
use swarmwood_model::{ClassSets, Model, PredictionInterval, Schema};

pub use table::{PredictionColumns, PredictionReport, PredictionRequest, TableFormat, write_table};

use crate::{Error, Result};

/// Rows per task: enough to outweigh the cost of scheduling it, few enough for every thread to get
/// some.
const TASK_ROWS: usize = 2048;

/// A model prepared for batch prediction.
pub struct Scorer<'a> {
    model: &'a Model,
    predictor: Predictor,
    /// Prepared when contributions are first requested, because it is larger than the model.
    explainer: OnceLock<Explainer<'a>>,
    pool: Pool,
    first: Option<usize>,
}

impl<'a> Scorer<'a> {
    /// Compiles the model. `first` limits it to the first rounds; 0 `threads` are one per core.
    pub fn new(model: &'a Model, first: Option<usize>, threads: usize) -> Result<Self> {
        let pool = Pool::new(threads).map_err(Error::Run)?;
        Ok(Scorer {
            model,
            predictor: Predictor::new(model),
            explainer: OnceLock::new(),
            pool,
            first,
        })
    }

    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// The thread pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Number of trees that are used.
    pub fn trees(&self) -> usize {
        self.model.first_members(self.first).len()
    }

    /// Raw scores, row by row one per output.
    pub fn raw(&self, chunk: &Chunk) -> Result<Vec<f64>> {
        let outputs = self.model.outputs();
        self.map_blocks(chunk, outputs, |block, raw| self.predictor.raw(block, self.first, raw))
    }

    /// Predictions: numbers, or classes with their probabilities.
    pub fn predictions(&self, chunk: &Chunk) -> Result<Predictions> {
        let raw = self.raw(chunk)?;
        let blocks: Vec<&[f64]> = raw.chunks(TASK_ROWS * self.model.outputs().max(1)).collect();
        let mut parts =
            self.pool.map(blocks.len(), |block| self.model.predictions(blocks[block])).into_iter();
        let mut joined = parts.next().unwrap_or_else(|| self.model.predictions(&[]));
        for part in parts {
            match (&mut joined, part) {
                (Predictions::Numbers(all), Predictions::Numbers(more)) => all.extend(more),
                (
                    Predictions::Classes { classes, probabilities },
                    Predictions::Classes { classes: more, probabilities: rest },
                ) => {
                    classes.extend(more);
                    probabilities.extend(rest);
                }
                _ => unreachable!("all parts come from one model"),
            }
        }
        Ok(joined)
    }

    /// The ends of the prediction intervals, two per row; `None` if the model has none, or if it is
    /// limited to its first rounds, to which they do not belong.
    pub fn intervals(&self, chunk: &Chunk) -> Result<Option<Vec<f64>>> {
        let Some(interval) = self.interval() else { return Ok(None) };
        let link = self.model.link;
        let widths = half_widths(interval, &self.model.schema, chunk);
        let ends = |(raw, width): (&f64, &f64)| {
            let (lower, upper) = link.interval(*raw, *width);
            [lower, upper]
        };
        Ok(Some(self.raw(chunk)?.iter().zip(&widths).flat_map(ends).collect()))
    }

    /// The prediction interval of the model, unless it is limited to its first rounds.
    pub fn interval(&self) -> Option<&'a PredictionInterval> {
        self.model.calibration.interval.as_ref().filter(|_| self.first.is_none())
    }

    /// The prediction sets of the model, unless it is limited to its first rounds.
    pub fn class_sets(&self) -> Option<ClassSets> {
        self.model.calibration.class_sets.filter(|_| self.first.is_none())
    }

    /// Leaf indices, row by row one per tree.
    pub fn leaves(&self, chunk: &Chunk) -> Result<Vec<u32>> {
        let trees = self.trees();
        self.map_blocks(chunk, trees, |block, leaves| {
            self.predictor.leaves(block, self.first, leaves)
        })
    }

    /// The contribution of each feature to each raw score, and last the expected raw score; row by
    /// row, output by output. They sum to the raw score.
    pub fn contributions(&self, chunk: &Chunk) -> Result<Vec<f64>> {
        let explainer = match self.explainer.get() {
            Some(explainer) => explainer,
            None => {
                let made = Explainer::new(self.model, self.first).map_err(run_error)?;
                self.explainer.get_or_init(|| made)
            }
        };
        let width = self.model.outputs() * (self.model.schema.features.len() + 1);
        self.map_blocks(chunk, width, |block, contributions| {
            explainer.contributions(block, contributions)
        })
    }

    /// Runs `work` over blocks of the rows in parallel; each writes its own part of the result,
    /// `width` values per row.
    fn map_blocks<T: Send + Clone + Default, E: Display + Send>(
        &self,
        chunk: &Chunk,
        width: usize,
        work: impl Fn(&Block<'_>, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> Result<Vec<T>> {
        let mut all = vec![T::default(); chunk.rows * width];
        let mut parts: Vec<_> =
            all.chunks_mut((TASK_ROWS * width).max(1)).map(|part| (part, Ok(()))).collect();
        self.pool.each(&mut parts, |task, (part, done)| {
            let range = task * TASK_ROWS..((task + 1) * TASK_ROWS).min(chunk.rows);
            let columns: Vec<ColumnView<'_>> =
                chunk.columns.iter().map(|column| slice(column, range.clone())).collect();
            *done = work(&Block { columns: &columns, rows: range.len() }, part);
        });
        parts.into_iter().try_for_each(|(_, done)| done.map_err(run_error))?;
        Ok(all)
    }
}

/// The half-width of each row's interval, on the scale of residuals.
pub(crate) fn half_widths(
    interval: &PredictionInterval,
    schema: &Schema,
    chunk: &Chunk,
) -> Vec<f64> {
    let levels: Vec<usize> =
        schema.features.iter().map(|feature| feature.kind.levels().len()).collect();
    let value = |row: usize, feature: u32| match &chunk.columns[feature as usize] {
        Column::Number(values) => FeatureValue::Number(values[row]),
        Column::Category(codes) => {
            let is_known = (codes[row] as usize) < levels[feature as usize];
            FeatureValue::Category(if is_known { codes[row] } else { MISSING })
        }
    };
    (0..chunk.rows).map(|row| interval.half_width_of(|feature| value(row, feature))).collect()
}

fn run_error(error: impl Display) -> Error {
    Error::Run(error.to_string())
}

fn slice(column: &Column, range: Range<usize>) -> ColumnView<'_> {
    match column {
        Column::Number(values) => ColumnView::Number(&values[range]),
        Column::Category(codes) => ColumnView::Category(&codes[range]),
    }
}
