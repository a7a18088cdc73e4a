//! Pair search, a large neighbourhood search: destroy two trees and repair the ensemble.
//!
//! Two random trees are replaced by ones grown one after the other from a random half of the
//! features, so that they may share the work differently; they are regrown once with all features,
//! then all trees in random order, a few times while there is hope. The result is kept if the value
//! fell; otherwise the ensemble goes back to where it was. One trajectory of this beats a
//! population of ensembles at equal work.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::backfit::{shuffled, sweep_trees};
use super::fit::{Ensemble, falls};
use super::{FitObserver, FitPhase};
use crate::stats::BackendError;

/// Random streams of the choice of trees and features.
const PAIR_STREAM: u64 = 6 << 32;

/// Trees that are replaced at once.
const REPLACED: usize = 2;

/// Maximum number of sweeps after a replacement.
const REPAIR_SWEEPS: usize = 4;

/// Does some iterations, until the budget is exhausted.
pub fn search(
    ensemble: &mut Ensemble<'_>,
    seed: u64,
    iterations: Range<usize>,
    observer: &mut FitObserver<'_>,
) -> Result<(), BackendError> {
    let (trees, features) = (ensemble.trees.len(), ensemble.features());
    let stored = ensemble.stored_features();
    for iteration in iterations.clone() {
        if ensemble.is_exhausted() {
            break;
        }
        let snapshot = ensemble.keep();
        let before = ensemble.value();

        let mut stream = Stream::new(seed, PAIR_STREAM + iteration as u64, 0);
        let chosen = stream.sample_without(trees, REPLACED.min(trees));
        let half_of_features = |_| {
            let mut allowed = vec![false; features];
            let drawn = stream.sample_without(stored.len(), stored.len().div_ceil(2));
            drawn.into_iter().for_each(|at| allowed[stored[at]] = true);
            allowed
        };
        if !ensemble.ruin(&chosen, half_of_features)? {
            break;
        }
        let complete = sweep_chosen(ensemble, &chosen)?
            && repair(ensemble, before, |round| {
                shuffled(trees, seed, iteration * REPAIR_SWEEPS + round)
            })?;

        if !falls(ensemble.value(), before) {
            ensemble.restore(snapshot);
        }
        if !complete {
            // An iteration that was cut short is not a step to resume from.
            break;
        }
        observer(FitPhase::Pairs, iteration + 1, iterations.end, ensemble);
    }
    Ok(())
}

/// Regrows the replaced trees with all features; false if the budget does not allow it.
fn sweep_chosen(ensemble: &mut Ensemble<'_>, chosen: &[usize]) -> Result<bool, BackendError> {
    for &at in chosen {
        if ensemble.is_exhausted() {
            return Ok(false);
        }
        ensemble.improve(at)?;
    }
    Ok(true)
}

/// Sweeps until the value is below `before`, or until it seems that it never will be; false if the
/// budget does not allow it.
fn repair(
    ensemble: &mut Ensemble<'_>,
    before: f64,
    order: impl Fn(usize) -> Vec<usize>,
) -> Result<bool, BackendError> {
    let mut last = ensemble.value();
    for round in 0..REPAIR_SWEEPS {
        if !sweep_trees(ensemble, &order(round))? {
            return Ok(false);
        }
        let now = ensemble.value();
        // Sweeps gain less and less: what is missing after this one is not gained by the rest if it
        // is twice the last.
        if falls(now, before) || now - before > 2.0 * (last - now) {
            break;
        }
        last = now;
    }
    Ok(true)
}
