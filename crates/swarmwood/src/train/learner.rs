//! What every learner is.

use swarmwood_learn::budget::Budget;
use swarmwood_learn::event::Event;
use swarmwood_learn::pool::Pool;

use super::fold::{FoldData, FoldFit};
use super::{Job, TrainResult};
use crate::Result;
use crate::params::{Method, Params, ValidParams};

/// A way from rows to a model. Its description is the [`LearnerSpec`](crate::params::LearnerSpec)
/// of its method.
pub trait Learner: Sync {
    /// The method that it is the code of.
    fn method(&self) -> Method;

    /// Trains a model. `observer` is called at every step. When the job's budget is interrupted, the
    /// training ends at once with the best model so far.
    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult>;

    /// Whether a job that asks for held-out scores gets them with the result; otherwise they are
    /// made by fitting folds. Not by default.
    fn makes_out_of_fold_scores(&self) -> bool {
        false
    }

    /// Whether its tasks can run in other processes ([`FoldTaskRows`](super::FoldTaskRows)). Not by
    /// default.
    fn has_tasks(&self) -> bool {
        false
    }

    /// Does once what fits of all folds share, with all threads. Nothing by default.
    fn prepare_folds(&self, _folds: &FoldData, _params: &Params, _pool: &Pool) -> Result<()> {
        Ok(())
    }

    /// Fits the rows outside of a fold and measures the model on the rows inside, with what the
    /// folds share. `None` (the default) if the learner shares nothing: it is then trained on the
    /// rows as it always is.
    fn fit_fold(
        &self,
        _folds: &FoldData,
        _fold: usize,
        _params: &ValidParams,
        _budget: &Budget,
    ) -> Result<Option<FoldFit>> {
        Ok(None)
    }
}
