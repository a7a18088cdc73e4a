//! Predictions of a table, chunk by chunk, as bytes for numpy.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use swarmwood::learn::data::Chunk;
use swarmwood::model::Model;
use swarmwood::model::predict::Predictions;
use swarmwood::predict::Scorer;
use swarmwood::{Error, Result};

use crate::row_scorer::raw_of_few;

/// What a model is to predict.
#[derive(Clone, Copy)]
pub enum PredictionOutput {
    /// Predicted numbers.
    Numbers,
    /// Positions of classes.
    Classes,
    /// Probabilities of classes.
    Probabilities,
    /// Raw scores.
    RawScores,
    /// Leaf indices.
    Leaves,
    /// Contributions of features.
    Contributions,
    /// Ends of prediction intervals.
    Intervals,
    /// Whether classes are in the prediction set.
    Sets,
}

impl PredictionOutput {
    /// Whether it follows from raw scores alone.
    pub fn is_plain(self) -> bool {
        use PredictionOutput::{Classes, Numbers, Probabilities, RawScores};
        matches!(self, Numbers | Classes | Probabilities | RawScores)
    }

    pub fn from_name(name: &str) -> PyResult<PredictionOutput> {
        Ok(match name {
            "numbers" => PredictionOutput::Numbers,
            "classes" => PredictionOutput::Classes,
            "probabilities" => PredictionOutput::Probabilities,
            "raw" => PredictionOutput::RawScores,
            "leaves" => PredictionOutput::Leaves,
            "contributions" => PredictionOutput::Contributions,
            "intervals" => PredictionOutput::Intervals,
            "sets" => PredictionOutput::Sets,
            other => {
                let message = format!("there are no predictions of the kind '{other}'");
                return Err(PyValueError::new_err(message));
            }
        })
    }
}

/// The predictions so far.
#[derive(Default)]
pub struct PredictionBuffer {
    doubles: Vec<f64>,
    numbers: Vec<u32>,
}

impl PredictionBuffer {
    /// Adds the predictions of a chunk.
    pub fn add(
        &mut self,
        scorer: &Scorer<'_>,
        kind: PredictionOutput,
        chunk: &Chunk,
    ) -> Result<()> {
        let unavailable = || Error::Run("the model has no such predictions".to_string());
        match kind {
            PredictionOutput::RawScores => self.doubles.extend(scorer.raw(chunk)?),
            PredictionOutput::Contributions => self.doubles.extend(scorer.contributions(chunk)?),
            PredictionOutput::Leaves => self.numbers.extend(scorer.leaves(chunk)?),
            PredictionOutput::Intervals => {
                self.doubles.extend(scorer.intervals(chunk)?.ok_or_else(unavailable)?);
            }
            _ => match (kind, scorer.predictions(chunk)?) {
                (PredictionOutput::Sets, Predictions::Classes { probabilities, .. })
                    if scorer.class_sets().is_some() =>
                {
                    let model = scorer.model();
                    let classes = model.schema.target.kind.classes().len();
                    for row in probabilities.chunks_exact(classes.max(1)) {
                        let set = model.class_set(row).unwrap_or_default();
                        self.numbers.extend(set.into_iter().map(u32::from));
                    }
                }
                (kind, predictions) => return self.add_predictions(kind, predictions),
            },
        }
        Ok(())
    }

    /// The same for few rows, from their raw scores.
    pub fn add_few(&mut self, model: &Model, kind: PredictionOutput, chunk: &Chunk) -> Result<()> {
        let raw = raw_of_few(model, chunk)?;
        if let PredictionOutput::RawScores = kind {
            self.doubles.extend(raw);
            return Ok(());
        }
        self.add_predictions(kind, model.predictions(&raw))
    }

    fn add_predictions(&mut self, kind: PredictionOutput, predictions: Predictions) -> Result<()> {
        match (kind, predictions) {
            (PredictionOutput::Numbers, Predictions::Numbers(numbers)) => {
                self.doubles.extend(numbers)
            }
            (PredictionOutput::Probabilities, Predictions::Classes { probabilities, .. }) => {
                self.doubles.extend(probabilities);
            }
            (PredictionOutput::Classes, Predictions::Classes { classes, .. }) => {
                self.numbers.extend(classes)
            }
            _ => return Err(Error::Run("the model has no such predictions".to_string())),
        }
        Ok(())
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.doubles.len() + self.numbers.len()
    }

    /// The values as bytes.
    pub fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let length = size_of_val(&self.doubles[..]) + size_of_val(&self.numbers[..]);
        PyByteArray::new_with(py, length, |bytes| {
            let (doubles, numbers) = bytes.split_at_mut(size_of_val(&self.doubles[..]));
            for (bytes, value) in doubles.chunks_exact_mut(8).zip(&self.doubles) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            for (bytes, value) in numbers.chunks_exact_mut(4).zip(&self.numbers) {
                bytes.copy_from_slice(&value.to_ne_bytes());
            }
            Ok(())
        })
    }
}
