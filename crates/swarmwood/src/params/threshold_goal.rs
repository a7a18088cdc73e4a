//! What a decision threshold of two classes is chosen for.

use super::value::ParamType;
use crate::message::ParamValue;

/// What a decision threshold is chosen for, on held-out rows. The second class is the positive one.
///
/// ```
/// use swarmwood::params::{Params, ThresholdGoal};
/// let mut params = Params::default();
/// params.set("threshold_for", "cost=5:1")?;
/// let costs = ThresholdGoal::Cost { false_negative: 5.0, false_positive: 1.0 };
/// assert_eq!(params.threshold_for, costs);
/// # Ok::<(), swarmwood::error::Violation>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ThresholdGoal {
    /// Nothing: the threshold is given.
    #[default]
    None,
    /// The largest F1 score.
    F1,
    /// The lowest cost of errors.
    Cost {
        /// The cost of a row of the second class that is not recognised.
        false_negative: f64,
        /// The cost of a row of the first class that is taken for the second.
        false_positive: f64,
    },
    /// The largest recall among thresholds with at least this precision.
    Precision(f64),
    /// The largest precision among thresholds with at least this recall.
    Recall(f64),
}

impl ThresholdGoal {
    /// The values that are understood, for messages.
    pub(super) const ALLOWED: &'static str = "none, f1, cost=FN:FP with the costs of a false \
         negative and a false positive (cost=5:1), precision=P or recall=R with a number above 0 \
         and below 1 (precision=0.9)";
}

impl ParamType for ThresholdGoal {
    fn read(text: &str) -> Option<Self> {
        let share =
            |text: &str| f64::read(text.trim()).filter(|share| *share > 0.0 && *share < 1.0);
        let cost = |text: &str| f64::read(text.trim()).filter(|cost| *cost > 0.0);
        match text.split_once('=').map(|(name, value)| (name.trim(), value)) {
            None if text == "none" => Some(ThresholdGoal::None),
            None if text == "f1" => Some(ThresholdGoal::F1),
            Some(("precision", value)) => share(value).map(ThresholdGoal::Precision),
            Some(("recall", value)) => share(value).map(ThresholdGoal::Recall),
            Some(("cost", value)) => {
                let (false_negative, false_positive) = value.split_once(':')?;
                Some(ThresholdGoal::Cost {
                    false_negative: cost(false_negative)?,
                    false_positive: cost(false_positive)?,
                })
            }
            _ => None,
        }
    }

    fn convert(_: &ParamValue) -> Option<Self> {
        None
    }

    fn show(&self) -> String {
        match self {
            ThresholdGoal::None => "none".to_string(),
            ThresholdGoal::F1 => "f1".to_string(),
            ThresholdGoal::Cost { false_negative, false_positive } => {
                format!("cost={false_negative}:{false_positive}")
            }
            ThresholdGoal::Precision(share) => format!("precision={share}"),
            ThresholdGoal::Recall(share) => format!("recall={share}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_back_and_nonsense_is_refused() {
        let costs = ThresholdGoal::Cost { false_negative: 5.0, false_positive: 0.25 };
        for goal in [
            ThresholdGoal::None,
            ThresholdGoal::F1,
            costs,
            ThresholdGoal::Precision(0.9),
            ThresholdGoal::Recall(0.75),
        ] {
            assert_eq!(ThresholdGoal::read(&goal.show()), Some(goal));
        }
        for text in [
            "",
            "f2",
            "cost",
            "cost=5",
            "cost=0:1",
            "cost=1:-1",
            "precision",
            "precision=1",
            "recall=0",
        ] {
            assert_eq!(ThresholdGoal::read(text), None, "{text}");
        }
    }
}
