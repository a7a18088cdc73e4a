//! The work of a fit that a new host must do to be where the others are.

use super::message::ShardWork;
use crate::stats::message::TreeId;

/// All work of a fit that changed a shard, in order. Trees that are finished count by their values
/// alone: how they grew is left out as soon as nothing can ask for it.
#[derive(Debug, Default)]
pub(super) struct ReplayLog {
    work: Vec<ShardWork>,
}

impl ReplayLog {
    /// The work, oldest first.
    pub fn work(&self) -> &[ShardWork] {
        &self.work
    }

    /// Notes work that all hosts have done.
    pub fn push(&mut self, work: &ShardWork) {
        if !work.changes_shards() {
            return;
        }
        match work {
            // What was saved or assigned and is dropped again need not have been.
            ShardWork::DropTree { id } => self.forget_tree(*id),
            ShardWork::Derive { output: None, .. } => {
                self.shorten();
                self.work.push(work.clone());
            }
            _ => self.work.push(work.clone()),
        }
    }

    /// Leaves out an assignment that only other work on it has used; the moves of scores by it stay,
    /// and then it must stay, too.
    fn forget_tree(&mut self, tree: TreeId) {
        let moves = |work: &ShardWork| matches!(work, ShardWork::Shift { id, .. } if *id == tree);
        if self.work.iter().any(moves) {
            self.work.push(ShardWork::DropTree { id: tree });
            return;
        }
        self.work.retain(|work| match work {
            ShardWork::AssignTree { id, .. } | ShardWork::AssignSlots { id, .. } => *id != tree,
            _ => true,
        });
    }

    /// Called when all derivatives are taken anew: those before are of no use any more, and of trees
    /// that have grown only their values are.
    fn shorten(&mut self) {
        // What one output knows of the others follows from all that was derived.
        let partly = |work: &ShardWork| matches!(work, ShardWork::Derive { output: Some(_), .. });
        if self.work.iter().any(partly) {
            return;
        }
        let of_slots = |work: &ShardWork| matches!(work, ShardWork::AssignSlots { .. });
        if self.work.iter().any(of_slots) {
            return;
        }
        let shortened = std::mem::take(&mut self.work).into_iter().filter_map(|work| match work {
            ShardWork::FinishTree { output, tree, .. } => {
                Some(ShardWork::AddTree { output, tree, factor: 1.0 })
            }
            ShardWork::Derive { .. } | ShardWork::BeginTree { .. } | ShardWork::Split { .. } => {
                None
            }
            work => Some(work),
        });
        self.work = shortened.collect();
    }
}
