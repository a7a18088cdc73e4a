//! What rows with a known target say of a model.

use std::path::Path;

use clap::ArgMatches;
use swarmwood::Result;
use swarmwood::evaluate::{Bootstrap, Held};
use swarmwood::model::Model;
use swarmwood::read::{self, Rows};

use super::words;
use crate::args;
use crate::predict::Scoring;
use crate::talk::Talk;

/// A model measured.
#[derive(Debug)]
pub struct Measured {
    /// The file with the rows, as it was named.
    pub file: String,
    pub rows: Rows,
    pub held: Held,
    pub drawn: Bootstrap,
}

/// Reads the rows and predicts them.
pub fn measure(flags: &ArgMatches, data: &Path, model: &Model, talk: Talk) -> Result<Measured> {
    let mut scoring = Scoring::new(flags)?;
    // Models of other libraries do not know what their target was called.
    let named = flags.get_one::<String>("target").cloned();
    scoring.options.target = named.unwrap_or_else(|| model.schema.target.name.clone());
    scoring.options.weight = flags.get_one::<String>("weight").cloned();
    let rows = read::matching(&args::source(data), &model.schema, &scoring.options)?;
    talk.warn(&rows.warnings);
    let held = Held::predict(model, &rows, scoring.threads)?;
    let drawn = Bootstrap::new(&held, scoring.threads)?;
    let file = if data.as_os_str() == "-" {
        "standard input".to_string()
    } else {
        data.display().to_string()
    };
    Ok(Measured { file, rows, held, drawn })
}

impl Measured {
    /// The value of a metric and its interval, for people.
    pub fn shown(&self, name: &str) -> Option<(String, String)> {
        let value = words::figure(self.drawn.value(name)?);
        Some((value, self.drawn.interval(name).map_or(String::new(), words::interval)))
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
