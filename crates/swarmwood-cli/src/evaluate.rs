//! `swarmwood evaluate`: every metric of the task on rows whose target is known.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::{Value, json};
use swarmwood::evaluate::Evaluation;
use swarmwood::learn::metric::reliability::BINS;
use swarmwood::model::Model;
use swarmwood::write::write_atomically;
use swarmwood::{Result, evaluate, read, store};

use crate::args::{self, talk_of};
use crate::calibration;
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
    let plot = flags.get_one::<PathBuf>("plot");
    if let Some(path) = plot {
        // A wrong path should cost no work.
        store::probe(path)?;
    }
    let source =
        args::source(flags.get_one::<PathBuf>("data").map_or(Path::new("-"), PathBuf::as_path));
    let rows = read::matching(&source, &model.schema, &scoring.options)?;
    talk.warn(&rows.warnings);
    let found = evaluate::evaluate(&model, &rows, scoring.first, scoring.threads)?;
    if let Some(path) = plot {
        let svg = picture(&scoring.model, &model, &found);
        write_atomically(path, |out| out.write_all(svg.as_bytes()))?;
    }
    if flags.get_flag("json") {
        let mut object = metrics_json(&found.metrics);
        object["rows"] = Value::from(found.rows);
        object["bins"] = bins(&found);
        return talk::json(&object);
    }
    let mut text = format!("{:<18} {}\n", "rows", found.rows);
    for (name, value) in &found.metrics {
        text.push_str(&format!("{name:<18} {}\n", short(*value)));
    }
    talk::result(&text)
}

/// The bins of the calibration error, for machines.
fn bins(found: &Evaluation) -> Value {
    let bins = found.pairs.bins(BINS);
    bins.iter()
        .map(|bin| json!({"rows": bin.rows, "predicted": bin.predicted, "actual": bin.actual}))
        .collect()
}

/// The picture of the evaluation.
fn picture(file: &Path, model: &Model, found: &Evaluation) -> String {
    let metric = |name: &str| {
        found.metrics.iter().find(|metric| metric.0 == name).map(|&(_, value)| short(value))
    };
    let told = |names: [&str; 2]| {
        let known = names.into_iter().filter_map(|name| Some(format!("{name} {}", metric(name)?)));
        known.collect::<Vec<_>>().join(", ")
    };
    let name =
        file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let rows = talk::count(found.rows, "row");
    let judged = calibration::judged(&model.schema.target.kind);
    let told = if judged.is_some() { told(["ece", "brier"]) } else { told(["rmse", "r2"]) };
    calibration::draw(&format!("{name} on {rows}: {told}"), &found.pairs, judged.as_deref())
}
