//! Deliberate panics, for tests that they become exceptions.

use pyo3::prelude::*;
use swarmwood::Error;
use swarmwood::learn::pool::Pool;

use crate::engine::PyEngine;
use crate::errors::{guarded, python_error};
use crate::table::PyTable;

/// Panics on a thread of the pool, or makes a table or an engine panic at its next use.
#[pyfunction]
#[pyo3(signature = (into=None))]
pub fn inject_panic(py: Python<'_>, into: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    guarded(|| {
        if let Some(table) = into.and_then(|into| into.cast::<PyTable>().ok()) {
            return table.borrow_mut().panic_when_read();
        }
        if let Some(engine) = into.and_then(|into| into.cast::<PyEngine>().ok()) {
            return engine.get().panic_when_used();
        }

        py.detach(|| {
            let pool = Pool::new(2).map_err(|error| python_error(Error::Run(error)))?;
            pool.map(2, |task| assert!(task > 9, "injected"));
            Ok(())
        })
    })
}
