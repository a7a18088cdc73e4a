//! Trees that can be taken out of the scores and put back: what a search over whole ensembles asks.

use std::sync::Arc;

use super::{Workers, sum_shards};
use crate::grown::Grown;
use crate::metric::Watch;
use crate::shard::{LeafSums, Shard};

/// Where every training row stands in one tree. Cheap to clone; what it says of single rows is for
/// shards alone.
#[derive(Debug, Clone)]
pub struct Placement {
    leaves: Vec<Arc<Vec<u16>>>,
}

/// Scores of all training rows, to come back to.
#[derive(Debug, Clone)]
pub struct Scores {
    shards: Vec<Vec<f32>>,
}

impl Workers<'_> {
    /// Keeps derivatives for [`Workers::leaf_sums`] when trees grow; without this they are gone by
    /// then.
    pub fn keep_derivatives(&mut self) {
        self.teams.iter_mut().flat_map(|team| &mut team.shards).for_each(Shard::keep_derivatives);
    }

    /// Where rows stand in the tree just grown; `slots` pairs each slot that became a leaf with the
    /// leaf's number.
    pub fn place(&self, slots: &[(usize, usize)]) -> Placement {
        let shards: Vec<&Shard> = self.shards().collect();
        Placement { leaves: self.pool.map(shards.len(), |at| Arc::new(shards[at].place(slots))) }
    }

    /// Where rows stand in any tree.
    pub fn locate(&self, grown: &Grown) -> Placement {
        let shards: Vec<&Shard> = self.shards().collect();
        let walker = grown.walker(&self.layout);
        Placement { leaves: self.pool.map(shards.len(), |at| Arc::new(shards[at].locate(&walker))) }
    }

    /// Adds to every training row's score what its leaf is given.
    pub fn shift(&mut self, output: usize, placement: &Placement, values: &[f64]) {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        self.with_placement(placement, |shard, leaves| shard.shift(output, leaves, &values));
    }

    fn with_placement(&mut self, placement: &Placement, work: impl Fn(&mut Shard, &[u16]) + Sync) {
        let shards = self.teams.iter_mut().flat_map(|team| &mut team.shards);
        let mut pairs: Vec<(&mut Shard, &[u16])> =
            shards.zip(&placement.leaves).map(|(shard, leaves)| (shard, &leaves[..])).collect();
        self.pool.each(&mut pairs, |_, (shard, leaves)| work(shard, leaves));
    }

    /// Sets the scores of all training rows to the start values.
    pub fn reset(&mut self, start: &[f32]) {
        let mut shards: Vec<&mut Shard> =
            self.teams.iter_mut().flat_map(|team| &mut team.shards).collect();
        self.pool.each(&mut shards, |_, shard| {
            start.iter().enumerate().for_each(|(output, &value)| shard.reset(output, value));
        });
    }

    /// Sums over the rows of each of `count` leaves, as of the last [`Workers::derive`].
    pub fn leaf_sums(&self, output: usize, placement: &Placement, count: usize) -> Vec<LeafSums> {
        let shards: Vec<&Shard> = self.shards().collect();
        let parts = self
            .pool
            .map(shards.len(), |at| shards[at].leaf_sums(output, &placement.leaves[at], count))
            .into_iter();
        let add = |mut all: Vec<LeafSums>, part: Vec<LeafSums>| {
            all.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            all
        };
        parts.reduce(add).unwrap_or_default()
    }

    /// Residuals and weights of the rows of each of `count` leaves.
    pub fn leaf_residuals(&self, placement: &Placement, count: usize) -> Vec<Vec<(f32, f32)>> {
        let mut residuals = vec![Vec::new(); count];
        for (shard, leaves) in self.shards().zip(&placement.leaves) {
            shard.leaf_residuals(leaves, &mut residuals);
        }
        residuals
    }

    /// The loss summed over all training rows.
    pub fn loss(&self) -> f64 {
        let objective = self.objective;
        let part = |shard: &Shard| {
            Watch::Loss.partial(shard.scores(), shard.targets(), shard.weights(), objective).sum
        };
        sum_shards(self.pool, &self.shards().collect::<Vec<_>>(), part, |a, b| a + b)
    }

    /// A copy of all scores.
    pub fn scores(&self) -> Scores {
        Scores { shards: self.shards().map(|shard| shard.scores().to_vec()).collect() }
    }

    /// Goes back to a copy.
    pub fn set_scores(&mut self, scores: &Scores) {
        let shards = self.teams.iter_mut().flat_map(|team| &mut team.shards);
        shards.zip(&scores.shards).for_each(|(shard, scores)| shard.set_scores(scores));
    }
}
