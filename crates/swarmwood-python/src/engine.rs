//! Search engines for Python: configurations out, losses in.

use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use swarmwood::checkpoint::snapshot::{decode, encode, of_datum, to_datum};
use swarmwood::search::trial::FIRST_ADOPTED;
use swarmwood::search::{Adopted, Capabilities, Outcome, Snapshot, Space, Trial};
use swarmwood::tune::{engine, space_file};

use crate::configuration::{dictionary, point};
use crate::fault::{SwarmwoodError, guarded, raised};

/// A trial or the best one: its number, its loss if there is one, its configuration.
type Best<'py> = (Option<u64>, f64, Bound<'py, PyDict>);

/// A search engine and the space it searches.
#[pyclass(module = "swarmwood._core", frozen)]
pub struct Engine {
    space: Space,
    name: String,
    engine: Mutex<Box<dyn swarmwood::search::Engine>>,
}

impl Engine {
    /// The engine, unless a fault left it half-way through a step.
    fn lock(&self) -> PyResult<MutexGuard<'_, Box<dyn swarmwood::search::Engine>>> {
        let broken =
            "the engine failed before and cannot go on; load what was saved, or start anew";
        self.engine.lock().map_err(|_| SwarmwoodError::new_err(broken))
    }

    /// Puts an engine with a fault in the place of the real one, for a test.
    pub fn fail_when_asked(&self) -> PyResult<()> {
        *self.lock()? = Box::new(Faulty);
        Ok(())
    }
}

/// An engine that panics in every step.
struct Faulty;

fn injected(step: &str) -> ! {
    std::panic::panic_any(format!("injected into {step}"))
}

impl swarmwood::search::Engine for Faulty {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn ask(&mut self, _: usize) -> Vec<Trial> {
        injected("ask")
    }

    fn tell(&mut self, _: &[Outcome]) {
        injected("tell")
    }

    fn adopt(&mut self, _: Adopted) {
        injected("adopt")
    }

    fn best(&self) -> Option<swarmwood::search::Best<'_>> {
        injected("best")
    }

    fn snapshot(&self) -> Snapshot {
        injected("snapshot")
    }
}

fn parsed(space: &str) -> PyResult<Space> {
    space_file::parse("space", space).map_err(raised)
}

#[pymethods]
impl Engine {
    /// A new engine by name; the space is the text of a space file.
    #[new]
    fn new(py: Python<'_>, space: &str, name: String, seed: u64) -> PyResult<Engine> {
        guarded(|| {
            let space = parsed(space)?;
            let engine = py.detach(|| engine::make(&name, &space, seed)).map_err(raised)?;
            Ok(Engine { space, name, engine: Mutex::new(engine) })
        })
    }

    /// The engine that wrote a snapshot.
    #[staticmethod]
    fn resume(py: Python<'_>, space: &str, name: String, snapshot: &[u8]) -> PyResult<Engine> {
        guarded(|| {
            let space = parsed(space)?;
            let damaged = || {
                PyValueError::new_err("the snapshot is damaged; start anew, or take another one")
            };
            let snapshot = decode(snapshot).as_ref().and_then(of_datum).ok_or_else(damaged)?;
            let engine = py.detach(|| engine::resume(&space, &snapshot)).map_err(raised)?;
            Ok(Engine { space, name, engine: Mutex::new(engine) })
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The number of configurations; `None` if they are a continuum or too many to count.
    #[getter]
    fn size(&self) -> Option<u128> {
        self.space.size()
    }

    /// Up to so many numbers of trials and their configurations; fewer while it waits for answers
    /// or if it is over.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        at_most: usize,
    ) -> PyResult<Vec<(u64, Bound<'py, PyDict>)>> {
        guarded(|| {
            let trials = py.detach(|| Ok::<_, PyErr>(self.lock()?.ask(at_most)))?;
            let named = |trial: Trial| Ok((trial.id, dictionary(py, &self.space, &trial.point)?));
            trials.into_iter().map(named).collect()
        })
    }

    /// What came of trials: losses, or `None` where they failed.
    fn tell(&self, py: Python<'_>, outcomes: Vec<(u64, Option<f64>)>) -> PyResult<()> {
        guarded(|| {
            let outcome = |(id, loss): (u64, Option<f64>)| {
                loss.map_or(Outcome::Failed { id }, |loss| Outcome::Value { id, loss })
            };
            let outcomes: Vec<Outcome> = outcomes.into_iter().map(outcome).collect();
            py.detach(|| {
                self.lock()?.tell(&outcomes);
                Ok(())
            })
        })
    }

    /// What somebody else tried, or, if it is open, is trying.
    #[pyo3(signature = (configuration, loss=None, open=false))]
    fn adopt(
        &self,
        py: Python<'_>,
        configuration: &Bound<'_, PyDict>,
        loss: Option<f64>,
        open: bool,
    ) -> PyResult<()> {
        guarded(|| {
            let point = point(&self.space, configuration)?;
            let trial = if open { Adopted::Open { point } } else { Adopted::Done { point, loss } };
            py.detach(|| {
                self.lock()?.adopt(trial);
                Ok(())
            })
        })
    }

    /// Number, loss and configuration of the best trial; an adopted one has no number.
    fn best<'py>(&self, py: Python<'py>) -> PyResult<Option<Best<'py>>> {
        guarded(|| {
            let best = py.detach(|| {
                let engine = self.lock()?;
                Ok::<_, PyErr>(engine.best().map(|best| (best.id, best.loss, best.point.clone())))
            })?;
            let Some((id, loss, point)) = best else { return Ok(None) };
            Ok(Some((
                (id < FIRST_ADOPTED).then_some(id),
                loss,
                dictionary(py, &self.space, &point)?,
            )))
        })
    }

    /// Everything needed to go on.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| {
            let bytes =
                py.detach(|| Ok::<_, PyErr>(encode(&to_datum(&self.lock()?.snapshot()))))?;
            Ok(PyBytes::new(py, &bytes))
        })
    }
}

/// The engines by name, with a line of help each.
#[pyfunction]
pub fn engines() -> PyResult<Vec<(&'static str, &'static str)>> {
    guarded(|| Ok(engine::names()))
}

/// The engine of who does not choose.
#[pyfunction]
pub fn default_engine() -> PyResult<&'static str> {
    guarded(|| Ok(engine::DEFAULT))
}
