//! Training: typed parameters in, a model and the story of the run out.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use swarmwood::learn::event::{Event, Flow, Search};
use swarmwood::learn::pool::Pool;
use swarmwood::model::{Target, TargetKind};
use swarmwood::params::{Gather, Params};
use swarmwood::train::{Aids, Halt, Trained, train_with};
use swarmwood::{Error, Result, read};

use crate::fault::{guarded, raised};
use crate::model::Model;
use crate::parameters::param_value;
use crate::table::Table;

/// The time between two looks at Python's signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// A trained model and the story of its run.
#[pyclass(module = "swarmwood._core", frozen)]
pub struct Fitted {
    trained: Trained,
    model: Py<Model>,
    events: Vec<Event>,
    watched: &'static str,
    warnings: Vec<String>,
    interrupted: bool,
}

/// Ctrl-C, as far as Python lets us know, and what a listener raised.
#[derive(Default)]
struct Signals {
    stopped: AtomicBool,
    raised: Mutex<Option<PyErr>>,
    done: Mutex<bool>,
    bell: Condvar,
}

impl Signals {
    /// Whether to stop.
    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn note(&self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            lock(&self.raised).get_or_insert(error);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Looks at Python's signals now and then until the work is done. Only the thread that Python
    /// called hears of them.
    fn watch(&self) {
        let mut done = lock(&self.done);
        while !*done {
            done = self.bell.wait_timeout(done, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            self.note(Python::attach(|py| py.check_signals()));
        }
    }

    fn end(&self) {
        *lock(&self.done) = true;
        self.bell.notify_all();
    }
}

/// A lock whose holder panicked protects nothing that could be half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works on another thread while this one listens for signals.
fn beside<T: Send>(signals: &Signals, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let caller = std::thread::current().id();
    let (work, answer) = (Mutex::new(Some(work)), Mutex::new(None));
    let pool = Pool::new(2).map_err(Error::Run)?;
    // Two pieces for two threads: whoever is not the caller works. If that thread takes both,
    // nobody need listen any more.
    pool.map(2, |_| {
        if std::thread::current().id() == caller {
            return signals.watch();
        }
        if let Some(work) = lock(&work).take() {
            let ended = Ended(signals);
            *lock(&answer) = Some(work());
            drop(ended);
        }
    });
    let answer = lock(&answer).take();
    answer.unwrap_or_else(|| Err(Error::Run("the run ended without a result".to_string())))
}

/// Tells the listener of the end, even if that is a panic.
struct Ended<'a>(&'a Signals);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Trains on a table. `listener` is called with every step and may raise. An interruption leaves
/// the best model so far.
#[pyfunction]
#[pyo3(signature = (table, target, classes, parameters, valid=None, pretrained=None, listener=None))]
#[allow(clippy::too_many_arguments)] // One call that Python alone makes, by name.
pub fn train(
    py: Python<'_>,
    table: PyRef<'_, Table>,
    target: String,
    classes: Option<Vec<String>>,
    parameters: Vec<(String, Bound<'_, PyAny>)>,
    valid: Option<PyRef<'_, Table>>,
    pretrained: Option<PathBuf>,
    listener: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    guarded(|| {
        let parameters = parameters
            .into_iter()
            .map(|(name, object)| Ok((name, param_value(&object)?)))
            .collect::<PyResult<Vec<_>>>()?;
        let lending = Arc::clone(&table.lending);
        let valid = valid.map(|valid| Arc::clone(&valid.lending));
        let target =
            Target { name: target, kind: classes.map_or(TargetKind::Number, TargetKind::Classes) };
        let signals = Arc::new(Signals::default());
        let heard = Arc::clone(&signals);
        let halt = Some(Halt::new(move || heard.stopped()));
        let mut events = Vec::new();
        let mut watch = |event: &Event| {
            events.push(event.clone());
            if let Some(listener) = &listener {
                signals.note(Python::attach(|py| tell(py, listener, event)));
            }
            if signals.stopped() { Flow::Stop } else { Flow::Continue }
        };
        let aids = Aids { pretrained, halt, ..Aids::default() };
        let run = || -> Result<(Trained, Vec<String>, &'static str)> {
            let mut gather = Gather::default();
            parameters.iter().for_each(|(name, value)| gather.set_value(name, value));
            let params = gather.finish()?;
            let mut warnings = params.idle();
            let mut rows = read::lent(lending, target)?;
            let mut held =
                valid.map(|valid| read::lent_matching(valid, &rows.schema)).transpose()?;
            if params.valid_fraction > 0.0 && held.is_none() {
                let (rest, part) = rows.holdout(params.valid_fraction, params.seed)?;
                (rows, held) = (rest, Some(part));
            }
            warnings.append(&mut rows.warnings);
            held.iter_mut().for_each(|held| warnings.append(&mut held.warnings));
            let watched = watched(&params, &rows.schema.target.kind)?;
            let trained = train_with(&rows, held.as_ref(), &params, &aids, &mut watch)?;
            warnings.extend(trained.warnings.iter().cloned());
            Ok((trained, warnings, watched))
        };
        let (trained, warnings, watched) = py.detach(|| beside(&signals, run)).map_err(raised)?;
        let error = lock(&signals.raised).take();
        let interrupted = match error {
            Some(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
                true
            }
            Some(error) => return Err(error),
            None => false,
        };
        let model = Py::new(py, Model { model: Arc::new(trained.model.clone()) })?;
        Ok(Fitted { trained, model, events, watched, warnings, interrupted })
    })
}

/// The name of the metric that is told of validation rows.
fn watched(params: &Params, target: &TargetKind) -> Result<&'static str> {
    swarmwood::registry::watch(params, target).map(|watch| watch.name())
}

fn tell(py: Python<'_>, listener: &Py<PyAny>, event: &Event) -> PyResult<()> {
    let told = PyDict::new(py);
    told.set_item("stage", event.stage.name)?;
    told.set_item("unit", event.stage.step)?;
    told.set_item("step", event.step)?;
    told.set_item("steps", event.steps)?;
    told.set_item("elapsed", event.elapsed)?;
    told.set_item("train", event.train)?;
    told.set_item("valid", event.valid)?;
    told.set_item("measure", event.search.map(|search| search.measure))?;
    told.set_item("best", event.search.and_then(|search| search.best))?;
    told.set_item("gain", event.search.and_then(|search| search.gain))?;
    listener.call1(py, (told,)).map(drop)
}

#[pymethods]
impl Fitted {
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
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

    /// The metric that validation rows are told in.
    #[getter]
    fn watched(&self) -> &'static str {
        self.watched
    }

    /// Seconds of making bins and of training.
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

    /// Every step of the run: one list a column.
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
            column("elapsed", &|event| Some(event.elapsed))?;
            column("train", &|event| event.train)?;
            column("valid", &|event| event.valid)?;
            let searched = |event: &Event| event.search.map(|search| search.measure);
            columns.set_item("measure", self.events.iter().map(searched).collect::<Vec<_>>())?;
            let of = |name: &str, value: fn(&Search) -> Option<f64>| {
                column(name, &|event| event.search.as_ref().and_then(value))
            };
            of("evaluations", |search| Some(search.evaluations as f64))?;
            of("repeats", |search| Some(search.repeats as f64))?;
            of("best", |search| search.best)?;
            of("gain", |search| search.gain)?;
            of("mean", |search| search.mean)?;
            of("diversity", |search| search.diversity)?;
            of("factor", |search| search.factor)?;
            of("alpha", |search| search.alpha)?;
            of("beta", |search| search.beta)?;
            Ok(columns)
        })
    }
}
