//! Ask/tell search engines. This crate knows no trees, no rows, no clock and no thread.
//!
//! A [`Space`] says what may be searched, an [`Engine`] is asked for points of it and told their
//! losses, [`engines`] has them all by name, and [`contract`] is the test suite that every one
//! passes. [`rng`] is the source of all randomness of the project: streams that depend on the seed
//! and on the place where they are used, never on threads or time.
//!
//! Two frames make writing an engine short. [`generational`] is for methods that evaluate a whole
//! round before they make the next ([`Sse`], [`CmaEs`], [`De`], [`Pso`], [`Apso`]); [`steady`] is
//! for those that make one point at a time from all that is known and never repeat themselves
//! ([`Schemata`], [`Tpe`], [`Ga`], [`Annealing`], [`Grid`]).

pub mod annealing;
pub mod apso;
mod archive;
pub mod cmaes;
pub mod contract;
pub mod de;
pub mod engine;
pub mod engines;
pub mod error;
pub mod evolution;
pub mod fresh;
pub mod ga;
pub mod generational;
pub mod grid;
pub mod ledger;
pub mod nearest;
pub mod normal;
mod particles;
pub mod point;
pub mod pso;
pub mod pso_discrete;
pub mod random;
pub mod rng;
pub mod rows;
mod scatter;
pub mod schemata;
pub mod snapshot;
pub mod space;
pub mod sse;
pub mod steady;
mod steps;
#[cfg(test)]
mod tests;
pub mod tpe;
pub mod trial;

pub use annealing::Annealing;
pub use apso::Apso;
pub use cmaes::CmaEs;
pub use de::De;
pub use engine::{Best, Capabilities, Engine};
pub use error::Error;
pub use ga::Ga;
pub use grid::Grid;
pub use point::{Point, Value};
pub use pso::Pso;
pub use pso_discrete::PsoDiscrete;
pub use random::Random;
pub use schemata::Schemata;
pub use snapshot::{Datum, Snapshot};
pub use space::{Domain, Param, Scale, Space};
pub use sse::Sse;
pub use tpe::Tpe;
pub use trial::{Adopted, Outcome, Trial};
