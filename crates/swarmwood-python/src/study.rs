//! Studies of the command line, read for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use swarmwood::tune::{Ending, Recorded, TrialRecord, read_study as read, space_file};

use crate::configuration::dictionary;
use crate::fault::{guarded, raised};

/// The journal of a study as a dictionary: what it is about, its space as the text of a space file,
/// its trials.
#[pyfunction]
pub fn read_study(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    guarded(|| {
        let recorded = py.detach(|| read(&path)).map_err(raised)?;
        let head = &recorded.head;
        let study = PyDict::new(py);
        study.set_item("engine", &head.engine)?;
        study.set_item("seed", head.seed)?;
        study.set_item("task", &head.task.text)?;
        study.set_item("measure", &head.task.measure.name)?;
        study.set_item("maximize", head.task.measure.from.is_some())?;
        study.set_item("space", space_file::to_json(&head.space).to_string())?;
        let trials = PyList::empty(py);
        for trial in &recorded.trials {
            trials.append(entry(py, &recorded, trial)?)?;
        }
        study.set_item("trials", trials)?;
        study.set_item("notes", &recorded.notes)?;
        Ok(study)
    })
}

/// One trial; figures are those that people see.
fn entry<'py>(
    py: Python<'py>,
    recorded: &Recorded,
    trial: &TrialRecord,
) -> PyResult<Bound<'py, PyDict>> {
    let figure = |loss: f64| recorded.head.task.measure.figure(loss);
    let (state, value, reason) = match &trial.ending {
        Some(Ending::Whole { loss }) => ("whole", Some(figure(*loss)), None),
        Some(Ending::Raced { loss }) => ("raced", Some(figure(*loss)), None),
        Some(Ending::Failed { reason }) => ("failed", None, Some(reason)),
        None => ("open", None, None),
    };
    let entry = PyDict::new(py);
    entry.set_item("number", trial.id)?;
    entry.set_item("params", dictionary(py, &recorded.head.space, &trial.point)?)?;
    entry.set_item("state", state)?;
    entry.set_item("value", value)?;
    entry.set_item("reason", reason)?;
    entry.set_item(
        "pieces",
        trial.pieces.iter().map(|piece| figure(piece.loss)).collect::<Vec<f64>>(),
    )?;
    entry.set_item("seconds", trial.seconds)?;
    Ok(entry)
}
