//! The columns as the descent sees them: numbers with mean zero and spread one, levels as codes.

use swarmwood_model::{Kind, LinearFunction, LinearTerm, Schema};

use super::Error;
use crate::data::{Chunk, Column};

/// Rows whose scores are worked on at a time.
const BLOCK: usize = 1024;

/// The rows of one data set, ready for the descent.
pub(super) struct Design<'a> {
    pub(super) rows: usize,
    pub(super) features: Vec<Feature<'a>>,
}

/// One column.
pub(super) enum Feature<'a> {
    /// Standardised numbers; a missing value is zero, so that it adds nothing. Empty if the column
    /// does not vary.
    Number(Vec<f32>),
    /// Codes of levels.
    Category(&'a [u32]),
}

/// What each feature's coefficients are and how numbers were standardised.
pub(super) struct Terms {
    /// Where a feature's coefficients start; one entry more than there are features.
    pub(super) starts: Vec<usize>,
    scales: Vec<Scale>,
}

/// A number becomes `(x - centre) / spread`.
#[derive(Debug, Clone, Copy)]
struct Scale {
    centre: f64,
    /// Zero if the column does not vary.
    spread: f64,
}

impl Terms {
    /// Measures the training rows.
    pub(super) fn new(chunk: &Chunk, schema: &Schema) -> Result<Terms, Error> {
        check(chunk, schema)?;
        let mut starts = vec![0];
        let mut scales = Vec::new();
        let mut end = 0;
        for (column, feature) in chunk.columns.iter().zip(&schema.features) {
            end += match &feature.kind {
                Kind::Number => 1,
                Kind::Category { levels } => levels.len(),
            };
            starts.push(end);
            scales.push(match column {
                Column::Number(values) => Scale::new(values, &chunk.weight),
                Column::Category(_) => Scale { centre: 0.0, spread: 0.0 },
            });
        }
        Ok(Terms { starts, scales })
    }

    /// Number of coefficients.
    pub(super) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Lays out the columns of a data set with these scales.
    pub(super) fn design<'a>(
        &self,
        chunk: &'a Chunk,
        schema: &Schema,
    ) -> Result<Design<'a>, Error> {
        check(chunk, schema)?;
        let features = chunk.columns.iter().zip(&self.scales).map(|(column, scale)| match column {
            Column::Number(values) if scale.spread > 0.0 => Feature::Number(scale.apply(values)),
            Column::Number(_) => Feature::Number(Vec::new()),
            Column::Category(codes) => Feature::Category(codes),
        });
        Ok(Design { rows: chunk.rows, features: features.collect() })
    }

    /// Coefficients of standardised numbers as weights of raw ones.
    pub(super) fn unscaled(&self, coefficients: &[f64], schema: &Schema) -> LinearFunction {
        let terms = schema.features.iter().enumerate().map(|(f, feature)| {
            let own = &coefficients[self.starts[f]..self.starts[f + 1]];
            match feature.kind {
                Kind::Number => {
                    let Scale { centre, spread } = self.scales[f];
                    let weight = if spread > 0.0 { own[0] / spread } else { 0.0 };
                    LinearTerm::Number { weight, centre }
                }
                Kind::Category { .. } => LinearTerm::Category { weights: own.to_vec() },
            }
        });
        LinearFunction { terms: terms.collect() }
    }
}

impl Scale {
    /// Weighted mean and standard deviation of the values that are there. They are taken as shares
    /// of the largest one, so that squares of huge values do not overflow.
    fn new(values: &[f64], weight: &[f64]) -> Scale {
        let weight_of = |i: usize| weight.get(i).copied().unwrap_or(1.0);
        let present =
            || values.iter().enumerate().filter(|(i, v)| v.is_finite() && weight_of(*i) > 0.0);
        let largest = present().map(|(_, v)| v.abs()).fold(0.0, f64::max);
        if largest == 0.0 {
            return Scale { centre: 0.0, spread: 0.0 };
        }
        let total: f64 = present().map(|(i, _)| weight_of(i)).sum();
        let mean = present().map(|(i, v)| weight_of(i) * (v / largest)).sum::<f64>() / total;
        let variance =
            present().map(|(i, v)| weight_of(i) * (v / largest - mean).powi(2)).sum::<f64>()
                / total;
        // Equal values leave a spread of a few roundings: that is no variation.
        let spread = if variance.sqrt() > 1e-13 { variance.sqrt() * largest } else { 0.0 };
        Scale { centre: mean * largest, spread }
    }

    fn apply(&self, values: &[f64]) -> Vec<f32> {
        let standard =
            |v: &f64| if v.is_finite() { ((v - self.centre) / self.spread) as f32 } else { 0.0 };
        values.iter().map(standard).collect()
    }
}

impl Design<'_> {
    /// Adds a linear function of standardised features to the scores, block by block, so that the
    /// scores stay in the cache while the columns pass.
    pub(super) fn add(&self, terms: &Terms, coefficients: &[f64], score: &mut [f64]) {
        for (block, score) in score.chunks_mut(BLOCK).enumerate() {
            let rows = block * BLOCK..block * BLOCK + score.len();
            for (f, feature) in self.features.iter().enumerate() {
                let own = &coefficients[terms.starts[f]..terms.starts[f + 1]];
                match feature {
                    Feature::Number(values) if values.is_empty() || own[0] == 0.0 => {}
                    Feature::Number(values) => {
                        for (score, x) in score.iter_mut().zip(&values[rows.clone()]) {
                            *score += own[0] * f64::from(*x);
                        }
                    }
                    Feature::Category(codes) => {
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
fn check(chunk: &Chunk, schema: &Schema) -> Result<(), Error> {
    let (found, expected) = (chunk.columns.len(), schema.features.len());
    if found != expected {
        return Err(Error::Columns { found, expected });
    }
    for (column, feature) in chunk.columns.iter().zip(&schema.features) {
        let (found, fits) = match column {
            Column::Number(values) => (values.len(), feature.kind == Kind::Number),
            Column::Category(codes) => (codes.len(), feature.kind != Kind::Number),
        };
        if !fits {
            return Err(Error::Kind { name: feature.name.clone() });
        }
        if found != chunk.rows {
            return Err(Error::Length {
                what: format!("column '{}'", feature.name),
                found,
                rows: chunk.rows,
            });
        }
    }
    Ok(())
}
