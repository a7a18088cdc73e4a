//! Grows oblivious trees: every level gets the one rule that gains most over all its nodes.

use swarmwood_model::{Child, Leaf};

use super::GreedyConfig;
use super::grow::{TreeGrowth, TreeTask};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::budget::Budget;
use crate::kernels::histogram::TABLE;
use crate::kernels::quantise::GradientSums;
use crate::ridge;
use crate::split::SplitCandidate;
use crate::stats::{
    BackendError, Client, LeafSlot, NodeStats, Reply, SplitCommand, SplitQuery, Work,
};

/// Bytes that the histograms of the last searched level may take: all its nodes are searched
/// together, so all must be there at once.
pub fn bytes_needed(columns: usize, rows: usize, depth: usize) -> usize {
    let nodes = 1usize.checked_shl(depth.saturating_sub(1) as u32).unwrap_or(usize::MAX).min(rows);
    nodes.saturating_mul(columns).saturating_mul(TABLE * 8)
}

/// Grows one tree. Interrupted, it is the tree so far, with at least its first level.
pub(crate) fn grow(
    client: &mut Client<'_>,
    task: TreeTask<'_>,
    settings: &GreedyConfig,
    budget: &Budget,
) -> Result<TreeGrowth, BackendError> {
    let TreeTask { output, sample, search, leaf_work } = task;
    let query = SplitQuery::Shared;
    let root = client.begin_tree(Work::BeginTree { output, sample, search, query })?;

    let mut growing = LevelTree {
        client,
        leaf_work,
        replies: None,
        leaves: vec![Some(ReachedLeaf { slot: 0, sums: root.sums })],
        slots: 1,
    };
    let mut tree = BinnedTree { oblivious: true, ..BinnedTree::default() };
    let most_levels = match settings.max_leaves {
        0 => settings.depth,
        most => settings.depth.min(most.ilog2() as usize),
    };
    let mut best = root.best;
    for level in 0..most_levels {
        let interrupted = level > 0 && budget.is_interrupted();
        let Some(chosen) = best.filter(|_| !interrupted) else { break };
        tree.nodes.push(BinnedSplit {
            rule: chosen.rule,
            left: Child::Leaf(0),
            right: Child::Leaf(0),
            gain: chosen.gain,
            cover: root.sums.h,
        });
        best = growing.split_level(&chosen, level + 1 == most_levels)?;
    }

    let (asked, replies) = growing.finish()?;
    budget.spend(1);
    let sums: Vec<GradientSums> = growing
        .leaves
        .iter()
        .map(|leaf| leaf.map_or(GradientSums::default(), |leaf| leaf.sums))
        .collect();
    tree.leaves = sums.iter().map(|sums| Leaf { value: 0.0, cover: sums.h }).collect();
    let order = ridge::leaf_order(&tree, growing.client.layout(), growing.client.constraints());
    Ok(TreeGrowth { tree, sums, order, leaves: growing.leaf_slots(), asked, replies })
}

/// A leaf that rows reach.
#[derive(Debug, Clone, Copy)]
struct ReachedLeaf {
    slot: usize,
    sums: GradientSums,
}

/// A tree that grows level by level.
struct LevelTree<'w, 'a> {
    client: &'w mut Client<'a>,
    leaf_work: &'w dyn Fn(&[LeafSlot], usize) -> Vec<Work>,
    /// The leaves that the work on leaves was about, and its replies, once it was sent.
    replies: Option<(Vec<LeafSlot>, Vec<Reply>)>,
    /// By leaf number; a leaf that no row reaches has none.
    leaves: Vec<Option<ReachedLeaf>>,
    slots: usize,
}

impl LevelTree<'_, '_> {
    /// Splits every leaf by the level's rule, which decides the next bit of the leaf's number;
    /// returns the next level's rule.
    fn split_level(
        &mut self,
        chosen: &SplitCandidate,
        is_last: bool,
    ) -> Result<Option<SplitCandidate>, BackendError> {
        let mut commands = Vec::new();
        let width = self.leaves.len();
        let mut next = vec![None; width * 2];
        for (leaf, old) in self.leaves.iter().enumerate() {
            let Some(old) = old else { continue };
            let (left, right) = (self.slots, self.slots + 1);
            commands.push(SplitCommand { slot: old.slot, rule: chosen.rule, left, right });
            for (bit, slot) in [(0, left), (1, right)] {
                next[leaf + bit * width] =
                    Some(ReachedLeaf { slot, sums: GradientSums::default() });
            }
            self.slots += 2;
        }
        let split: Vec<usize> = (0..width).filter(|&leaf| self.leaves[leaf].is_some()).collect();
        self.leaves = next;

        let query = if is_last { SplitQuery::Sums } else { SplitQuery::Shared };
        let asked = self.leaf_slots();
        let work = if is_last { (self.leaf_work)(&asked, self.leaves.len()) } else { Vec::new() };
        let (stats, replies) = self.client.split(commands, query, work)?;
        if is_last {
            self.replies = Some((asked, replies));
        }

        for (leaf, sides) in split.into_iter().zip(&stats) {
            for (bit, side) in sides.iter().enumerate() {
                self.set_sums(leaf + bit * width, side);
            }
        }
        Ok(SplitCandidate::best(stats.iter().flat_map(|sides| sides.map(|side| side.best))))
    }

    fn set_sums(&mut self, leaf: usize, stats: &NodeStats) {
        // Sums of zero mean no rows: every row has a positive hessian.
        let is_empty = stats.sums == GradientSums::default();
        let reached = self.leaves[leaf].filter(|_| !is_empty);
        self.leaves[leaf] = reached.map(|leaf| ReachedLeaf { sums: stats.sums, ..leaf });
    }

    fn leaf_slots(&self) -> Vec<LeafSlot> {
        let reached = self.leaves.iter().enumerate();
        reached.filter_map(|(leaf, at)| at.map(|at| LeafSlot { slot: at.slot, leaf })).collect()
    }

    fn finish(&mut self) -> Result<(Vec<LeafSlot>, Vec<Reply>), BackendError> {
        if let Some(sent) = self.replies.take() {
            return Ok(sent);
        }
        let asked = self.leaf_slots();
        let work = (self.leaf_work)(&asked, self.leaves.len());
        let replies = if work.is_empty() { Vec::new() } else { self.client.ask_all(work)? };
        Ok((asked, replies))
    }
}
