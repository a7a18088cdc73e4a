//! Weights that follow the state of the swarm ([`evolutionary_state`](crate::evolutionary_state)).
//! Rao 2022 names adaptive α and β as future work.
//!
//! Ours: the discrete swarm has no accelerations, so `α = α₀ · c1 / 2` and `β = β₀ · c2 / 2`, where
//! α₀ and β₀ are the configured weights. Both coefficients start at 2, hence the run starts as
//! published; they stay within 1.5 and 2.5, hence each weight within 3/4 and 5/4 of its start.
//! There is no inertia to adapt, as a discrete velocity does not outlast its move. The paper's
//! elitist learning is left to the option of mutation.

use crate::evolutionary_state::AdaptiveCoefficients;

/// The current weights α and β, from the configured ones.
pub(super) fn weights(coefficients: &AdaptiveCoefficients, alpha: f64, beta: f64) -> (f64, f64) {
    ((alpha * coefficients.c1 / 2.0).min(1.0), (beta * coefficients.c2 / 2.0).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_as_configured_and_stay_probabilities() {
        assert_eq!(weights(&AdaptiveCoefficients::default(), 0.45, 0.3), (0.45, 0.3));
        assert_eq!(
            weights(&AdaptiveCoefficients { c1: 2.5, ..AdaptiveCoefficients::default() }, 1.0, 0.0),
            (1.0, 0.0)
        );
    }
}
