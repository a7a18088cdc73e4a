//! Studies that the command line wrote, and which of their parameters mattered.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use swarmwood::tune::importance::{ParameterValues, of_columns};
use swarmwood::tune::{
    StudyRecord, TrialOutcome, TrialRecord, engine_options, read_study as read, space_file,
};

use crate::errors::{guarded, python_error};
use crate::point_dict::dict_of_point;

/// The journal of a study as a dictionary: its task, its space as the text of a space file, its
/// trials.
#[pyfunction]
pub fn read_study(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    guarded(|| {
        let recorded = py.detach(|| read(&path)).map_err(python_error)?;
        let header = &recorded.header;

        let study = PyDict::new(py);
        study.set_item("engine", &header.engine)?;
        study.set_item(
            "engine_options",
            engine_options::to_json(&header.engine_options).to_string(),
        )?;
        study.set_item("seed", header.seed)?;
        study.set_item("task", &header.task.text)?;
        study.set_item("metric", &header.task.metric.name)?;
        study.set_item("maximize", header.task.metric.from.is_some())?;
        study.set_item("space", space_file::to_json(&header.space).to_string())?;

        let trials = PyList::empty(py);
        for trial in &recorded.trials {
            trials.append(trial_dict(py, &recorded, trial)?)?;
        }
        study.set_item("trials", trials)?;
        study.set_item("notes", &recorded.notes)?;
        Ok(study)
    })
}

/// One trial, with values as they are reported to users.
fn trial_dict<'py>(
    py: Python<'py>,
    recorded: &StudyRecord,
    trial: &TrialRecord,
) -> PyResult<Bound<'py, PyDict>> {
    let reported = |loss: f64| recorded.header.task.metric.value(loss);
    let (state, value, reason) = match &trial.outcome {
        Some(TrialOutcome::Complete { loss }) => ("complete", Some(reported(*loss)), None),
        Some(TrialOutcome::Pruned { loss }) => ("pruned", Some(reported(*loss)), None),
        Some(TrialOutcome::Failed { reason }) => ("failed", None, Some(reason)),
        None => ("running", None, None),
    };
    let fold_values: Vec<f64> = trial.folds.iter().map(|fold| reported(fold.loss)).collect();

    let entry = PyDict::new(py);
    entry.set_item("number", trial.id)?;
    entry.set_item("params", dict_of_point(py, &recorded.header.space, &trial.point)?)?;
    entry.set_item("state", state)?;
    entry.set_item("value", value)?;
    entry.set_item("reason", reason)?;
    entry.set_item("fold_values", fold_values)?;
    entry.set_item("seconds", trial.seconds)?;
    Ok(entry)
}

/// The importance of each parameter, 0 to 1. A column has the values of a parameter, one per trial
/// (`None` where it was inactive), and whether they are indices of labels.
#[pyfunction]
pub fn parameter_importances(
    columns: Vec<(Vec<Option<f64>>, bool)>,
    losses: Vec<f64>,
) -> PyResult<Vec<Option<f64>>> {
    guarded(|| {
        if let Some((values, _)) = columns.iter().find(|(values, _)| values.len() != losses.len()) {
            let message =
                format!("{} values of a parameter for {} trials", values.len(), losses.len());
            return Err(PyValueError::new_err(message));
        }
        let columns: Vec<ParameterValues> = columns
            .into_iter()
            .map(|(values, labels)| ParameterValues { values, labels })
            .collect();
        Ok(of_columns(&columns, &losses))
    })
}
