//! What passes between an engine and whoever evaluates: points out, losses in.

use crate::point::Point;

/// A configuration to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Names the trial in [`Outcome`]; an engine never gives the same one twice.
    pub id: u64,
    /// What to evaluate.
    pub point: Point,
}

/// The ids of adopted trials begin here, so that they never meet those of an engine's own.
pub const FIRST_ADOPTED: u64 = 1 << 63;

/// A trial that somebody else asked, told to an engine so that it knows and learns.
#[derive(Debug, Clone, PartialEq)]
pub enum Adopted {
    /// Somebody is working on it.
    Open {
        /// The configuration.
        point: Point,
    },
    /// It has been evaluated. If the configuration was adopted as open before, this settles it.
    Done {
        /// The configuration.
        point: Point,
        /// Its loss; `None` if the trial failed. A loss that is not finite counts as a failure.
        loss: Option<f64>,
    },
}

impl Adopted {
    /// The configuration.
    pub fn point(&self) -> &Point {
        match self {
            Adopted::Open { point } | Adopted::Done { point, .. } => point,
        }
    }
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The loss; smaller is better. A loss that is not finite counts as a failure.
    Value {
        /// The trial.
        id: u64,
        /// Its loss.
        loss: f64,
    },
    /// The trial could not be evaluated. That is an answer too: the engine goes on without it.
    Failed {
        /// The trial.
        id: u64,
    },
}

impl Outcome {
    /// The trial this is about.
    pub fn id(&self) -> u64 {
        match *self {
            Outcome::Value { id, .. } | Outcome::Failed { id } => id,
        }
    }

    /// The loss if there is a usable one.
    pub fn loss(&self) -> Option<f64> {
        match *self {
            Outcome::Value { loss, .. } if loss.is_finite() => Some(loss),
            _ => None,
        }
    }
}
