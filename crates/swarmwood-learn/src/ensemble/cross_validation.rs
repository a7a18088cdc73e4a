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

/// Random streams of the rows that are drawn, one per row.
const DRAW_STREAM: u64 = (4 << 32) + (1 << 31);

/// The training and the test rows of a fold.
#[derive(Debug)]
pub struct CvFold {
    train: Dataset,
    test: Dataset,
}

impl CvFold {
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

/// How rows are split into folds, stratified by class.
#[derive(Debug, Clone, Copy)]
pub struct FoldPlan {
    /// Whether targets are classes.
    pub classes: bool,
    /// The seed of the split.
    pub seed: u64,
    /// Of more rows than this, about so many are drawn: enough to tell candidates apart.
    pub most_rows: usize,
}

impl FoldPlan {
    /// The rows that are split into folds; `None` for all.
    fn drawn_rows(&self, rows: usize) -> Option<Vec<usize>> {
        let share = self.most_rows as f64 / rows as f64;
        let is_drawn =
            |&row: &usize| Stream::new(self.seed, DRAW_STREAM, row as u64).unit() < share;
        (rows > self.most_rows).then(|| (0..rows).filter(is_drawn).collect())
    }

    /// How many rows are split into folds.
    pub fn rows(&self, rows: usize) -> usize {
        self.drawn_rows(rows).map_or(rows, |drawn| drawn.len())
    }

    /// The rows that are split into folds, where these are not all.
    pub fn sample(&self, data: &Dataset, pool: &Pool) -> Option<Dataset> {
        self.drawn_rows(data.rows()).map(|drawn| data.subset(&drawn, pool))
    }

    /// The first folds; there are more than [`FOLDS`] if the split is repeated. There are none if the
    /// run is interrupted meanwhile.
    pub fn folds(&self, data: &Dataset, count: usize, context: Context<'_>) -> Vec<CvFold> {
        let splits: Vec<RowSplit> =
            (0..count.div_ceil(FOLDS)).map(|repeat| RowSplit::new(self, data, repeat)).collect();
        let fold = |number: usize| splits[number / FOLDS].fold(data, number % FOLDS, context);
        (0..count).map(fold).collect::<Option<Vec<CvFold>>>().unwrap_or_default()
    }

    /// A fold by its number; `None` if the run is interrupted meanwhile.
    pub fn fold(&self, data: &Dataset, number: usize, context: Context<'_>) -> Option<CvFold> {
        RowSplit::new(self, data, number / FOLDS).fold(data, number % FOLDS, context)
    }
}

/// One split of the rows.
struct RowSplit {
    drawn: Option<Vec<usize>>,
    /// By position among the rows that are drawn.
    split: FoldSplit,
}

impl RowSplit {
    fn new(plan: &FoldPlan, data: &Dataset, repeat: usize) -> RowSplit {
        let drawn = plan.drawn_rows(data.rows());
        let split = match &drawn {
            None => fold_split(data, plan.classes, plan.seed, repeat),
            Some(drawn) => {
                let target = if plan.classes { data.target.to_vec() } else { Vec::new() };
                let target = |at: usize| target[drawn[at]];
                split_rows(drawn.len(), plan.classes.then_some(&target), plan.seed, repeat)
            }
        };
        RowSplit { drawn, split }
    }

    fn fold(&self, data: &Dataset, number: usize, context: Context<'_>) -> Option<CvFold> {
        let part = |mut rows: Vec<usize>| {
            if let Some(drawn) = &self.drawn {
                rows.iter_mut().for_each(|row| *row = drawn[*row]);
            }
            (!context.budget.is_interrupted()).then(|| data.subset(&rows, context.pool))
        };
        Some(CvFold {
            train: part(self.split.train_rows(number))?,
            test: part(self.split.test_rows(number))?,
        })
    }
}

/// The folds of all rows, stratified by class; `repeat` is the number of the split.
pub fn fold_split(data: &Dataset, classes: bool, seed: u64, repeat: usize) -> FoldSplit {
    let target = if classes { data.target.to_vec() } else { Vec::new() };
    let target = |row: usize| target[row];
    split_rows(data.rows(), classes.then_some(&target), seed, repeat)
}

fn split_rows(
    rows: usize,
    classes: Option<&dyn Fn(usize) -> f64>,
    seed: u64,
    repeat: usize,
) -> FoldSplit {
    let stream = Stream::new(seed, FOLD_STREAM, repeat as u64);
    FoldSplit::new(rows, FOLDS, stream, |a, b| match classes {
        Some(class) => class(a).total_cmp(&class(b)),
        None => Ordering::Equal,
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
