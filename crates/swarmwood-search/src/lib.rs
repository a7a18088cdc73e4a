//! Ask/tell search engines. This crate knows no trees, no rows, no clock and no thread.

pub mod error;
pub mod point;
pub mod rng;
pub mod space;
pub mod trial;

pub use error::Error;
pub use point::{Point, Value};
pub use space::{Domain, Param, Space};
pub use trial::{Outcome, Trial};
