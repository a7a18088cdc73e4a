//! Boosted trees whose structure is searched: the default method.

use std::time::Instant;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::ensemble::{
    self, EnsembleSearchConfig, EnsembleSearchError, EnsembleSearchFit, EnsembleSearchReport,
    EnsembleShape, FitProgress,
};
use swarmwood_learn::event::Event;
use swarmwood_learn::greedy::{self, lookahead::Lookahead};
use swarmwood_learn::plan::TaskRunner;
use swarmwood_learn::stats::TrainingSet;
use swarmwood_search::Datum;

use super::checkpoint_writer::CheckpointWriter;
use super::cluster::JobBackends;
use super::event_log::EventLog;
use super::trees::{KEPT_BYTES, constant_columns, measured};
use super::{Job, Learner, TrainResult, binning, feature_budget};
use crate::message::Message;
use crate::params::{Growth, Method, Params};
use crate::{Error, Result};

/// Leaves of a tree that `total_leaves` may be spent on, the most promising first.
const TREE_SIZES: [usize; 5] = [16, 32, 8, 4, 64];

/// Trees of a shape with large trees, at least; fewer large trees are never the best.
const LEAST_LARGE_TREES: usize = 6;

/// Leaves up to which one tree is tried.
const FEW_LEAVES: usize = 64;

/// Leaves of all trees together by default.
const DEFAULT_TOTAL_LEAVES: usize = 192;

/// The size where only one of trees and leaves is given.
const DEFAULT_TREES: usize = 6;
const DEFAULT_LEAVES: usize = 32;

/// The version of the payload of this method's checkpoints.
const PAYLOAD: u64 = 6;

/// The learner `swarm`.
pub(super) struct EnsembleSearch;

impl Learner for EnsembleSearch {
    fn method(&self) -> Method {
        Method::SWARM
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        train(job, observer)
    }

    fn makes_out_of_fold_scores(&self) -> bool {
        true
    }

    fn has_tasks(&self) -> bool {
        true
    }
}

/// Bins and trains.
fn train(job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
    let started = Instant::now();
    let (data, valid) = binning::bin(job)?;
    job.examine_targets(&data)?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let mut warnings = constant_columns(job, &data.layout);
    let started = Instant::now();
    let backends = JobBackends::new(job, &data);
    let data = backends.whole(data)?;
    let set = TrainingSet {
        backends: backends.of_search(&data),
        ..TrainingSet::new(&data, valid.as_ref(), job.objective)
    };
    let (found, note) = search(job, set, observer, &mut warnings)?;
    let drawn = drawn_note(found.report.compared_rows, data.rows());
    let notes = note.into_iter().chain(drawn).chain(backends.note()).collect();
    let held_out = match job.held_out {
        None => None,
        Some(budget) => {
            let set =
                TrainingSet::new(&data, None, job.objective).with_constraints(job.constraints);
            let context = Context { pool: job.pool, budget };
            found.chosen.out_of_fold_scores(set, context)?
        }
    };
    let train_seconds = started.elapsed().as_secs_f64();
    let (model, train_metrics, valid_metrics) = measured(found.ensemble, job, data, valid);
    Ok(TrainResult {
        rounds: model.rounds(),
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        train_metrics,
        valid_metrics,
        held_out,
        watched_metrics: Vec::new(),
        search: Some(found.report),
        features: found.features,
        swarm: None,
        tree: None,
        warnings,
        notes,
        columns: Vec::new(),
    })
}

/// Searches, from the beginning or from a checkpoint.
fn search(
    job: &Job<'_>,
    set: TrainingSet<'_>,
    observer: &mut dyn FnMut(&Event),
    warnings: &mut Vec<Message>,
) -> Result<(EnsembleSearchFit, Option<String>)> {
    let started = Instant::now();
    let checkpoints =
        job.options.keep.as_ref().map(|keep| CheckpointWriter::new(keep, job, None)).transpose()?;
    let past = checkpoints
        .as_ref()
        .map(|checkpoints| checkpoints.load_search(PAYLOAD, warnings))
        .transpose()?
        .flatten();
    let (state, mut events) = past.unzip();
    let events: &mut EventLog = events.get_or_insert_default();
    let before = events.replay(observer);

    let budget = job.budget;
    let (mut steps, mut failure) = (0, None);
    let mut observer = |event: &Event, state: &dyn Fn() -> Datum| {
        let elapsed = before + started.elapsed().as_secs_f64();
        let event = Event { elapsed, ..event.clone() };
        events.push(&event);
        observer(&event);
        steps += 1;
        // After a failure the run ends, and its last step must not hide why.
        if let Some(checkpoints) = checkpoints
            .as_ref()
            .filter(|checkpoints| failure.is_none() && checkpoints.is_due(steps))
        {
            let fields = vec![("events", events.save()), ("search", state())];
            failure = checkpoints.save(PAYLOAD, fields).err();
        }
        if failure.is_some() {
            budget.cancel();
        }
    };

    let config = EnsembleSearchConfig {
        shapes: shapes(job.params),
        features: feature_budget::budget(job)?,
        compared_rows: ensemble::COMPARED_ROWS,
    };
    let runner = job.options.task_runner.as_deref().map(|runner| runner as &dyn TaskRunner);
    let set = set.with_constraints(job.constraints).with_runner(runner);
    let fit = ensemble::train(set, &config, job.context(), state.as_ref(), &mut observer);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let fit = fit.map_err(|error| match (error, &checkpoints) {
        (EnsembleSearchError::State(message), Some(checkpoints)) => checkpoints.refused(message),
        (
            EnsembleSearchError::State(message)
            | EnsembleSearchError::Threads(message)
            | EnsembleSearchError::Runner(message),
            _,
        ) => Error::Run(message),
        (EnsembleSearchError::Backend(error), _) => error.into(),
    })?;
    let note = note_of(&fit.report, job.params, budget);
    Ok((fit, note))
}

/// Says how many rows candidates were compared on, if not on all.
fn drawn_note(compared: usize, rows: usize) -> Option<String> {
    (compared < rows).then(|| {
        format!(
            "candidates were compared and trees were searched on {compared} of {rows} rows, drawn by \
             row number and seed; the last sweeps and the leaf values are of all rows"
        )
    })
}

/// Says what a run that was cut short had finished.
fn note_of(report: &EnsembleSearchReport, params: &Params, budget: &Budget) -> Option<String> {
    if report.finished {
        return None;
    }
    let why = if budget.deadline_passed() {
        format!("the time limit of {} s", params.time_limit)
    } else if budget.is_interrupted() {
        "an interruption".to_string()
    } else {
        let unit = if params.budget == 1 { "tree" } else { "trees" };
        format!("the budget of {} {unit}", params.budget)
    };
    let FitProgress { steps, done, planned } = report.progress;
    Some(format!(
        "{why} ended the search: {} of {} candidates were cross-validated, and the model is \
         '{}' after {done} of {planned} {steps}",
        report.candidates.len(),
        report.planned,
        report.chosen
    ))
}

fn shapes(params: &Params) -> Vec<EnsembleShape> {
    let growth = match params.growth {
        Growth::Depth => greedy::Growth::Depth,
        Growth::Auto | Growth::Leaf => greedy::Growth::Leaf,
        Growth::Oblivious => greedy::Growth::Oblivious,
    };
    let shape = |trees: usize, max_leaves: usize| EnsembleShape {
        trees,
        growth,
        try_oblivious: params.growth == Growth::Auto && params.first_split.is_none(),
        // Trees that grow level by level get the levels that their leaves need.
        depth: match (params.depth, params.growth) {
            (0, Growth::Depth | Growth::Oblivious) => {
                max_leaves.max(2).next_power_of_two().ilog2() as usize
            }
            (depth, _) => depth,
        },
        max_leaves,
        seed: params.seed,
        memory: KEPT_BYTES,
        lookahead: Lookahead::Off,
    };
    match total_leaves(params) {
        None => vec![shape(trees(params), most_leaves(params))],
        Some(total) => {
            let least = params.first_split.leaves();
            let mut sizes = tree_sizes(total);
            sizes.retain(|&leaves| leaves >= least);
            if sizes.is_empty() {
                sizes.push(least);
            }
            sizes.into_iter().map(|leaves| shape(total / leaves, leaves)).collect()
        }
    }
}

/// The leaves of all trees together, if the search may distribute them; `None` if the size of trees or
/// their number is given.
fn total_leaves(params: &Params) -> Option<usize> {
    match params.total_leaves {
        0 if params.trees == 0 && params.max_leaves == 0 && params.depth == 0 => {
            Some(DEFAULT_TOTAL_LEAVES)
        }
        0 => None,
        total => Some(total),
    }
}

/// Sizes of trees to try.
fn tree_sizes(total: usize) -> Vec<usize> {
    let is_useful =
        |&leaves: &usize| leaves <= total && (leaves <= 32 || total / leaves >= LEAST_LARGE_TREES);
    let mut sizes: Vec<usize> = TREE_SIZES.into_iter().filter(is_useful).collect();
    if total <= FEW_LEAVES {
        sizes.retain(|&leaves| leaves != total);
        sizes.push(total);
    }
    // Stumps: a sum of functions of one feature each.
    sizes.push(2);
    sizes
}

/// Number of trees of a given size.
fn trees(params: &Params) -> usize {
    if params.trees == 0 { DEFAULT_TREES } else { params.trees }
}

/// Leaves of a tree; where only a depth is given, what it allows.
fn most_leaves(params: &Params) -> usize {
    let by_depth = if (1..=16).contains(&params.depth) { 1 << params.depth } else { usize::MAX };
    match (params.max_leaves, params.depth) {
        (0, 0) => DEFAULT_LEAVES,
        (0, _) => by_depth.min(1 << 16),
        (most, _) => most.min(by_depth),
    }
}
