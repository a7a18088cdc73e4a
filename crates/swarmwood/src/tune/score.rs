//! What a configuration of our own learners is judged by: a metric of rows that a fit did not see.

use swarmwood_model::TargetKind;

use crate::error::Violation;
use crate::nearest::nearest;
use crate::params::MetricChoice;
use crate::{Error, Result};

/// Metrics of numbers, and whether more is better.
const NUMBERS: &[(&str, bool)] =
    &[("rmse", false), ("mae", false), ("r2", true), ("medae", false), ("mape", false)];

/// Metrics of any classes.
const CLASSES: &[(&str, bool)] = &[
    ("logloss", false),
    ("accuracy", true),
    ("balanced_accuracy", true),
    ("brier", false),
    ("auc", true),
];

/// Metrics of two classes.
const TWO: &[(&str, bool)] = &[("f1", true), ("precision", true), ("recall", true)];

/// Metrics of more classes.
const MORE: &[(&str, bool)] = &[("macro_f1", true)];

/// A metric and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TuningScore {
    /// The name users say.
    pub name: &'static str,
    /// Whether more is better.
    pub higher_is_better: bool,
}

impl TuningScore {
    /// The metric of that name for a target; `auto` is the log loss for classes and `rmse` for
    /// numbers.
    ///
    /// ```
    /// use swarmwood::model::TargetKind;
    /// use swarmwood::tune::TuningScore;
    /// let r2 = TuningScore::named("r2", &TargetKind::Number)?;
    /// assert_eq!(r2.loss(0.75), 0.25);
    /// assert!(TuningScore::named("accuracy", &TargetKind::Number).is_err());
    /// # Ok::<(), swarmwood::Error>(())
    /// ```
    pub fn named(name: &str, target: &TargetKind) -> Result<TuningScore> {
        let known = Self::all(target);
        let found = match name {
            "auto" => known.first(),
            name => known.iter().find(|score| score.name == name),
        };
        found.copied().ok_or_else(|| {
            let names: Vec<&str> =
                std::iter::once("auto").chain(known.iter().map(|score| score.name)).collect();
            let meant = nearest(name, names.iter().copied())
                .map_or(String::new(), |near| format!(", perhaps {near}"));
            let what = if target.is_regression() { "numbers" } else { "these classes" };
            let message = format!(
                "is '{name}'{meant}; for a target of {what} it must be one of {}",
                names.join(", ")
            );
            Error::Parameters(vec![Violation::new("metric", message)])
        })
    }

    /// Every metric of a target, the default first.
    pub fn all(target: &TargetKind) -> Vec<TuningScore> {
        let lists: &[&[(&'static str, bool)]] = match target {
            TargetKind::Number | TargetKind::Numbers(_) => &[NUMBERS],
            TargetKind::Classes(classes) if classes.len() == 2 => &[CLASSES, TWO],
            TargetKind::Classes(_) => &[CLASSES, MORE],
        };
        lists
            .iter()
            .flat_map(|list| list.iter())
            .map(|&(name, higher_is_better)| TuningScore { name, higher_is_better })
            .collect()
    }

    /// The loss of a score, which an engine minimises.
    pub fn loss(&self, score: f64) -> f64 {
        if self.higher_is_better { 1.0 - score } else { score }
    }

    /// The score of a loss, in the usual sign of its metric.
    pub fn value(&self, loss: f64) -> f64 {
        // Adding zero turns minus zero into zero.
        if self.higher_is_better { 1.0 - loss + 0.0 } else { loss + 0.0 }
    }

    /// Its value among the metrics of a fit; the text says why there is none.
    pub fn find(&self, metrics: &[(&'static str, f64)]) -> std::result::Result<f64, String> {
        let found = metrics.iter().find(|(name, _)| *name == self.name).map(|&(_, value)| value);
        found.ok_or_else(|| format!("these rows do not define the metric {}", self.name))
    }

    /// What early stopping watches: the metric itself if rounds can be judged by it, otherwise the
    /// loss of the objective.
    pub fn watched(&self) -> MetricChoice {
        match self.name {
            "rmse" => MetricChoice::Rmse,
            "mae" => MetricChoice::Mae,
            "logloss" => MetricChoice::Logloss,
            "accuracy" => MetricChoice::Accuracy,
            _ => MetricChoice::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_learn::metric::{LearningTask, evaluate};

    #[test]
    fn every_metric_of_a_task_can_be_the_score_and_every_score_is_a_metric() {
        let kinds = [
            (
                TargetKind::Number,
                LearningTask::Regression,
                vec![1.0, 2.0, 4.0],
                vec![1.0, 2.5, 3.0],
            ),
            (
                TargetKind::Classes(vec!["a".into(), "b".into()]),
                LearningTask::Classes(2),
                vec![0.9, 0.1, 0.2, 0.8, 0.6, 0.4],
                vec![0.0, 1.0, 1.0],
            ),
            (
                TargetKind::Classes(vec!["a".into(), "b".into(), "c".into()]),
                LearningTask::Classes(3),
                vec![0.9, 0.1, 0.0, 0.2, 0.7, 0.1, 0.6, 0.3, 0.1],
                vec![0.0, 1.0, 2.0],
            ),
        ];
        for (kind, task, predicted, target) in kinds {
            let metrics = evaluate(task, &predicted, &target, &[]);
            let mut names: Vec<&str> = metrics.iter().map(|metric| metric.0).collect();
            let mut scores: Vec<&str> =
                TuningScore::all(&kind).iter().map(|score| score.name).collect();
            names.sort_unstable();
            scores.sort_unstable();
            assert_eq!(names, scores);
            for score in TuningScore::all(&kind) {
                let value = score.find(&metrics).unwrap();
                assert!((score.value(score.loss(value)) - value).abs() < 1e-12);
            }
        }
        let error =
            TuningScore::named("acuracy", &TargetKind::Classes(vec!["a".into(), "b".into()]))
                .unwrap_err();
        assert!(error.to_string().contains("perhaps accuracy"), "{error}");
    }
}
