//! A candidate fitted to a fold as plain data, so that another process can do it.
//!
//! The task names the fold by its number. Whoever runs it has the same rows, of which the folds
//! follow, and the same objective and constraints.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use swarmwood_model::Link;
use swarmwood_search::{Datum, Error};

use super::candidates::{Candidate, FitMethod};
use super::cross_validation::{self, CvFold, FoldPlan};
use super::out_of_fold::FoldScore;
use super::search::{EnsembleSearch, FoldScores, TASKS_TOGETHER};
use super::{EnsembleSearchError, EnsembleShape, SearchStrategy};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::greedy::Growth;
use crate::greedy::lookahead::{FeatureSets, Lookahead};
use crate::plan::{MOST_WORK, Task, TaskRows, TaskRunner};
use crate::split::{Penalties, Ridge};
use crate::stats::{FeatureSet, TrainingSet};

/// More folds than any plan has.
const MOST_FOLDS: usize = 1 << 16;

impl EnsembleSearch<'_> {
    /// How many candidates are fitted to so many folds at a time. Without a limit of work it makes no
    /// difference to the result, and whoever runs tasks elsewhere may have many workers.
    pub(super) fn candidates_together(&self, folds: usize) -> usize {
        match self.set.runner {
            Some(_) if self.disposable_work().is_none() => usize::MAX,
            _ => (TASKS_TOGETHER / folds).max(1),
        }
    }

    /// The scores of candidates on some of the folds, by tasks that run somewhere else.
    pub(super) fn score_with(
        &self,
        runner: &dyn TaskRunner,
        candidates: &[Candidate],
        folds: Range<usize>,
    ) -> Result<Option<Vec<FoldScores>>, EnsembleSearchError> {
        let tasks = Task::cross_validation(candidates.len(), folds.len());
        let encoded: Vec<Datum> = tasks
            .iter()
            .map(|task| {
                let TaskRows::Fold(at) = task.rows else { unreachable!("all tasks have a fold") };
                let fold = folds.start + at;
                let kept = self.features.as_ref().map(|choice| choice.mask_of_fold(fold));
                let candidate = candidates[task.candidate].clone();
                let most_rows = self.fold_plan.most_rows;
                FoldTask { candidate, fold, most_rows, kept }.save()
            })
            .collect();

        let results = runner.run(&encoded, self.context.budget);
        let Some(results) = results.map_err(EnsembleSearchError::Runner)? else { return Ok(None) };
        if results.len() != tasks.len() {
            let message = format!("{} results came of {} tasks", results.len(), tasks.len());
            return Err(EnsembleSearchError::Runner(message));
        }
        if self.interrupted() {
            return Ok(None);
        }

        let mut merged: Vec<FoldScores> = vec![Default::default(); candidates.len()];
        for (task, result) in tasks.iter().zip(&results) {
            let (score, work) = load_result(result)?;
            merged[task.candidate].0.push(score);
            merged[task.candidate].1 += work;
        }
        Ok(Some(merged))
    }
}

/// The folds of some rows, for tasks of a search in another process.
#[derive(Debug, Default)]
pub struct FoldTasks {
    /// The folds that tasks have asked for.
    folds: Mutex<BTreeMap<usize, Arc<CvFold>>>,
}

impl FoldTasks {
    /// The result of a task on the rows that the search has; a fit has one thread.
    pub fn run(
        &self,
        task: &Datum,
        set: TrainingSet<'_>,
        context: Context<'_>,
    ) -> Result<Datum, EnsembleSearchError> {
        let FoldTask { candidate, fold, most_rows, kept } = FoldTask::load(task, set.data)?;
        let link = set.objective.link();
        let classes = matches!(link, Link::Sigmoid | Link::Softmax);
        let interrupted = || EnsembleSearchError::Runner("interrupted".to_string());

        let plan = FoldPlan { classes, seed: candidate.shape.seed, most_rows };
        let whole = self.fold(fold, set.data, plan, context).ok_or_else(interrupted)?;
        let restricted = kept.map(|kept| whole.with_features(&kept, context.pool));
        let rows = restricted.as_ref().unwrap_or(&whole);

        let found = cross_validation::fit_fold(rows, &candidate, set, context)?;
        let score = found.held_out.score(classes.then_some(link), context);
        Ok(save_result(&score.ok_or_else(interrupted)?, found.work))
    }

    /// A fold, made when it is first asked for; later requests wait.
    fn fold(
        &self,
        number: usize,
        data: &Dataset,
        plan: FoldPlan,
        context: Context<'_>,
    ) -> Option<Arc<CvFold>> {
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fold) = folds.get(&number) {
            return Some(Arc::clone(fold));
        }
        let fold = Arc::new(plan.fold(data, number, context)?);
        folds.insert(number, Arc::clone(&fold));
        Some(fold)
    }
}

/// A candidate, the fold that it is fitted to, and which features of the schema it may use.
#[derive(Debug, Clone, PartialEq)]
struct FoldTask {
    candidate: Candidate,
    fold: usize,
    /// As in the plan of the folds.
    most_rows: usize,
    kept: Option<Vec<bool>>,
}

impl FoldTask {
    fn save(&self) -> Datum {
        let kept = self.kept.iter().map(|kept| {
            let kept = kept.iter().map(|&kept| Datum::flag(kept));
            Datum::List(kept.collect())
        });
        Datum::record([
            ("name", Datum::Text(self.candidate.name.clone())),
            ("method", save_method(&self.candidate.method)),
            ("shape", save_shape(&self.candidate.shape)),
            ("fold", Datum::Natural(self.fold as u64)),
            ("most_rows", Datum::Natural(self.most_rows as u64)),
            ("kept", Datum::List(kept.collect())),
        ])
    }

    fn load(datum: &Datum, data: &Dataset) -> Result<FoldTask, Error> {
        let Datum::Text(name) = datum.field("name")? else { return Err(damaged("name")) };
        let kept = match datum.field("kept")?.list()? {
            [] => None,
            [kept] => {
                let kept = kept.list()?.iter().map(Datum::to_flag);
                Some(kept.collect::<Result<Vec<bool>, Error>>()?)
            }
            _ => return Err(damaged("choice of features")),
        };
        let fold = datum.field("fold")?.count()?;
        if fold >= MOST_FOLDS {
            return Err(damaged("number of a fold"));
        }
        let features = data.layout.features().len();
        let in_schema = data.layout.sources().iter().max().map_or(0, |&last| last as usize + 1);
        if kept.as_ref().is_some_and(|kept| kept.len() < in_schema) {
            return Err(damaged("choice of features"));
        }
        let candidate = Candidate {
            name: name.clone(),
            method: load_method(datum.field("method")?)?,
            shape: load_shape(datum.field("shape")?, features)?,
        };
        let most_rows = datum.field("most_rows")?.count()?;
        Ok(FoldTask { candidate, fold, most_rows, kept })
    }
}

fn save_result(score: &FoldScore, work: u64) -> Datum {
    Datum::List(vec![score.to_datum(), Datum::Natural(work)])
}

fn load_result(datum: &Datum) -> Result<(FoldScore, u64), Error> {
    let [score, work] = datum.tuple()?;
    let work = work.counter()?;
    if work > MOST_WORK {
        return Err(damaged("count of work"));
    }
    Ok((FoldScore::from_datum(score)?, work))
}

fn save_method(method: &FitMethod) -> Datum {
    match method {
        FitMethod::Constant => Datum::List(Vec::new()),
        FitMethod::Greedy { rate, penalties, columns } => {
            let Penalties { lambda, ridge, gamma, min_child_weight } = *penalties;
            let numbers = Datum::reals(&[*rate, *columns, lambda, gamma, min_child_weight]);
            Datum::List(vec![save_ridge(ridge), numbers])
        }
        FitMethod::Search(strategy) => {
            let SearchStrategy { lambda, ridge, kappa, gamma, .. } = *strategy;
            let SearchStrategy { min_child_weight, start_rate, refits, .. } = *strategy;
            let numbers = [lambda, kappa, gamma, min_child_weight, start_rate];
            Datum::List(vec![
                save_ridge(ridge),
                Datum::reals(&numbers),
                Datum::Natural(refits as u64),
                Datum::Natural(strategy.sweeps as u64),
                Datum::Natural(strategy.pairs as u64),
            ])
        }
    }
}

fn load_method(datum: &Datum) -> Result<FitMethod, Error> {
    match datum.list()? {
        [] => Ok(FitMethod::Constant),
        [ridge, numbers] => {
            let numbers = numbers.to_reals(5)?;
            let [rate, columns, lambda, gamma, min_child_weight] = five(&numbers)?;
            let penalties =
                Penalties { lambda, ridge: load_ridge(ridge)?, gamma, min_child_weight };
            Ok(FitMethod::Greedy { rate, penalties, columns })
        }
        [ridge, numbers, refits, sweeps, pairs] => {
            let numbers = numbers.to_reals(5)?;
            let [lambda, kappa, gamma, min_child_weight, start_rate] = five(&numbers)?;
            let ridge = load_ridge(ridge)?;
            Ok(FitMethod::Search(SearchStrategy {
                lambda,
                ridge,
                kappa,
                gamma,
                min_child_weight,
                start_rate,
                refits: refits.count()?,
                sweeps: sweeps.count()?,
                pairs: pairs.count()?,
            }))
        }
        _ => Err(damaged("way of fitting")),
    }
}

fn five(numbers: &[f64]) -> Result<[f64; 5], Error> {
    numbers.try_into().map_err(|_| damaged("list of numbers"))
}

fn save_ridge(ridge: Ridge) -> Datum {
    Datum::flag(ridge == Ridge::Hierarchical)
}

fn load_ridge(datum: &Datum) -> Result<Ridge, Error> {
    Ok(if datum.to_flag()? { Ridge::Hierarchical } else { Ridge::Flat })
}

const GROWTHS: [Growth; 3] = [Growth::Depth, Growth::Leaf, Growth::Oblivious];

fn save_shape(shape: &EnsembleShape) -> Datum {
    let growth = GROWTHS.iter().position(|growth| *growth == shape.growth).unwrap_or(0);
    let natural = |number: usize| Datum::Natural(number as u64);
    Datum::List(vec![
        natural(shape.trees),
        natural(growth),
        Datum::flag(shape.try_oblivious),
        natural(shape.depth),
        natural(shape.max_leaves),
        Datum::Natural(shape.seed),
        natural(shape.memory),
        save_lookahead(&shape.lookahead),
    ])
}

fn load_shape(datum: &Datum, features: usize) -> Result<EnsembleShape, Error> {
    let [trees, growth, try_oblivious, depth, max_leaves, seed, memory, lookahead] =
        datum.tuple()?;
    Ok(EnsembleShape {
        trees: trees.count()?,
        growth: *GROWTHS.get(growth.count()?).ok_or_else(|| damaged("growth"))?,
        try_oblivious: try_oblivious.to_flag()?,
        depth: depth.count()?,
        max_leaves: max_leaves.count()?,
        seed: seed.natural()?,
        memory: memory.count()?,
        lookahead: load_lookahead(lookahead, features)?,
    })
}

fn save_lookahead(lookahead: &Lookahead) -> Datum {
    let number = |&feature: &u32| Datum::Natural(u64::from(feature));
    let set = |set: &FeatureSet| Datum::List(set.features().iter().map(number).collect());
    match lookahead {
        Lookahead::Off => Datum::flag(false),
        Lookahead::Screened => Datum::flag(true),
        Lookahead::Sets(sets) => Datum::List(sets.as_slice().iter().map(set).collect()),
    }
}

fn load_lookahead(datum: &Datum, features: usize) -> Result<Lookahead, Error> {
    let Datum::List(sets) = datum else {
        return Ok(if datum.to_flag()? { Lookahead::Screened } else { Lookahead::Off });
    };
    let number = |datum: &Datum| {
        let number = datum.natural()?;
        let known = u32::try_from(number).ok().filter(|&number| (number as usize) < features);
        known.ok_or_else(|| damaged("feature"))
    };
    let set = |datum: &Datum| {
        let numbers = datum.list()?.iter().map(number).collect::<Result<Vec<u32>, Error>>()?;
        FeatureSet::new(&numbers).ok_or_else(|| damaged("set of features"))
    };
    let sets = sets.iter().map(set).collect::<Result<Vec<FeatureSet>, Error>>()?;
    Ok(Lookahead::Sets(FeatureSets::new(&sets)))
}

fn damaged(what: &str) -> Error {
    Error::Snapshot(format!("holds no {what} where one belongs; it is damaged"))
}
