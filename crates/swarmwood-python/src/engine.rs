//! Search engines with the ask-and-tell interface.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};
use swarmwood::checkpoint::snapshot::{decode, encode, of_datum, to_datum};
use swarmwood::search::options::{EngineOptions, OptionValue};
use swarmwood::search::trial::FIRST_EXTERNAL_ID;
use swarmwood::search::{Capabilities, ExternalTrial, Snapshot, Space, Trial, TrialResult};
use swarmwood::tune::{engine, engine_options, space_file};

use crate::errors::{SwarmwoodError, guarded, python_error};
use crate::point_dict::{dict_of_point, point_of_dict};

/// The best trial: its number (none if it was adopted), its loss, its configuration.
type BestTrialTuple<'py> = (Option<u64>, f64, Bound<'py, PyDict>);

/// A search engine and the space it searches.
#[pyclass(module = "swarmwood._core", name = "Engine", frozen)]
pub struct PyEngine {
    space: Space,
    name: String,
    engine: Mutex<Box<dyn swarmwood::search::Engine>>,
}

impl PyEngine {
    /// The engine, unless a panic left it in the middle of a step.
    fn lock(&self) -> PyResult<MutexGuard<'_, Box<dyn swarmwood::search::Engine>>> {
        let message =
            "the engine failed before and cannot continue; load a saved state or create a new one";
        self.engine.lock().map_err(|_| SwarmwoodError::new_err(message))
    }

    /// Replaces the engine by one that panics, for a test.
    pub fn panic_when_used(&self) -> PyResult<()> {
        *self.lock()? = Box::new(PanickingEngine);
        Ok(())
    }
}

/// An engine that panics in every step.
struct PanickingEngine;

fn inject_panic_into(step: &str) -> ! {
    std::panic::panic_any(format!("injected into {step}"))
}

impl swarmwood::search::Engine for PanickingEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn ask(&mut self, _: usize) -> Vec<Trial> {
        inject_panic_into("ask")
    }

    fn tell(&mut self, _: &[TrialResult]) {
        inject_panic_into("tell")
    }

    fn add_trial(&mut self, _: ExternalTrial) {
        inject_panic_into("add_trial")
    }

    fn best(&self) -> Option<swarmwood::search::BestTrial<'_>> {
        inject_panic_into("best")
    }

    fn snapshot(&self) -> Snapshot {
        inject_panic_into("snapshot")
    }
}

fn parse_space(space: &str) -> PyResult<Space> {
    space_file::parse("space", space).map_err(python_error)
}

/// The options of a dictionary, not yet checked; those that are `None` have their defaults.
fn parse_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<EngineOptions> {
    let Some(options) = options else { return Ok(EngineOptions::DEFAULTS) };
    let mut pairs = Vec::with_capacity(options.len());
    for (name, value) in options.iter().filter(|(_, value)| !value.is_none()) {
        // A bool is an int to Python: it comes first.
        let value = if let Ok(flag) = value.cast::<PyBool>() {
            OptionValue::Flag(flag.is_true())
        } else if let Ok(number) = value.extract::<i64>() {
            OptionValue::Integer(number)
        } else if let Ok(number) = value.extract::<f64>() {
            OptionValue::Real(number)
        } else {
            OptionValue::Text(value.str()?.to_string_lossy().into_owned())
        };
        pairs.push((name.str()?.to_string_lossy().into_owned(), value));
    }
    Ok(pairs.into_iter().collect())
}

#[pymethods]
impl PyEngine {
    /// Creates an engine by name; the space is the text of a space file.
    #[new]
    #[pyo3(signature = (space, name, seed, options=None))]
    fn new(
        py: Python<'_>,
        space: &str,
        name: String,
        seed: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEngine> {
        guarded(|| {
            let space = parse_space(space)?;
            let options = parse_options(options)?;
            let engine = py.detach(|| engine::make(&name, &options, &space, seed));
            let engine = engine.map_err(python_error)?;
            Ok(PyEngine { space, name, engine: Mutex::new(engine) })
        })
    }

    /// Restores the engine that wrote a snapshot.
    #[staticmethod]
    fn resume(py: Python<'_>, space: &str, name: String, snapshot: &[u8]) -> PyResult<PyEngine> {
        guarded(|| {
            let space = parse_space(space)?;
            let damaged = || {
                PyValueError::new_err(
                    "the snapshot is damaged; use another one, or create a new engine",
                )
            };
            let snapshot = decode(snapshot).as_ref().and_then(of_datum).ok_or_else(damaged)?;
            let engine = py.detach(|| engine::resume(&space, &snapshot)).map_err(python_error)?;
            Ok(PyEngine { space, name, engine: Mutex::new(engine) })
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The number of configurations; `None` if it is infinite or too large to count.
    #[getter]
    fn size(&self) -> Option<u128> {
        self.space.size()
    }

    /// Up to `at_most` trials, each with its number and configuration; fewer while the engine waits
    /// for results or if the search is over.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        at_most: usize,
    ) -> PyResult<Vec<(u64, Bound<'py, PyDict>)>> {
        guarded(|| {
            let trials = py.detach(|| Ok::<_, PyErr>(self.lock()?.ask(at_most)))?;
            let with_dict =
                |trial: Trial| Ok((trial.id, dict_of_point(py, &self.space, &trial.point)?));
            trials.into_iter().map(with_dict).collect()
        })
    }

    /// Reports results of trials: their losses, or `None` where they failed.
    fn tell(&self, py: Python<'_>, outcomes: Vec<(u64, Option<f64>)>) -> PyResult<()> {
        guarded(|| {
            let outcome = |(id, loss): (u64, Option<f64>)| {
                loss.map_or(TrialResult::Failed { id }, |loss| TrialResult::Complete { id, loss })
            };
            let outcomes: Vec<TrialResult> = outcomes.into_iter().map(outcome).collect();
            py.detach(|| {
                self.lock()?.tell(&outcomes);
                Ok(())
            })
        })
    }

    /// Adds a configuration that was evaluated elsewhere or, if it is open, is being evaluated.
    #[pyo3(signature = (configuration, loss=None, open=false))]
    fn adopt(
        &self,
        py: Python<'_>,
        configuration: &Bound<'_, PyDict>,
        loss: Option<f64>,
        open: bool,
    ) -> PyResult<()> {
        guarded(|| {
            let point = point_of_dict(&self.space, configuration)?;
            let trial = if open {
                ExternalTrial::Running { point }
            } else {
                ExternalTrial::Complete { point, loss }
            };
            py.detach(|| {
                self.lock()?.add_trial(trial);
                Ok(())
            })
        })
    }

    /// Number, loss and configuration of the best trial; an adopted one has no number.
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<BestTrialTuple<'py>>> {
        guarded(|| {
            let best = py.detach(|| {
                let engine = self.lock()?;
                Ok::<_, PyErr>(engine.best().map(|best| (best.id, best.loss, best.point.clone())))
            })?;
            let Some((id, loss, point)) = best else { return Ok(None) };
            Ok(Some((
                (id < FIRST_EXTERNAL_ID).then_some(id),
                loss,
                dict_of_point(py, &self.space, &point)?,
            )))
        })
    }

    /// The complete state of the engine.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let bytes =
                py.detach(|| Ok::<_, PyErr>(encode(&to_datum(&self.lock()?.snapshot()))))?;
            Ok(PyBytes::new(py, &bytes))
        })
    }
}

/// The engines by name, each with one line of help.
#[pyfunction]
pub fn engines() -> PyResult<Vec<(&'static str, &'static str)>> {
    guarded(|| Ok(engine::names()))
}

/// The engines with their options, as the text of a JSON array.
#[pyfunction]
pub fn engine_list() -> PyResult<String> {
    guarded(|| Ok(engine_options::list_json().to_string()))
}

/// Checks the options of an engine; returns those that are not the defaults, as text of JSON.
#[pyfunction]
#[pyo3(signature = (engine, options=None))]
pub fn check_engine_options(engine: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    guarded(|| {
        let options = engine::check_options(engine, &parse_options(options)?);
        Ok(engine_options::to_json(&options.map_err(python_error)?).to_string())
    })
}

/// The name of the default engine.
#[pyfunction]
pub fn default_engine() -> PyResult<&'static str> {
    guarded(|| Ok(engine::DEFAULT))
}
