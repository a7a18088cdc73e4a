//! What rows with a known target say of a model.

use std::path::Path;

use clap::ArgMatches;
use swarmwood::Result;
use swarmwood::evaluate::{Bootstrap, Held};
use swarmwood::model::Model;
use swarmwood::read::{self, Rows};

use super::metrics::interval_text;
use crate::console::Console;
use crate::flags;
use crate::format;
use crate::scoring::ScoringOptions;

/// A model measured.
#[derive(Debug)]
pub struct TestEvaluation {
    /// The file with the rows, as it was named.
    pub file: String,
    pub rows: Rows,
    pub held: Held,
    pub drawn: Bootstrap,
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

    let held = Held::predict(model, &rows, options.threads)?;
    let drawn = Bootstrap::new(&held, options.threads)?;
    let file = if data.as_os_str() == "-" {
        "standard input".to_string()
    } else {
        data.display().to_string()
    };
    Ok(TestEvaluation { file, rows, held, drawn })
}

impl TestEvaluation {
    /// The value of a metric and its interval, for people.
    pub fn shown(&self, name: &str) -> Option<(String, String)> {
        let value = format::rounded(self.drawn.value(name)?);
        Some((value, self.drawn.interval(name).map_or(String::new(), interval_text)))
    }

    /// How intervals were made.
    pub fn method(&self) -> String {
        let draws = self.drawn.draws();
        match self.drawn.is_percentile() {
            true => format!(
                "Intervals are 95 % percentile bootstrap intervals over {draws} draws of the rows: what other test rows \
                 would do, not another training."
            ),
            false => format!(
                "Intervals are 1.96 bootstrap standard deviations to both sides, over {draws} draws of the rows: what other \
                 test rows would do, not another training."
            ),
        }
    }
}
