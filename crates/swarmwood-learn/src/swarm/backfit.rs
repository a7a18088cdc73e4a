//! Backfitting: start greedily, fit all leaves together, then go round and grow each tree again on what the others leave.

use swarmwood_search::rng::Stream;

use super::ensemble::{Ensemble, falls};
use super::{Arm, Frame, Stage, Tell};
use crate::dataset::Dataset;
use crate::event::Flow;
use crate::objective::Objective;
use crate::pool::Pool;

/// Passes of fitting the leaves of every tree in turn before trees are grown again.
const FIRST_FITS: usize = 3;

/// A sweep that lowers the value by less than this share ends the sweeps.
const LEAST_FALL: f64 = 1e-4;

/// Streams of the order of trees.
const ORDER_STREAM: u64 = 5 << 32;

/// Starts greedily and sweeps.
pub fn backfit<'a>(
    data: &Dataset,
    valid: Option<&Dataset>,
    objective: &'a dyn Objective,
    (frame, arm): (&Frame, &Arm),
    pool: &'a Pool,
    tell: &mut Tell<'_>,
) -> (Ensemble<'a>, Flow) {
    let mut ensemble = Ensemble::new(data, valid, objective, frame, arm, pool);
    for round in 0..frame.trees {
        ensemble.add_round(arm.start_rate);
        if tell(Stage::Start, round + 1, frame.trees, &ensemble) == Flow::Stop {
            return (ensemble, Flow::Stop);
        }
    }
    for _ in 0..FIRST_FITS {
        (0..ensemble.trees.len()).for_each(|at| {
            ensemble.refit(at);
        });
    }
    ensemble.settle();
    for sweep in 0..arm.sweeps {
        let before = ensemble.value();
        let order: Vec<usize> = (0..ensemble.trees.len()).collect();
        sweep_in(&mut ensemble, &order);
        if tell(Stage::Sweeps, sweep + 1, arm.sweeps, &ensemble) == Flow::Stop {
            return (ensemble, Flow::Stop);
        }
        if !falls(ensemble.value(), before - LEAST_FALL * before.abs()) {
            break;
        }
    }
    (ensemble, Flow::Continue)
}

/// Goes round all trees once.
pub fn sweep_in(ensemble: &mut Ensemble<'_>, order: &[usize]) {
    order.iter().for_each(|&at| {
        ensemble.improve(at);
    });
    ensemble.settle();
}

/// The trees in an order drawn for one iteration.
pub fn shuffled(trees: usize, seed: u64, iteration: usize) -> Vec<usize> {
    Stream::new(seed, ORDER_STREAM + iteration as u64, 0).sample_without(trees, trees)
}
