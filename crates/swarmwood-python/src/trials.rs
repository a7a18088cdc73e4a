//! Studies of the command line for who only looks, and which parameters mattered.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use swarmwood::search::space::{Domain, Scale};
use swarmwood::search::{Space, Value};
use swarmwood::tune::importance::{Tried, of_columns};
use swarmwood::tune::{Ending, read_study as read};

use crate::fault::{guarded, raised};

/// A journal as a dictionary: `measure`, `higher_is_better`, `parameters` (name, whether it is a
/// choice, whether its scale is logarithmic) and `trials` (values by name, the figure or none, how
/// it ended).
#[pyfunction]
pub fn study_shown(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    guarded(|| {
        let recorded = py.detach(|| read(&path)).map_err(raised)?;
        let (space, measure) = (&recorded.head.space, &recorded.head.task.measure);
        let parameters = PyList::empty(py);
        for param in space.params() {
            let choice = matches!(param.domain, Domain::Choice(_));
            let scale = match &param.domain {
                Domain::Integer { scale, .. } | Domain::Real { scale, .. } => *scale,
                Domain::List(_) | Domain::Choice(_) => Scale::Linear,
            };
            parameters.append((&param.name, choice, scale == Scale::Log))?;
        }
        let trials = PyList::empty(py);
        for trial in &recorded.trials {
            let (ended, loss) = match &trial.ending {
                None => ("open", None),
                Some(Ending::Whole { loss }) => ("whole", Some(*loss)),
                Some(Ending::Raced { loss }) => ("raced", Some(*loss)),
                Some(Ending::Failed { .. }) => ("failed", None),
            };
            let values = PyDict::new(py);
            for (at, param) in space.params().iter().enumerate() {
                set_value(&values, space, at, &param.name, trial.point[at])?;
            }
            trials.append((values, loss.map(|loss| measure.figure(loss)), ended))?;
        }
        let study = PyDict::new(py);
        study.set_item("measure", &measure.name)?;
        study.set_item("higher_is_better", measure.from.is_some())?;
        study.set_item("parameters", parameters)?;
        study.set_item("trials", trials)?;
        Ok(study)
    })
}

/// Values that are absent are left out.
fn set_value(
    values: &Bound<'_, PyDict>,
    space: &Space,
    at: usize,
    name: &str,
    value: Value,
) -> PyResult<()> {
    match value {
        Value::Absent => Ok(()),
        Value::Integer(number) => values.set_item(name, number),
        value => match space.label(at, value) {
            Some(label) => values.set_item(name, label),
            None => values.set_item(name, space.number(at, value)),
        },
    }
}

/// How much each parameter matters, 0 to 1. A column has the parameter's values, none where a trial
/// has none, and says whether they are numbers of labels; `losses` has one a trial.
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
        let columns: Vec<Tried> =
            columns.into_iter().map(|(values, labels)| Tried { values, labels }).collect();
        Ok(of_columns(&columns, &losses))
    })
}
