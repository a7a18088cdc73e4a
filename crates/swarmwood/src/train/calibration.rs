//! What is added to a trained model on request: the decision threshold of two classes.

use super::held_out::{self, HeldOutSource};
use super::job::measure_rows;
use super::{Job, Learner, TrainResult, decision_threshold};
use crate::Result;
use crate::params::{Params, ThresholdGoal};

impl Params {
    /// Whether the model gets something that is chosen on held-out rows.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.threshold_for != ThresholdGoal::None
    }

    /// The same parameters for a model that gets nothing of it.
    #[must_use]
    pub(crate) fn without_calibration(self) -> Params {
        Params { threshold_for: ThresholdGoal::None, ..self }
    }
}

/// Adds what the parameters ask for.
pub(super) fn calibrate(
    learner: &dyn Learner,
    job: &Job<'_>,
    trained: &mut TrainResult,
) -> Result<()> {
    let params = job.params;
    if params.is_calibrated() {
        let held_out = match held_out::scores(learner, job, trained)? {
            Some(held_out) => held_out,
            None => {
                let source = HeldOutSource::Training;
                held_out::of_model(&trained.model, job.rows, params.threads, source)?
            }
        };
        let chosen = decision_threshold::choose(params.threshold_for, &held_out);
        trained.notes.push(chosen.note(held_out.source));
        trained.model.calibration.threshold = Some(chosen.threshold);
    } else if params.threshold != Params::default().threshold {
        trained.model.calibration.threshold = Some(params.threshold);
    }

    if trained.model.calibration.threshold.is_some() {
        // Accuracy, precision and recall follow from the decisions.
        trained.train_metrics = measure_rows(job, &trained.model, job.rows)?;
        if let Some(valid) = job.valid {
            trained.valid_metrics = measure_rows(job, &trained.model, valid)?;
        }
    }
    Ok(())
}
