//! Raw scores of rows by models that have not seen them, for decisions and intervals.
//!
//! The learner's own out-of-fold scores where it makes them; else those of the validation rows; else
//! the learner is trained on the rows outside of each of five folds.

use std::cmp::Ordering;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::fold_split::FoldSplit;
use swarmwood_model::{Model, TargetKind};
use swarmwood_search::rng::Stream;

use super::{Job, Learner, TrainOptions, TrainResult, train_learner};
use crate::Result;
use crate::params::Params;
use crate::predict::Scorer;
use crate::read::Rows;

/// Folds of learners that make no out-of-fold scores of their own.
const FOLDS: usize = 5;

/// The random stream of the folds.
const FOLD_STREAM: u64 = 21 << 32;

/// The share of the time limit of a learner that fits the folds of its winner once more.
const SEARCH_SHARE: f64 = 0.75;

/// Scores of rows with their targets.
pub(super) struct HeldOutScores {
    /// Raw scores, row by row one per output.
    pub(super) raw: Vec<f64>,
    pub(super) target: Vec<f64>,
    /// Empty if every row weighs one.
    pub(super) weight: Vec<f64>,
    /// Which rows.
    pub(super) source: HeldOutSource,
}

/// Which rows scores are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldOutSource {
    /// The training rows, each by a fit that has not seen it.
    OutOfFold,
    /// The validation rows.
    Validation,
    /// The training rows, by the model itself.
    Training,
}

impl HeldOutSource {
    /// For notes.
    pub(super) fn text(self) -> &'static str {
        match self {
            HeldOutSource::OutOfFold => "out-of-fold predictions of the training rows",
            HeldOutSource::Validation => "the validation rows",
            HeldOutSource::Training => "the training rows themselves, which is optimistic",
        }
    }
}

impl HeldOutScores {
    /// The weight of a row.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weight.get(row).copied().unwrap_or(1.0)
    }
}

/// The share of the time limit that the training itself has where held-out scores are wanted.
pub(super) fn training_share(learner: &dyn Learner, params: &Params, has_valid: bool) -> f64 {
    if !params.is_calibrated() {
        1.0
    } else if learner.makes_out_of_fold_scores() {
        SEARCH_SHARE
    } else if has_valid {
        1.0
    } else {
        1.0 / (FOLDS + 1) as f64
    }
}

/// The scores; `None` if there are too few rows or the run was interrupted before they were made.
pub(super) fn scores(
    learner: &dyn Learner,
    job: &Job<'_>,
    trained: &mut TrainResult,
) -> Result<Option<HeldOutScores>> {
    let threads = job.params.threads;
    if let Some(raw) = trained.held_out.take() {
        let (target, weight) = targets(job.rows)?;
        return Ok(Some(HeldOutScores { raw, target, weight, source: HeldOutSource::OutOfFold }));
    }
    if let Some(valid) = job.valid {
        return of_model(&trained.model, valid, threads, HeldOutSource::Validation).map(Some);
    }
    match job.held_out {
        Some(budget) if !learner.makes_out_of_fold_scores() => by_folds(learner, job, budget),
        _ => Ok(None),
    }
}

/// The scores that a model gives rows.
pub(super) fn of_model(
    model: &Model,
    rows: &Rows,
    threads: usize,
    source: HeldOutSource,
) -> Result<HeldOutScores> {
    let scorer = Scorer::new(model, None, threads)?;
    let mut raw = Vec::new();
    rows.for_each_chunk(&mut |chunk| {
        raw.extend(scorer.raw(chunk)?);
        Ok(())
    })?;
    let (target, weight) = targets(rows)?;
    Ok(HeldOutScores { raw, target, weight, source })
}

/// Trains on the rows outside of each fold and scores those inside.
fn by_folds(
    learner: &dyn Learner,
    job: &Job<'_>,
    budget: &Budget,
) -> Result<Option<HeldOutScores>> {
    let (rows, outputs) = (job.rows, job.objective.outputs());
    if rows.rows < 2 * FOLDS {
        return Ok(None);
    }
    let (target, weight) = targets(rows)?;
    let has_classes = matches!(rows.schema.target.kind, TargetKind::Classes(_));
    let stream = Stream::new(job.params.seed, FOLD_STREAM, 0);
    let split = FoldSplit::new(rows.rows, FOLDS, stream, |a, b| match has_classes {
        true => target[a].total_cmp(&target[b]),
        false => Ordering::Equal,
    });
    let fold_of_row = split.fold_of_row();
    let params = Params {
        time_limit: job.params.time_limit / (FOLDS + 1) as f64,
        ..job.params.clone().without_calibration()
    };
    let params = params.check()?;
    let options = TrainOptions { keep: None, budget: Some(budget.clone()), ..job.options.clone() };

    let mut raw = vec![0.0; rows.rows * outputs];
    for fold in 0..FOLDS {
        let train = rows.subset(|row| fold_of_row[row] != fold);
        let test = rows.subset(|row| fold_of_row[row] == fold);
        let trained = train_learner(learner, (&train, None), &params, &options, &mut |_| {})?;
        if budget.is_interrupted() {
            return Ok(None);
        }

        let source = HeldOutSource::OutOfFold;
        let scores = of_model(&trained.model, &test, params.threads, source)?.raw;
        for (row, scores) in split.test_rows(fold).into_iter().zip(scores.chunks_exact(outputs)) {
            raw[row * outputs..(row + 1) * outputs].copy_from_slice(scores);
        }
    }
    Ok(Some(HeldOutScores { raw, target, weight, source: HeldOutSource::OutOfFold }))
}

/// Targets and weights of rows, in order.
fn targets(rows: &Rows) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut target, mut weight) = (Vec::new(), Vec::new());
    rows.for_each_chunk(&mut |chunk| {
        target.extend_from_slice(&chunk.target);
        weight.extend_from_slice(&chunk.weight);
        Ok(())
    })?;
    Ok((target, weight))
}
