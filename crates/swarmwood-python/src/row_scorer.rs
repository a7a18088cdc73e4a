//! Predictions of single rows, without the cost of a table.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use swarmwood::learn::data::{Chunk, Column};
use swarmwood::model::{FeatureSource, FeatureValue, Kind, MISSING, Model, Prediction};
use swarmwood::{Error, Result};

use crate::buffer;
use crate::errors::guarded;

/// A model for one row at a time.
#[pyclass(module = "swarmwood._core", name = "RowScorer", frozen)]
pub struct PyRowScorer {
    model: Arc<Model>,
    /// By feature, for categories: the codes of the levels.
    codes: Vec<Option<HashMap<String, u32>>>,
}

impl PyRowScorer {
    /// A scorer; models with dates need tables.
    pub fn new(model: Arc<Model>) -> PyResult<PyRowScorer> {
        let sources = model.schema.sources();
        if sources.iter().any(|source| matches!(source, FeatureSource::Date(..))) {
            let message = "the model has columns of dates, which only predict expands";
            return Err(PyValueError::new_err(message));
        }
        let codes = |kind: &Kind| match kind {
            Kind::Number => None,
            Kind::Category { levels } => {
                let codes = levels.iter().enumerate();
                Some(codes.map(|(code, level)| (level.clone(), code as u32)).collect())
            }
        };
        let codes = model.schema.features.iter().map(|feature| codes(&feature.kind)).collect();
        Ok(PyRowScorer { model, codes })
    }

    /// The values of a row: an array of numbers, or a sequence of numbers, texts and None.
    fn values(&self, row: &Bound<'_, PyAny>) -> PyResult<Vec<FeatureValue>> {
        let is_numbers = self.codes.iter().all(Option::is_none);
        if is_numbers && let Ok(column) = buffer::single_row(row) {
            return match column.len() == self.codes.len() {
                true => Ok(column.into_iter().map(FeatureValue::Number).collect()),
                false => Err(self.wrong_length(column.len())),
            };
        }
        let items = row.try_iter()?.zip(&self.codes).map(|(item, codes)| value(&item?, codes));
        let values = items.collect::<PyResult<Vec<FeatureValue>>>()?;
        let given = row.len()?;
        if given == self.codes.len() { Ok(values) } else { Err(self.wrong_length(given)) }
    }

    fn wrong_length(&self, given: usize) -> PyErr {
        let features = self.codes.len();
        let message = format!("the row has {given} values, but the model has {features} features");
        PyValueError::new_err(message)
    }
}

/// One value of a sequence.
fn value(item: &Bound<'_, PyAny>, codes: &Option<HashMap<String, u32>>) -> PyResult<FeatureValue> {
    let Some(codes) = codes else {
        let number = if item.is_none() { f64::NAN } else { item.extract()? };
        return Ok(FeatureValue::Number(number));
    };
    let text = match item.cast::<PyString>() {
        Ok(text) => text.to_string(),
        // Numbers and truth values are levels by their text.
        Err(_) => match item.extract::<f64>() {
            Ok(number) => number.to_string(),
            Err(_) => item.str()?.to_string().to_lowercase(),
        },
    };
    Ok(FeatureValue::Category(codes.get(&text).copied().unwrap_or(MISSING)))
}

/// A number, or a list of numbers or probabilities.
#[derive(IntoPyObject)]
pub enum RowPrediction {
    /// The predicted number, or the probability of the second of two classes.
    Number(f64),
    /// The probabilities of three or more classes, or the numbers of several columns.
    List(Vec<f64>),
}

#[pymethods]
impl PyRowScorer {
    /// The prediction of a row.
    fn __call__(&self, row: &Bound<'_, PyAny>) -> PyResult<RowPrediction> {
        guarded(|| {
            let values = self.values(row)?;
            let raw = self.model.raw_row(&values, None);
            let raw = raw.map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(match self.model.prediction(&raw) {
                Prediction::Number(number) => RowPrediction::Number(number),
                Prediction::Numbers(numbers) => RowPrediction::List(numbers),
                Prediction::Class { probabilities, .. } => match probabilities.as_slice() {
                    [_, second] => RowPrediction::Number(*second),
                    _ => RowPrediction::List(probabilities),
                },
            })
        })
    }
}

/// The raw scores of few rows, for which compiling the model would take longest.
pub fn raw_of_few(model: &Model, chunk: &Chunk) -> Result<Vec<f64>> {
    let mut raw = Vec::with_capacity(chunk.rows * model.outputs());
    for row in 0..chunk.rows {
        let value = |column: &Column| match column {
            Column::Number(values) => FeatureValue::Number(values[row]),
            Column::Category(codes) => FeatureValue::Category(codes[row]),
        };
        let values: Vec<FeatureValue> = chunk.columns.iter().map(value).collect();
        let scores = model.raw_row(&values, None);
        raw.extend(scores.map_err(|error| Error::Run(error.to_string()))?);
    }
    Ok(raw)
}
