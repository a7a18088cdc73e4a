//! The facade: read data, check parameters, train, evaluate, store.

pub mod error;
pub mod nearest;
pub mod params;
pub mod read;
pub mod train;
pub mod write;

pub use error::{Error, Result};
pub use swarmwood_learn as learn;
pub use swarmwood_model as model;
pub use swarmwood_search as search;
