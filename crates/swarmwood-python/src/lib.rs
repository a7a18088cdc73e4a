//! The compiled part of the Python package: the facade behind Python's types, and nothing else.
//!
//! `python/swarmwood` is what users import. It validates arrays and names as scikit-learn does, and
//! calls this module with tables ([`table`]), typed parameters ([`training`]) and models
//! ([`model`]), or with search spaces ([`engine`]). There are no algorithms in this crate.

mod arrow;
mod buffer;
mod cluster;
mod command_line;
mod compression;
mod custom_loss;
mod custom_metric;
mod effects;
mod engine;
mod errors;
mod model;
mod names;
mod panic_injection;
mod parameters;
mod plot_data;
mod point_dict;
mod prediction_buffer;
mod row_scorer;
mod search_report;
mod signals;
mod sparse;
mod study;
mod table;
mod tasks;
mod training;

/// The module `swarmwood._core`.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use super::cluster::{PyShardHost, encode_rows, host_count, occurring_texts, sample_places};
    #[pymodule_export]
    use super::command_line::{run_command_line, write_report};
    #[pymodule_export]
    use super::compression::compress;
    #[pymodule_export]
    use super::effects::effect;
    #[pymodule_export]
    use super::engine::{PyEngine, check_engine_options, default_engine, engine_list, engines};
    #[pymodule_export]
    use super::errors::{DataError, FileFormatError, ParameterError, SwarmwoodError};
    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::panic_injection::inject_panic;
    #[pymodule_export]
    use super::parameters::{methods, parameters};
    #[pymodule_export]
    use super::plot_data::{plot_column, plot_tree};
    #[pymodule_export]
    use super::row_scorer::PyRowScorer;
    #[pymodule_export]
    use super::study::{parameter_importances, read_study};
    #[pymodule_export]
    use super::table::PyTable;
    #[pymodule_export]
    use super::tasks::SearchRows;
    #[pymodule_export]
    use super::training::{FitResult, train};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
