//! Compression: a teacher in Python, a student of the core.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use swarmwood::checkpoint::Keep;
use swarmwood::compress::{
    CompressRequest, CompressResult, LabelMetrics, Teacher, TeacherRows, compress as compress_rows,
};
use swarmwood::evaluate::Bootstrap;
use swarmwood::learn::event::Event;
use swarmwood::message::{Message, ParamValue};
use swarmwood::model::{Link, Schema, Target, TargetKind};
use swarmwood::params::{Auto, Gather};
use swarmwood::train::TrainOptions;
use swarmwood::{Error, Result, read};

use crate::errors::{guarded, python_error};
use crate::model::PyModel;
use crate::names::PythonNotation;
use crate::parameters::param_value;
use crate::signals::{SignalMonitor, with_signal_checks};
use crate::table::{ColumnTable, PyTable};
use crate::training::{CHECKPOINT_EVERY, call_with_event};

/// A Python function from row numbers, one array per column, to raw scores.
struct PythonTeacher<'a> {
    schema: Schema,
    scores: &'a Py<PyAny>,
    monitor: &'a SignalMonitor,
}

impl Teacher for PythonTeacher<'_> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn link(&self) -> Link {
        match self.schema.target.kind.classes().len() {
            0 => Link::Identity,
            2 => Link::Sigmoid,
            _ => Link::Softmax,
        }
    }

    fn raw(&self, rows: &TeacherRows<'_>) -> Result<Vec<f64>> {
        let scores = Python::attach(|py| {
            let columns = rows.sources.iter().map(|column| {
                let bytes: Vec<u8> = column.iter().flat_map(|row| row.to_ne_bytes()).collect();
                PyBytes::new(py, &bytes)
            });
            let columns = PyList::new(py, columns.collect::<Vec<_>>())?;
            let scores = self.scores.bind(py).call1((columns,))?;
            PyBuffer::<f64>::get(&scores)?.to_vec(py)
        });
        scores.map_err(|error| {
            self.monitor.check(Err(error));
            Error::Run("the model that is compressed raised an exception".to_string())
        })
    }
}

/// The arguments of one call of `compress`.
struct CompressJob {
    table: Arc<ColumnTable>,
    classes: Vec<String>,
    is_labelled: bool,
    parameters: Vec<(String, ParamValue)>,
    swaps: Option<usize>,
    keep: Option<Keep>,
}

impl CompressJob {
    /// Checks the parameters, reads the table and compresses; also all warnings.
    fn run(
        self,
        scores: &Py<PyAny>,
        monitor: &Arc<SignalMonitor>,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<(CompressResult, Vec<String>)> {
        let mut gather = Gather::default();
        self.parameters.iter().for_each(|(name, value)| gather.set_value(name, value));
        let params = gather.finish()?;
        let mut messages = params.idle();

        let kind = match self.classes.is_empty() {
            true => TargetKind::Number,
            false => TargetKind::Classes(self.classes),
        };
        let name = "target".to_string();
        let read_kind = if self.is_labelled { kind.clone() } else { TargetKind::Number };
        let rows = read::borrowed(self.table, Target { name: name.clone(), kind: read_kind })?;
        let features = rows.schema.features.clone();
        let (rows, held_out) = rows.holdout(params.valid_fraction, params.seed)?;
        messages.extend(rows.warnings.iter().cloned().map(Message::from));

        let schema = Schema { features, target: Target { name, kind }, dates: Vec::new() };
        let request = CompressRequest {
            teacher: &PythonTeacher { schema, scores, monitor },
            rows: &rows,
            held_out: &held_out,
            is_labelled: self.is_labelled,
            swaps: self.swaps.map_or(Auto::Auto, Auto::Is),
            params: &params,
            options: &TrainOptions {
                keep: self.keep,
                budget: Some(monitor.budget()),
                ..TrainOptions::default()
            },
        };
        let result = compress_rows(&request, observer)?;
        messages.extend(result.warnings.iter().cloned());
        let warnings = messages.iter().map(|message| message.render(&PythonNotation)).collect();
        Ok((result, warnings))
    }
}

/// Fits a small model to the scores of a function. Returns the model, a report, warnings, and whether
/// Ctrl-C ended the run.
#[pyfunction]
#[pyo3(signature = (
    table, classes, is_labelled, scores, parameters, swaps=None, checkpoint=None, resume=false,
    callback=None
))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn compress<'py>(
    py: Python<'py>,
    table: PyRef<'_, PyTable>,
    classes: Vec<String>,
    is_labelled: bool,
    scores: Py<PyAny>,
    parameters: Vec<(String, Bound<'_, PyAny>)>,
    swaps: Option<usize>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    callback: Option<Py<PyAny>>,
) -> PyResult<(PyModel, Bound<'py, PyDict>, Vec<String>, bool)> {
    guarded(|| {
        let parameters =
            parameters.iter().map(|(name, object)| Ok((name.clone(), param_value(object)?)));
        let job = CompressJob {
            table: table.columns(),
            classes,
            is_labelled,
            parameters: parameters.collect::<PyResult<_>>()?,
            swaps,
            keep: checkpoint.map(|path| Keep { path, every: CHECKPOINT_EVERY, resume }),
        };

        let monitor = Arc::new(SignalMonitor::default());
        let mut observer = |event: &Event| {
            if let Some(callback) = &callback {
                monitor.check(Python::attach(|py| call_with_event(py, callback, event)));
            }
        };
        let run = || job.run(&scores, &monitor, &mut observer);
        let outcome = py.detach(|| with_signal_checks(&monitor, run));

        // An interrupted run has a usable model; any other exception is raised instead of it.
        let exception = monitor.take_exception();
        let interrupted =
            exception.as_ref().is_some_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
        if let Some(error) = exception.filter(|_| !interrupted || outcome.is_err()) {
            return Err(error);
        }
        let (result, warnings) = outcome.map_err(python_error)?;
        let report = report(py, &result)?;
        Ok((PyModel::new(result.model), report, warnings, interrupted))
    })
}

fn report<'py>(py: Python<'py>, result: &CompressResult) -> PyResult<Bound<'py, PyDict>> {
    let fidelity = PyDict::new(py);
    fidelity.set_item("rows", result.fidelity.rows)?;
    fidelity.set_item("r2", result.fidelity.r2)?;
    fidelity.set_item("rmse", result.fidelity.rmse)?;
    fidelity.set_item("largest_difference", result.fidelity.largest_difference)?;
    fidelity.set_item("agreement", result.fidelity.agreement)?;

    let report = PyDict::new(py);
    report.set_item("rows", result.data_rows)?;
    report.set_item("extra_rows", result.extra_rows)?;
    report.set_item("fidelity", fidelity)?;
    report.set_item("notes", result.notes.clone())?;
    let metrics = result.labels.as_ref().map(|labels| label_metrics(py, labels)).transpose()?;
    report.set_item("metrics", metrics)?;
    Ok(report)
}

/// Metrics by model and name, each with its value and interval.
fn label_metrics<'py>(py: Python<'py>, labels: &LabelMetrics) -> PyResult<Bound<'py, PyDict>> {
    let metrics = |bootstrap: &Bootstrap| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in bootstrap.values() {
            let ends = bootstrap.interval(name).map(|ends| (ends.low, ends.high));
            dict.set_item(*name, (*value, ends))?;
        }
        Ok(dict)
    };
    let difference = PyDict::new(py);
    for (name, _) in labels.student.values() {
        if let Some((value, ends)) = labels.student.less(&labels.teacher, name) {
            difference.set_item(*name, (value, Some((ends.low, ends.high))))?;
        }
    }
    let all = PyDict::new(py);
    all.set_item("large_model", metrics(&labels.teacher)?)?;
    all.set_item("small_model", metrics(&labels.student)?)?;
    all.set_item("difference", difference)?;
    Ok(all)
}
