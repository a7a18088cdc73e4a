//! Metrics of early stopping. Most are sums over rows: each shard gives its part, and the parts
//! merge.

use swarmwood_model::Link;

use crate::kernels::exp::exp;
use crate::kernels::losses;
use crate::objective::Objective;

/// What is watched while a learner works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EvalMetric {
    /// The mean of the objective's own loss.
    #[default]
    Loss,
    /// Root of the mean squared error of the prediction. Classes: of the true class's probability,
    /// whose target is one.
    Rmse,
    /// Mean absolute error, of the same.
    Mae,
    /// Mean of `-ln p` of the true class.
    LogLoss,
    /// Share of the rows predicted wrong.
    Error,
    /// Share of the rows predicted right.
    Accuracy,
    /// Share of the target's variance that the predictions explain.
    R2,
    /// Median absolute error.
    Medae,
    /// Mean absolute error as a share of the target's size.
    Mape,
    /// Mean recall of the classes.
    BalancedAccuracy,
    /// Mean squared error of the probabilities.
    Brier,
    /// Area under the curve of true over false positives; the mean over more than two classes.
    Auc,
    /// Harmonic mean of precision and recall; the mean over more than two classes.
    F1,
    /// A metric of the caller's that is to be small.
    Custom,
    /// A metric of the caller's that is to be large.
    CustomScore,
}

/// A shard's part of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Partial {
    /// Weighted sum over rows.
    pub sum: f64,
    /// Sum of weights.
    pub weight: f64,
}

impl Partial {
    /// Adds another shard's part. Floating sums depend on the order: merge in shard order.
    pub fn merge(&mut self, other: Partial) {
        self.sum += other.sum;
        self.weight += other.weight;
    }
}

impl EvalMetric {
    /// Those that are sums over rows.
    pub const ALL: [EvalMetric; 6] = [
        EvalMetric::Loss,
        EvalMetric::Rmse,
        EvalMetric::Mae,
        EvalMetric::LogLoss,
        EvalMetric::Error,
        EvalMetric::Accuracy,
    ];

    /// The name users say.
    pub fn name(self) -> &'static str {
        match self {
            EvalMetric::Loss => "loss",
            EvalMetric::Rmse => "rmse",
            EvalMetric::Mae => "mae",
            EvalMetric::LogLoss => "logloss",
            EvalMetric::Error => "error",
            EvalMetric::Accuracy => "accuracy",
            EvalMetric::R2 => "r2",
            EvalMetric::Medae => "medae",
            EvalMetric::Mape => "mape",
            EvalMetric::BalancedAccuracy => "balanced_accuracy",
            EvalMetric::Brier => "brier",
            EvalMetric::Auc => "auc",
            EvalMetric::F1 => "f1",
            EvalMetric::Custom => "custom",
            EvalMetric::CustomScore => "custom score",
        }
    }

    /// Whether the metric needs all rows at once, because it is no sum over rows.
    pub fn takes_all_rows(self) -> bool {
        !EvalMetric::ALL.contains(&self)
    }

    /// The metric of that name.
    pub fn named(name: &str) -> Option<EvalMetric> {
        EvalMetric::ALL.into_iter().find(|watch| watch.name() == name)
    }

    /// Whether more is better.
    pub fn higher_is_better(self) -> bool {
        matches!(
            self,
            EvalMetric::Accuracy
                | EvalMetric::R2
                | EvalMetric::BalancedAccuracy
                | EvalMetric::Auc
                | EvalMetric::F1
                | EvalMetric::CustomScore
        )
    }

    /// The number that a search minimises: the share of wrong rows for the accuracy, the value itself
    /// otherwise. It is its own inverse.
    pub fn cost(self, value: f64) -> f64 {
        if self.higher_is_better() { 1.0 - value } else { value }
    }

    /// Whether `new` is better than `old`; a NaN never is.
    pub fn better(self, new: f64, old: f64) -> bool {
        if self.higher_is_better() { new > old } else { new < old }
    }

    /// Whether the metric means something for the objective; the message says why not.
    pub fn suits(self, objective: &dyn Objective) -> Result<(), &'static str> {
        let classes = matches!(objective.link(), Link::Sigmoid | Link::Softmax);
        match self {
            EvalMetric::LogLoss | EvalMetric::Error | EvalMetric::Accuracy if !classes => {
                Err("needs classes; for a number choose loss, rmse or mae")
            }
            _ if self.takes_all_rows() => Err("needs all rows; choose a sum over rows"),
            _ => Ok(()),
        }
    }

    /// The part of a run of rows. Scores are raw and laid out output after output; targets are
    /// transformed as for the objective; `weight` may be empty.
    ///
    /// Learners may shift scores and targets of a shift-invariant objective, so the error of a
    /// squared-log score is taken on the scale of the logarithm, where a shift changes nothing:
    /// there `rmse` is what others call `rmsle`.
    ///
    /// ```
    /// use swarmwood_learn::{metric::EvalMetric, objective::Squared};
    /// let mut all = EvalMetric::Rmse.partial(&[1.0, 2.0], &[4.0, 2.0], &[], &Squared);
    /// all.merge(EvalMetric::Rmse.partial(&[0.0], &[3.0], &[2.0], &Squared));
    /// assert_eq!(EvalMetric::Rmse.finish(all), (27.0f64 / 4.0).sqrt());
    /// ```
    pub fn partial(
        self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        objective: &dyn Objective,
    ) -> Partial {
        let total = if weight.is_empty() {
            target.len() as f64
        } else {
            weight.iter().map(|&w| f64::from(w)).sum()
        };
        let rows = target.len();
        let sum_of = |row: &dyn Fn(usize) -> f64| -> f64 {
            (0..rows).map(|i| row(i) * weight.get(i).map_or(1.0, |&w| f64::from(w))).sum()
        };
        let sum = match self {
            EvalMetric::Loss => objective.loss(score, target, weight),
            EvalMetric::LogLoss => match objective.link() {
                Link::Sigmoid => losses::logistic(score, target, weight),
                Link::Softmax => losses::softmax(objective.outputs(), score, target, weight),
                Link::Identity | Link::Exp | Link::ExpM1 => f64::NAN,
            },
            EvalMetric::Rmse => sum_of(&|i| residual(score, target, i, objective).powi(2)),
            EvalMetric::Mae => sum_of(&|i| residual(score, target, i, objective).abs()),
            EvalMetric::Error => sum_of(&|i| f64::from(!hit(score, target, i, objective))),
            EvalMetric::Accuracy => sum_of(&|i| f64::from(hit(score, target, i, objective))),
            // See `of_all_rows`.
            _ => f64::NAN,
        };
        Partial { sum, weight: total }
    }

    /// The metric of all merged parts; NaN if no row has weight.
    pub fn finish(self, all: Partial) -> f64 {
        let mean = all.sum / all.weight;
        if self == EvalMetric::Rmse { mean.sqrt() } else { mean }
    }
}

/// Prediction minus target of one row.
fn residual(score: &[f32], target: &[f32], row: usize, objective: &dyn Objective) -> f64 {
    let (raw, y) = (f64::from(score[row]), f64::from(target[row]));
    match objective.link() {
        Link::Identity | Link::ExpM1 => raw - y,
        Link::Exp => raw.exp() - y,
        Link::Sigmoid => 1.0 / (1.0 + (-raw).exp()) - y,
        Link::Softmax => {
            let own = score[target[row] as usize * target.len() + row];
            let sum: f32 =
                (0..objective.outputs()).map(|k| exp(score[k * target.len() + row] - own)).sum();
            1.0 / f64::from(sum) - 1.0
        }
    }
}

/// Whether the predicted class of one row is its target: the class with the highest score, and of
/// equals the first.
fn hit(score: &[f32], target: &[f32], row: usize, objective: &dyn Objective) -> bool {
    let rows = target.len();
    let predicted = match objective.link() {
        Link::Softmax => {
            let raw = |k: usize| score[k * rows + row];
            (1..objective.outputs()).fold(0, |best, k| if raw(k) > raw(best) { k } else { best })
        }
        _ => usize::from(score[row] > 0.0),
    };
    predicted as f32 == target[row]
}
