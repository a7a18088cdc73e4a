//! Tuning: an engine proposes configurations, an objective judges them, a study remembers.

pub mod objective;

pub use objective::{Objective, Piece, Proposal};
