//! DART (Rashmi and Gilad-Bachrach 2015): some trees sit out while the next one is fitted.
//!
//! With `k` dropped rounds and learning rate `η` the new round counts `1 / (k + η)` and each
//! dropped one `k / (k + η)` of what it did, so that the sum keeps its size (the `tree`
//! normalisation of XGBoost). A round that drops drops at least one, as published; with a rate of 0
//! none does, which is XGBoost's default and the same as boosting without drops.

use swarmwood_search::rng::Stream;

use super::{Boosting, DROP_STREAM};
use crate::stats::Work;

/// How trees are dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DartConfig {
    /// Chance of each earlier round to be dropped; 0 drops nothing.
    pub rate_drop: f64,
    /// Chance that a round drops nothing.
    pub skip_drop: f64,
    /// Most rounds dropped at once; 0 for no limit.
    pub max_drop: usize,
}

impl DartConfig {
    /// The rounds that sit out in `round`, ascending.
    fn draw(&self, seed: u64, round: usize) -> Vec<usize> {
        let mut stream = Stream::new(seed, DROP_STREAM + round as u64, 0);
        if round == 0 || self.rate_drop == 0.0 || stream.unit() < self.skip_drop {
            return Vec::new();
        }
        let mut dropped: Vec<usize> =
            (0..round).filter(|_| stream.unit() < self.rate_drop).collect();
        if dropped.is_empty() {
            dropped.push(stream.below(round as u64) as usize);
        }
        if self.max_drop > 0 && dropped.len() > self.max_drop {
            stream.shuffle(&mut dropped);
            dropped.truncate(self.max_drop);
            dropped.sort_unstable();
        }
        dropped
    }
}

impl Boosting<'_> {
    /// Takes this round's drop-outs off the training scores.
    pub(super) fn drop_trees(&mut self, round: usize) -> Vec<usize> {
        let Some(dart) = self.settings.dart else { return Vec::new() };
        let dropped = dart.draw(self.settings.seed, round);
        for &round in &dropped {
            self.scale_round(round, -self.factors[round], true, false);
        }
        dropped
    }

    /// Puts the drop-outs back with their new share and scales the new round.
    pub(super) fn weigh_dropped(&mut self, round: usize, dropped: &[usize]) {
        if dropped.is_empty() {
            return;
        }
        let (k, eta) = (dropped.len() as f64, self.settings.learning_rate);
        let (new, old) = (1.0 / (k + eta), k / (k + eta));
        self.scale_round(round, new - 1.0, true, true);
        self.factors[round] = new;
        for &round in dropped {
            let before = self.factors[round];
            self.factors[round] = before * old;
            self.scale_round(round, before * old, true, false);
            self.scale_round(round, before * old - before, false, true);
        }
    }

    /// Adds the trees of a round, scaled, to scores.
    pub(super) fn scale_round(
        &mut self,
        round: usize,
        factor: f64,
        training: bool,
        validation: bool,
    ) {
        let outputs = self.outputs();
        for output in 0..outputs {
            let tree = self.grown[round * outputs + output].clone();
            self.client.push(Work::AddTree { output, tree, factor, training, validation });
        }
    }
}
