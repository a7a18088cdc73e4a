//! Errors and panics of the core as exceptions with attributes.
//!
//! Everything that Python calls and that does more than return a field runs inside of [`guarded`];
//! a rule of xtask checks that it does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use swarmwood::Error;
use swarmwood::error::{DataError as CoreDataError, SpaceFault, Violation};

use crate::names::{PythonNotation, python_name};

create_exception!(
    swarmwood,
    SwarmwoodError,
    PyRuntimeError,
    "A run that could not be completed, or an internal error."
);
create_exception!(
    swarmwood,
    ParameterError,
    PyValueError,
    "Parameters that cannot be used.\n\n`parameter` is the name of the first one (None if the \
     error concerns no single parameter); `violations` has a pair (parameter, message) for each."
);
create_exception!(
    swarmwood,
    DataError,
    PyValueError,
    "Data that cannot be used.\n\n`column` is the name of the column, `row` the row counted from \
     1, `help` how to fix it; each is None where there is none."
);
create_exception!(
    swarmwood,
    FileFormatError,
    PyValueError,
    "A file that cannot be used: not a model, not a study, or damaged.\n\n`file` is its path."
);

/// The exception for an error of the core.
pub fn python_error(error: Error) -> PyErr {
    match error {
        Error::Parameters(violations) => parameter_error(&violations),
        Error::Space(faults) => space_error(&faults),
        Error::Data(error) => data_error(&error),
        Error::Model { path, message } => file_error(&path, &message.render(&PythonNotation)),
        Error::Checkpoint { path, message } | Error::Study { path, message } => {
            file_error(&path, &message)
        }
        Error::Read { path, source } | Error::Write { path, source } => match source.raw_os_error()
        {
            // With a number and a name Python makes it a FileNotFoundError or the like.
            Some(code) => {
                PyOSError::new_err((code, source.to_string(), path.display().to_string()))
            }
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
        error => SwarmwoodError::new_err(error.to_string()),
    }
}

/// All violations, one per line, with Python's names.
fn parameter_error(violations: &[Violation]) -> PyErr {
    let entries = violations.iter().map(|violation| {
        let message = violation.message.render(&PythonNotation);
        (violation.parameter.as_deref().map(python_name), message)
    });
    let entries: Vec<(Option<&str>, String)> = entries.collect();

    let line = |(name, message): &(Option<&str>, String)| match name {
        Some(name) => format!("{name}: {message}"),
        None => message.clone(),
    };
    let text = entries.iter().map(line).collect::<Vec<_>>().join("\n");
    with_violations(ParameterError::new_err(text), entries)
}

/// All faults of a search space, one per line. Spaces come from Python, so that no file is named.
fn space_error(faults: &[SpaceFault]) -> PyErr {
    let line = |fault: &SpaceFault| match (&fault.parameter, &fault.key) {
        (Some(parameter), Some(key)) => {
            format!("parameter '{parameter}', key '{key}': {}", fault.message)
        }
        (Some(parameter), None) => format!("parameter '{parameter}': {}", fault.message),
        (None, _) => format!("the space {}", fault.message),
    };
    let text = faults.iter().map(line).collect::<Vec<_>>().join("\n");

    let entries =
        faults.iter().map(|fault| (fault.parameter.as_deref(), fault.message.clone())).collect();
    with_violations(ParameterError::new_err(text), entries)
}

fn with_violations(error: PyErr, violations: Vec<(Option<&str>, String)>) -> PyErr {
    with_attributes(error, |exception| {
        exception.setattr("parameter", violations.first().and_then(|(name, _)| *name))?;
        exception.setattr("violations", violations)
    })
}

fn data_error(error: &CoreDataError) -> PyErr {
    let help = Some(error.help.render(&PythonNotation)).filter(|help| !help.is_empty());
    with_attributes(DataError::new_err(error.render(&PythonNotation)), |exception| {
        exception.setattr("row", error.row)?;
        exception.setattr("column", error.column.as_deref())?;
        exception.setattr("help", help)
    })
}

fn file_error(path: &Path, message: &str) -> PyErr {
    let file = path.display().to_string();
    let error = FileFormatError::new_err(format!("{file}: {message}"));
    with_attributes(error, |exception| exception.setattr("file", file))
}

/// Sets attributes of an exception; if that fails, that error is the one to raise.
fn with_attributes(error: PyErr, set: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) -> PyErr {
    Python::attach(|py| match set(error.value(py)) {
        Ok(()) => error,
        Err(failure) => failure,
    })
}

/// Runs `work`; a panic becomes an exception that an `except Exception` catches, unlike the one of
/// PyO3.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text =
                text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!("internal error, please report it: {text}");
            Err(SwarmwoodError::new_err(message))
        }
    }
}
