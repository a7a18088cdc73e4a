//! Tasks of a search on the executors of Python: sent by the process that trains, and run by others.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyTuple};
use swarmwood::checkpoint::snapshot::{decode, encode};
use swarmwood::learn::budget::Budget;
use swarmwood::learn::objective::CustomLoss;
use swarmwood::learn::plan::TaskRunner;
use swarmwood::model::{Target, TargetKind};
use swarmwood::params::Gather;
use swarmwood::search::Datum;
use swarmwood::train::{FoldTaskRows, TrainOptions};
use swarmwood::{Result, read};

use crate::custom_loss::PythonLoss;
use crate::errors::{guarded, python_error};
use crate::parameters::param_value;
use crate::signals::SignalMonitor;
use crate::table::PyTable;

/// An object of `swarmwood._executor` that is called with a list of tasks and a function that says
/// whether the run was interrupted, and returns the list of results, or None.
pub struct PythonTasks {
    object: Py<PyAny>,
    monitor: Arc<SignalMonitor>,
}

impl PythonTasks {
    pub fn new(object: &Bound<'_, PyAny>, monitor: &Arc<SignalMonitor>) -> Arc<PythonTasks> {
        Arc::new(PythonTasks { object: object.clone().unbind(), monitor: Arc::clone(monitor) })
    }

    fn call(
        &self,
        py: Python<'_>,
        tasks: &[Datum],
        budget: &Budget,
    ) -> PyResult<Option<Vec<Vec<u8>>>> {
        let tasks: Vec<Bound<'_, PyBytes>> =
            tasks.iter().map(|task| PyBytes::new(py, &encode(task))).collect();
        let budget = budget.clone();
        let is_stopped = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            PyResult::Ok(budget.is_interrupted())
        };
        let is_stopped = PyCFunction::new_closure(py, None, None, is_stopped)?;
        let results: Option<Vec<Bound<'_, PyBytes>>> =
            self.object.bind(py).call1((tasks, is_stopped))?.extract()?;
        Ok(results.map(|all| all.iter().map(|bytes| bytes.as_bytes().to_vec()).collect()))
    }
}

impl TaskRunner for PythonTasks {
    fn run(
        &self,
        tasks: &[Datum],
        budget: &Budget,
    ) -> std::result::Result<Option<Vec<Datum>>, String> {
        let results = Python::attach(|py| {
            self.call(py, tasks, budget).map_err(|error| {
                let message = format!("the executor raised {error}");
                // The exception itself is raised when the run has ended.
                self.monitor.check(Err(error));
                message
            })
        })?;
        let Some(results) = results else { return Ok(None) };
        let damaged = || "the result of a task cannot be decoded".to_string();
        results
            .iter()
            .map(|bytes| decode(bytes).ok_or_else(damaged))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map(Some)
    }
}

/// The rows of a search in a process that runs its tasks.
#[pyclass(module = "swarmwood._core", frozen)]
pub struct SearchRows {
    rows: FoldTaskRows,
    loss: Option<Arc<PythonLoss>>,
}

#[pymethods]
impl SearchRows {
    /// Bins the rows; `holds_out` says whether the validation fraction of the parameters is cut off
    /// first.
    #[new]
    #[pyo3(signature = (table, target, classes, parameters, holds_out, objective=None))]
    fn new(
        py: Python<'_>,
        table: PyRef<'_, PyTable>,
        target: String,
        classes: Option<Vec<String>>,
        parameters: Vec<(String, Bound<'_, PyAny>)>,
        holds_out: bool,
        objective: Option<Bound<'_, PyAny>>,
    ) -> PyResult<SearchRows> {
        guarded(|| {
            let kind = classes.map_or(TargetKind::Number, TargetKind::Classes);
            let target = Target { name: target, kind };
            let mut gather = Gather::default();
            for (name, object) in &parameters {
                gather.set_value(name, &param_value(object)?);
            }
            let loss = objective.as_ref().map(PythonLoss::new).transpose()?;
            let options = TrainOptions {
                custom_loss: loss.clone().map(|loss| loss as Arc<dyn CustomLoss>),
                ..TrainOptions::default()
            };
            let columns = table.columns();

            let open = || -> Result<FoldTaskRows> {
                let params = gather.finish()?;
                let mut rows = read::borrowed(columns, target)?;
                if holds_out && params.valid_fraction > 0.0 {
                    rows = rows.holdout(params.valid_fraction, params.seed)?.0;
                }
                FoldTaskRows::new(&rows, &params, &options)
            };
            let rows = py.detach(open).map_err(python_error)?;
            Ok(SearchRows { rows, loss })
        })
    }

    /// The result of a task.
    fn run<'py>(&self, py: Python<'py>, task: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let result = py.detach(|| self.rows.run(task)).map_err(python_error);
            let result = result.map_err(|error| match &self.loss {
                Some(loss) => loss.chained(py, error),
                None => error,
            })?;
            Ok(PyBytes::new(py, &result))
        })
    }
}
