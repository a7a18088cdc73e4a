//! How good predictions are.
//!
//! [`evaluate`] gives every metric of a task for finished predictions. A [`Watch`] is a metric that can be summed over
//! shards of raw scores, for progress and early stopping.

pub mod classes;
pub mod numbers;
pub mod ranking;
#[cfg(test)]
mod tests;
mod watch;

pub use watch::{Partial, Watch};

use crate::objective::Spec;

/// Predictions, row after row: one number a row for regression, one probability a class and row for classification.
pub type Predictions = [f64];

/// What was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A number.
    Regression,
    /// One of so many classes; of two classes, the second is the positive one.
    Classes(usize),
}

/// Every metric of the task, by name, in a fixed order. `weight` may be empty. A metric that these rows do not define
/// is left out: `auc` where only one class occurs, `r2` where the target does not vary, `mape` where a target is zero.
///
/// ```
/// use swarmwood_learn::metric::{Task, evaluate};
/// let metrics = evaluate(Task::Classes(2), &[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], &[0.0, 1.0, 1.0], &[]);
/// assert!(metrics.contains(&("accuracy", 2.0 / 3.0)) && metrics.contains(&("auc", 1.0)));
/// let metrics = evaluate(Task::Regression, &[1.0, 4.0], &[1.0, 2.0], &[]);
/// assert!(metrics.contains(&("mae", 1.0)));
/// ```
pub fn evaluate(task: Task, prediction: &Predictions, target: &[f64], weight: &[f64]) -> Vec<(&'static str, f64)> {
    let mut metrics: Vec<(&'static str, Option<f64>)> = Vec::new();
    match task {
        Task::Regression => {
            metrics.push(("rmse", numbers::rmse(prediction, target, weight)));
            metrics.push(("mae", numbers::mae(prediction, target, weight)));
            metrics.push(("r2", numbers::r2(prediction, target, weight)));
            metrics.push(("medae", numbers::medae(prediction, target, weight)));
            metrics.push(("mape", numbers::mape(prediction, target, weight)));
        }
        Task::Classes(count) => {
            let table = classes::Confusion::new(count, prediction, target, weight);
            metrics.push(("accuracy", table.accuracy()));
            metrics.push(("balanced_accuracy", table.balanced_accuracy()));
            metrics.push(("logloss", classes::logloss(count, prediction, target, weight)));
            metrics.push(("brier", classes::brier(count, prediction, target, weight)));
            metrics.push(("auc", ranking::auc(count, prediction, target, weight)));
            if count == 2 {
                metrics.push(("f1", table.f1(1)));
                metrics.push(("precision", table.precision(1)));
                metrics.push(("recall", table.recall(1)));
            } else {
                metrics.push(("macro_f1", table.macro_f1()));
            }
        }
    }
    metrics.into_iter().filter_map(|(name, value)| Some((name, value.filter(|v| v.is_finite())?))).collect()
}

/// The metric that belongs to a regression objective beyond those of [`evaluate`]: `rmsle`, `huber`, `pinball` or
/// `poisson_deviance`.
///
/// ```
/// use swarmwood_learn::{metric, objective::Spec};
/// let pinball = metric::of_objective(&Spec::Quantile { alpha: 0.9 }, &[1.0], &[3.0], &[]);
/// assert_eq!(pinball, Some(("pinball", 1.8)));
/// ```
pub fn of_objective(
    spec: &Spec,
    prediction: &Predictions,
    target: &[f64],
    weight: &[f64],
) -> Option<(&'static str, f64)> {
    let (name, value) = match *spec {
        Spec::SquaredLog => ("rmsle", numbers::rmsle(prediction, target, weight)),
        Spec::Huber { delta } => ("huber", numbers::huber(prediction, target, weight, delta)),
        Spec::Quantile { alpha } => ("pinball", numbers::pinball(prediction, target, weight, alpha)),
        Spec::Poisson => ("poisson_deviance", numbers::poisson_deviance(prediction, target, weight)),
        Spec::Squared | Spec::Absolute | Spec::Logistic | Spec::Softmax { .. } => return None,
    };
    Some((name, value.filter(|v| v.is_finite())?))
}

/// The weighted mean of a quantity of rows; `None` if nothing weighs anything.
fn mean(values: impl Iterator<Item = f64>, weight: &[f64]) -> Option<f64> {
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, value) in values.enumerate() {
        let weight = weight.get(i).copied().unwrap_or(1.0);
        // A row without weight must not count even if its value is infinite.
        if weight > 0.0 {
            sum += weight * value;
            total += weight;
        }
    }
    (total > 0.0).then(|| sum / total)
}
