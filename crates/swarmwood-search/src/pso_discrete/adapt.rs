//! Weights that follow the state of the swarm ([`evolution`](crate::evolution)). Rao 2022 names
//! adaptive α and β as future work.
//!
//! Ours: the discrete swarm has no accelerations, so `α = α₀ · c1 / 2` and `β = β₀ · c2 / 2`, where
//! α₀ and β₀ are the weights that were set. Both coefficients start at 2, hence the run starts as
//! published; they stay within 1.5 and 2.5, hence each weight within 3/4 and 5/4 of its start.
//! There is no inertia to adapt, as a discrete velocity is used up by its move. The paper's elitist
//! learning is left to the option of mutation.

use crate::evolution::Control;

/// The weights α and β in force, from those that were set.
pub(super) fn weights(control: &Control, alpha: f64, beta: f64) -> (f64, f64) {
    ((alpha * control.own / 2.0).min(1.0), (beta * control.global / 2.0).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_as_set_and_stay_probabilities() {
        assert_eq!(weights(&Control::default(), 0.45, 0.3), (0.45, 0.3));
        assert_eq!(weights(&Control { own: 2.5, ..Control::default() }, 1.0, 0.0), (1.0, 0.0));
    }
}
