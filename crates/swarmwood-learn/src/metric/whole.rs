//! Metrics for early stopping that are no sums over rows: all predictions are needed at once.

use swarmwood_model::Link;

use super::{EvalMetric, LearningTask, Tally};
use crate::objective::Objective;

/// A metric that code outside of the library computes.
pub trait CustomMetric: Send + Sync {
    /// The value for predictions as [`evaluate`](super::evaluate) takes them, targets and weights,
    /// which may be empty. NaN is never better than anything.
    fn value(&self, prediction: &[f64], target: &[f64], weight: &[f64]) -> f64;
    /// Whether more is better.
    fn higher_is_better(&self) -> bool;
}

/// Rows with their raw scores, output after output, and their targets as they were read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredRows<'a> {
    /// Raw scores.
    pub score: &'a [f64],
    /// Targets.
    pub target: &'a [f64],
    /// Weights; may be empty.
    pub weight: &'a [f64],
}

impl EvalMetric {
    /// The value for all rows; NaN where it is not defined.
    pub(crate) fn of_all_rows(
        self,
        rows: ScoredRows<'_>,
        objective: &dyn Objective,
        custom: Option<&dyn CustomMetric>,
    ) -> f64 {
        let prediction = predictions(objective, rows.score, rows.target.len());
        if let EvalMetric::Custom | EvalMetric::CustomScore = self {
            return custom
                .map_or(f64::NAN, |custom| custom.value(&prediction, rows.target, rows.weight));
        }

        let mut tally = Tally::new(task(objective), None);
        tally.add(&prediction, rows.target, rows.weight);
        let is_asked = |name: &str| match self {
            EvalMetric::F1 => name == "f1" || name == "macro_f1",
            _ => name == self.name(),
        };
        let metrics = tally.finish();
        metrics.iter().find(|(name, _)| is_asked(name)).map_or(f64::NAN, |&(_, value)| value)
    }
}

fn task(objective: &dyn Objective) -> LearningTask {
    match objective.link() {
        Link::Sigmoid => LearningTask::Classes(2),
        Link::Softmax => LearningTask::Classes(objective.outputs()),
        Link::Identity | Link::Exp | Link::ExpM1 => LearningTask::Regression,
    }
}

/// Predictions, row after row.
fn predictions(objective: &dyn Objective, score: &[f64], rows: usize) -> Vec<f64> {
    let link = objective.link();
    if task(objective) == LearningTask::Regression {
        return score.iter().map(|&raw| link.number(raw)).collect();
    }
    let mut predictions = Vec::with_capacity(rows * objective.outputs().max(2));
    let mut raw = vec![0.0; objective.outputs()];
    for row in 0..rows {
        raw.iter_mut().enumerate().for_each(|(output, raw)| *raw = score[output * rows + row]);
        link.probabilities(&raw, &mut predictions);
    }
    predictions
}
