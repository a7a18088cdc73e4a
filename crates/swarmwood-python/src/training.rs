//! Training: typed parameters in, a model and the history of the run out.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::checkpoint::Keep;
use swarmwood::error::Violation;
use swarmwood::learn::budget::Budget;
use swarmwood::learn::event::{Event, SearchStatus};
use swarmwood::learn::metric::CustomMetric;
use swarmwood::learn::objective::CustomLoss;
use swarmwood::learn::plan::TaskRunner;
use swarmwood::message::{Message, ParamValue};
use swarmwood::model::{Model, Target, TargetKind};
use swarmwood::params::Gather;
use swarmwood::read::Rows;
use swarmwood::train::{TrainOptions, TrainResult, train_with, validation_metric};
use swarmwood::{Error, Result, read};

use crate::cluster::ClusterArguments;
use crate::custom_loss::PythonLoss;
use crate::custom_metric::PythonMetric;
use crate::errors::{guarded, python_error};
use crate::model::PyModel;
use crate::names::PythonNotation;
use crate::parameters::param_value;
use crate::search_report::search_report;
use crate::signals::{SignalMonitor, with_signal_checks};
use crate::table::{ColumnTable, PyTable};
use crate::tasks::PythonTasks;

/// Steps from one checkpoint to the next.
pub const CHECKPOINT_EVERY: usize = 10;

/// A trained model and the history of its run.
#[pyclass(module = "swarmwood._core", frozen)]
pub struct FitResult {
    trained: TrainResult,
    model: Py<PyModel>,
    events: Vec<Event>,
    metric: &'static str,
    warnings: Vec<String>,
    interrupted: bool,
}

/// The arguments of one call of `train`.
struct TrainJob {
    table: Arc<ColumnTable>,
    /// The sets of validation rows; the last one decides.
    valid: Vec<Arc<ColumnTable>>,
    target: Target,
    parameters: Vec<(String, ParamValue)>,
    pretrained: Option<PathBuf>,
    init_model: Option<Arc<Model>>,
    custom_loss: Option<Arc<dyn CustomLoss>>,
    custom_metric: Option<Arc<dyn CustomMetric>>,
    cluster: Option<ClusterArguments>,
    task_runner: Option<Arc<dyn TaskRunner>>,
    keep: Option<Keep>,
}

impl TrainJob {
    /// Checks the parameters, reads the tables and trains. Returns the result, all warnings and the
    /// name of the validation metric.
    fn run(
        self,
        budget: Budget,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<(TrainResult, Vec<String>, &'static str)> {
        let mut gather = Gather::default();
        self.parameters.iter().for_each(|(name, value)| gather.set_value(name, value));
        let params = gather.finish()?;
        let mut messages = params.idle();

        let on_cluster = self.cluster.is_some();
        let mut rows = match (&self.init_model, self.cluster) {
            (Some(model), _) => read::borrowed_continuing(self.table, &model.schema)?,
            (None, Some(cluster)) => cluster.rows(self.table, self.target)?,
            (None, None) => read::borrowed(self.table, self.target)?,
        };
        let matching = |valid: Arc<ColumnTable>| read::borrowed_matching(valid, &rows.schema);
        let mut watched = self.valid.into_iter().map(matching).collect::<Result<Vec<Rows>>>()?;
        let mut valid = watched.pop();
        if params.valid_fraction > 0.0 && valid.is_none() && on_cluster {
            let message = "is not for rows on a cluster; give validation rows";
            let violation = Violation::new("valid_fraction", message);
            return Err(Error::Parameters(vec![violation]));
        }
        if params.valid_fraction > 0.0 && valid.is_none() {
            let (rest, part) = rows.holdout(params.valid_fraction, params.seed)?;
            (rows, valid) = (rest, Some(part));
        }
        let mut data_warnings = std::mem::take(&mut rows.warnings);
        valid
            .iter_mut()
            .chain(&mut watched)
            .for_each(|valid| data_warnings.append(&mut valid.warnings));

        let options = TrainOptions {
            pretrained: self.pretrained,
            init_model: self.init_model,
            budget: Some(budget),
            custom_loss: self.custom_loss,
            custom_metric: self.custom_metric,
            task_runner: self.task_runner,
            keep: self.keep,
            watched: watched.into_iter().map(Arc::new).collect(),
            ..TrainOptions::default()
        };
        let metric = validation_metric(&params, &rows.schema.target.kind, &options)?;
        let trained = train_with(&rows, valid.as_ref(), &params, &options, observer)?;

        messages.extend(data_warnings.into_iter().map(Message::from));
        messages.extend(trained.warnings.iter().cloned());
        let warnings = messages.iter().map(|message| message.render(&PythonNotation)).collect();
        Ok((trained, warnings, metric))
    }
}

/// Trains on a table. `callback` is called with every step and may raise. `tasks` runs the tasks of
/// the search. An interrupted run returns the best model so far. Of several `columns` to predict, the
/// first is the target of the table, and the others are its last features.
#[pyfunction]
#[pyo3(signature = (table, target, classes, parameters, valid=Vec::new(), pretrained=None,
                    callback=None, objective=None, metric=None, init_model=None, tasks=None,
                    cluster=None, columns=None, checkpoint=None, resume=false))]
#[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
pub fn train(
    py: Python<'_>,
    table: PyRef<'_, PyTable>,
    target: String,
    classes: Option<Vec<String>>,
    parameters: Vec<(String, Bound<'_, PyAny>)>,
    valid: Vec<PyRef<'_, PyTable>>,
    pretrained: Option<PathBuf>,
    callback: Option<Py<PyAny>>,
    objective: Option<Bound<'_, PyAny>>,
    metric: Option<Bound<'_, PyAny>>,
    init_model: Option<PyRef<'_, PyModel>>,
    tasks: Option<Bound<'_, PyAny>>,
    cluster: Option<Bound<'_, PyAny>>,
    columns: Option<Vec<String>>,
    checkpoint: Option<PathBuf>,
    resume: bool,
) -> PyResult<FitResult> {
    guarded(|| {
        let kind = classes.map_or(TargetKind::Number, TargetKind::Classes);
        let target = match columns {
            Some(columns) => read::target_of(columns),
            None => Target { name: target, kind },
        };
        let parameters =
            parameters.iter().map(|(name, object)| Ok((name.clone(), param_value(object)?)));
        let monitor = Arc::new(SignalMonitor::default());
        let custom_metric = metric.as_ref().map(|metric| PythonMetric::new(metric, &monitor));
        let loss = objective.as_ref().map(PythonLoss::new).transpose()?;
        let job = TrainJob {
            table: table.columns(),
            valid: valid.iter().map(|valid| valid.columns()).collect(),
            target,
            parameters: parameters.collect::<PyResult<_>>()?,
            pretrained,
            init_model: init_model.map(|model| model.shared()),
            custom_loss: loss.clone().map(|loss| loss as Arc<dyn CustomLoss>),
            cluster: cluster
                .map(|cluster| ClusterArguments::new(&cluster, &monitor))
                .transpose()?,
            custom_metric: custom_metric.transpose()?.map(|metric| metric as Arc<dyn CustomMetric>),
            task_runner: tasks.map(|tasks| PythonTasks::new(&tasks, &monitor) as _),
            keep: checkpoint.map(|path| Keep { path, every: CHECKPOINT_EVERY, resume }),
        };

        let budget = monitor.budget();
        let mut events = Vec::new();
        let mut observer = |event: &Event| {
            events.push(event.clone());
            if let Some(callback) = &callback {
                monitor.check(Python::attach(|py| call_with_event(py, callback, event)));
            }
        };
        let run = || job.run(budget, &mut observer);
        let result = py.detach(|| with_signal_checks(&monitor, run));
        // An exception of the executor or of the cluster says more than the error it led to.
        let failed = result.is_err().then(|| monitor.take_exception()).flatten();
        if let Some(error) = failed {
            return Err(error);
        }
        let (trained, warnings, metric) =
            result.map_err(python_error).map_err(|error| match &loss {
                Some(loss) => loss.chained(py, error),
                None => error,
            })?;

        // An interrupted run has a usable model; any other exception is raised instead of it.
        let interrupted = match monitor.take_exception() {
            Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => true,
            Some(error) => return Err(error),
            None => false,
        };
        let model = Py::new(py, PyModel::new(trained.model.clone()))?;
        Ok(FitResult { trained, model, events, metric, warnings, interrupted })
    })
}

pub fn call_with_event(py: Python<'_>, callback: &Py<PyAny>, event: &Event) -> PyResult<()> {
    let fields = PyDict::new(py);
    fields.set_item("stage", event.stage.name)?;
    fields.set_item("unit", event.stage.step)?;
    fields.set_item("step", event.step)?;
    fields.set_item("steps", event.steps)?;
    fields.set_item("elapsed", event.elapsed)?;
    fields.set_item("train", event.train)?;
    fields.set_item("valid", event.valid)?;
    fields.set_item("metric", event.search.map(|search| search.measure))?;
    fields.set_item("best", event.search.and_then(|search| search.best))?;
    fields.set_item("gain", event.search.and_then(|search| search.gain))?;
    callback.call1(py, (fields,)).map(drop)
}

#[pymethods]
impl FitResult {
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<PyModel> {
        self.model.clone_ref(py)
    }

    #[getter]
    fn rounds(&self) -> usize {
        self.trained.rounds
    }

    /// Whether Ctrl-C ended the run.
    #[getter]
    fn interrupted(&self) -> bool {
        self.interrupted
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.trained.notes.clone()
    }

    /// The name of the metric that is evaluated on validation rows.
    #[getter]
    fn metric(&self) -> &'static str {
        self.metric
    }

    /// Seconds of binning and of training.
    #[getter]
    fn seconds(&self) -> (f64, f64) {
        (self.trained.bin_seconds, self.trained.train_seconds)
    }

    #[getter]
    fn train_metrics(&self) -> Vec<(&'static str, f64)> {
        self.trained.train_metrics.clone()
    }

    #[getter]
    fn valid_metrics(&self) -> Vec<(&'static str, f64)> {
        self.trained.valid_metrics.clone()
    }

    /// The metrics of each of the other sets of validation rows.
    #[getter]
    fn watched_metrics(&self) -> Vec<Vec<(&'static str, f64)>> {
        self.trained.watched_metrics.clone()
    }

    /// The metrics of each of several columns: on the training and on the validation rows.
    #[getter]
    fn column_metrics(&self) -> Vec<[Vec<(&'static str, f64)>; 2]> {
        let metrics =
            |column: &TrainResult| [column.train_metrics.clone(), column.valid_metrics.clone()];
        self.trained.columns.iter().map(metrics).collect()
    }

    /// What the search chose, and why; `None` if the method does not search. Of several columns one
    /// report each, by name.
    #[getter]
    fn search_report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(|| {
            if self.trained.columns.is_empty() {
                return search_report(py, &self.trained);
            }
            let reports = PyDict::new(py);
            for column in &self.trained.columns {
                let Some(report) = search_report(py, column)? else { return Ok(None) };
                reports.set_item(&column.model.schema.target.name, report)?;
            }
            Ok(Some(reports))
        })
    }

    /// Every step of the run, one list per column.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guarded(|| {
            let columns = PyDict::new(py);
            let column = |name: &str, value: &dyn Fn(&Event) -> Option<f64>| {
                columns.set_item(name, self.events.iter().map(value).collect::<Vec<_>>())
            };
            columns.set_item(
                "stage",
                self.events.iter().map(|event| event.stage.name).collect::<Vec<_>>(),
            )?;
            columns
                .set_item("step", self.events.iter().map(|event| event.step).collect::<Vec<_>>())?;
            columns.set_item(
                "steps",
                self.events.iter().map(|event| event.steps).collect::<Vec<_>>(),
            )?;
            columns.set_item(
                "column",
                self.events.iter().map(|event| event.column).collect::<Vec<_>>(),
            )?;
            column("elapsed", &|event| Some(event.elapsed))?;
            column("train", &|event| event.train)?;
            column("valid", &|event| event.valid)?;
            let watched = |event: &Event| event.watched.clone();
            columns.set_item("watched", self.events.iter().map(watched).collect::<Vec<_>>())?;
            let metric = |event: &Event| event.search.map(|search| search.measure);
            columns.set_item("metric", self.events.iter().map(metric).collect::<Vec<_>>())?;
            let search_column = |name: &str, value: fn(&SearchStatus) -> Option<f64>| {
                column(name, &|event| event.search.as_ref().and_then(value))
            };
            search_column("evaluations", |search| Some(search.evaluations as f64))?;
            search_column("cache_hits", |search| Some(search.repeats as f64))?;
            search_column("best", |search| search.best)?;
            search_column("gain", |search| search.gain)?;
            search_column("mean", |search| search.mean)?;
            search_column("diversity", |search| search.diversity)?;
            search_column("evolutionary_factor", |search| search.factor)?;
            search_column("alpha", |search| search.alpha)?;
            search_column("beta", |search| search.beta)?;
            Ok(columns)
        })
    }
}
