//! Compares an export, run by the program it is for, with the model.

use std::path::Path;

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::export::{
    ExportInput, ExportOptions, InputPrecision, Tolerance, Verification, export, probe_rows,
};
use swarmwood_model::{Body, FeatureValue, Model, Prediction};

use super::runtime::{RunFiles, RunOutcome, run};
use super::{ExportRequest, export_error};
use crate::error::Violation;
use crate::message::Message;
use crate::read::{self, ReadOptions, Source};
use crate::{Error, Result};

/// Predictions pass through exponential functions, of which every runtime has its own.
const PREDICTION_TOLERANCE: Tolerance = Tolerance { absolute: 1e-300, relative: 1e-12 };

/// At most this number of rows of a file are compared.
const MAX_DATA_ROWS: usize = 100_000;

/// How an export is verified.
#[derive(Debug, Clone, Copy)]
pub struct VerifyRequest<'a> {
    /// Rows to compare besides the neighbours of thresholds.
    pub data: Option<(&'a Source, &'a ReadOptions)>,
    /// The Python interpreter that runs the formats of Python packages.
    pub python: &'a Path,
    /// Whether an export that cannot be run here is refused.
    pub is_required: bool,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyReport {
    /// Whether the export was run.
    pub outcome: VerifyOutcome,
    /// How far raw scores may be from the model's.
    pub tolerance: Tolerance,
}

/// Whether an export was run, and how far its scores are from the model's.
#[derive(Debug, Clone, PartialEq)]
pub enum VerifyOutcome {
    /// It was run, and all differences are within the tolerance.
    Verified {
        /// Number of rows that were compared.
        rows: usize,
        /// The largest difference of raw scores.
        raw: f64,
        /// The largest difference of predicted numbers or probabilities, where the export has them.
        prediction: Option<f64>,
    },
    /// It could not be run; the reason.
    Unavailable(String),
}

/// Runs an export and compares it with the model. An export that cannot be run is an error if its
/// verification is required.
pub fn verify(
    request: &ExportRequest<'_>,
    how: &VerifyRequest<'_>,
    warnings: &mut Vec<String>,
) -> Result<VerifyReport> {
    let report = verify_if_possible(request, how, warnings)?;
    match &report.outcome {
        VerifyOutcome::Unavailable(reason) if how.is_required => {
            let message = format!(
                "the export as {} was not written, because it was not verified: {reason}; ",
                request.format.name()
            );
            let message = Message::from(message).text("to write it all the same, use ");
            let message = message.option("verify_if_possible");
            Err(Error::Parameters(vec![Violation::new("verify", message)]))
        }
        _ => Ok(report),
    }
}

fn verify_if_possible(
    request: &ExportRequest<'_>,
    how: &VerifyRequest<'_>,
    warnings: &mut Vec<String>,
) -> Result<VerifyReport> {
    let (model, format) = (request.model, request.format);
    let input = ExportInput::new(model).with_file_stem("export");
    let error = |error| export_error(error, request);
    let Some(verification) = format.verification(&input, &request.options) else {
        let reason = format!("the format '{}' is not made to be run", format.name());
        let outcome = VerifyOutcome::Unavailable(reason);
        return Ok(VerifyReport { outcome, tolerance: Tolerance::EXACT });
    };

    let with_override =
        |options: ExportOptions, (name, value): &(&str, &str)| options.with(*name, *value);
    let options = verification.overrides.iter().fold(request.options.clone(), with_override);
    let bytes = export(format, &input, &options).map_err(error)?;
    let companions = format.companions(&input, &options).map_err(error)?;
    let extension = format.extensions().first().copied().unwrap_or_default();
    let files = RunFiles { extension, bytes: &bytes, companions: &companions };

    let mut rows = probe_rows(model, &verification.inputs);
    if let Some((source, options)) = how.data {
        data_rows(model, &verification.inputs, source, options, &mut rows, warnings)?;
    }
    let tolerance = verification.tolerance;
    match run(&verification.harness, &files, model, &rows, how.python)? {
        RunOutcome::Unavailable(reason) => {
            Ok(VerifyReport { outcome: VerifyOutcome::Unavailable(reason), tolerance })
        }
        RunOutcome::Numbers(found) => {
            let outcome = compare(request, &verification, &rows, &found)?;
            Ok(VerifyReport { outcome, tolerance })
        }
    }
}

/// The first rows of a file, as the runtime sees them.
fn data_rows(
    model: &Model,
    inputs: &InputPrecision,
    source: &Source,
    options: &ReadOptions,
    rows: &mut Vec<Vec<FeatureValue>>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let limit = rows.len() + MAX_DATA_ROWS;
    let found = read::scoring(source, &model.schema, options, &mut |chunk: &Chunk| {
        for row in 0..chunk.rows.min(limit - rows.len().min(limit)) {
            let value = |(feature, column): (usize, &Column)| match column {
                Column::Number(values) => FeatureValue::Number(inputs.round(feature, values[row])),
                Column::Category(codes) => FeatureValue::Category(codes[row]),
            };
            rows.push(chunk.columns.iter().enumerate().map(value).collect());
        }
        Ok(())
    })?;
    warnings.extend(found);
    if rows.len() == limit {
        warnings.push(format!("the export was compared on the first {MAX_DATA_ROWS} rows only"));
    }
    Ok(())
}

/// Numbers beyond which a linear function may overflow on the way to its score.
const LARGE_INPUT: f64 = 1e100;
const LARGE_SCORE: f64 = 1e300;

/// Whether a linear model may have bounded its score to finite numbers, which exports do not.
fn is_bounded(model: &Model, row: &[FeatureValue], raw: &[f64]) -> bool {
    let is_large = |value: &FeatureValue| match value {
        FeatureValue::Number(number) => number.abs() > LARGE_INPUT,
        FeatureValue::Category(_) => false,
    };
    let is_linear = matches!(model.body, Body::Linear(_));
    is_linear && (row.iter().any(is_large) || raw.iter().any(|score| score.abs() > LARGE_SCORE))
}

/// The largest differences; one beyond the tolerance is an error with its row.
fn compare(
    request: &ExportRequest<'_>,
    verification: &Verification,
    rows: &[Vec<FeatureValue>],
    found: &[Vec<f64>],
) -> Result<VerifyOutcome> {
    let (model, name) = (request.model, request.format.name());
    let failure = |what: String| Error::Model {
        path: request.model_path.unwrap_or(request.path).to_path_buf(),
        message: format!("the export as {name} was not written: {what}").into(),
    };
    if rows.len() != found.len() {
        return Err(failure(format!("it printed {} of {} rows", found.len(), rows.len())));
    }

    let (mut worst_raw, mut worst_prediction) = (0.0_f64, None);
    for (row, found) in rows.iter().zip(found) {
        let raw = model.raw_row(row, None).map_err(|error| Error::Run(error.to_string()))?;
        if is_bounded(model, row, &raw) {
            continue;
        }
        let predicted = match model.prediction(&raw) {
            Prediction::Number(number) => vec![number],
            Prediction::Numbers(numbers) => numbers,
            Prediction::Class { probabilities, .. } => probabilities,
        };
        // Beyond the exponential functions, predictions differ by what raw scores may.
        let finite = raw.iter().filter(|score| score.is_finite());
        let largest = finite.fold(0.0_f64, |largest, score| largest.max(score.abs()));
        let given = verification.tolerance.absolute + verification.tolerance.relative * largest;
        let predictions = Tolerance {
            absolute: PREDICTION_TOLERANCE.absolute + 2.0 * given,
            relative: PREDICTION_TOLERANCE.relative + 2.0 * given,
        };
        let raw_count = raw.len();
        let expected = match found.len() == raw_count {
            true => raw,
            false => [raw, predicted].concat(),
        };
        if found.len() != expected.len() {
            return Err(failure(format!("it printed {} numbers for a row", found.len())));
        }
        for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
            let (what, tolerance) = if at < raw_count {
                ("raw score", &verification.tolerance)
            } else {
                ("prediction", &predictions)
            };
            // Where a prediction would be infinite, ours is the largest number.
            let found = &found.clamp(-f64::MAX, f64::MAX);
            if !tolerance.accepts(*expected, *found) {
                return Err(failure(format!(
                    "for the row {} the model's {what} is {expected:?}, the export's {found:?}",
                    describe(model, row)
                )));
            }
            let difference =
                if expected == found || expected.is_nan() { 0.0 } else { (expected - found).abs() };
            if at < raw_count {
                worst_raw = worst_raw.max(difference);
            } else {
                worst_prediction = Some(difference.max(worst_prediction.unwrap_or(0.0)));
            }
        }
    }
    Ok(VerifyOutcome::Verified { rows: rows.len(), raw: worst_raw, prediction: worst_prediction })
}

/// The first values of a row.
fn describe(model: &Model, row: &[FeatureValue]) -> String {
    const SHOWN: usize = 12;
    let value = |(feature, value): (&swarmwood_model::Feature, &FeatureValue)| {
        let name: String = feature.name.chars().take(30).collect();
        let text = match value {
            FeatureValue::Number(number) if number.is_nan() => "missing".to_string(),
            FeatureValue::Number(number) => format!("{number:?}"),
            FeatureValue::Category(code) => {
                feature.kind.levels().get(*code as usize).map_or("missing".into(), Clone::clone)
            }
        };
        format!("{}={text}", name.escape_debug())
    };
    let values: Vec<String> =
        model.schema.features.iter().zip(row).take(SHOWN).map(value).collect();
    let more = if row.len() > SHOWN { ", ..." } else { "" };
    format!("[{}{more}]", values.join(", "))
}
