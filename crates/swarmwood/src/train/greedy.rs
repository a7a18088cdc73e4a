//! Greedy boosting: of trees, or of a linear function.

use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::pool::Pool;

use super::fold::{FoldData, FoldFit};
use super::{Job, Learner, Trained, linear, trees};
use crate::params::{Checked, Method, Params};
use crate::{Error, Result};

/// The learner `greedy`.
pub(super) struct GreedyBoosting;

impl Learner for GreedyBoosting {
    fn method(&self) -> Method {
        Method::GREEDY
    }

    fn train(&self, job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
        if job.params.is_linear() { linear::train(job, watch) } else { trees::train(job, watch) }
    }

    fn prepare_folds(&self, folds: &FoldData, params: &Params, pool: &Pool) -> Result<()> {
        folds.binned(params, pool).map(|_| ())
    }

    fn fit_fold(
        &self,
        folds: &FoldData,
        fold: usize,
        params: &Checked<Params>,
        halt: &dyn Fn() -> bool,
    ) -> Result<Option<FoldFit>> {
        let pool = Pool::new(1).map_err(Error::Run)?;
        let fit = if params.is_linear() {
            folds.fit_linear(fold, params, &pool, halt)
        } else {
            folds.fit_trees(fold, params, &pool, halt)
        };
        fit.map(Some)
    }
}
