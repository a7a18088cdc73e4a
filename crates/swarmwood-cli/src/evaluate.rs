//! `swarmwood evaluate`: every metric of the task on rows whose target is known.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::Value;
use swarmwood::{Result, evaluate, read, store};

use crate::args::{self, talk_of};
use crate::predict::Scoring;
use crate::talk::{self, metrics_json, short};

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let talk = talk_of(flags);
    let mut scoring = Scoring::new(flags)?;
    let model = store::load(&scoring.model)?;
    // Models of other libraries do not know what their target was called.
    let named = flags.get_one::<String>("target").cloned();
    scoring.options.target = named.unwrap_or_else(|| model.schema.target.name.clone());
    scoring.options.weight = flags.get_one::<String>("weight").cloned();
    let source = args::source(flags.get_one::<PathBuf>("data").map_or(Path::new("-"), PathBuf::as_path));
    let rows = read::matching(&source, &model.schema, &scoring.options)?;
    talk.warn(&rows.warnings);
    let found = evaluate::evaluate(&model, &rows, scoring.first, scoring.threads)?;
    if flags.get_flag("json") {
        let mut object = metrics_json(&found.metrics);
        object["rows"] = Value::from(found.rows);
        return talk::json(&object);
    }
    let mut text = format!("{:<18} {}\n", "rows", found.rows);
    for (name, value) in &found.metrics {
        text.push_str(&format!("{name:<18} {}\n", short(*value)));
    }
    talk::result(&text)
}
