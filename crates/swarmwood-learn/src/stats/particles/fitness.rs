//! The fitness of a particle: a metric of its scores on the training rows. The paper takes accuracy
//! and RMSE.

use swarmwood_model::Link;

use crate::kernels::{losses, particle};
use crate::metric::EvalMetric;
use crate::objective::Objective;

/// The weighted sum over rows that [`EvalMetric::finish`] makes a value of.
pub(super) fn fitness_sum(
    metric: EvalMetric,
    score: &[f32],
    target: &[f32],
    weight: &[f32],
    objective: &dyn Objective,
) -> f64 {
    match (metric, objective.link()) {
        (EvalMetric::Loss, _) => objective.loss(score, target, weight),
        (EvalMetric::Accuracy, Link::Sigmoid) => particle::hits(score, target, weight),
        (EvalMetric::Rmse, Link::Identity | Link::ExpM1) => {
            2.0 * losses::squared(score, target, weight)
        }
        _ => metric.partial(score, target, weight, objective).sum,
    }
}
