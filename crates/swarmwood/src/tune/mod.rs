//! Tuning: an engine proposes configurations, an objective judges them, a study remembers.

pub mod native;
pub mod native_space;
pub mod objective;
pub mod score;
pub mod spaces;

pub use native::{Common, Native};
pub use objective::{Objective, Piece, Proposal};
pub use score::Score;
