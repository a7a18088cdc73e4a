//! Trees that can be taken out of the scores and put back: what a search over whole ensembles
//! needs.

use super::Local;
use crate::binned_tree::BinnedTree;
use crate::metric::EvalMetric;
use crate::objective::order::weighted_quantile;
use crate::stats::message::{LeafQuantile, LeafRows, LeafSlot, LeafSums};
use crate::stats::shard::{RowLeaves, Shard};

/// The leaf of every training row in one tree, per shard.
#[derive(Debug)]
pub(super) struct LeafAssignment {
    leaves: Vec<RowLeaves>,
}

/// A copy of the scores of all training rows, per shard.
#[derive(Debug)]
pub(super) struct ScoreSnapshot {
    shards: Vec<Vec<f32>>,
}

impl Local<'_> {
    /// The leaves of rows in the tree that has just grown.
    pub(super) fn assign_slots(&self, leaves: &[LeafSlot]) -> LeafAssignment {
        let shards: Vec<&Shard> = self.shards().collect();
        LeafAssignment { leaves: self.pool.map(shards.len(), |at| shards[at].assign_slots(leaves)) }
    }

    /// The leaves of rows in any tree.
    pub(super) fn assign_tree(&self, tree: &BinnedTree) -> LeafAssignment {
        let shards: Vec<&Shard> = self.shards().collect();
        let traversal = tree.traversal(&self.layout);
        LeafAssignment {
            leaves: self
                .pool
                .map(shards.len(), |at| shards[at].assign_tree(&traversal, tree.leaves.len())),
        }
    }

    /// Adds a value per leaf to the scores of training rows.
    pub(super) fn shift_scores(
        &mut self,
        output: usize,
        assigned: &LeafAssignment,
        values: &[f64],
    ) {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let shards = self.teams.iter_mut().flat_map(|team| &mut team.shards);
        let mut pairs: Vec<(&mut Shard, &RowLeaves)> = shards.zip(&assigned.leaves).collect();
        self.pool.each(&mut pairs, |_, (shard, leaves)| shard.shift(output, leaves, &values));
    }

    /// Sets the scores of all training rows to the start values.
    pub(super) fn reset_scores(&mut self) {
        let start = &self.start;
        let mut shards: Vec<&mut Shard> =
            self.teams.iter_mut().flat_map(|team| &mut team.shards).collect();
        self.pool.each(&mut shards, |_, shard| {
            start.iter().enumerate().for_each(|(output, &value)| shard.reset(output, value));
        });
    }

    /// Sums over the rows of each of `count` leaves.
    pub(super) fn leaf_sums(
        &self,
        output: usize,
        assigned: &LeafAssignment,
        count: usize,
    ) -> Vec<LeafSums> {
        let shards: Vec<&Shard> = self.shards().collect();
        let parts = self
            .pool
            .map(shards.len(), |at| shards[at].leaf_sums(output, &assigned.leaves[at], count))
            .into_iter();
        let add = |mut all: Vec<LeafSums>, part: Vec<LeafSums>| {
            all.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            all
        };
        parts.reduce(add).unwrap_or_default()
    }

    /// Quantiles of the residuals of each leaf's rows.
    pub(super) fn leaf_quantiles(&self, rows: &LeafRows, alpha: f64) -> Option<Vec<LeafQuantile>> {
        let quantile = |mut residuals: Vec<(f32, f32)>| {
            let weight = residuals.iter().map(|&(_, weight)| f64::from(weight)).sum();
            let value = weighted_quantile(&mut residuals, alpha).unwrap_or(0.0);
            LeafQuantile { value, weight }
        };
        match rows {
            LeafRows::Slots { slots } => {
                let of_slot = |&slot: &usize| {
                    let mut residuals = Vec::new();
                    self.shards().for_each(|shard| shard.residuals(slot, &mut residuals));
                    quantile(residuals)
                };
                Some(slots.iter().map(of_slot).collect())
            }
            LeafRows::Tree { id, leaves } => {
                let mut residuals = vec![Vec::new(); *leaves];
                for (shard, leaves) in self.shards().zip(&self.trees.get(id)?.leaves) {
                    shard.leaf_residuals(leaves, &mut residuals);
                }
                Some(residuals.into_iter().map(quantile).collect())
            }
        }
    }

    /// The loss summed over all training rows.
    pub(super) fn loss(&self) -> f64 {
        let shards: Vec<&Shard> = self.shards().collect();
        if let Some(one) = self.objective.one_output()
            && shards.iter().all(|shard| shard.knows_others())
        {
            return self.pool.map(shards.len(), |at| shards[at].loss(one)).into_iter().sum();
        }
        self.evaluator().merge(EvalMetric::Loss, &self.plan, &shards).sum
    }

    /// A copy of all scores.
    pub(super) fn save_scores(&self) -> ScoreSnapshot {
        ScoreSnapshot { shards: self.shards().map(|shard| shard.scores().to_vec()).collect() }
    }

    /// Returns to a copy.
    pub(super) fn restore_scores(&mut self, snapshot: &ScoreSnapshot) {
        let shards = self.teams.iter_mut().flat_map(|team| &mut team.shards);
        shards.zip(&snapshot.shards).for_each(|(shard, scores)| shard.set_scores(scores));
    }
}
