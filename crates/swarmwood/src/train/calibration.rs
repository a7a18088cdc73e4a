//! What is added to a trained model on request: the decision threshold of two classes, intervals of
//! numbers, sets of classes.

use super::held_out::{self, HeldOutScores, HeldOutSource};
use super::intervals::least_rows;
use super::job::measure_rows;
use super::{Job, Learner, TrainResult, decision_threshold, intervals};
use crate::error::Violation;
use crate::message::Message;
use crate::params::{IntervalKind, Params, ThresholdGoal};
use crate::{Error, Result};

impl Params {
    /// Whether the model gets something that is chosen on held-out rows.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.threshold_for != ThresholdGoal::None || self.interval > 0.0
    }

    /// The same parameters for a model that gets nothing of it.
    #[must_use]
    pub(crate) fn without_calibration(self) -> Params {
        Params {
            threshold_for: ThresholdGoal::None,
            interval: 0.0,
            interval_kind: IntervalKind::Constant,
            ..self
        }
    }

    /// Whether intervals differ in width.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.interval_kind == IntervalKind::Adaptive
    }
}

/// Refuses intervals that so few rows cannot have.
pub(super) fn check_rows(params: &Params, rows: usize) -> Result<()> {
    let least = least_rows(params.interval);
    if params.interval == 0.0 || rows >= least {
        return Ok(());
    }
    let message =
        format!("is {}, which needs at least {least} rows, but there are {rows}", params.interval);
    Err(Error::Parameters(vec![Violation::new("interval", message)]))
}

/// Adds what the parameters ask for.
pub(super) fn calibrate(
    learner: &dyn Learner,
    job: &Job<'_>,
    trained: &mut TrainResult,
) -> Result<()> {
    let params = job.params;
    if params.threshold != Params::default().threshold {
        trained.model.calibration.threshold = Some(params.threshold);
    }
    if params.is_calibrated() {
        let held_out = held_out::scores(learner, job, trained)?;
        if params.interval > 0.0 {
            add_intervals(job, trained, held_out.as_ref())?;
        }
        if params.threshold_for != ThresholdGoal::None {
            choose_threshold(job, trained, held_out)?;
        }
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

/// Chooses the threshold on held-out rows, or on the training rows if there are none.
fn choose_threshold(
    job: &Job<'_>,
    trained: &mut TrainResult,
    held_out: Option<HeldOutScores>,
) -> Result<()> {
    let held_out = match held_out {
        Some(held_out) => held_out,
        None => {
            let source = HeldOutSource::Training;
            held_out::of_model(&trained.model, job.rows, job.params.threads, source)?
        }
    };
    let chosen = decision_threshold::choose(job.params.threshold_for, &held_out);
    trained.notes.push(chosen.note(held_out.source));
    trained.model.calibration.threshold = Some(chosen.threshold);
    Ok(())
}

/// Adds intervals or sets. Without held-out rows there are none: residuals of training rows would
/// promise too much.
fn add_intervals(
    job: &Job<'_>,
    trained: &mut TrainResult,
    held_out: Option<&HeldOutScores>,
) -> Result<()> {
    let model = &mut trained.model;
    let mut is_stored = false;
    if let Some(held_out) = held_out {
        let rows = match (held_out.source, job.valid) {
            (HeldOutSource::Validation, Some(valid)) => valid,
            _ => job.rows,
        };
        if model.link.is_classification() {
            let sets = intervals::class_sets(model.link, job.params.interval, held_out);
            model.calibration.class_sets = sets;
            is_stored = sets.is_some();
        } else {
            model.calibration.interval = intervals::interval(job, model.link, rows, held_out)?;
            is_stored = model.calibration.interval.is_some();
        }
    }

    match held_out {
        Some(held_out) if is_stored => {
            let what = if model.link.is_classification() { "sets" } else { "intervals" };
            let (percent, source) = (100.0 * job.params.interval, held_out.source.text());
            trained.notes.push(format!("{percent} % prediction {what} are from {source}"));
        }
        Some(held_out) => {
            trained.warnings.push(Message::default().parameter("interval").text(format!(
                ": the model has none, because {} are too few",
                held_out.source.text()
            )))
        }
        None => trained.warnings.push(Message::default().parameter("interval").text(
            ": the model has none, because the run ended before the folds were fitted, or has too \
             few rows for them",
        )),
    }
    Ok(())
}
