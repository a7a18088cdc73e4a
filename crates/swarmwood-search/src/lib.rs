//! Ask/tell search engines. This crate knows no trees, no rows, no clock and no thread.
//!
//! A [`Space`] says what may be searched, an [`Engine`] is asked for points of it and told their losses, and
//! [`contract`] is the test suite that every engine passes. [`rng`] is the source of all randomness of the project:
//! streams that depend on the seed and on the place where they are used, never on threads or time.

pub mod apso;
pub mod cmaes;
pub mod contract;
pub mod de;
pub mod engine;
pub mod error;
pub mod evolution;
pub mod generational;
pub mod ledger;
mod particles;
pub mod point;
pub mod pso;
pub mod pso_discrete;
pub mod random;
pub mod rng;
pub mod rows;
pub mod snapshot;
pub mod space;
#[cfg(test)]
mod tests;
pub mod trial;

pub use apso::Apso;
pub use cmaes::CmaEs;
pub use de::De;
pub use engine::{Best, Capabilities, Engine};
pub use error::Error;
pub use point::{Point, Value};
pub use pso::Pso;
pub use pso_discrete::PsoDiscrete;
pub use random::Random;
pub use snapshot::{Datum, Snapshot};
pub use space::{Domain, Param, Scale, Space};
pub use trial::{Adopted, Outcome, Trial};
