//! Backfitting: start greedily, fit all leaves together, then go round and grow each tree again on
//! what the others leave.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::ensemble::{Ensemble, falls};
use super::{Stage, Tell};
use crate::event::Flow;
use crate::stats::BackendError;

/// Passes of fitting the leaves of every tree in turn before trees are grown again.
const FIRST_FITS: usize = 3;

/// Most passes of the last fit, and the share of the value that a pass must still gain for another
/// one.
const LAST_FITS: usize = 20;
const AGREED: f64 = 1e-6;

/// A sweep that lowers the value by less than this share ends the sweeps.
const LEAST_FALL: f64 = 1e-4;

/// Streams of the order of trees.
const ORDER_STREAM: u64 = 5 << 32;

/// Starts greedily, fits all leaves together, and sweeps an ensemble without trees.
pub fn backfit(ensemble: &mut Ensemble<'_>, tell: &mut Tell<'_>) -> Result<(), BackendError> {
    start(ensemble, tell)?;
    sweeps(ensemble, 0..ensemble.arm().sweeps, tell)?;
    Ok(())
}

/// Starts greedily and fits all leaves together. A start that ended early would be worse than
/// greedy boosting, so it is always finished, unless there is a hurry: [`Ensemble::is_whole`]
/// tells.
pub fn start(ensemble: &mut Ensemble<'_>, tell: &mut Tell<'_>) -> Result<Flow, BackendError> {
    let (rounds, share) = (ensemble.rounds(), ensemble.arm().start_rate);
    let mut flow = Flow::Continue;
    for round in 0..rounds {
        if ensemble.is_interrupted() || !ensemble.add_round(share)? {
            return Ok(Flow::Stop);
        }
        if tell(Stage::Start, round + 1, rounds, ensemble) == Flow::Stop {
            flow = Flow::Stop;
        }
    }
    for _ in 0..FIRST_FITS {
        refit_all(ensemble)?;
    }
    ensemble.settle()?;
    Ok(flow)
}

/// Does some of the sweeps of the arm: goes round all trees until nothing much changes.
pub fn sweeps(
    ensemble: &mut Ensemble<'_>,
    sweeps: Range<usize>,
    tell: &mut Tell<'_>,
) -> Result<Flow, BackendError> {
    let order: Vec<usize> = (0..ensemble.trees.len()).collect();
    let most = ensemble.arm().sweeps;
    for sweep in sweeps {
        let before = ensemble.value();
        sweep_in(ensemble, &order)?;
        if ensemble.is_interrupted() {
            // Part of a sweep is no step: what was gained stays, and is not told.
            return Ok(Flow::Stop);
        }
        let rests = !falls(ensemble.value(), before - LEAST_FALL * before.abs());
        // Sweeps that rest are told as done, so that whoever goes on from here does not begin them
        // again.
        let done = if rests { most } else { sweep + 1 };
        if tell(Stage::Sweeps, done, most, ensemble) == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if rests {
            break;
        }
    }
    Ok(Flow::Continue)
}

/// Fits the leaves of all trees in turn until they agree: block by block that is the joint solve.
pub fn agree(ensemble: &mut Ensemble<'_>) -> Result<(), BackendError> {
    for _ in 0..LAST_FITS {
        let before = ensemble.value();
        refit_all(ensemble)?;
        ensemble.settle()?;
        if ensemble.is_interrupted() || !falls(ensemble.value(), before - AGREED * before.abs()) {
            break;
        }
    }
    Ok(())
}

/// Fits the leaves of every tree in turn, as far as there is time.
fn refit_all(ensemble: &mut Ensemble<'_>) -> Result<(), BackendError> {
    for at in 0..ensemble.trees.len() {
        if ensemble.is_interrupted() {
            break;
        }
        ensemble.refit(at)?;
    }
    Ok(())
}

/// Goes round all trees once, as far as there is time.
pub fn sweep_in(ensemble: &mut Ensemble<'_>, order: &[usize]) -> Result<(), BackendError> {
    for &at in order {
        if ensemble.is_interrupted() {
            break;
        }
        ensemble.improve(at)?;
    }
    ensemble.settle()
}

/// The trees in an order drawn for one iteration.
pub fn shuffled(trees: usize, seed: u64, iteration: usize) -> Vec<usize> {
    Stream::new(seed, ORDER_STREAM + iteration as u64, 0).sample_without(trees, trees)
}
