//! From messages to work on shards.

use super::Local;
use crate::binned_tree::BinnedTree;
use crate::dataset::Dataset;
use crate::stats::backend::{Backend, BackendError};
use crate::stats::evaluation::gather;
use crate::stats::lookahead::{FeatureSet, LookaheadSplit};
use crate::stats::message::{
    DataDescription, LeafRows, LeafSlot, Reply, RowSet, SplitCommand, TreeId, Work,
};
use crate::stats::shard::Shard;

impl Backend for Local<'_> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        work.iter().map(|work| self.execute(work)).collect()
    }
}

impl Local<'_> {
    fn execute(&mut self, work: &Work) -> Result<Reply, BackendError> {
        match work {
            Work::Describe {} => {
                let (rows, base) = (self.plan.rows, self.base.clone());
                let data = DataDescription { rows, base, shift: self.shift };
                return Ok(Reply::Description { data });
            }
            Work::Derive { output, extra_hessian } => {
                if let Some(output) = *output {
                    self.check_output(work, output)?;
                }
                let sums = self.derive(*output, *extra_hessian);
                return Ok(Reply::Hessians { sums });
            }
            Work::BeginTree { output, sample, search, query } => {
                if *output >= self.derivative_sums.len() {
                    return Err(unknown(work, "output", *output));
                }
                if search.allowed.len() != self.layout.features().len() {
                    return Err(unknown(work, "feature", search.allowed.len()));
                }
                let mut grouped = search.groups.iter().flatten();
                if let Some(&feature) = grouped.find(|&&at| at as usize >= search.allowed.len()) {
                    return Err(unknown(work, "feature", feature as usize));
                }
                let stats = self.begin_tree(*output, *sample, search, *query);
                return Ok(Reply::Root { stats });
            }
            Work::Split { commands, query } => {
                self.check_commands(work, commands)?;
                return Ok(Reply::Children { stats: self.split(commands, *query) });
            }
            Work::Screen { most } => {
                self.check_slot(work, 0)?;
                let (search, mut rows) = self.lookahead();
                return Ok(Reply::FeatureSets { sets: search.screen(&mut rows, *most)? });
            }
            Work::LookAhead { slots, sets } => {
                slots.iter().try_for_each(|&slot| self.check_slot(work, slot))?;
                let known = self.layout.features().len();
                let mut features = sets.iter().flat_map(|set| set.features());
                if let Some(&feature) = features.find(|&&feature| feature as usize >= known) {
                    return Err(unknown(work, "feature", feature as usize));
                }
                return Ok(Reply::Lookahead { splits: self.look_ahead(slots, sets)? });
            }
            Work::LeafSums { output, id, leaves } => {
                self.check_output(work, *output)?;
                let assigned = self.trees.get(id).ok_or_else(|| no_tree(work, *id))?;
                return Ok(Reply::LeafSums { sums: self.leaf_sums(*output, assigned, *leaves) });
            }
            Work::LeafQuantiles { rows, alpha } => {
                if let LeafRows::Slots { slots } = rows {
                    slots.iter().try_for_each(|&slot| self.check_slot(work, slot))?;
                }
                let quantiles = self.leaf_quantiles(rows, *alpha);
                let quantiles = quantiles.ok_or_else(|| match rows {
                    LeafRows::Tree { id, .. } => no_tree(work, *id),
                    LeafRows::Slots { .. } => unknown(work, "slot", 0),
                })?;
                return Ok(Reply::LeafQuantiles { quantiles });
            }
            Work::Loss {} => return Ok(Reply::Value { value: Some(self.loss()) }),
            Work::Metric { metric, rows } => {
                let set = self.set(*rows);
                let value =
                    set.map(|(data, shards)| self.evaluator().metric_of(*metric, data, &shards));
                return Ok(Reply::Value { value });
            }
            Work::GatherScores { rows } => {
                let outputs = self.base.len();
                let set = self.set(*rows);
                let scores = set.map(|(data, shards)| gather(&data.plan, &shards, outputs));
                return Ok(Reply::Scores { scores: scores.unwrap_or_default() });
            }
            _ => self.change(work)?,
        }
        Ok(Reply::Done {})
    }

    fn look_ahead(
        &self,
        slots: &[usize],
        sets: &[FeatureSet],
    ) -> Result<Vec<Option<LookaheadSplit>>, BackendError> {
        let valued: Vec<(usize, f64)> =
            slots.iter().map(|&slot| (slot, self.slots[slot].value)).collect();
        let (search, mut rows) = self.lookahead();
        search.look_ahead(&mut rows, &valued, sets)
    }

    /// Work without a result.
    fn change(&mut self, work: &Work) -> Result<(), BackendError> {
        match work {
            Work::FinishTree { output, tree, leaves } => {
                self.check_output(work, *output)?;
                self.check_leaves(work, leaves)?;
                self.finish_tree(*output, tree, leaves);
            }
            Work::AddTree { output, tree, factor, training, validation } => {
                self.check_output(work, *output)?;
                self.add_tree(*output, tree, *factor, [*training, *validation]);
            }
            Work::AssignSlots { id, leaves } => {
                self.check_leaves(work, leaves)?;
                let assigned = self.assign_slots(leaves);
                self.trees.insert(*id, assigned);
            }
            Work::AssignTree { id, tree } => {
                let assigned = self.assign_tree(tree);
                self.trees.insert(*id, assigned);
            }
            Work::DropTree { id } => drop(self.trees.remove(id)),
            Work::Shift { output, id, values } => {
                self.check_output(work, *output)?;
                // Taken out for the moment: shards are changed while it is read.
                let assigned = self.trees.remove(id).ok_or_else(|| no_tree(work, *id))?;
                self.shift_scores(*output, &assigned, values);
                self.trees.insert(*id, assigned);
            }
            Work::ResetScores {} => self.reset_scores(),
            Work::SaveScores { id } => {
                let snapshot = self.save_scores();
                self.snapshots.insert(*id, snapshot);
            }
            Work::RestoreScores { id } => {
                let missing = || unknown(work, "snapshot", id.0 as usize);
                let snapshot = self.snapshots.remove(id).ok_or_else(missing)?;
                self.restore_scores(&snapshot);
                self.snapshots.insert(*id, snapshot);
            }
            Work::DropScores { id } => drop(self.snapshots.remove(id)),
            Work::ReleaseBuffers {} => self.release_buffers(),
            _ => return Err(BackendError::Unsupported { work: work.name() }),
        }
        Ok(())
    }

    /// Adds a tree that has just grown to all scores.
    fn finish_tree(&mut self, output: usize, tree: &BinnedTree, leaves: &[LeafSlot]) {
        let values: Vec<f32> = tree.leaves.iter().map(|leaf| leaf.value as f32).collect();
        let traversal = tree.traversal(&self.layout);
        self.pool.each(&mut self.teams, |_, team| {
            team.shards
                .iter_mut()
                .for_each(|shard| shard.add_leaves(output, leaves, &values, &traversal));
        });
        self.add_to_scored(output, &values, &traversal);
    }

    /// Rows with their shards, if there are such rows.
    fn set(&self, rows: RowSet) -> Option<(&Dataset, Vec<&Shard>)> {
        let set = match rows {
            RowSet::Training => return Some((self.data, self.shards().collect())),
            RowSet::Validation => self.valid.as_ref(),
            RowSet::Watched { set } => self.watched.get(set),
        };
        set.map(|set| (set.rows, set.shards.iter().collect()))
    }

    fn check_output(&self, work: &Work, output: usize) -> Result<(), BackendError> {
        if output < self.base.len() { Ok(()) } else { Err(unknown(work, "output", output)) }
    }

    fn check_slot(&self, work: &Work, slot: usize) -> Result<(), BackendError> {
        if slot < self.slots.len() { Ok(()) } else { Err(unknown(work, "slot", slot)) }
    }

    fn check_leaves(&self, work: &Work, leaves: &[LeafSlot]) -> Result<(), BackendError> {
        leaves.iter().try_for_each(|leaf| self.check_slot(work, leaf.slot))
    }

    fn check_commands(&self, work: &Work, commands: &[SplitCommand]) -> Result<(), BackendError> {
        let features = self.layout.features().len();
        for command in commands {
            self.check_slot(work, command.slot)?;
            if command.rule.feature as usize >= features {
                return Err(unknown(work, "feature", command.rule.feature as usize));
            }
        }
        Ok(())
    }
}

fn unknown(work: &Work, what: &'static str, number: usize) -> BackendError {
    BackendError::Unknown { work: work.name(), what, number }
}

fn no_tree(work: &Work, id: TreeId) -> BackendError {
    unknown(work, "tree", id.0 as usize)
}
