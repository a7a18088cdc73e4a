//! The record of a trial.

use swarmwood_search::Point;

use super::objective::FoldResult;

/// A trial: a configuration, its evaluated folds and its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRecord {
    /// Its number; trials are numbered from 0 without gaps.
    pub id: u64,
    /// The configuration.
    pub point: Point,
    /// The process that evaluates it, by the number of its lock file.
    pub worker: u64,
    /// The folds evaluated so far, from the first on.
    pub folds: Vec<FoldResult>,
    /// The outcome; `None` while it is running.
    pub outcome: Option<TrialOutcome>,
    /// Seconds of work, all folds together.
    pub seconds: f64,
}

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialOutcome {
    /// All folds were evaluated.
    Complete {
        /// The mean of their losses.
        loss: f64,
    },
    /// It was unlikely to beat the incumbent, so the remaining folds were skipped.
    Pruned {
        /// An estimate: the loss of the incumbent plus the mean difference.
        loss: f64,
    },
    /// It could not be evaluated.
    Failed {
        /// The error message.
        reason: String,
    },
}

impl TrialOutcome {
    /// The loss that an engine is told; `None` if the trial failed.
    pub fn loss(&self) -> Option<f64> {
        match self {
            TrialOutcome::Complete { loss } | TrialOutcome::Pruned { loss } => Some(*loss),
            TrialOutcome::Failed { .. } => None,
        }
    }
}

impl TrialRecord {
    /// The loss if all folds were evaluated: only such losses are comparable between trials.
    pub fn complete_loss(&self) -> Option<f64> {
        match &self.outcome {
            Some(TrialOutcome::Complete { loss }) => Some(*loss),
            _ => None,
        }
    }

    /// Whether an outcome follows from the evaluated folds: a complete trial has all of them, and
    /// its loss is their mean; a pruned one has some.
    pub(super) fn allows(&self, outcome: &TrialOutcome, folds: usize, prune: bool) -> bool {
        match *outcome {
            TrialOutcome::Failed { .. } => true,
            TrialOutcome::Pruned { .. } => prune && (1..folds).contains(&self.folds.len()),
            TrialOutcome::Complete { loss } => {
                let mean = self.fold_losses().iter().sum::<f64>() / self.folds.len() as f64;
                // Earlier versions may have added up in another order.
                let same = (loss - mean).abs() <= 1e-9 * loss.abs().max(mean.abs());
                self.folds.len() == folds && same
            }
        }
    }

    /// The losses of the folds evaluated so far.
    pub fn fold_losses(&self) -> Vec<f64> {
        self.folds.iter().map(|fold| fold.loss).collect()
    }
}

/// The best of the complete trials; of equals the first.
pub fn best<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Option<&'a TrialRecord> {
    let complete = trials.into_iter().filter_map(|trial| Some((trial.complete_loss()?, trial)));
    complete
        .min_by(|(a, first), (b, second)| a.total_cmp(b).then(first.id.cmp(&second.id)))
        .map(|(_, trial)| trial)
}
