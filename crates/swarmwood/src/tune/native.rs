//! The built-in learners as an objective: a trial is a cross-validation, one fit per fold.
//!
//! What does not depend on a configuration is done once and shared by all fits, read-only: rows are
//! read once, binned once for every `max_bin`, and cut into the same folds for every trial, so that
//! folds of two trials can be compared. A fit has one thread; many of them run side by side. Bins
//! are made from all rows of the tuning part, their targets unseen, so the rows of a fold help to
//! place the boundaries that it is then predicted with; the outer holdout does not. That moves the
//! loss of a fold of few rows, up or down, but does not flatter it (`bench/fold_edges.py`).

use swarmwood_learn::budget::Budget;
use swarmwood_learn::pool::Pool;
use swarmwood_search::{Point, Space, rng};

use super::native_space;
use super::objective::{FoldResult, Proposal, TrialObjective};
use super::score::TuningScore;
use crate::checkpoint::Identity;
use crate::error::Violation;
use crate::params::{Method, Params, ValidParams};
use crate::read::Rows;
use crate::train::{self, FoldData, FoldFit};
use crate::{Error, Result};

/// What is tuned where no method is named: the learner whose folds share the most.
pub const DEFAULT_METHOD: Method = Method::GREEDY;

/// One part in so many validates where there is a single split.
const SINGLE: usize = 4;

/// What every trial of a tuning has in common.
#[derive(Debug, Clone)]
pub struct NativeConfig {
    /// Parameters that are not tuned; tuned ones override them.
    pub params: Params,
    /// What configurations are judged by.
    pub score: TuningScore,
    /// Folds of the cross-validation; 1 is a single split, a quarter of the rows for validation.
    pub folds: usize,
    /// Threads for what is done once; 0 is one per core.
    pub threads: usize,
}

/// Our own learners on rows that are read once.
pub struct NativeObjective {
    data: FoldData,
    common: NativeConfig,
    space: Space,
}

impl NativeObjective {
    /// Checks the space against the table of parameters, cuts the rows into folds and bins them.
    ///
    /// ```
    /// use swarmwood::learn::budget::Budget;
    /// use swarmwood::params::{Method, Params};
    /// use swarmwood::read::{self, ReadOptions, Source};
    /// use swarmwood::search::{Param, Space};
    /// use swarmwood::tune::{NativeConfig, NativeObjective, TrialObjective, Proposal, TuningScore};
    ///
    /// let csv = b"x,y\n1,1\n2,1\n3,1\n4,1\n5,9\n6,9\n7,9\n8,9\n";
    /// let options = ReadOptions { target: "y".into(), task: read::TaskChoice::Regression, ..ReadOptions::default() };
    /// let rows = read::training(&Source::Bytes("step.csv".into(), csv), &options)?;
    /// let space = Space::new(vec![Param::list("learning_rate", &[0.01, 1.0])]).unwrap();
    /// let score = TuningScore::named("rmse", &rows.schema.target.kind)?;
    /// let params = Params { lambda: 0.0, ..Params::of(Method::GREEDY) };
    /// let native = NativeObjective::new(rows, NativeConfig { params, score, folds: 2, threads: 1 }, &space)?;
    /// let loss = |number| {
    ///     let point = space.nth(number).unwrap();
    ///     let trial = Proposal { id: 0, space: &space, point: &point };
    ///     native.evaluate_fold(&trial, 0, &Budget::unlimited()).unwrap().loss
    /// };
    /// assert!(loss(1) < loss(0));
    /// # Ok::<(), swarmwood::Error>(())
    /// ```
    pub fn new(rows: Rows, common: NativeConfig, space: &Space) -> Result<NativeObjective> {
        let targets = rows.schema.target.kind.columns().len();
        if targets > 1 {
            let message = format!(
                "names {targets} columns, but tuning is for one target; tune each by itself, or one \
                 of them and train on all with what was found"
            );
            return Err(Error::Parameters(vec![Violation::new("target", message)]));
        }
        native_space::check(space, &common.params)?;
        let mut common = common;
        common.params.metric = common.score.watched();
        // Fits run side by side; threads within them would only take the cores from each other.
        common.params.threads = 1;
        if !common.params.method.spec().uses("early_stopping_rounds") {
            common.params.early_stopping_rounds = 0;
        }
        let cuts = if common.folds == 1 { SINGLE } else { common.folds };
        let folds = rows.folds(cuts, common.params.seed)?;
        let data = FoldData::new(rows, folds, common.folds);
        let native = NativeObjective { data, common, space: space.clone() };

        let pool = Pool::new(native.common.threads).map_err(Error::Run)?;
        native.check_losses(&pool)?;
        let params = &native.common.params;
        train::learner(params.method)?.prepare_folds(&native.data, params, &pool)?;
        Ok(native)
    }

    /// The rows that trials see.
    pub fn rows(&self) -> &Rows {
        self.data.rows()
    }

    /// The fold of each row.
    pub fn fold_of_row(&self) -> &[usize] {
        self.data.fold_of_row()
    }

    /// What trials have in common.
    pub fn common(&self) -> &NativeConfig {
        &self.common
    }

    /// The parameters of a configuration.
    pub fn params(&self, point: &Point) -> Result<ValidParams> {
        native_space::params(&self.common.params, &self.space, point)
    }

    /// Changes with everything that changes a loss: rows, folds, fixed parameters, the metric.
    pub fn fingerprint(&self) -> Result<u128> {
        let identity = Identity::of(&self.common.params, self.rows(), None)?;
        let mut text = format!("{} {}", self.common.score.name, self.common.folds);
        identity
            .parameters
            .iter()
            .for_each(|(name, value)| text.push_str(&format!("\n{name} {value}")));
        let words =
            text.bytes().map(u64::from).chain([identity.data as u64, (identity.data >> 64) as u64]);
        Ok(rng::fingerprint(words))
    }

    /// The fit of one fold, with its metrics.
    pub(super) fn fit(
        &self,
        params: &ValidParams,
        fold: usize,
        budget: &Budget,
    ) -> Result<FoldFit> {
        self.data.fit(train::learner(params.method)?, fold, params, budget)
    }

    /// Refuses losses that the target cannot have before any trial fails by them.
    fn check_losses(&self, pool: &Pool) -> Result<()> {
        let mut target = Vec::with_capacity(self.rows().rows);
        self.rows().for_each_chunk(&mut |chunk| {
            target.extend_from_slice(&chunk.target);
            Ok(())
        })?;
        let labels = native_space::labels(&self.space, "objective");
        let mut tried = vec![self.common.params.clone()];
        for label in labels {
            let mut params = self.common.params.clone();
            params
                .set("objective", &label)
                .map_err(|violation| Error::Parameters(vec![violation]))?;
            tried.push(params);
        }
        // The fixed loss counts only where no other is chosen.
        let from = usize::from(tried.len() > 1);
        tried[from..].iter().try_for_each(|params| self.data.check_targets(params, &target, pool))
    }
}

#[cfg(test)]
mod tests;

impl TrialObjective for NativeObjective {
    fn folds(&self) -> usize {
        self.common.folds
    }

    fn evaluate_fold(
        &self,
        trial: &Proposal<'_>,
        fold: usize,
        budget: &Budget,
    ) -> std::result::Result<FoldResult, String> {
        let message = |error: Error| error.to_string();
        let params =
            native_space::params(&self.common.params, trial.space, trial.point).map_err(message)?;
        let fit = self.fit(&params, fold, budget).map_err(message)?;
        let loss = self.common.score.loss(self.common.score.find(&fit.metrics)?);
        if !loss.is_finite() {
            return Err(format!("the metric {} is {loss}", self.common.score.name));
        }
        let stops =
            params.method.spec().uses("early_stopping_rounds") && params.early_stopping_rounds > 0;
        Ok(FoldResult { loss, rounds: stops.then_some(fit.rounds) })
    }
}
