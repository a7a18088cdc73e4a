//! Backfitting: start greedily, refit all leaves, then regrow every tree in turn on the residuals
//! of the others.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::fit::{Ensemble, falls};
use super::{FitObserver, FitPhase};
use crate::stats::BackendError;

/// Maximum number of passes of the last refit, and the share of the value that a pass must gain for
/// another one to follow.
const LAST_REFITS: usize = 20;
const LAST_REFIT_TOLERANCE: f64 = 1e-6;

/// A sweep that lowers the value by less than this share ends the sweeps.
const SWEEP_TOLERANCE: f64 = 1e-4;

/// Random streams of the order of trees.
const ORDER_STREAM: u64 = 5 << 32;

/// Starts an ensemble without trees, and sweeps it.
pub fn backfit(
    ensemble: &mut Ensemble<'_>,
    observer: &mut FitObserver<'_>,
) -> Result<(), BackendError> {
    start(ensemble, observer)?;
    sweeps(ensemble, 0..ensemble.strategy().sweeps, observer)
}

/// Starts greedily and refits all leaves. A start without all its trees is worse than greedy
/// boosting: [`Ensemble::is_whole`] tells whether the budget allowed all of them.
pub fn start(
    ensemble: &mut Ensemble<'_>,
    observer: &mut FitObserver<'_>,
) -> Result<(), BackendError> {
    let (rounds, rate) = (ensemble.rounds(), ensemble.strategy().start_rate);
    for round in 0..rounds {
        if ensemble.is_interrupted() || !ensemble.add_round(rate)? {
            return Ok(());
        }
        observer(FitPhase::Start, round + 1, rounds, ensemble);
    }

    for _ in 0..ensemble.strategy().refits {
        refit_all(ensemble)?;
    }
    ensemble.settle()
}

/// Does some of the sweeps of the strategy, until they gain little or the budget is exhausted.
pub fn sweeps(
    ensemble: &mut Ensemble<'_>,
    sweeps: Range<usize>,
    observer: &mut FitObserver<'_>,
) -> Result<(), BackendError> {
    let order: Vec<usize> = (0..ensemble.trees.len()).collect();
    let planned = ensemble.strategy().sweeps;
    for sweep in sweeps {
        let before = ensemble.value();
        if !sweep_trees(ensemble, &order)? {
            // A part of a sweep is not a step to resume from: what it gained stays, nobody hears of
            // it.
            return Ok(());
        }

        // Sweeps that have converged count as done, so that a resumed fit does not begin them
        // again.
        let converged = !falls(ensemble.value(), before - SWEEP_TOLERANCE * before.abs());
        let done = if converged { planned } else { sweep + 1 };
        observer(FitPhase::Sweeps, done, planned, ensemble);
        if converged {
            break;
        }
    }
    Ok(())
}

/// Does sweeps over trees whose leaf values fit the rows, as far as the budget allows, and refits all
/// leaves.
pub fn last_sweeps(ensemble: &mut Ensemble<'_>, sweeps: usize) -> Result<(), BackendError> {
    let order: Vec<usize> = (0..ensemble.trees.len()).collect();
    for _ in 0..sweeps {
        if !sweep_trees(ensemble, &order)? {
            break;
        }
    }
    refit_all(ensemble)?;
    ensemble.settle()
}

/// Refits the leaves of all trees in turn until they agree: block coordinate descent for the joint
/// solution.
pub fn refit_jointly(ensemble: &mut Ensemble<'_>) -> Result<(), BackendError> {
    for _ in 0..LAST_REFITS {
        let before = ensemble.value();
        refit_all(ensemble)?;
        ensemble.settle()?;
        let converged = !falls(ensemble.value(), before - LAST_REFIT_TOLERANCE * before.abs());
        if converged || ensemble.is_interrupted() {
            break;
        }
    }
    Ok(())
}

/// Refits the leaves of every tree in turn, unless the run is interrupted.
fn refit_all(ensemble: &mut Ensemble<'_>) -> Result<(), BackendError> {
    for at in 0..ensemble.trees.len() {
        if ensemble.is_interrupted() {
            break;
        }
        ensemble.refit(at)?;
    }
    Ok(())
}

/// Regrows trees in an order; false if the budget does not allow all of them.
pub fn sweep_trees(ensemble: &mut Ensemble<'_>, order: &[usize]) -> Result<bool, BackendError> {
    let mut complete = true;
    for &at in order {
        complete = !ensemble.is_exhausted();
        if !complete {
            break;
        }
        ensemble.improve(at)?;
    }
    ensemble.settle()?;
    Ok(complete && !ensemble.is_interrupted())
}

/// The trees in a random order, drawn for one iteration.
pub fn shuffled(trees: usize, seed: u64, iteration: usize) -> Vec<usize> {
    Stream::new(seed, ORDER_STREAM + iteration as u64, 0).sample_without(trees, trees)
}
