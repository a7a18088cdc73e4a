//! Who makes backends: learners are handed a [`TrainingSet`] and open one backend per fit.

use super::backend::{Backend, BackendError};
use super::linear::{LinearSet, LocalLinear};
use super::local::Local;
use super::message::BackendOptions;
use super::particles::{ParticleSet, open_local};
use crate::bins::Layout;
use crate::constraints::Constraints;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::metric::CustomMetric;
use crate::objective::Objective;
use crate::plan::TaskRunner;

/// Makes backends for data sets.
pub trait BackendFactory: Sync {
    /// A backend at the best constant score.
    fn open<'a>(
        &'a self,
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError>;

    /// A backend for the linear booster; the rows were checked.
    fn open_linear<'a>(&'a self, set: LinearSet<'a>)
    -> Result<Box<dyn Backend + 'a>, BackendError>;

    /// A backend that evaluates particles.
    fn open_particles<'a>(
        &'a self,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError>;
}

/// Makes [`Local`] backends.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalBackends;

impl BackendFactory for LocalBackends {
    fn open<'a>(
        &'a self,
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(routed(Box::new(Local::new(set, options, context))))
    }

    fn open_linear<'a>(
        &'a self,
        set: LinearSet<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(routed(Box::new(LocalLinear::new(set))))
    }

    fn open_particles<'a>(
        &'a self,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(routed(open_local(set, context)))
    }
}

/// The backend itself, or behind a [`Loopback`](super::Loopback) where a test wants that.
fn routed<'a>(backend: Box<dyn Backend + 'a>) -> Box<dyn Backend + 'a> {
    #[cfg(feature = "test-hooks")]
    if crate::execution::uses_loopback() {
        return super::loopback::routed(backend);
    }
    backend
}

/// What a model that training continues says of the rows: scores in row order, one vector per
/// output, of its start values (less the shift of losses that have one) and its trees.
#[derive(Debug, Clone, Default)]
pub struct InitialScores {
    /// Start value of each output.
    pub base: Vec<f64>,
    /// Boosting rounds of the model.
    pub rounds: usize,
    /// Scores of the training rows.
    pub training: Vec<Vec<f32>>,
    /// Scores of the validation rows; empty without any.
    pub valid: Vec<Vec<f32>>,
    /// Scores of the other sets of rows.
    pub watched: Vec<Vec<Vec<f32>>>,
}

impl InitialScores {
    /// Scores of rows without trees, as learners keep them.
    pub fn start(base: &[f64], objective: &dyn Objective) -> Vec<f32> {
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        base.iter().map(|&base| (base - shift) as f32).collect()
    }
}

/// What a model is fitted to: a handle to rows, for backends to open.
#[derive(Clone, Copy)]
pub struct TrainingSet<'a> {
    /// The training rows.
    pub data: &'a Dataset,
    /// Rows that are scored, never learnt from, binned with the same layout.
    pub valid: Option<&'a Dataset>,
    /// More such rows, by which nothing is decided.
    pub watched: &'a [Dataset],
    /// The scores of a model that training continues; `None` starts at the best constant.
    pub initial: Option<&'a InitialScores>,
    /// The caller's metric of early stopping.
    pub metric: Option<&'a dyn CustomMetric>,
    /// What is minimised.
    pub objective: &'a dyn Objective,
    /// Who makes backends for them.
    pub backends: &'a dyn BackendFactory,
    /// What the model must satisfy.
    pub constraints: &'a Constraints,
    /// Who runs tasks on these rows; `None` for the threads of this process.
    pub runner: Option<&'a dyn TaskRunner>,
}

impl<'a> TrainingSet<'a> {
    /// Rows in this process, without constraints.
    pub fn new(
        data: &'a Dataset,
        valid: Option<&'a Dataset>,
        objective: &'a dyn Objective,
    ) -> Self {
        TrainingSet {
            data,
            valid,
            watched: &[],
            initial: None,
            metric: None,
            objective,
            backends: &LocalBackends,
            constraints: Constraints::NONE,
            runner: None,
        }
    }

    /// The same rows with constraints.
    #[must_use]
    pub fn with_constraints(self, constraints: &'a Constraints) -> Self {
        TrainingSet { constraints, ..self }
    }

    /// The same rows, with tasks that run somewhere else.
    #[must_use]
    pub fn with_runner(self, runner: Option<&'a dyn TaskRunner>) -> Self {
        TrainingSet { runner, ..self }
    }

    /// How values are binned.
    pub fn layout(&self) -> &'a Layout {
        &self.data.layout
    }
}
