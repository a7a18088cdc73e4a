//! The command line inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::errors::{guarded, python_error};

/// Runs the command line; the arguments are those after the program's name. Returns the exit code.
#[pyfunction]
pub fn run_command_line(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    guarded(|| {
        let program = OsString::from("swarmwood");
        let arguments = [program].into_iter().chain(arguments).collect();
        Ok(py.detach(|| swarmwood_cli::run(arguments)))
    })
}

/// Writes a report page with the arguments of `swarmwood report`.
#[pyfunction]
pub fn write_report(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<()> {
    guarded(|| py.detach(|| swarmwood_cli::write_report(arguments)).map_err(python_error))
}
