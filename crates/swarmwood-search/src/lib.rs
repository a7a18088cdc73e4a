//! Black-box optimisation engines with an ask/tell interface. The crate knows nothing about trees,
//! data, clocks or threads.
//!
//! A [`Space`] describes the parameters, an [`Engine`] is asked for points of it and told their
//! losses, [`registry`] lists all engines by name, and [`contract`] is the test suite that every
//! engine passes. [`rng`] is the only source of randomness in the workspace: streams that are
//! functions of the seed and of where they are used, never of threads or time.
//!
//! Two frameworks keep engines short. [`generational`] is for methods that evaluate a whole
//! generation before they make the next one ([`Sse`], [`CmaEs`], [`De`], [`Pso`], [`Apso`]);
//! [`steady_state`] is for methods that propose one point at a time from all results so far and
//! never repeat a point ([`Schemata`], [`Tpe`], [`Ga`], [`Aco`], [`Annealing`],
//! [`GridSearch`]).

pub mod aco;
pub mod annealing;
pub mod apso;
pub mod cmaes;
mod config;
pub mod contract;
pub mod de;
pub mod discrete_pso;
pub mod engine;
pub mod error;
pub mod evolutionary_state;
pub mod ga;
pub mod generational;
pub mod grid;
mod latin_hypercube;
pub mod nearest;
pub mod normal;
pub mod options;
mod particle_swarm;
mod perturbation;
pub mod point;
pub mod position_matrix;
pub mod pso;
pub mod random;
pub mod registry;
pub mod rng;
pub mod schemata;
pub mod snapshot;
pub mod space;
pub mod sse;
pub mod steady_state;
#[cfg(test)]
mod tests;
pub mod tpe;
pub mod trial;
mod trial_archive;
pub mod trial_log;
mod unseen;

pub use aco::Aco;
pub use annealing::Annealing;
pub use apso::Apso;
pub use cmaes::CmaEs;
pub use de::De;
pub use discrete_pso::DiscretePso;
pub use engine::{BestTrial, Capabilities, Engine};
pub use error::Error;
pub use ga::Ga;
pub use grid::GridSearch;
pub use point::{Point, PointValue};
pub use pso::Pso;
pub use random::RandomSearch;
pub use schemata::Schemata;
pub use snapshot::{Datum, Snapshot};
pub use space::{Domain, Param, ParamScale, Space};
pub use sse::Sse;
pub use tpe::Tpe;
pub use trial::{ExternalTrial, Trial, TrialResult};
