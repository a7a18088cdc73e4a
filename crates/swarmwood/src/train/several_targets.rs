//! Targets of several columns: one run per column, joined into one model.
//!
//! Every run is the one that its column would have alone, with the same parameters: sizes are per
//! column. Only the time that the runs may take is divided.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use swarmwood_learn::event::Event;
use swarmwood_model::Model;

use super::joined::{OutputMeaning, join_outputs};
use super::report::TrainResult;
use super::{Learner, TrainOptions, train_one_target};
use crate::checkpoint::Keep;
use crate::error::Violation;
use crate::evaluate::mean_metrics;
use crate::params::{Params, ValidParams};
use crate::read::Rows;
use crate::{Error, Result};

/// The least time limit of a run, in which every method ends with some model.
pub(crate) const LEAST_SECONDS: f64 = 0.05;

/// Trains one model per column of the target and joins them.
pub(super) fn train(
    learner: &dyn Learner,
    (rows, valid): (&Rows, Option<&Rows>),
    params: &ValidParams,
    options: &TrainOptions,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    let columns = rows.schema.target.kind.columns().to_vec();
    check(params, options, rows)?;

    let started = Instant::now();
    let mut fits: Vec<TrainResult> = Vec::with_capacity(columns.len());
    for (at, name) in columns.iter().enumerate() {
        let Some(rows) = rows.of_target(at) else { continue };
        let valid = valid.and_then(|valid| valid.of_target(at));
        let elapsed = started.elapsed().as_secs_f64();
        let share = share_of(params, elapsed, (at, columns.len())).check()?;
        let options = options_of(options, at)?;
        let mut observer = |event: &Event| {
            observer(&Event { column: at, elapsed: elapsed + event.elapsed, ..event.clone() });
        };
        let sets = (&rows, valid.as_ref());
        let fit = train_one_target(learner, sets, &share, &options, &mut observer);
        fits.push(fit.map_err(|error| in_column(error, name))?);
    }
    join(rows, params, fits)
}

/// Refuses what has no meaning for several columns together.
fn check(params: &Params, options: &TrainOptions, rows: &Rows) -> Result<()> {
    let columns = rows.schema.target.kind.columns().len();
    let mut violations = Vec::new();
    let mut refuse = |is_used: bool, name: &'static str, why: &str| {
        if is_used {
            let message = format!(
                "is for one target, but there are {columns}: {why}; train one model per column"
            );
            violations.push(Violation::new(name, message));
        }
    };
    let has_points = params.points.most().is_some();
    refuse(params.interval > 0.0, "interval", "intervals belong to one number");
    refuse(has_points, "points", "each would have points of its own");
    refuse(params.integer_leaves > 0, "integer_leaves", "each would have a grid of its own");
    refuse(params.max_features > 0, "max_features", "each would choose features of its own");
    refuse(
        params.max_feature_cost > 0.0,
        "max_feature_cost",
        "each would choose features of its own",
    );
    refuse(options.task_runner.is_some(), "executor", "its tasks are those of one run");
    refuse(rows.cluster().is_some(), "cluster", "the rows of a cluster have one target");
    if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
}

/// The parameters of a run: what is left of the time is divided evenly among what is left to do.
fn share_of(params: &Params, elapsed: f64, (at, columns): (usize, usize)) -> Params {
    let mut share = params.clone();
    if share.time_limit > 0.0 {
        let left = share.time_limit - elapsed;
        share.time_limit = (left / (columns - at) as f64).max(LEAST_SECONDS);
    }
    share
}

/// The options of a run: checkpoints of its own, the targets of its column, and its part of a model
/// that is continued.
fn options_of(options: &TrainOptions, at: usize) -> Result<TrainOptions> {
    let mut own = options.clone();
    own.keep = options.keep.as_ref().map(|keep| keep_of(keep, at));
    own.watched =
        options.watched.iter().filter_map(|rows| rows.of_target(at)).map(Arc::new).collect();
    if let Some(model) = &options.init_model {
        own.init_model = Some(Arc::new(column_of(model, at)?));
    }
    Ok(own)
}

fn column_of(model: &Model, at: usize) -> Result<Model> {
    model.column_model(at).ok_or_else(|| {
        let message = "predicts one column, but the rows have several targets; give a model of the \
                       same targets";
        Error::Parameters(vec![Violation::new("init_model", message)])
    })
}

/// The checkpoint of one of several runs: the file with the number of the run behind its name.
pub(crate) fn keep_of(keep: &Keep, at: usize) -> Keep {
    let mut name = keep.path.clone().into_os_string();
    name.push(format!(".{at}"));
    Keep { path: PathBuf::from(name), ..keep.clone() }
}

/// An error of the data with the name of the column.
fn in_column(error: Error, name: &str) -> Error {
    match error {
        Error::Run(message) => Error::Run(format!("target '{name}': {message}")),
        other => other,
    }
}

/// One result with the metrics of all columns: their means, metric by metric.
fn join(rows: &Rows, params: &Params, fits: Vec<TrainResult>) -> Result<TrainResult> {
    let Some(first) = fits.first() else {
        return Err(Error::Run("there is no target".to_string()));
    };
    let meaning = OutputMeaning {
        schema: rows.schema.clone(),
        link: first.model.link,
        objective: first.model.objective.clone(),
    };
    let mut model = join_outputs(fits.iter().map(|fit| fit.model.clone()).collect(), meaning)?;
    // The runs had shares of it.
    if let Some(limit) = model.provenance.params.get_mut("time_limit") {
        *limit = params.time_limit.to_string();
    }

    let sets = 0..first.watched_metrics.len();
    let of_set = |set: usize| fits.iter().map(|fit| &fit.watched_metrics[set][..]).collect();
    let watched = sets.map(|set| mean_metrics(of_set(set))).collect();
    let mut resolved = first.params.clone();
    resolved.time_limit = params.time_limit;
    let (mut warnings, mut notes) = (Vec::new(), Vec::new());
    for (fit, name) in fits.iter().zip(rows.schema.target.kind.columns()) {
        let new = fit.warnings.iter().filter(|one| !warnings.contains(*one)).cloned();
        let new: Vec<_> = new.collect();
        warnings.extend(new);
        notes.extend(fit.notes.iter().map(|note| format!("target '{name}': {note}")));
    }
    Ok(TrainResult {
        rounds: fits.iter().map(|fit| fit.rounds).max().unwrap_or(0),
        model,
        params: resolved,
        bin_seconds: fits.iter().map(|fit| fit.bin_seconds).sum(),
        train_seconds: fits.iter().map(|fit| fit.train_seconds).sum(),
        train_metrics: mean_metrics(fits.iter().map(|fit| &fit.train_metrics[..]).collect()),
        valid_metrics: mean_metrics(fits.iter().map(|fit| &fit.valid_metrics[..]).collect()),
        held_out: None,
        watched_metrics: watched,
        search: None,
        features: None,
        swarm: None,
        tree: None,
        warnings,
        notes,
        columns: fits,
    })
}
