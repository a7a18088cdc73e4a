//! The evaluation of a model on the rows of `--data`.

use std::path::Path;

use clap::ArgMatches;
use swarmwood::evaluate::{Bootstrap, HeldOutRows};
use swarmwood::model::Model;
use swarmwood::read::{self, Rows};
use swarmwood::{Error, Result};

use super::effects::ModelEffects;
use super::html::Html;
use super::metrics::interval_text;
use super::row_sample::RowSample;
use super::{sha256, subgroups};
use crate::console::Console;
use crate::flags;
use crate::format;
use crate::scoring::ScoringOptions;

/// The predictions of a model for rows with a known target.
#[derive(Debug)]
pub struct TestEvaluation {
    /// The name of the file with the rows.
    pub file: String,
    /// The SHA-256 digest of that file; none of standard input.
    pub digest: Option<String>,
    pub rows: Rows,
    pub sample: RowSample,
    pub predictions: HeldOutRows,
    pub bootstrap: Bootstrap,
    pub effects: ModelEffects,
    /// Metrics by the levels of categorical columns.
    pub subgroups: Html,
}

/// Reads the rows and predicts them.
pub fn evaluate(
    flags: &ArgMatches,
    data: &Path,
    model: &Model,
    console: Console,
) -> Result<TestEvaluation> {
    let options = ScoringOptions::new(flags)?.with_target(flags, model);
    let rows = read::matching(&flags::source(data), &model.schema, &options.read)?;
    console.warnings(&rows.warnings);

    let predictions = HeldOutRows::predict(model, &rows, options.threads)?;
    let sample = RowSample::new(&rows)?;
    let effects = ModelEffects::new(model, &sample, options.threads)?;
    let subgroups = subgroups::subgroups(model, &sample, options.threads)?;
    let bootstrap = Bootstrap::new(&predictions, options.threads)?;
    let file = if data.as_os_str() == "-" {
        "standard input".to_string()
    } else {
        data.display().to_string()
    };
    let digest = data.is_file().then(|| sha256::file_digest(data)).transpose();
    let digest = digest.map_err(|source| Error::Read { path: data.to_path_buf(), source })?;
    Ok(TestEvaluation { file, digest, rows, sample, predictions, bootstrap, effects, subgroups })
}

impl TestEvaluation {
    /// The value of a metric and its interval, as text.
    pub fn metric_text(&self, name: &str) -> Option<(String, String)> {
        let value = format::rounded(self.bootstrap.value(name)?);
        Some((value, self.bootstrap.interval(name).map_or(String::new(), interval_text)))
    }

    /// How intervals were computed.
    pub fn interval_note(&self) -> String {
        let draws = self.bootstrap.draws();
        match self.bootstrap.is_percentile() {
            true => format!(
                "Intervals are 95 % percentile bootstrap intervals with {draws} resamples of the rows. \
                 They account for the choice of test rows, not for the randomness of training."
            ),
            false => format!(
                "Intervals are ± 1.96 bootstrap standard errors with {draws} resamples of the rows. \
                 They account for the choice of test rows, not for the randomness of training."
            ),
        }
    }
}
