//! The facade: read data, check parameters, train, evaluate, store.

pub mod checkpoint;
pub mod column_checks;
pub mod compress;
pub mod effects;
pub mod error;
pub mod evaluate;
pub mod export;
#[cfg_attr(not(feature = "test-hooks"), doc(hidden))]
pub mod file_faults;
pub mod memory;
pub mod message;
pub mod monotone;
pub mod params;
pub mod predict;
pub mod profile;
pub mod read;
pub mod registry;
pub mod rules;
pub mod store;
pub mod train;
pub mod tune;
pub mod write;

pub use error::{Error, Result};
pub use swarmwood_learn as learn;
pub use swarmwood_model as model;
pub use swarmwood_search as search;
pub use swarmwood_search::nearest;

/// The example of the documentation, compiled and run with the doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct Example;
