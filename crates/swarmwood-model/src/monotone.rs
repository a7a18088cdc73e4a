//! Directions of monotone features.

use std::fmt;

/// The direction in which predictions may change when a feature grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A greater value never lowers the prediction.
    Increasing,
    /// A greater value never raises the prediction.
    Decreasing,
}

impl Direction {
    /// The sign that turns this direction into increasing.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Increasing => 1.0,
            Direction::Decreasing => -1.0,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Increasing => "increasing",
            Direction::Decreasing => "decreasing",
        })
    }
}
