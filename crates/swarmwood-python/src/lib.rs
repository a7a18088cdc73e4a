//! The compiled part of the Python package: the facade behind Python's types, and nothing else.
//!
//! `python/swarmwood` is what users import. It checks arrays and names as scikit-learn does, and
//! calls in here with tables ([`table`]), texts of parameters ([`fit`]) and models ([`model`]), or
//! with spaces for a search ([`engine`]). No algorithm lives on this side of the facade either.

mod arrow;
mod buffer;
mod configuration;
mod engine;
mod fault;
mod fit;
mod model;
mod parameters;
mod shown;
mod study;
mod table;
mod trials;

/// What `python/swarmwood` is made on.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use super::engine::{Engine, default_engine, engines};
    #[pymodule_export]
    use super::fault::{ParameterViolations, SwarmwoodError, inject_panic};
    #[pymodule_export]
    use super::fit::{Fitted, train};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::parameters::parameters;
    #[pymodule_export]
    use super::shown::{column_shown, tree_shown};
    #[pymodule_export]
    use super::study::read_study;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trials::{parameter_importances, study_shown};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
