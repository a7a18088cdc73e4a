//! Pair search: ruin two trees and recreate them.
//!
//! Two trees drawn by lot are taken out and grown again one after the other from a random half of
//! the features, so that they may share the work differently; they are improved once with all
//! features, then all trees in random order, a few times while there is hope. The result stays if
//! the value fell; otherwise everything goes back to where it was. One trajectory of this beats a
//! population of ensembles at equal work.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::backfit::{shuffled, sweep_in};
use super::ensemble::{Ensemble, falls};
use super::{Stage, Tell};
use crate::event::Flow;
use crate::stats::BackendError;

/// Streams of the choice of trees and features.
const PAIR_STREAM: u64 = 6 << 32;

/// Trees ruined at once.
const RUINED: usize = 2;

/// Most sweeps after a ruin.
const POLISHING: usize = 4;

/// Sweeps until the value is below `before`, or until it seems that it never will be.
fn polish(
    ensemble: &mut Ensemble<'_>,
    before: f64,
    seed: u64,
    iteration: usize,
) -> Result<(), BackendError> {
    let mut last = ensemble.value();
    for round in 0..POLISHING {
        sweep_in(ensemble, &shuffled(ensemble.trees.len(), seed, iteration * POLISHING + round))?;
        let now = ensemble.value();
        // Sweeps gain less and less: what is missing after this one is not gained by the rest if it
        // is twice the last.
        if falls(now, before) || now - before > 2.0 * (last - now) {
            break;
        }
        last = now;
    }
    Ok(())
}

/// Does some iterations.
pub fn search(
    ensemble: &mut Ensemble<'_>,
    seed: u64,
    iterations: Range<usize>,
    tell: &mut Tell<'_>,
) -> Result<Flow, BackendError> {
    let (trees, features) = (ensemble.trees.len(), ensemble.features());
    for iteration in iterations.clone() {
        let kept = ensemble.keep();
        let before = ensemble.value();
        let mut stream = Stream::new(seed, PAIR_STREAM + iteration as u64, 0);
        let chosen = stream.sample_without(trees, RUINED.min(trees));
        let ruined = ensemble.ruin(&chosen, |_| {
            let mut allowed = vec![false; features];
            stream
                .sample_without(features, features.div_ceil(2))
                .into_iter()
                .for_each(|at| allowed[at] = true);
            allowed
        })?;
        if !ruined {
            return Ok(Flow::Stop);
        }
        for &at in &chosen {
            ensemble.improve(at)?;
        }
        polish(ensemble, before, seed, iteration)?;
        if !falls(ensemble.value(), before) {
            ensemble.restore(kept);
        }
        if ensemble.is_interrupted() {
            // What was cut short is no step, and is not told.
            return Ok(Flow::Stop);
        }
        if tell(Stage::Pairs, iteration + 1, iterations.end, ensemble) == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}
