//! What a run minimises, and what it watches.

use swarmwood_learn::budget::Budget;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::{self, CustomObjective, Objective, ObjectiveConfig};
use swarmwood_model::TargetKind;

use super::job::objective_and_metric;
use super::options::TrainOptions;
use crate::error::Violation;
use crate::params::{ObjectiveChoice, Params};
use crate::{Error, Result};

/// The loss and the validation metric of a run.
pub(super) struct RunObjective {
    pub(super) spec: ObjectiveConfig,
    pub(super) metric: EvalMetric,
    source: LossSource,
}

enum LossSource {
    Library(Box<dyn Objective>),
    Custom(CustomObjective),
}

impl RunObjective {
    /// The loss of the options or else of the parameters, whose objective then is the custom one.
    pub(super) fn new(
        params: &mut Params,
        target: &TargetKind,
        options: &TrainOptions,
    ) -> Result<RunObjective> {
        let custom_metric = options.custom_metric.as_ref().map(|metric| {
            if metric.higher_is_better() { EvalMetric::CustomScore } else { EvalMetric::Custom }
        });
        let Some(loss) = &options.custom_loss else {
            let (spec, metric) = objective_and_metric(params, target, options.thresholded)?;
            let metric = custom_metric.unwrap_or(metric);
            let source = LossSource::Library(objective::make(&spec));
            return Ok(RunObjective { spec, metric, source });
        };

        let classes = target.classes().len();
        params.objective = ObjectiveChoice::Is(CustomObjective::spec(classes));
        let (spec, metric) = objective_and_metric(params, target, false)?;
        let metric = match metric {
            EvalMetric::Loss if loss.has_losses() => EvalMetric::Loss,
            EvalMetric::Loss if spec.is_classification() => EvalMetric::LogLoss,
            EvalMetric::Loss => EvalMetric::Rmse,
            other => other,
        };
        let metric = custom_metric.unwrap_or(metric);
        let source = LossSource::Custom(CustomObjective::new(loss.clone(), classes));
        Ok(RunObjective { spec, metric, source })
    }

    pub(super) fn objective(&self) -> &dyn Objective {
        match &self.source {
            LossSource::Library(objective) => &**objective,
            LossSource::Custom(custom) => custom,
        }
    }

    pub(super) fn custom(&self) -> Option<&CustomObjective> {
        match &self.source {
            LossSource::Library(_) => None,
            LossSource::Custom(custom) => Some(custom),
        }
    }

    /// The same budget, ended by an error of a custom loss.
    pub(super) fn limit(&self, budget: Budget) -> Budget {
        match self.custom() {
            Some(custom) => budget.with_interrupt(custom.failure_check()),
            None => budget,
        }
    }

    /// The error of a custom loss; what was trained after it means nothing.
    pub(super) fn check(&self) -> Result<()> {
        match self.custom().and_then(CustomObjective::failure) {
            Some(message) => Err(Error::Parameters(vec![Violation::new("objective", message)])),
            None => Ok(()),
        }
    }
}

/// The name of the metric that is evaluated on validation rows.
pub fn validation_metric(
    params: &Params,
    target: &TargetKind,
    options: &TrainOptions,
) -> Result<&'static str> {
    Ok(RunObjective::new(&mut params.clone(), target, options)?.metric.name())
}
