//! Greedy boosting: of trees, or of a linear function.

use swarmwood_learn::budget::Budget;
use swarmwood_learn::event::Event;
use swarmwood_learn::pool::Pool;

use super::fold::{FoldData, FoldFit};
use super::{Job, Learner, TrainResult, linear, trees};
use crate::params::{Method, Params, ValidParams};
use crate::{Error, Result};

/// The learner `greedy`.
pub(super) struct GreedyBoosting;

impl Learner for GreedyBoosting {
    fn method(&self) -> Method {
        Method::GREEDY
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        if job.params.is_linear() {
            linear::train(job, observer)
        } else {
            trees::train(job, observer)
        }
    }

    fn prepare_folds(&self, folds: &FoldData, params: &Params, pool: &Pool) -> Result<()> {
        folds.binned(params, pool).map(|_| ())
    }

    fn fit_fold(
        &self,
        folds: &FoldData,
        fold: usize,
        params: &ValidParams,
        budget: &Budget,
    ) -> Result<Option<FoldFit>> {
        // Folds share bins; a feature budget chooses in each of them.
        if params.has_feature_budget() {
            return Ok(None);
        }
        let pool = Pool::new(1).map_err(Error::Run)?;
        let fit = if params.is_linear() {
            folds.fit_linear(fold, params, &pool, budget)
        } else {
            folds.fit_trees(fold, params, &pool, budget)
        };
        fit.map(Some)
    }
}
