//! What is tuned: whatever can say how good a configuration is, piece by piece.
//!
//! A piece is a fold of a cross-validation, or the whole of a program's answer. Pieces of several
//! trials run side by side; whoever schedules them may leave out the rest of a trial that is
//! clearly behind.

use swarmwood_learn::budget::Budget;
use swarmwood_search::{Point, Space};

/// A configuration to evaluate.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The trial's number in the study.
    pub id: u64,
    /// What the configuration is a point of.
    pub space: &'a Space,
    /// The configuration.
    pub point: &'a Point,
}

/// What one piece of a trial came to.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldResult {
    /// The loss; smaller is better.
    pub loss: f64,
    /// Rounds that were best, where rounds can be stopped early.
    pub rounds: Option<usize>,
}

/// Something to tune.
pub trait TrialObjective: Sync {
    /// Pieces of every trial; at least one. FoldResult `k` of any two trials may be compared.
    fn pieces(&self) -> usize;

    /// Evaluates a piece on one thread; it gives up soon after the budget is interrupted. The text
    /// of a failure says why for people.
    fn piece(
        &self,
        trial: &Proposal<'_>,
        piece: usize,
        budget: &Budget,
    ) -> Result<FoldResult, String>;
}
