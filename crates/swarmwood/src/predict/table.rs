//! Predictions as a table, with memory for one chunk of rows.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::pool::Pool;
use swarmwood_model::Body;

use super::Scorer;
use super::columns::{ChunkResults, PredictionColumn, TableNames};
use super::csv::CsvEncoder;
use crate::error::Violation;
use crate::read::{self, KeepColumns, KeptCells, ReadOptions, Source};
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

/// The file format of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableFormat {
    /// Text.
    #[default]
    Csv,
    /// Parquet, which keeps the types.
    Parquet,
}

impl TableFormat {
    /// The format of a file by its extension: Parquet for `.parquet`, else CSV.
    pub fn of(path: &Path) -> TableFormat {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("parquet") {
            TableFormat::Parquet
        } else {
            TableFormat::Csv
        }
    }
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
    /// Which input columns are copied before those of the predictions.
    pub keep: &'a KeepColumns,
    /// How many features with the largest contributions follow the columns of each row.
    pub reasons: usize,
    /// The file format of the table.
    pub format: TableFormat,
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

/// Turns rows into the bytes of a file.
pub(super) trait TableEncoder {
    /// The next bytes, in pieces, with the rows of a chunk.
    fn encode(&mut self, results: &ChunkResults<'_>, pool: &Pool) -> io::Result<Vec<Vec<u8>>>;

    /// The last bytes.
    fn finish(&mut self) -> io::Result<Vec<u8>>;
}

/// Predicts every row of the source and writes the table to `out`, which messages call `name`.
/// Before each chunk `go_on` is asked whether to.
pub fn write_table(
    scorer: &Scorer<'_>,
    request: &PredictionRequest<'_>,
    out: &mut dyn Write,
    name: &Path,
    go_on: &dyn Fn() -> bool,
) -> Result<PredictionReport> {
    check(scorer, request)?;
    let fault = |source: io::Error| Error::Write { path: name.to_path_buf(), source };
    // The names of copied columns are known once the source is open, and a source that cannot be
    // read leaves no output at all.
    let mut encoder: Option<Box<dyn TableEncoder>> = None;
    let mut report = PredictionReport::default();
    let started = Instant::now();

    let may_go_on = || {
        if go_on() { Ok(()) } else { Err(Error::Run("interrupted; nothing was kept".to_string())) }
    };
    let mut each = |chunk: &Chunk, kept: &KeptCells| {
        may_go_on()?;
        let begun = Instant::now();
        let mut results = ChunkResults::compute(scorer, request, chunk)?;
        results.kept = &kept.columns;
        report.predict_seconds += begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let encoder = match &mut encoder {
            Some(encoder) => encoder,
            none => none.insert(new_encoder(scorer, request, &kept.names, name)?),
        };
        for bytes in encoder.encode(&results, scorer.pool()).map_err(fault)? {
            out.write_all(&bytes).map_err(fault)?;
        }
        report.rows += chunk.rows as u64;
        report.write_seconds += begun.elapsed().as_secs_f64();
        Ok(())
    };
    let schema = &scorer.model().schema;
    let (warnings, kept) =
        read::scoring_keeping(request.source, schema, request.options, request.keep, &mut each)?;

    // The rows may have ended early because their sender was interrupted too.
    may_go_on()?;
    let mut encoder = match encoder {
        Some(encoder) => encoder,
        None => new_encoder(scorer, request, &kept, name)?,
    };
    let last = encoder.finish().map_err(fault)?;
    out.write_all(&last).and_then(|()| out.flush()).map_err(fault)?;
    report.read_seconds =
        started.elapsed().as_secs_f64() - report.predict_seconds - report.write_seconds;
    report.warnings = warnings;
    Ok(report)
}

/// The encoder of the format that was asked for, with these copied columns.
#[cfg_attr(not(feature = "parquet"), allow(unused_variables))]
fn new_encoder(
    scorer: &Scorer<'_>,
    request: &PredictionRequest<'_>,
    kept: &[String],
    name: &Path,
) -> Result<Box<dyn TableEncoder>> {
    let columns = PredictionColumn::all(scorer, request, kept)?;
    let names = TableNames::new(scorer.model(), request.safe_csv);
    match request.format {
        TableFormat::Csv => Ok(Box::new(CsvEncoder::new(columns, names, request.safe_csv))),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => super::parquet::ParquetEncoder::new(columns, names)
            .map(|table| Box::new(table) as Box<dyn TableEncoder>)
            .map_err(|source| Error::Write { path: name.to_path_buf(), source }),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => {
            let message = "is a Parquet file, which this build cannot write; build with the feature \
                           'parquet', or name a CSV file";
            Err(Error::Parameters(vec![Violation::new("out", message)]))
        }
    }
}

/// Refuses requests that need trees if the model is linear, and options of CSV for other formats.
fn check(scorer: &Scorer<'_>, request: &PredictionRequest<'_>) -> Result<()> {
    let mut violations = Vec::new();
    if !matches!(scorer.model().body, Body::Trees(_)) {
        let needs_trees = [
            ("leaves", request.what == PredictionColumns::Leaves),
            ("first", scorer.first.is_some()),
        ];
        let requested = needs_trees.into_iter().filter(|(_, requested)| *requested);
        violations.extend(
            requested.map(|(name, _)| Violation::new(name, "needs trees, but the model is linear")),
        );
    }
    if request.safe_csv && request.format != TableFormat::Csv {
        violations.push(Violation::new("safe-csv", "is for CSV, but the output is Parquet"));
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}
