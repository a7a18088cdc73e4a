//! What a learner tells while it works. Fronts draw it; learners never print.

/// The state after one boosting round.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Rounds done.
    pub round: usize,
    /// Rounds asked for.
    pub rounds: usize,
    /// Mean training loss, in the rounds that tell it.
    pub train: Option<f64>,
    /// Value of the watched metric on the validation rows.
    pub valid: Option<f64>,
}

/// What the listener wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop after this round and keep the best model so far.
    Stop,
}
