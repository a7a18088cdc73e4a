//! Predicts rows with a model, block by block, on as many threads as wanted.

mod table;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::ops::Range;
use std::sync::OnceLock;

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::pool::Pool;
use swarmwood_model::Model;
use swarmwood_model::explain::Explainer;
use swarmwood_model::predict::{Block, ColumnView, Predictions, Predictor};

pub use table::{PredictionKind, PredictionReport, PredictionRequest, write_csv};

use crate::{Error, Result};

/// Rows that one piece of work takes: enough to pay for handing it over, few enough for every
/// thread to get some.
const PIECE: usize = 2048;

/// A model made ready to predict many rows.
pub struct Scorer<'a> {
    model: &'a Model,
    predictor: Predictor,
    /// Prepared when contributions are first asked for: it is larger than the model.
    explainer: OnceLock<Explainer<'a>>,
    pool: Pool,
    first: Option<usize>,
}

impl<'a> Scorer<'a> {
    /// Compiles the model. `first` takes the first rounds alone; `threads` is 0 for one per core.
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

    /// The threads.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How many trees are used.
    pub fn trees(&self) -> usize {
        self.model.first_members(self.first).len()
    }

    /// Raw scores, row by row one per output.
    pub fn raw(&self, chunk: &Chunk) -> Result<Vec<f64>> {
        let outputs = self.model.outputs();
        self.pieces(chunk, outputs, |block, raw| self.predictor.raw(block, self.first, raw))
    }

    /// Predictions: numbers, or classes with their probabilities.
    pub fn predictions(&self, chunk: &Chunk) -> Result<Predictions> {
        let raw = self.raw(chunk)?;
        let pieces: Vec<&[f64]> = raw.chunks(PIECE * self.model.outputs().max(1)).collect();
        let mut parts =
            self.pool.map(pieces.len(), |piece| self.model.predictions(pieces[piece])).into_iter();
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

    /// Leaf indices, row by row one per tree.
    pub fn leaves(&self, chunk: &Chunk) -> Result<Vec<u32>> {
        let trees = self.trees();
        self.pieces(chunk, trees, |block, leaves| self.predictor.leaves(block, self.first, leaves))
    }

    /// PredictionKind each feature adds to each raw score, and last the score expected of a row nothing is
    /// known of; row by row, output by output. They sum to the raw score.
    pub fn contributions(&self, chunk: &Chunk) -> Result<Vec<f64>> {
        let explainer = match self.explainer.get() {
            Some(explainer) => explainer,
            None => {
                let made = Explainer::new(self.model, self.first).map_err(run_error)?;
                self.explainer.get_or_init(|| made)
            }
        };
        let width = self.model.outputs() * (self.model.schema.features.len() + 1);
        self.pieces(chunk, width, |block, contributions| {
            explainer.contributions(block, contributions)
        })
    }

    /// Runs `work` over pieces of the rows; each writes its own part of the result, `width` values
    /// a row.
    fn pieces<T: Send + Clone + Default, E: Display + Send>(
        &self,
        chunk: &Chunk,
        width: usize,
        work: impl Fn(&Block<'_>, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> Result<Vec<T>> {
        let mut all = vec![T::default(); chunk.rows * width];
        let mut parts: Vec<_> =
            all.chunks_mut((PIECE * width).max(1)).map(|part| (part, Ok(()))).collect();
        self.pool.each(&mut parts, |piece, (part, done)| {
            let range = piece * PIECE..((piece + 1) * PIECE).min(chunk.rows);
            let columns: Vec<ColumnView<'_>> =
                chunk.columns.iter().map(|column| slice(column, range.clone())).collect();
            *done = work(&Block { columns: &columns, rows: range.len() }, part);
        });
        parts.into_iter().try_for_each(|(_, done)| done.map_err(run_error))?;
        Ok(all)
    }
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
