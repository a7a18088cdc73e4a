//! Cross-validation: a candidate is fitted to the training rows of a fold and scored on its test
//! rows.

use std::cmp::Ordering;

use swarmwood_search::rng::Stream;

use super::backfit;
use super::candidates::{Candidate, FitMethod};
use super::fit::Ensemble;
use super::out_of_fold::OutOfFold;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::fold_split::FoldSplit;
use crate::greedy::{self, GreedyConfig};
use crate::metric::EvalMetric;
use crate::objective::Objective;
use crate::pool::Pool;
use crate::stats::{BackendError, TrainingSet};

/// Parts that the rows are split into.
pub const FOLDS: usize = 5;

/// Random streams of the assignment of rows to folds.
const FOLD_STREAM: u64 = 4 << 32;

/// The training and the test rows of a fold.
#[derive(Debug)]
pub struct CvFold {
    train: Dataset,
    test: Dataset,
}

impl CvFold {
    /// The rows of a fold by its number; `None` if the run is interrupted meanwhile.
    pub fn new(
        data: &Dataset,
        classes: bool,
        number: usize,
        seed: u64,
        context: Context<'_>,
    ) -> Option<CvFold> {
        let split = fold_split(data, classes, seed, number / FOLDS);
        let part = |rows: Vec<usize>| {
            (!context.budget.is_interrupted()).then(|| data.subset(&rows, context.pool))
        };
        Some(CvFold {
            train: part(split.train_rows(number % FOLDS))?,
            test: part(split.test_rows(number % FOLDS))?,
        })
    }

    /// The training rows.
    pub fn train(&self) -> &Dataset {
        &self.train
    }

    /// The same rows with only some features of the schema.
    pub fn with_features(&self, kept: &[bool], pool: &Pool) -> CvFold {
        CvFold {
            train: self.train.with_features(kept, pool),
            test: self.test.with_features(kept, pool),
        }
    }
}

/// Predictions of a candidate for the test rows of a fold.
pub struct FoldPrediction {
    pub held_out: OutOfFold,
    /// Trees grown.
    pub work: u64,
}

/// Splits the rows into folds, stratified by class, and makes the first of them; there are more than
/// [`FOLDS`] if the split is repeated. There are none if the run is interrupted meanwhile.
pub fn split(
    data: &Dataset,
    classes: bool,
    folds: usize,
    seed: u64,
    context: Context<'_>,
) -> Vec<CvFold> {
    let fold = |number: usize| CvFold::new(data, classes, number, seed, context);
    (0..folds).map(fold).collect::<Option<Vec<CvFold>>>().unwrap_or_default()
}

/// The folds of all rows, stratified by class; `repeat` is the number of the split.
pub fn fold_split(data: &Dataset, classes: bool, seed: u64, repeat: usize) -> FoldSplit {
    let target = if classes { data.target.to_vec() } else { Vec::new() };
    let stream = Stream::new(seed, FOLD_STREAM, repeat as u64);
    FoldSplit::new(data.rows(), FOLDS, stream, |a, b| match classes {
        true => target[a].total_cmp(&target[b]),
        false => Ordering::Equal,
    })
}

/// Fits a candidate to the training rows of a fold and predicts its test rows. One thread does all
/// of it: folds and candidates are what runs in parallel.
pub fn fit_fold(
    fold: &CvFold,
    candidate: &Candidate,
    set: TrainingSet<'_>,
    context: Context<'_>,
) -> Result<FoldPrediction, BackendError> {
    // Folds run in parallel, so that each has an account of its own.
    let budget = context.budget.clone().with_work_limit(u64::MAX);
    let context = Context { budget: &budget, ..context };
    let (test, objective) = (&fold.test, set.objective);
    let set = fold_set(fold, set);

    let (scores, shift) = match &candidate.method {
        FitMethod::Greedy { rate, penalties, columns } => {
            let config = candidate.shape.greedy_config(*rate, *penalties);
            let config = GreedyConfig { colsample_bytree: *columns, ..config };
            let fit = greedy::train(set, &config, context, &mut |_| ())?;
            (fit.ensemble.valid_scores, fit.ensemble.shift)
        }
        FitMethod::Search(strategy) => {
            let mut ensemble = Ensemble::new(set, &candidate.shape, strategy, context)?;
            backfit::backfit(&mut ensemble, &mut |_, _, _, _| ())?;
            (ensemble.valid_scores()?, ensemble.shift)
        }
        FitMethod::Constant => {
            let train = &fold.train;
            let target: Vec<f64> =
                train.target.iter().map(|y| objective.transform_target(y)).collect();
            let base = objective.start(&target, &train.weight.to_vec());
            (base.iter().map(|&base| vec![base as f32; test.rows()]).collect(), 0.0)
        }
    };
    let held_out = held_out(test, &scores, shift, objective);
    Ok(FoldPrediction { held_out, work: budget.spent() })
}

/// The rows of a fold: nothing is known of them but what its training rows tell.
fn fold_set<'a>(fold: &'a CvFold, set: TrainingSet<'a>) -> TrainingSet<'a> {
    TrainingSet { data: &fold.train, valid: Some(&fold.test), watched: &[], initial: None, ..set }
}

/// Fits greedy boosting to the training rows of a fold and predicts its test rows.
pub fn fit_greedy(
    fold: &CvFold,
    config: &GreedyConfig,
    set: TrainingSet<'_>,
    context: Context<'_>,
) -> Result<OutOfFold, BackendError> {
    let budget = context.budget.clone().with_work_limit(u64::MAX);
    let context = Context { budget: &budget, ..context };
    let (test, objective) = (&fold.test, set.objective);
    let set = fold_set(fold, set);
    let fit = greedy::train(set, config, context, &mut |_| ())?.ensemble;
    Ok(held_out(test, &fit.valid_scores, fit.shift, objective))
}

fn held_out(
    test: &Dataset,
    scores: &[Vec<f32>],
    shift: f64,
    objective: &dyn Objective,
) -> OutOfFold {
    let flat: Vec<f32> = scores.concat();
    let target: Vec<f32> =
        test.target.iter().map(|y| (objective.transform_target(y) - shift) as f32).collect();
    let weight: Vec<f32> = test.weight.iter().map(|weight| weight as f32).collect();
    let raw = (0..test.rows())
        .flat_map(|row| scores.iter().map(move |output| f64::from(output[row]) + shift));
    OutOfFold {
        raw: raw.collect(),
        target: test.target.to_vec(),
        weight: test.weight.to_vec(),
        loss: EvalMetric::Loss.partial(&flat, &target, &weight, objective).sum,
        squares: EvalMetric::Rmse.partial(&flat, &target, &weight, objective).sum,
    }
}
