//! Fits of folds: what they share is made once, a fit has one thread, and what comes of it are
//! metrics of rows that were left out.
//!
//! Everything else is the code path of [`super::train`]: the same settings, losses and learners.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use swarmwood_learn::budget::Budget;
use swarmwood_learn::data::Chunk;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::pool::Pool;
use swarmwood_learn::stats::TrainingSet;
use swarmwood_learn::{greedy, objective};
use swarmwood_model::Body;

use super::{
    Job, Learner, TrainOptions, binning, constraints, gather, linear, measure,
    objective_and_metric, train_learner, trees,
};
use crate::params::{Params, ValidParams};
use crate::read::Rows;
use crate::{Error, Result, evaluate};

/// The scores of a fit on the rows of its fold.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldFit {
    /// Metrics of the task, by name.
    pub metrics: Vec<(&'static str, f64)>,
    /// Rounds in the model, after early stopping.
    pub rounds: usize,
}

/// Rows cut into folds, and what fits of the folds share, read-only.
pub struct FoldData {
    rows: Rows,
    /// The fold of each row.
    fold_of_row: Vec<usize>,
    /// Folds that are fitted; the first ones.
    count: usize,
    /// By `max_bin`.
    binned: Mutex<BTreeMap<usize, Arc<BinnedFolds>>>,
    values: OnceLock<std::result::Result<Vec<(Chunk, Chunk)>, String>>,
    parts: OnceLock<Vec<(Rows, Rows)>>,
}

/// For each fold the binned rows outside of it and in it.
type BinnedFolds = Vec<(Dataset, Dataset)>;

impl FoldData {
    /// Rows with the fold of each; `count` folds are fitted.
    pub(crate) fn new(rows: Rows, fold_of_row: Vec<usize>, count: usize) -> FoldData {
        FoldData {
            rows,
            fold_of_row,
            count,
            binned: Mutex::new(BTreeMap::new()),
            values: OnceLock::new(),
            parts: OnceLock::new(),
        }
    }

    /// All rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The fold of each row.
    pub fn fold_of_row(&self) -> &[usize] {
        &self.fold_of_row
    }

    /// The metrics of one fold, by the learner of the parameters. The budget ends the fit.
    pub(crate) fn fit(
        &self,
        learner: &dyn Learner,
        fold: usize,
        params: &ValidParams,
        budget: &Budget,
    ) -> Result<FoldFit> {
        match learner.fit_fold(self, fold, params, budget)? {
            Some(fit) => Ok(fit),
            None => self.fit_rows(learner, fold, params, budget),
        }
    }

    /// The same by a learner that reads its rows as it always does.
    pub(crate) fn fit_rows(
        &self,
        learner: &dyn Learner,
        fold: usize,
        params: &ValidParams,
        budget: &Budget,
    ) -> Result<FoldFit> {
        let parts = self.parts.get_or_init(|| {
            (0..self.count).map(|fold| (self.part(fold, false), self.part(fold, true))).collect()
        });
        let (data, test) = &parts[fold];
        let params = &(**params).clone().without_calibration().check()?;
        let options = TrainOptions {
            thresholded: true,
            budget: Some(budget.clone()),
            ..TrainOptions::default()
        };

        let trained = train_learner(learner, (data, None), params, &options, &mut |_| {})?;

        finished(budget)?;
        let metrics = evaluate::evaluate(&trained.model, test, None, 1)?.metrics;
        Ok(FoldFit { metrics, rounds: trained.rounds })
    }

    /// Refuses targets outside the domain of the loss.
    pub(crate) fn check_targets(&self, params: &Params, target: &[f64], pool: &Pool) -> Result<()> {
        self.with_job(params, pool, &Budget::unlimited(), |job| {
            job.check_targets(target.iter().copied())
        })
    }

    /// The folds in bins, made when they are first asked for; later requests wait.
    pub(super) fn binned(&self, params: &Params, pool: &Pool) -> Result<Arc<BinnedFolds>> {
        let mut all = self.binned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binned) = all.get(&params.max_bin) {
            return Ok(binned.clone());
        }
        let unlimited = Budget::unlimited();
        let data = self.with_job(params, pool, &unlimited, |job| binning::training(job, None))?;
        let fold = |fold| {
            let (test, rest): (Vec<usize>, Vec<usize>) =
                (0..self.rows.rows).partition(|&row| self.fold_of_row[row] == fold);
            (data.subset(&rest, pool), data.subset(&test, pool))
        };
        let binned = Arc::new((0..self.count).map(fold).collect::<Vec<_>>());
        all.insert(params.max_bin, binned.clone());
        Ok(binned)
    }

    /// Values of `max_bin` that folds were binned with.
    #[cfg(test)]
    pub(crate) fn binned_with(&self) -> Vec<usize> {
        self.binned.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// Trees on the rows outside of a fold, measured on those in it.
    pub(super) fn fit_trees(
        &self,
        fold: usize,
        params: &Params,
        pool: &Pool,
        budget: &Budget,
    ) -> Result<FoldFit> {
        let binned = self.binned(params, pool)?;
        let (data, test) = &binned[fold];
        self.with_job(params, pool, budget, |job| {
            trees::check_memory(params, data)?;
            // The training loss is not used, and costs a pass over the rows.
            let settings = greedy::GreedyConfig { report_every: 0, ..trees::settings(job) };
            let set =
                TrainingSet::new(data, Some(test), job.objective).with_constraints(job.constraints);

            let fit = greedy::train(set, &settings, job.context(), &mut |_| {})?;

            finished(budget)?;
            let (rounds, fit) = (fit.rounds, fit.ensemble);
            let model = job.model(fit.base, Body::Trees(fit.members));
            let known = (&test.target, &test.weight);
            Ok(FoldFit {
                metrics: trees::measure(job.tally(), &model, &fit.valid_scores, fit.shift, known),
                rounds,
            })
        })
    }

    /// The linear booster on the rows outside of a fold, measured on those in it.
    pub(super) fn fit_linear(
        &self,
        fold: usize,
        params: &Params,
        pool: &Pool,
        budget: &Budget,
    ) -> Result<FoldFit> {
        let values =
            self.values.get_or_init(|| self.fold_values().map_err(|error| error.to_string()));
        let (data, test) = &values.as_ref().map_err(|text| Error::Run(text.clone()))?[fold];
        self.with_job(params, pool, budget, |job| {
            let fitted = linear::fit(job, data, Some(test), &mut |_| {})?;

            finished(budget)?;
            let rounds = fitted.rounds;
            let model = job.model(fitted.base, Body::Linear(fitted.outputs));
            Ok(FoldFit { metrics: measure(job, &model, test)?, rounds })
        })
    }

    /// The rows inside or outside of a fold.
    fn part(&self, fold: usize, inside: bool) -> Rows {
        self.rows.subset(|row| (self.fold_of_row[row] == fold) == inside)
    }

    /// All rows as they were read, for the linear booster.
    fn fold_values(&self) -> Result<Vec<(Chunk, Chunk)>> {
        let part = |fold, inside| gather(&self.part(fold, inside));
        (0..self.count).map(|fold| Ok((part(fold, false)?, part(fold, true)?))).collect()
    }

    /// Runs `work` with a job on these rows; regression losses may be used on two classes.
    fn with_job<T>(
        &self,
        params: &Params,
        pool: &Pool,
        budget: &Budget,
        work: impl FnOnce(&Job<'_>) -> Result<T>,
    ) -> Result<T> {
        let target = &self.rows.schema.target.kind;
        let (spec, metric) = objective_and_metric(params, target, true)?;
        let objective = objective::make(&spec);
        let constraints = constraints::resolve(params, &self.rows.schema)?;
        work(&Job {
            rows: &self.rows,
            valid: None,
            params,
            options: &TrainOptions::default(),
            spec,
            objective: &*objective,
            custom: None,
            metric,
            constraints: &constraints,
            pool,
            budget,
            held_out: None,
        })
    }
}

/// A fit that was cut short says nothing about its parameters.
fn finished(budget: &Budget) -> Result<()> {
    match budget.is_interrupted() {
        true => Err(Error::Run("interrupted".to_string())),
        false => Ok(()),
    }
}
