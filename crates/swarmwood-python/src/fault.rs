//! Errors and panics as Python's exceptions.
//!
//! Everything that Python calls and that does more than hand over a field runs inside of
//! [`guarded`]; a rule of xtask looks that it does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use swarmwood::Error;

use crate::engine::Engine;
use crate::table::Table;

create_exception!(
    swarmwood,
    SwarmwoodError,
    PyRuntimeError,
    "A run that could not go on, or a fault of swarmwood's own."
);
create_exception!(
    swarmwood,
    ParameterViolations,
    PyValueError,
    "Parameters that cannot be used: a list of names in the table and messages."
);

/// The exception that users of Python expect for an error.
pub fn raised(error: Error) -> PyErr {
    match error {
        Error::Parameters(violations) => {
            let listed: Vec<(String, String)> = violations
                .into_iter()
                .map(|violation| (violation.name, violation.message))
                .collect();
            ParameterViolations::new_err((listed,))
        }
        Error::Read { path, source } | Error::Write { path, source } => match source.raw_os_error()
        {
            // With a number and a name Python makes it a FileNotFoundError or the like.
            Some(code) => {
                PyOSError::new_err((code, source.to_string(), path.display().to_string()))
            }
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
        error @ Error::Run(_) => SwarmwoodError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Runs `work`; a panic becomes an exception that an `except Exception` catches, unlike the one of
/// PyO3.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(fault) => {
            let text = fault.downcast_ref::<String>().map(String::as_str);
            let text =
                text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!("internal error, please report it: {text}");
            Err(SwarmwoodError::new_err(message))
        }
    }
}

/// Fails as a fault in the core would, on a thread of the pool; or makes a table or an engine fail
/// as soon as it is used. Tests look at what Python sees of it.
#[pyfunction]
#[pyo3(signature = (into=None))]
pub fn inject_panic(py: Python<'_>, into: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    guarded(|| {
        if let Some(table) = into.and_then(|into| into.cast::<Table>().ok()) {
            return table.borrow_mut().fail_when_read();
        }
        if let Some(engine) = into.and_then(|into| into.cast::<Engine>().ok()) {
            return engine.get().fail_when_asked();
        }
        py.detach(|| {
            let pool =
                swarmwood::learn::pool::Pool::new(2).map_err(|error| raised(Error::Run(error)))?;
            pool.map(2, |piece| assert!(piece > 9, "injected"));
            Ok(())
        })
    })
}
