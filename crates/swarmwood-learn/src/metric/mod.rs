//! How good predictions are.
//!
//! [`evaluate`] gives every metric of a task for finished predictions, and a [`Tally`] the same for
//! predictions that come block after block and are never all in memory. A [`EvalMetric`] is a metric
//! that can be summed over shards of raw scores, for progress and early stopping.

pub mod classes;
mod eval_metric;
mod mean;
pub mod numbers;
pub mod ranking;
pub mod reliability;
mod tally;
#[cfg(test)]
mod tests;
mod weighed;
mod whole;

pub use eval_metric::EvalMetric;
pub(crate) use eval_metric::Partial;
pub use tally::Tally;
pub use whole::CustomMetric;
pub(crate) use whole::ScoredRows;

use crate::objective::ObjectiveConfig;

/// Predictions, row after row: one number a row for regression, one probability a class and row for
/// classification.
pub type Predictions = [f64];

/// What was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearningTask {
    /// A number.
    Regression,
    /// One of so many classes; of two classes, the second is the positive one.
    Classes(usize),
}

/// Every metric of the task, by name, in a fixed order. `weight` may be empty. A metric that these
/// rows do not define is left out: `auc` where only one class occurs, `r2` where the target does
/// not vary, `mape` where a target is zero.
///
/// ```
/// use swarmwood_learn::metric::{LearningTask, evaluate};
/// let metrics = evaluate(LearningTask::Classes(2), &[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], &[0.0, 1.0, 1.0], &[]);
/// assert!(metrics.contains(&("accuracy", 2.0 / 3.0)) && metrics.contains(&("auc", 1.0)));
/// let metrics = evaluate(LearningTask::Regression, &[1.0, 4.0], &[1.0, 2.0], &[]);
/// assert!(metrics.contains(&("mae", 1.0)));
/// ```
pub fn evaluate(
    task: LearningTask,
    prediction: &Predictions,
    target: &[f64],
    weight: &[f64],
) -> Vec<(&'static str, f64)> {
    let mut tally = Tally::new(task, None);
    tally.add(prediction, target, weight);
    tally.finish()
}

/// The metric that belongs to a regression objective beyond those of [`evaluate`]: `rmsle`,
/// `huber`, `pinball` or a deviance.
///
/// ```
/// use swarmwood_learn::{metric, objective::ObjectiveConfig};
/// let pinball = metric::of_objective(&ObjectiveConfig::quantile(0.9), &[1.0], &[3.0], &[]);
/// assert_eq!(pinball, Some(("pinball", 1.8)));
/// ```
pub fn of_objective(
    spec: &ObjectiveConfig,
    prediction: &Predictions,
    target: &[f64],
    weight: &[f64],
) -> Option<(&'static str, f64)> {
    let mut own = numbers::ObjectiveMean::new(spec)?;
    prediction
        .iter()
        .zip(target)
        .enumerate()
        .for_each(|(i, (&p, &y))| own.add(p, y, weight_of(weight, i)));
    let (name, value) = own.finish();
    Some((name, value.filter(|v| v.is_finite())?))
}

/// The weight of a row; an empty list means that every row weighs one.
fn weight_of(weight: &[f64], row: usize) -> f64 {
    weight.get(row).copied().unwrap_or(1.0)
}
