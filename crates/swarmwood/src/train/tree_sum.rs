//! A sum of a few small trees under a budget of splits.

use std::time::Instant;

use swarmwood_learn::event::Event;
use swarmwood_learn::rank_table::{MAX_CODES, RankTable};
use swarmwood_learn::tree_sum::{self, DEFAULT_ITERATIONS, TreeSumConfig, TreeSumReport};
use swarmwood_model::{Body, TargetKind};

use super::checkpoint_writer::CheckpointWriter;
use super::logged_search::{refused, run_logged};
use super::{Job, Learner, TrainResult, feature_budget, gather};
use crate::Result;
use crate::params::{Method, Params};

/// The learner `tree-sum`.
pub(super) struct TreeSumLearner;

impl Learner for TreeSumLearner {
    fn method(&self) -> Method {
        Method::TREE_SUM
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        let started = Instant::now();
        let chunk = gather(job.rows)?;
        job.check_targets(chunk.target.iter().copied())?;
        let context = job.context();
        let classes = match &job.rows.schema.target.kind {
            TargetKind::Number | TargetKind::Numbers(_) => None,
            TargetKind::Classes(names) => Some(names.len()),
        };
        let features = &job.rows.schema.features;
        let mut table = RankTable::in_context(&chunk, features, classes, MAX_CODES, context);
        let chosen = feature_budget::choose_for_table(job, observer)?;
        if let Some((kept, _)) = &chosen {
            table = table.with_features(kept);
        }
        drop(chunk);
        let bin_seconds = started.elapsed().as_secs_f64();

        let started = Instant::now();
        // A table that was cut short makes another search, which no checkpoint fits.
        let is_cut = context.budget.is_interrupted();
        let keep = job.options.keep.as_ref().filter(|_| !is_cut);
        let checkpoints = keep.map(|keep| CheckpointWriter::new(keep, job, None)).transpose()?;
        let mut warnings = Vec::new();
        let config = config(job.params);
        let checkpoints = checkpoints.as_ref();
        let found = run_logged(job, checkpoints, &mut warnings, observer, |log| {
            tree_sum::fit(&table, &config, context, log)
                .map_err(|error| refused(checkpoints, &error))
        })?;
        let seconds = started.elapsed().as_secs_f64();

        let model = job.model(found.base, Body::Trees(found.members));
        let mut trained = job.result(model, seconds)?;
        trained.bin_seconds = bin_seconds;
        trained.features = chosen.map(|(_, report)| report);
        trained.warnings = warnings;
        trained.notes = notes(&found.report, job);
        Ok(trained)
    }
}

fn config(params: &Params) -> TreeSumConfig {
    TreeSumConfig {
        splits: params.total_splits,
        min_leaf: params.min_leaf.unwrap_or(1),
        bins: params.max_bin,
        iterations: if params.budget == 0 { DEFAULT_ITERATIONS } else { params.budget },
        with_one_tree: params.guard.unwrap_or(true),
        folds: params.folds,
        seed: params.seed,
    }
}

/// What cross-validation chose, and what was finished.
fn notes(report: &TreeSumReport, job: &Job<'_>) -> Vec<String> {
    let unit =
        |count: usize, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    let size = format!("{} with {}", unit(report.trees, "tree"), unit(report.splits, "split"));
    let how = match report.chosen.iterations {
        None => "a search over one tree".to_string(),
        Some(0) => "greedy growth".to_string(),
        Some(iterations) => format!("{iterations} iterations over sums of trees"),
    };
    let [finished, planned] = report.folds;
    let chosen = if finished == 0 { "the model is" } else { "cross-validation chose" };
    let mut notes = vec![format!("{chosen} {how}, ridge {}: {size}", report.chosen.ridge)];
    let budget = job.budget;
    if finished < planned || budget.was_interrupted() {
        let why = match budget.deadline_passed() {
            true => format!("the time limit of {} s", job.params.time_limit),
            false => "an interruption".to_string(),
        };
        notes.insert(0, format!("{why} ended training after {finished} of {planned} folds"));
    }
    notes
}
