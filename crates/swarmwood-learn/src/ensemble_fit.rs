//! What every learner of ensembles ends with.

use swarmwood_model::Member;

/// A fitted ensemble of trees, whatever method fitted it.
#[derive(Debug, PartialEq)]
pub struct EnsembleFit {
    /// Start value of each output.
    pub base: Vec<f64>,
    /// Trees, round after round.
    pub members: Vec<Member>,
    /// Scores of the training rows, in row order, one vector per output.
    pub train_scores: Vec<Vec<f32>>,
    /// The same for the validation rows; empty without any.
    pub valid_scores: Vec<Vec<f32>>,
    /// What to add to a score to get the raw score (see
    /// [`crate::objective::Objective::shift_invariant`]).
    pub shift: f64,
}
