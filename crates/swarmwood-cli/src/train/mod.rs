//! `swarmwood train`: read, train, store, report.

mod feature_summary;
mod progress;
mod request;
mod search_summary;
mod summary;
mod time_left;

use std::sync::Arc;
use std::time::Instant;

use clap::{Arg, ArgMatches, Command};
use swarmwood::error::Violation;
use swarmwood::learn::event::Event;
use swarmwood::model::{Kind, Schema, TargetKind};
use swarmwood::params::TABLE;
use swarmwood::read::{self, Rows, Source};
use swarmwood::train::{TrainOptions, TrainResult};
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result, column_checks, store, train};

pub use self::progress::TrainProgress;
use self::request::TrainRequest;
pub use self::request::checkpoint_options;
use self::summary::TrainSummary;
use crate::console::{self, Console};
use crate::flags;
use crate::format::{count, number};
use crate::help;
use crate::interrupt::InterruptFlag;
use crate::presets;
use crate::trace::TraceRecorder;
use crate::training_chart;

/// What the shortest help has.
const COMMON: &[&str] = &[
    "demo",
    "target",
    "ignore",
    "categorical",
    "task",
    "valid",
    "out",
    "preset",
    "json",
    "quiet",
    "method",
    "total_leaves",
    "trees",
    "max_leaves",
    "objective",
    "time_limit",
    "seed",
    "threads",
];

/// The subcommand.
pub fn command() -> Command {
    let command = Command::new("train")
        .visible_alias("fit")
        .about("Train a model on a CSV or Parquet file")
        .after_help(
            "Ctrl-C stops training and saves the best model so far; a second Ctrl-C exits at once.",
        )
        .args_override_self(true)
        .arg(
            flags::data_arg("training data: CSV (plain or gzip), Parquet, or - for standard input")
                .required_unless_present("demo"),
        )
        .arg(
            flags::switch_flag("demo", "train on the built-in red wine quality data")
                .conflicts_with("data"),
        )
        .arg(flags::text_flag(
            "target",
            "COLUMN",
            "column to predict, or several columns of numbers with commas between them",
        ))
        .args(flags::table_flags())
        .arg(flags::files_flag(
            "valid",
            "validation rows, for early stopping and the report; may be repeated, and the last \
             set decides",
        ))
        .arg(flags::out_flag("model file; - for standard output [default: model.json]"))
        .arg(flags::file_flag(
            "pretrained",
            "model to take candidate splits from: Swarmwood, XGBoost, LightGBM or CatBoost",
        ))
        .arg(flags::file_flag(
            "init-model",
            "model to continue: its trees stay, and --trees new ones are added (only greedy)",
        ))
        .args(checkpoint_flags())
        .arg(flags::file_flag(
            "trace",
            "CSV file with one line per step: losses, fitness, diversity, evaluations, seconds",
        ))
        .arg(flags::file_flag("plot", "SVG file with a convergence chart"))
        .arg(flags::file_flag(
            "config",
            "TOML file with the names of these flags as keys; flags take precedence",
        ))
        .arg(presets::flag())
        .args(flags::console_flags())
        .args(TABLE.iter().map(flags::parameter_flag));
    help::with_levels(command, COMMON)
}

/// Where the state of a search is stored.
pub fn checkpoint_flags() -> [Arg; 3] {
    [
        flags::file_flag("checkpoint", "file to save the state of a search to, for --resume"),
        flags::count_flag(
            "checkpoint-every",
            "N",
            "iterations between two checkpoints [default: 10]",
        ),
        flags::switch_flag("resume", "continue from the checkpoint if there is one"),
    ]
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    let request = TrainRequest::new(flags)?;
    let console = flags::console(flags);
    request.files(flags).check_writable()?;

    let summary = fit(&request, console, interrupt)?;

    match &request.out {
        Some(path) => store::save(&summary.trained.model, path)?,
        None => console::print_result(&store::to_text(&summary.trained.model)?)?,
    }

    if flags.get_flag("json") {
        console::print_json(&summary.json(&request))
    } else if request.out.is_some() {
        console::print_result(&summary.text(&request))
    } else {
        console.line(&summary.text(&request));
        Ok(())
    }
}

/// Reads the rows, trains, and writes trace and chart.
fn fit(
    request: &TrainRequest,
    console: Console,
    interrupt: &InterruptFlag,
) -> Result<TrainSummary> {
    let started = Instant::now();
    let (rows, valid, watched) = read_rows(request)?;
    check_charts(request, &rows)?;
    let read_seconds = started.elapsed().as_secs_f64();
    console.line(&data_summary(&request.source, &rows, valid.as_ref()));

    let mut warnings: Vec<String> = request.params.idle().iter().map(ToString::to_string).collect();
    warnings.extend(rows.warnings.iter().cloned());
    warnings.extend(column_checks::warnings(&rows));
    let others = watched.iter().map(|rows| &**rows);
    warnings.extend(valid.iter().chain(others).flat_map(|valid| &valid.warnings).cloned());
    console.warnings(&warnings);

    interrupt.arm();
    let mut progress = TrainProgress::new(console);
    let mut recorder = TraceRecorder::default();
    let mut observer = |event: &Event| {
        progress.show(event);
        recorder.push(event);
    };

    let budget = Some(interrupt.budget());
    let options = TrainOptions { budget, watched, ..request.train_options.clone() };
    let mut trained =
        train::train_with(&rows, valid.as_ref(), &request.params, &options, &mut observer)?;
    progress.finish();

    if let Some(path) = &request.trace {
        recorder.write(path)?;
    }
    if let Some(path) = &request.plot {
        let svg = training_chart::draw(&chart_title(request, &trained), recorder.steps());
        write_atomically(path, |out| out.write_all(svg.as_bytes()))?;
    }

    let late_warnings: Vec<String> =
        std::mem::take(&mut trained.warnings).iter().map(ToString::to_string).collect();
    let mut notes = std::mem::take(&mut trained.notes);
    if interrupt.is_raised() {
        let work = trained.finished_work();
        notes.push(format!("interrupted after {work}: the model is the best one so far"));
    }

    console.warnings(&late_warnings);
    console.notes(&notes);
    warnings.extend(late_warnings);

    let valid_rows = valid.map_or(0, |valid| valid.rows);
    Ok(TrainSummary { trained, rows: rows.rows, valid_rows, read_seconds, warnings, notes })
}

/// A trace and a chart are about one run.
fn check_charts(request: &TrainRequest, rows: &Rows) -> Result<()> {
    let columns = rows.schema.target.kind.columns().len();
    let given = [("trace", request.trace.is_some()), ("plot", request.plot.is_some())];
    let violation = |(name, _): (&'static str, bool)| {
        let message = format!(
            "is of one run, but there is one for each of {columns} targets; train one model per \
             column, or leave it out"
        );
        Violation::new(name, message)
    };
    let used = given.into_iter().filter(|(_, is_given)| *is_given && columns > 0);
    let violations: Vec<Violation> = used.map(violation).collect();
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

/// The training rows, the validation rows that decide, and the other sets: from files, or held out.
fn read_rows(request: &TrainRequest) -> Result<(Rows, Option<Rows>, Vec<Arc<Rows>>)> {
    let rows = match &request.train_options.init_model {
        Some(model) => read::continuing(&request.source, &model.schema, &request.options)?,
        None => read::training(&request.source, &request.options)?,
    };
    if let Some((last, others)) = request.valid.split_last() {
        let read = |source| read::matching(source, &rows.schema, &request.options);
        let watched =
            others.iter().map(|source| read(source).map(Arc::new)).collect::<Result<_>>()?;
        let valid = read(last)?;
        return Ok((rows, Some(valid), watched));
    }
    if request.params.valid_fraction > 0.0 {
        let (train, valid) = rows.holdout(request.params.valid_fraction, request.params.seed)?;
        return Ok((train, Some(valid), Vec::new()));
    }
    Ok((rows, None, Vec::new()))
}

/// The title of the chart.
fn chart_title(request: &TrainRequest, trained: &TrainResult) -> String {
    let source = source_name(&request.source);
    let name = source.rsplit(['/', '\\']).next().unwrap_or(&source);
    let title = format!("{} on {name}", trained.params.method.name());
    match &trained.swarm {
        Some(swarm) => {
            let (metric, best) = (swarm.metric, number(swarm.best));
            format!("{title}: {metric} {best} after {}", count(swarm.iterations, "iteration"))
        }
        None => format!("{title}: {}", count(trained.rounds, "round")),
    }
}

/// One line about the data.
fn data_summary(source: &Source, rows: &Rows, valid: Option<&Rows>) -> String {
    let categories =
        rows.schema.features.iter().filter(|f| matches!(f.kind, Kind::Category { .. })).count();
    let (row_count, features) =
        (count(rows.rows, "row"), count(rows.schema.features.len(), "feature"));
    let mut text = format!("{}: {row_count}, {features}", source_name(source));
    if categories > 0 {
        text.push_str(&format!(" ({categories} categorical)"));
    }
    if let Some(valid) = valid {
        text.push_str(&format!(", {}", count(valid.rows, "validation row")));
    }
    format!("{text}, target {}: {}", rows.schema.target.name, task_text(&rows.schema))
}

fn source_name(source: &Source) -> String {
    match source {
        Source::File(path) => path.display().to_string(),
        Source::Stdin => "standard input".to_string(),
        Source::Bytes(name, _) => name.clone(),
    }
}

/// The task as text.
fn task_text(schema: &Schema) -> String {
    match &schema.target.kind {
        TargetKind::Number => "regression".to_string(),
        TargetKind::Numbers(columns) => format!("regression of {}", count(columns.len(), "column")),
        TargetKind::Classes(classes) => match &classes[..] {
            [_, positive] => format!("classification (2 classes, '{positive}' is positive)"),
            classes => format!("classification ({} classes)", classes.len()),
        },
    }
}
