//! The columns as coordinate descent needs them: numbers with mean zero and spread one, levels as
//! codes.

use swarmwood_model::{Kind, Schema};

use super::LinearDataError;
use crate::data::{Chunk, Column};
use crate::stats::message::ColumnScale;

/// Rows whose scores are updated at a time.
const BLOCK: usize = 1024;

/// The rows of one data set, ready for the descent.
pub(super) struct Design<'a> {
    pub(super) rows: usize,
    pub(super) features: Vec<DesignColumn<'a>>,
}

/// One column.
pub(super) enum DesignColumn<'a> {
    /// Standardised numbers; a missing value is zero, so that it adds nothing. Empty if the column
    /// does not vary.
    Number(Vec<f32>),
    /// Codes of levels.
    Category(&'a [u32]),
}

/// Where a feature's coefficients start; one entry more than there are features.
pub(crate) fn starts(schema: &Schema) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for feature in &schema.features {
        end += match &feature.kind {
            Kind::Number => 1,
            Kind::Category { levels } => levels.len(),
        };
        starts.push(end);
    }
    starts
}

/// How the numbers of the training rows are standardised.
pub(super) fn scales(chunk: &Chunk) -> Vec<ColumnScale> {
    let scale = |column: &Column| match column {
        Column::Number(values) => scale_of(values, &chunk.weight),
        Column::Category(_) => ColumnScale { centre: 0.0, spread: 0.0 },
    };
    chunk.columns.iter().map(scale).collect()
}

/// Weighted mean and standard deviation of the values that are there. They are taken as shares of
/// the largest one, so that squares of huge values do not overflow.
fn scale_of(values: &[f64], weight: &[f64]) -> ColumnScale {
    let weight_of = |i: usize| weight.get(i).copied().unwrap_or(1.0);
    let present =
        || values.iter().enumerate().filter(|(i, v)| v.is_finite() && weight_of(*i) > 0.0);
    let largest = present().map(|(_, v)| v.abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return ColumnScale { centre: 0.0, spread: 0.0 };
    }

    let total: f64 = present().map(|(i, _)| weight_of(i)).sum();
    let mean = present().map(|(i, v)| weight_of(i) * (v / largest)).sum::<f64>() / total;
    let variance =
        present().map(|(i, v)| weight_of(i) * (v / largest - mean).powi(2)).sum::<f64>() / total;
    // Equal values leave a spread of a few roundings: that is no variation.
    let spread = if variance.sqrt() > 1e-13 { variance.sqrt() * largest } else { 0.0 };
    ColumnScale { centre: mean * largest, spread }
}

fn standardise(scale: &ColumnScale, values: &[f64]) -> Vec<f32> {
    let standard =
        |v: &f64| if v.is_finite() { ((v - scale.centre) / scale.spread) as f32 } else { 0.0 };
    values.iter().map(standard).collect()
}

impl<'a> Design<'a> {
    /// The columns of a data set with these scales.
    pub(super) fn new(chunk: &'a Chunk, scales: &[ColumnScale]) -> Self {
        let features = chunk.columns.iter().zip(scales).map(|(column, scale)| match column {
            Column::Number(values) if scale.spread > 0.0 => {
                DesignColumn::Number(standardise(scale, values))
            }
            Column::Number(_) => DesignColumn::Number(Vec::new()),
            Column::Category(codes) => DesignColumn::Category(codes),
        });
        Design { rows: chunk.rows, features: features.collect() }
    }

    /// Adds a linear function of standardised features to the scores, block by block, so that the
    /// scores stay in the cache while the columns pass.
    pub(super) fn add(&self, starts: &[usize], coefficients: &[f64], score: &mut [f64]) {
        for (block, score) in score.chunks_mut(BLOCK).enumerate() {
            let rows = block * BLOCK..block * BLOCK + score.len();
            for (f, feature) in self.features.iter().enumerate() {
                let own = &coefficients[starts[f]..starts[f + 1]];
                match feature {
                    DesignColumn::Number(values) if values.is_empty() || own[0] == 0.0 => {}
                    DesignColumn::Number(values) => {
                        for (score, x) in score.iter_mut().zip(&values[rows.clone()]) {
                            *score += own[0] * f64::from(*x);
                        }
                    }
                    DesignColumn::Category(codes) => {
                        for (score, &code) in score.iter_mut().zip(&codes[rows.clone()]) {
                            *score += own.get(code as usize).copied().unwrap_or(0.0);
                        }
                    }
                }
            }
        }
    }
}

/// Whether the columns are those of the schema.
pub(super) fn check(chunk: &Chunk, schema: &Schema) -> Result<(), LinearDataError> {
    let (found, expected) = (chunk.columns.len(), schema.features.len());
    if found != expected {
        return Err(LinearDataError::Columns { found, expected });
    }
    for (column, feature) in chunk.columns.iter().zip(&schema.features) {
        let (found, fits) = match column {
            Column::Number(values) => (values.len(), feature.kind == Kind::Number),
            Column::Category(codes) => (codes.len(), feature.kind != Kind::Number),
        };
        if !fits {
            return Err(LinearDataError::Kind { name: feature.name.clone() });
        }
        if found != chunk.rows {
            return Err(LinearDataError::Length {
                what: format!("column '{}'", feature.name),
                found,
                rows: chunk.rows,
            });
        }
    }
    Ok(())
}
