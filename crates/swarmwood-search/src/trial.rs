//! Trials and their results: what an engine and its caller exchange.

use crate::point::Point;

/// A point to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Identifies the trial in [`TrialResult`]; unique per engine.
    pub id: u64,
    /// What to evaluate.
    pub point: Point,
}

/// Ids of external trials start here, so that they cannot collide with those of an engine.
pub const FIRST_EXTERNAL_ID: u64 = 1 << 63;

/// A trial that another process asked for. Engines avoid its point and learn from its loss.
#[derive(Debug, Clone, PartialEq)]
pub enum ExternalTrial {
    /// It is being evaluated.
    Running {
        /// The point.
        point: Point,
    },
    /// It has been evaluated; replaces a running trial at the same point.
    Complete {
        /// The point.
        point: Point,
        /// Its loss; `None` if the trial failed. A loss that is not finite counts as a failure.
        loss: Option<f64>,
    },
}

impl ExternalTrial {
    /// The point.
    pub fn point(&self) -> &Point {
        match self {
            ExternalTrial::Running { point } | ExternalTrial::Complete { point, .. } => point,
        }
    }
}

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialResult {
    /// The loss; smaller is better. A loss that is not finite counts as a failure.
    Complete {
        /// Id of the trial.
        id: u64,
        /// Its loss.
        loss: f64,
    },
    /// The trial could not be evaluated; the engine continues without a loss for it.
    Failed {
        /// Id of the trial.
        id: u64,
    },
}

impl TrialResult {
    /// Id of the trial.
    pub fn id(&self) -> u64 {
        match *self {
            TrialResult::Complete { id, .. } | TrialResult::Failed { id } => id,
        }
    }

    /// The loss, if the trial completed with a finite one.
    pub fn loss(&self) -> Option<f64> {
        match *self {
            TrialResult::Complete { loss, .. } if loss.is_finite() => Some(loss),
            _ => None,
        }
    }
}
