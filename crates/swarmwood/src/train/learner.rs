//! What every learner is.

use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::pool::Pool;

use super::fold::{FoldData, FoldFit};
use super::{Job, Trained};
use crate::Result;
use crate::params::{Checked, Method, Params};

/// A way from rows to a model. Its description is the [`LearnerSpec`](crate::params::LearnerSpec)
/// of its method.
pub trait Learner: Sync {
    /// The method that it is the code of.
    fn method(&self) -> Method;

    /// Trains a model. `watch` hears of every step and may end the run, which then ends with the
    /// best model so far.
    fn train(&self, job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained>;

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
        _params: &Checked<Params>,
        _halt: &dyn Fn() -> bool,
    ) -> Result<Option<FoldFit>> {
        Ok(None)
    }
}
