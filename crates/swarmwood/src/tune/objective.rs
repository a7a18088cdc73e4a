//! What is tuned: anything that gives the loss of a configuration, fold by fold.
//!
//! An objective without cross-validation, such as a program, has a single fold. Folds of several
//! trials run in parallel; remaining folds of a pruned trial are not evaluated.

use swarmwood_learn::budget::Budget;
use swarmwood_search::{Point, Space};

/// A configuration to evaluate.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The trial's number in the study.
    pub id: u64,
    /// The space that the configuration is a point of.
    pub space: &'a Space,
    /// The configuration.
    pub point: &'a Point,
}

/// The result of one fold of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldResult {
    /// The loss; smaller is better.
    pub loss: f64,
    /// The best number of rounds, with early stopping.
    pub rounds: Option<usize>,
}

/// Something to tune.
pub trait TrialObjective: Sync {
    /// The number of folds of every trial; at least one. Fold `k` of any two trials is comparable.
    fn folds(&self) -> usize;

    /// Evaluates a fold on one thread; it returns soon after the budget is interrupted. The error
    /// is a message for the user.
    fn evaluate_fold(
        &self,
        trial: &Proposal<'_>,
        fold: usize,
        budget: &Budget,
    ) -> Result<FoldResult, String>;
}
