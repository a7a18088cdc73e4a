//! Losses that Python computes: whole arrays at a time, as bytes of doubles.
//!
//! `swarmwood._objective` makes arrays of the bytes, calls the user's functions and checks what they
//! return; what comes back here are arrays of doubles.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use swarmwood::learn::objective::{CustomLoss, CustomRows};
use swarmwood::model::Link;

use crate::errors::ParameterError;

/// A loss as `swarmwood._objective` passes it: an object with the methods `derivatives` and
/// `losses` of (target, score, weight), and attributes that say what it can do.
pub struct PythonLoss {
    object: Py<PyAny>,
    has_losses: bool,
    is_weighted: bool,
    link: Link,
    /// The exception of the last call that raised one.
    exception: Mutex<Option<PyErr>>,
}

impl PythonLoss {
    /// Reads the attributes of the object.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Arc<PythonLoss>> {
        let has_log_link: bool = object.getattr("has_log_link")?.extract()?;
        Ok(Arc::new(PythonLoss {
            object: object.clone().unbind(),
            has_losses: object.getattr("has_losses")?.extract()?,
            is_weighted: object.getattr("is_weighted")?.extract()?,
            link: if has_log_link { Link::Exp } else { Link::Identity },
            exception: Mutex::new(None),
        }))
    }

    /// The exception that an error of the run is to be raised from.
    pub fn chained(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let exception = self.exception.lock().unwrap_or_else(PoisonError::into_inner).take();
        match exception {
            // It says which value is wrong, in the words of this package.
            Some(own) if own.is_instance_of::<ParameterError>(py) => own,
            Some(cause) => {
                error.set_cause(py, Some(cause));
                error
            }
            None => error,
        }
    }

    /// Calls a method with all rows; an exception is kept.
    fn call<T>(
        &self,
        method: &str,
        rows: CustomRows<'_>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        Python::attach(|py| {
            let bytes = |values: &[f64]| doubles(py, values);
            let call = || {
                let arguments = (bytes(rows.target)?, bytes(rows.score)?, bytes(rows.weight)?);
                read(&self.object.bind(py).call_method1(method, arguments)?)
            };
            call().map_err(|error| {
                let message = format!("raised {error}");
                *self.exception.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                message
            })
        })
    }
}

impl CustomLoss for PythonLoss {
    fn derivatives(&self, rows: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String> {
        self.call("derivatives", rows, |returned| {
            let (g, h): (Bound<'_, PyAny>, Bound<'_, PyAny>) = returned.extract()?;
            Ok((read_doubles(&g)?, read_doubles(&h)?))
        })
    }

    fn losses(&self, rows: CustomRows<'_>) -> Option<Result<Vec<f64>, String>> {
        self.has_losses.then(|| self.call("losses", rows, read_doubles))
    }

    fn has_losses(&self) -> bool {
        self.has_losses
    }

    fn is_weighted(&self) -> bool {
        self.is_weighted
    }

    fn link(&self) -> Link {
        self.link
    }
}

/// Doubles as bytes in the order of this machine.
pub fn doubles<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(values), |bytes| {
        for (bytes, value) in bytes.chunks_exact_mut(8).zip(values) {
            bytes.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}

/// The values of an array of doubles.
fn read_doubles(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    PyBuffer::<f64>::get(array)?.to_vec(array.py())
}
