//! Cross-validation: every candidate is fitted on parts of the rows and judged on rows it has not
//! seen.

use std::cmp::Ordering;

use swarmwood_search::rng::Stream;

use super::ensemble::Ensemble;
use super::menu::{Candidate, Way};
use super::score::Unseen;
use super::{Stage, backfit};
use crate::budget::Budget;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::event::{Event, Flow};
use crate::fold_split::FoldSplit;
use crate::greedy;
use crate::metric::Watch;
use crate::objective::Objective;
use crate::pool::Pool;
use crate::stats::{BackendError, TrainingSet};

/// Below this many rows all folds are used, above it two: fits then differ by less than their
/// noise.
const MANY_ROWS: usize = 30_000;
pub const FOLDS: usize = 5;

/// Streams of the dealing of rows.
const FOLD_STREAM: u64 = 4 << 32;

/// Rows to fit on and rows to judge by.
#[derive(Debug)]
pub struct Fold {
    train: Dataset,
    test: Dataset,
}

/// What a candidate made of a fold.
pub struct Judged {
    /// Scores of the rows it was not fitted on.
    pub unseen: Unseen,
    /// Trees grown.
    pub work: usize,
}

/// Deals rows to folds: every class in equal shares. In a hurry there are none.
pub fn deal(data: &Dataset, classes: bool, seed: u64, pool: &Pool) -> Vec<Fold> {
    if pool.hurried() {
        return Vec::new();
    }
    let target = if classes { data.target.to_vec() } else { Vec::new() };
    let stream = Stream::new(seed, FOLD_STREAM, 0);
    let split = FoldSplit::new(data.rows(), FOLDS, stream, |a, b| match classes {
        true => target[a].total_cmp(&target[b]),
        false => Ordering::Equal,
    });
    let used = if data.rows() < MANY_ROWS { FOLDS } else { 2 };
    let part = |rows: Vec<usize>| (!pool.hurried()).then(|| data.subset(&rows, pool));
    let fold = |number: usize| {
        Some(Fold { train: part(split.train_rows(number))?, test: part(split.test_rows(number))? })
    };
    (0..used).map(fold).collect::<Option<Vec<Fold>>>().unwrap_or_default()
}

/// Fits a candidate on a fold's rows and scores the others. One thread does it all: folds and
/// candidates are what runs side by side.
pub fn judge(
    fold: &Fold,
    candidate: &Candidate,
    set: TrainingSet<'_>,
    context: Context<'_>,
    halt: &(dyn Fn() -> bool + Sync),
) -> Result<Judged, BackendError> {
    let objective = set.objective;
    let set = TrainingSet { data: &fold.train, valid: Some(&fold.test), ..set };
    let (scores, shift, work) = match &candidate.way {
        Way::Greedy { rate, penalties } => {
            let settings = candidate.frame.growing(*rate, *penalties);
            let budget = Budget::unlimited();
            let mut observer = |_: &Event| {
                if halt() || context.budget.is_interrupted() {
                    budget.cancel();
                }
            };
            let context = Context { budget: &budget, ..context };
            let fit = greedy::train(set, &settings, context, &mut observer)?;
            (fit.valid_scores, fit.shift, candidate.frame.trees)
        }
        Way::Search(arm) => {
            let tell = &mut |_: Stage, _: usize, _: usize, _: &Ensemble<'_>| flow(halt);
            let mut ensemble = Ensemble::new(set, &candidate.frame, arm, context)?;
            backfit::backfit(&mut ensemble, tell)?;
            (ensemble.valid_scores()?, ensemble.shift, ensemble.work)
        }
        Way::Constant => {
            let target: Vec<f64> =
                fold.train.target.iter().map(|y| objective.transform_target(y)).collect();
            let base = objective.start(&target, &fold.train.weight.to_vec());
            (base.iter().map(|&base| vec![base as f32; fold.test.rows()]).collect(), 0.0, 0)
        }
    };
    Ok(Judged { unseen: unseen(&fold.test, &scores, shift, objective), work })
}

/// What a listener that only knows when to halt says.
pub fn flow(halt: &(dyn Fn() -> bool + Sync)) -> Flow {
    if halt() { Flow::Stop } else { Flow::Continue }
}

fn unseen(test: &Dataset, scores: &[Vec<f32>], shift: f64, objective: &dyn Objective) -> Unseen {
    let flat: Vec<f32> = scores.concat();
    let target: Vec<f32> =
        test.target.iter().map(|y| (objective.transform_target(y) - shift) as f32).collect();
    let weight: Vec<f32> = test.weight.iter().map(|weight| weight as f32).collect();
    let raw = (0..test.rows())
        .flat_map(|row| scores.iter().map(move |output| f64::from(output[row]) + shift));
    Unseen {
        raw: raw.collect(),
        target: test.target.to_vec(),
        weight: test.weight.to_vec(),
        loss: Watch::Loss.partial(&flat, &target, &weight, objective).sum,
        squares: Watch::Rmse.partial(&flat, &target, &weight, objective).sum,
    }
}
