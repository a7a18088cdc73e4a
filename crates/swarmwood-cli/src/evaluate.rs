//! `swarmwood evaluate`: every metric of the task on rows whose target is known.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use swarmwood::error::Violation;
use swarmwood::evaluate::Evaluation;
use swarmwood::learn::metric::reliability::BINS;
use swarmwood::model::Model;
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result, evaluate, read, store};

use crate::calibration;
use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::format::{count, number};
use crate::json::metrics_json;
use crate::scoring::ScoringOptions;

/// The subcommand.
pub fn command() -> Command {
    Command::new("evaluate")
        .visible_alias("eval")
        .about("Compute the metrics of a model on rows whose target is known")
        .args_override_self(true)
        .arg(flags::model_arg())
        .arg(
            flags::data_arg(
                "rows with the target: CSV (plain or gzip), Parquet, or - for standard input",
            )
            .required(true),
        )
        .arg(flags::text_flag(
            "target",
            "COLUMN",
            "column with the true target [default: the name in the model]",
        ))
        .arg(flags::text_flag("weight", "COLUMN", "column with the weight of each row"))
        .arg(flags::file_flag(
            "plot",
            "SVG file: reliability diagram of a classifier, or predicted against actual values",
        ))
        .arg(flags::threshold_flag())
        .arg(flags::first_rounds_flag())
        .args(flags::text_format_flags())
        .arg(flags::max_memory_flag())
        .arg(flags::threads_flag())
        .args(flags::console_flags())
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let console = flags::console(flags);
    let options = ScoringOptions::new(flags)?;
    let source = flags::data_source(flags);
    let plot = flags.get_one::<PathBuf>("plot");
    CommandFiles::default()
        .input("the model", Some(&options.model))
        .rows("the rows to evaluate on", &source)
        .output("plot", plot)
        .check_writable()?;

    let model = options.decide(store::load(&options.model)?)?;
    let options = options.with_target(flags, &model);
    let columns = model.schema.target.kind.columns().len();
    if plot.is_some() && columns > 0 {
        let message = format!("draws one column, but the model predicts {columns}; leave it out");
        return Err(Error::Parameters(vec![Violation::new("plot", message)]));
    }
    let rows = read::matching(&source, &model.schema, &options.read)?;
    console.warnings(&rows.warnings);
    let evaluation = evaluate::evaluate(&model, &rows, options.first_rounds, options.threads)?;

    if let Some(path) = plot {
        let svg = draw(&options.model, &model, &evaluation);
        write_atomically(path, |out| out.write_all(svg.as_bytes()))?;
    }

    if flags.get_flag("json") {
        let mut object = metrics_json(&evaluation.metrics);
        object["rows"] = Value::from(evaluation.rows);
        if evaluation.columns.is_empty() {
            object["calibration_bins"] = bins_json(&evaluation);
        } else {
            object["targets"] = columns_json(&evaluation);
        }
        return console::print_json(&object);
    }

    let mut text = format!("{:<18} {}\n", "rows", evaluation.rows);
    if evaluation.columns.is_empty() {
        for (name, value) in &evaluation.metrics {
            text.push_str(&format!("{name:<18} {}\n", number(*value)));
        }
    } else {
        text.push_str(&columns_text(&evaluation));
    }
    console::print_result(&text)
}

/// A table of the metrics of each column that is predicted, and of their means.
fn columns_text(evaluation: &Evaluation) -> String {
    let of_columns = evaluation.columns.iter().map(|(name, one)| (name.as_str(), &one.metrics[..]));
    let lists: Vec<_> = of_columns.chain([("mean", &evaluation.metrics[..])]).collect();
    let width = |name: &str| name.chars().count().max(12);

    let mut text = format!("{:<18}", "target");
    for (name, _) in &lists {
        text.push_str(&format!(" {name:>width$}", width = width(name)));
    }
    text.push('\n');
    for (metric, _) in &evaluation.metrics {
        text.push_str(&format!("{metric:<18}"));
        for (name, metrics) in &lists {
            let found = metrics.iter().find(|one| one.0 == *metric);
            let value = found.map_or(String::new(), |&(_, value)| number(value));
            text.push_str(&format!(" {value:>width$}", width = width(name)));
        }
        text.push('\n');
    }
    text.replace(|c: char| c.is_control() && c != '\n', "?")
}

/// The metrics of each column that is predicted.
fn columns_json(evaluation: &Evaluation) -> Value {
    let column = |(name, one): &(String, Evaluation)| {
        let mut object = metrics_json(&one.metrics);
        object["target"] = Value::from(name.as_str());
        object["rows"] = Value::from(one.rows);
        object["calibration_bins"] = bins_json(one);
        object
    };
    evaluation.columns.iter().map(column).collect()
}

/// The bins of the calibration error.
fn bins_json(evaluation: &Evaluation) -> Value {
    let bins = evaluation.pairs.bins(BINS);
    bins.iter()
        .map(|bin| {
            json!({
                "rows": bin.rows,
                "mean_predicted": bin.predicted,
                "mean_actual": bin.actual,
            })
        })
        .collect()
}

/// The chart of the evaluation.
fn draw(file: &Path, model: &Model, evaluation: &Evaluation) -> String {
    let metric_text = |name: &str| {
        let metric = evaluation.metrics.iter().find(|metric| metric.0 == name);
        metric.map(|&(_, value)| format!("{name} {}", number(value)))
    };

    let event = calibration::predicted_event(&model.schema.target.kind);
    let headline = if event.is_some() { ["ece", "brier"] } else { ["rmse", "r2"] };
    let metrics = headline.into_iter().filter_map(metric_text).collect::<Vec<_>>().join(", ");

    let name =
        file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let title = format!("{name} on {}: {metrics}", count(evaluation.rows, "row"));
    calibration::draw(&title, &evaluation.pairs, event.as_deref())
}
