//! What the metrics of a report mean.

use swarmwood::evaluate::Interval;

use crate::format::rounded;

/// Every metric with a short description, and whether larger values are better.
const METRICS: &[(&str, &str, bool)] = &[
    ("accuracy", "fraction of correctly classified rows", true),
    ("balanced_accuracy", "mean recall of the classes", true),
    ("logloss", "log loss: mean of -ln of the probability of the true class", false),
    ("brier", "Brier score: mean squared error of the probabilities", false),
    ("auc", "area under the ROC curve", true),
    ("f1", "harmonic mean of precision and recall", true),
    ("precision", "fraction of predicted positives that are positive", true),
    ("recall", "fraction of positives that are predicted positive", true),
    ("macro_f1", "mean F1 of the classes", true),
    ("ece", "expected calibration error", false),
    ("rmse", "root mean squared error", false),
    ("mae", "mean absolute error", false),
    ("r2", "coefficient of determination", true),
    ("medae", "median absolute error", false),
    ("mape", "mean absolute percentage error", false),
    ("rmsle", "root mean squared logarithmic error", false),
    ("huber", "mean Huber loss", false),
    ("pinball", "mean pinball loss", false),
    ("poisson_deviance", "mean Poisson deviance", false),
    ("gamma_deviance", "mean gamma deviance", false),
    ("tweedie_deviance", "mean Tweedie deviance", false),
];

/// The description of a metric; empty if the metric is unknown.
pub fn description(metric: &str) -> &'static str {
    METRICS.iter().find(|(name, _, _)| *name == metric).map_or("", |(_, text, _)| text)
}

/// Whether larger values are better; `None` if the metric is unknown.
pub fn higher_is_better(metric: &str) -> Option<bool> {
    METRICS.iter().find(|(name, _, _)| *name == metric).map(|(_, _, higher)| *higher)
}

/// Both ends of an interval.
pub fn interval_text(interval: Interval) -> String {
    format!("{} to {}", rounded(interval.low), rounded(interval.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_metrics_have_no_description() {
        assert_eq!((higher_is_better("auc"), higher_is_better("?")), (Some(true), None));
        assert_eq!((description("rmse"), description("?")), ("root mean squared error", ""));
    }
}
