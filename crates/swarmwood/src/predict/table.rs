//! Predictions as a CSV table: one header, one line per row, memory for one chunk.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::pool::even_ranges;
use swarmwood_model::predict::Predictions;
use swarmwood_model::{Body, Model, TargetKind};

use super::Scorer;
use super::reasons::Reasons;
use crate::error::Violation;
use crate::read::{self, ReadOptions, Source};
use crate::{Error, Result};

/// What the table contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PredictionColumns {
    /// The prediction and, for classes, their probabilities.
    #[default]
    Prediction,
    /// Raw scores.
    Raw,
    /// The leaf each row reaches in each tree.
    Leaves,
    /// The contributions of the features to the raw scores.
    Contributions,
}

/// What to predict, and the rows.
#[derive(Debug, Clone)]
pub struct PredictionRequest<'a> {
    /// The rows.
    pub source: &'a Source,
    /// How the rows are read.
    pub options: &'a ReadOptions,
    /// What the table contains.
    pub what: PredictionColumns,
    /// How many features with the largest contributions follow the columns of each row.
    pub reasons: usize,
    /// Whether names that a spreadsheet would take for formulas are made harmless.
    pub safe_csv: bool,
}

/// Statistics of a prediction run.
#[derive(Debug, Clone, Default)]
pub struct PredictionReport {
    /// Number of predicted rows.
    pub rows: u64,
    /// Seconds spent reading.
    pub read_seconds: f64,
    /// Seconds spent predicting.
    pub predict_seconds: f64,
    /// Seconds spent writing.
    pub write_seconds: f64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Predicts every row of the source and writes the table to `out`, which messages call `name`.
/// Before each chunk `go_on` is asked whether to.
pub fn write_csv(
    scorer: &Scorer<'_>,
    request: &PredictionRequest<'_>,
    out: &mut dyn Write,
    name: &Path,
    go_on: &dyn Fn() -> bool,
) -> Result<PredictionReport> {
    check(scorer, request.what)?;
    let fault = |source: io::Error| Error::Write { path: name.to_path_buf(), source };
    let model = scorer.model();
    let labels = class_labels(model, request.safe_csv);
    let mut report = PredictionReport::default();
    let started = Instant::now();

    // The header is written with the first rows, so that a source that cannot be read leaves no
    // output at all.
    let mut header = Some(header(scorer, request));
    let names = feature_labels(model, request.safe_csv);
    let may_go_on = || {
        if go_on() { Ok(()) } else { Err(Error::Run("interrupted; nothing was kept".to_string())) }
    };
    let mut each = |chunk: &Chunk| {
        may_go_on()?;
        let begun = Instant::now();
        let values = ChunkResults::compute(scorer, request.what, chunk)?;
        let reasons = match request.reasons {
            0 => None,
            count => Some(Reasons::new(scorer, chunk, count)?),
        };
        let labels = RowLabels { classes: &labels, features: &names, reasons: reasons.as_ref() };
        report.predict_seconds += begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        if let Some(header) = header.take() {
            out.write_all(header.as_bytes()).map_err(fault)?;
        }
        let ranges = even_ranges(chunk.rows, scorer.pool().threads());
        for text in
            scorer.pool().map(ranges.len(), |range| values.text(ranges[range].clone(), &labels))
        {
            out.write_all(text.as_bytes()).map_err(fault)?;
        }
        report.rows += chunk.rows as u64;
        report.write_seconds += begun.elapsed().as_secs_f64();
        Ok(())
    };
    let warnings = read::scoring(request.source, &model.schema, request.options, &mut each)?;
    // The rows may have ended early because their sender was interrupted too.
    may_go_on()?;
    if let Some(header) = header.take() {
        out.write_all(header.as_bytes()).map_err(fault)?;
    }
    out.flush().map_err(fault)?;
    report.read_seconds =
        started.elapsed().as_secs_f64() - report.predict_seconds - report.write_seconds;
    report.warnings = warnings;
    Ok(report)
}

/// Refuses requests that need trees if the model is linear.
fn check(scorer: &Scorer<'_>, what: PredictionColumns) -> Result<()> {
    if matches!(scorer.model().body, Body::Trees(_)) {
        return Ok(());
    }
    let needs_trees =
        [("leaves", what == PredictionColumns::Leaves), ("first", scorer.first.is_some())];
    let violations: Vec<Violation> = needs_trees
        .into_iter()
        .filter(|(_, requested)| *requested)
        .map(|(name, _)| Violation::new(name, "needs trees, but the model is linear"))
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

/// The results of one chunk of rows.
enum ChunkResults {
    Predictions(Predictions),
    /// Numbers with both ends of their intervals.
    Intervals(Vec<f64>, Vec<f64>),
    /// Classes and their probabilities, and row by row whether each class is in the set.
    Sets(Vec<u32>, Vec<f64>, Vec<bool>),
    Numbers {
        width: usize,
        values: Vec<f64>,
    },
    Leaves {
        width: usize,
        values: Vec<u32>,
    },
}

impl ChunkResults {
    fn compute(
        scorer: &Scorer<'_>,
        what: PredictionColumns,
        chunk: &Chunk,
    ) -> Result<ChunkResults> {
        let rows = chunk.rows.max(1);
        let numbers =
            |values: Vec<f64>| ChunkResults::Numbers { width: values.len() / rows, values };
        Ok(match what {
            PredictionColumns::Prediction => ChunkResults::predictions(scorer, chunk)?,
            PredictionColumns::Raw => numbers(scorer.raw(chunk)?),
            PredictionColumns::Contributions => numbers(scorer.contributions(chunk)?),
            PredictionColumns::Leaves => {
                let values = scorer.leaves(chunk)?;
                ChunkResults::Leaves { width: values.len() / rows, values }
            }
        })
    }

    /// Predictions with the intervals or sets of the model, if it has any.
    fn predictions(scorer: &Scorer<'_>, chunk: &Chunk) -> Result<ChunkResults> {
        let predictions = scorer.predictions(chunk)?;
        Ok(match (predictions, scorer.intervals(chunk)?) {
            (Predictions::Numbers(numbers), Some(ends)) => ChunkResults::Intervals(numbers, ends),
            (Predictions::Classes { classes, probabilities }, _)
                if scorer.class_sets().is_some() =>
            {
                let rows = probabilities.chunks_exact(class_names(scorer.model()).len().max(1));
                let sets = rows.flat_map(|row| scorer.model().class_set(row).unwrap_or_default());
                let sets = sets.collect();
                ChunkResults::Sets(classes, probabilities, sets)
            }
            (predictions, _) => ChunkResults::Predictions(predictions),
        })
    }

    /// The lines of some rows. Writing to a `String` cannot fail, so its results are dropped.
    fn text(&self, rows: std::ops::Range<usize>, row_labels: &RowLabels<'_>) -> String {
        let labels = row_labels.classes;
        let mut text = String::with_capacity(rows.len() * 24);
        for row in rows {
            match self {
                ChunkResults::Predictions(Predictions::Numbers(numbers)) => {
                    let _ = write!(text, "{}", numbers[row]);
                }
                ChunkResults::Intervals(numbers, ends) => {
                    let _ =
                        write!(text, "{},{},{}", numbers[row], ends[2 * row], ends[2 * row + 1]);
                }
                ChunkResults::Predictions(Predictions::Classes { classes, probabilities }) => {
                    push_classes(&mut text, labels, (classes[row], probabilities), row);
                }
                ChunkResults::Sets(classes, probabilities, sets) => {
                    push_classes(&mut text, labels, (classes[row], probabilities), row);
                    let set = &sets[row * labels.len()..(row + 1) * labels.len()];
                    let names = labels.iter().zip(set).filter(|(_, is_in)| **is_in);
                    let names: Vec<&str> = names.map(|(label, _)| label.plain.as_str()).collect();
                    let _ = write!(text, ",{}", field(&names.join(";")));
                }
                ChunkResults::Numbers { width, values } => {
                    join(&mut text, &values[row * width..(row + 1) * width])
                }
                ChunkResults::Leaves { width, values } => {
                    join(&mut text, &values[row * width..(row + 1) * width])
                }
            }
            row_labels.push_reasons(&mut text, row);
            text.push('\n');
        }
        text
    }
}

/// The label of a row and the probabilities of all classes.
fn push_classes(
    text: &mut String,
    labels: &[ClassLabel],
    (class, probabilities): (u32, &[f64]),
    row: usize,
) {
    text.push_str(labels.get(class as usize).map_or("", |label| label.field.as_str()));
    for probability in &probabilities[row * labels.len()..(row + 1) * labels.len()] {
        let _ = write!(text, ",{probability}");
    }
}

/// What is written beside the numbers of a row.
struct RowLabels<'a> {
    classes: &'a [ClassLabel],
    /// The names of features as CSV fields.
    features: &'a [String],
    reasons: Option<&'a Reasons>,
}

impl RowLabels<'_> {
    /// The features that contribute most, and how much.
    fn push_reasons(&self, text: &mut String, row: usize) {
        for reason in self.reasons.map_or(&[][..], |reasons| reasons.of_row(row)) {
            let _ = match reason {
                Some((feature, contribution)) => {
                    write!(text, ",{},{contribution}", self.features[*feature])
                }
                None => write!(text, ",,"),
            };
        }
    }
}

/// The name of a class.
struct ClassLabel {
    /// As it is in a set.
    plain: String,
    /// As a CSV field.
    field: String,
}

fn join<T: std::fmt::Display>(text: &mut String, values: &[T]) {
    for (position, value) in values.iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{value}");
    }
}

/// The names of the classes; empty for regression.
fn class_labels(model: &Model, safe: bool) -> Vec<ClassLabel> {
    let label = |name: &String| {
        let plain = if safe { without_formula(name).into_owned() } else { name.clone() };
        ClassLabel { field: field(&plain), plain }
    };
    class_names(model).iter().map(label).collect()
}

/// The names of the features as CSV fields.
fn feature_labels(model: &Model, safe: bool) -> Vec<String> {
    let names = model.schema.features.iter().map(|feature| feature.name.as_str());
    let label = |name: &str| if safe { field(&without_formula(name)) } else { field(name) };
    names.map(label).collect()
}

/// A text with an apostrophe before it if a spreadsheet would take it for a formula. Numbers stay
/// as they are.
fn without_formula(text: &str) -> Cow<'_, str> {
    let is_formula =
        text.trim_start().starts_with(['=', '+', '-', '@']) || text.starts_with(['\t', '\r', '\n']);
    if is_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn class_names(model: &Model) -> &[String] {
    match &model.schema.target.kind {
        TargetKind::Classes(names) => names,
        TargetKind::Number => &[],
    }
}

/// The header of the table.
fn header(scorer: &Scorer<'_>, request: &PredictionRequest<'_>) -> String {
    let model = scorer.model();
    let names = class_names(model);
    // Only a model with several raw scores needs names for them.
    let outputs: Vec<String> = match model.outputs() {
        1 => vec![String::new()],
        _ => names.iter().map(|name| format!("_{name}")).collect(),
    };
    let mut columns: Vec<String> = match request.what {
        PredictionColumns::Prediction => {
            let probabilities = names.iter().map(|name| format!("probability_{name}"));
            let mut columns: Vec<String> =
                ["prediction".to_string()].into_iter().chain(probabilities).collect();
            if scorer.interval().is_some() {
                columns.extend(["lower".to_string(), "upper".to_string()]);
            }
            columns.extend(scorer.class_sets().map(|_| "set".to_string()));
            columns
        }
        PredictionColumns::Raw => outputs.iter().map(|output| format!("raw{output}")).collect(),
        PredictionColumns::Leaves => {
            (0..scorer.trees()).map(|tree| format!("leaf_{tree}")).collect()
        }
        PredictionColumns::Contributions => {
            let of = |output: &String| -> Vec<String> {
                let features = model.schema.features.iter();
                let names =
                    features.map(|feature| format!("contribution{output}_{}", feature.name));
                names.chain([format!("expected{output}")]).collect()
            };
            outputs.iter().flat_map(of).collect()
        }
    };
    for at in 1..=request.reasons {
        columns.extend([format!("reason_{at}"), format!("reason_contribution_{at}")]);
    }
    let fields: Vec<String> = columns.iter().map(|column| field(column)).collect();
    fields.join(",") + "\n"
}

/// A CSV field, quoted where it must be (RFC 4180).
pub(super) fn field(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if plain { text.to_string() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
