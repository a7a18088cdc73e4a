//! Grows ordinary trees, depth-wise or leaf-wise.

use swarmwood_model::{Child, Leaf};

use super::{GreedyConfig, Growth};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::budget::Budget;
use crate::kernels::quantise::GradientSums;
use crate::ridge;
use crate::split::SplitCandidate;
use crate::stats::{
    BackendError, Client, LeafSlot, NodeStats, Reply, RowSample, SplitCommand, SplitConstraints,
    SplitQuery, Work,
};

/// One tree to grow.
pub(crate) struct TreeTask<'t> {
    /// The output whose derivatives it is fitted to.
    pub(crate) output: usize,
    /// The rows it is grown on; all if `None`.
    pub(crate) sample: Option<RowSample>,
    /// Allowed features and penalties.
    pub(crate) search: SplitConstraints,
    /// Work on the leaves of the finished tree, given their slots and their number. It is sent
    /// with the last splits where these are known to be the last.
    pub(crate) leaf_work: &'t dyn Fn(&[LeafSlot], usize) -> Vec<Work>,
}

/// A tree that has grown, with leaf values before the learning rate.
pub(crate) struct TreeGrowth {
    pub(crate) tree: BinnedTree,
    /// The slot of each leaf that has rows.
    pub(crate) leaves: Vec<LeafSlot>,
    /// The leaves that the work on leaves was about: those above, and in an oblivious tree perhaps
    /// some without rows.
    pub(crate) asked: Vec<LeafSlot>,
    /// The replies to the work on its leaves.
    pub(crate) replies: Vec<Reply>,
}

/// A node of the growing tree; its number is its slot.
#[derive(Debug, Clone, Copy)]
struct GrowingNode {
    stats: NodeStats,
    depth: usize,
    children: Option<[usize; 2]>,
}

/// Grows one tree. Interrupted, it is the tree so far, with at least its first split.
pub(crate) fn grow(
    client: &mut Client<'_>,
    task: TreeTask<'_>,
    settings: &GreedyConfig,
    budget: &Budget,
) -> Result<TreeGrowth, BackendError> {
    let most_leaves = if settings.max_leaves == 0 { usize::MAX } else { settings.max_leaves };
    let query = if most_leaves < 2 { SplitQuery::Sums } else { SplitQuery::Each };
    let TreeTask { output, sample, search, leaf_work } = task;
    let stats = client.begin_tree(Work::BeginTree { output, sample, search, query })?;

    let root = GrowingNode { stats, depth: 0, children: None };
    let mut growing = GrowingTree {
        client,
        settings,
        budget,
        leaf_work,
        replies: None,
        nodes: vec![root],
        leaves: 1,
        most_leaves,
    };
    match settings.growth {
        Growth::Depth => growing.depth_wise()?,
        _ => growing.leaf_wise()?,
    }
    growing.finish()
}

struct GrowingTree<'w, 'a> {
    client: &'w mut Client<'a>,
    settings: &'w GreedyConfig,
    budget: &'w Budget,
    leaf_work: &'w dyn Fn(&[LeafSlot], usize) -> Vec<Work>,
    /// The replies to the work on leaves, once it was sent.
    replies: Option<Vec<Reply>>,
    nodes: Vec<GrowingNode>,
    leaves: usize,
    most_leaves: usize,
}

impl GrowingTree<'_, '_> {
    fn depth_wise(&mut self) -> Result<(), BackendError> {
        let mut level = vec![0];
        while !level.is_empty() && self.leaves < self.most_leaves && !self.is_interrupted() {
            let mut chosen: Vec<usize> =
                level.into_iter().filter(|&at| self.best(at).is_some()).collect();
            // Where the limit of leaves does not allow all, the splits that gain most are made.
            chosen.sort_by(|&a, &b| self.gain(b).total_cmp(&self.gain(a)).then(a.cmp(&b)));
            chosen.truncate(self.most_leaves - self.leaves);
            chosen.sort_unstable();
            self.split(&chosen)?;
            level = chosen
                .iter()
                .flat_map(|&at| self.nodes[at].children.into_iter().flatten())
                .collect();
        }
        Ok(())
    }

    fn leaf_wise(&mut self) -> Result<(), BackendError> {
        let mut open = vec![0];
        while self.leaves < self.most_leaves && !self.is_interrupted() {
            // The open leaf that gains most; equal gains go to the older one.
            let better =
                |&a: &usize, &b: &usize| self.gain(a).total_cmp(&self.gain(b)).then(b.cmp(&a));
            let Some(best) =
                open.iter().copied().filter(|&at| self.best(at).is_some()).max_by(better)
            else {
                break;
            };
            self.split(&[best])?;
            open.retain(|&at| at != best);
            open.extend(self.nodes[best].children.into_iter().flatten());
        }
        Ok(())
    }

    /// Whether growth ends here. The first rule is known by then, and costs next to nothing.
    fn is_interrupted(&self) -> bool {
        self.leaves > 1 && self.budget.is_interrupted()
    }

    fn best(&self, at: usize) -> Option<SplitCandidate> {
        self.nodes[at].stats.best
    }

    fn gain(&self, at: usize) -> f64 {
        self.best(at).map_or(f64::NEG_INFINITY, |best| best.gain)
    }

    /// Splits the rows of some nodes, all of which have a rule, in one message. Children that will
    /// not be split need no search.
    fn split(&mut self, chosen: &[usize]) -> Result<(), BackendError> {
        if chosen.is_empty() {
            return Ok(());
        }
        let limit = if self.settings.depth == 0 { usize::MAX } else { self.settings.depth };
        let is_deepest = |at: &usize| self.nodes[*at].depth + 1 >= limit;
        let deepest = chosen.iter().all(is_deepest);
        let is_full = self.leaves + chosen.len() >= self.most_leaves;
        let query = if is_full || deepest { SplitQuery::Sums } else { SplitQuery::Each };

        let commands: Vec<SplitCommand> =
            chosen.iter().filter_map(|&slot| self.add_children(slot)).collect();
        // In leaf-wise growth other leaves may be left to split after the deepest.
        let is_last = is_full || deepest && self.settings.growth == Growth::Depth;
        let leaf_work = if is_last { self.leaf_work_now() } else { Vec::new() };
        let slots: Vec<[usize; 2]> =
            commands.iter().map(|split| [split.left, split.right]).collect();
        let (stats, replies) = self.client.split(commands, query, leaf_work)?;

        if is_last {
            self.replies = Some(replies);
        }
        for (slots, stats) in slots.into_iter().zip(stats) {
            slots.into_iter().zip(stats).for_each(|(slot, stats)| self.nodes[slot].stats = stats);
        }
        Ok(())
    }

    /// Makes room for the children of a node that has a rule.
    fn add_children(&mut self, slot: usize) -> Option<SplitCommand> {
        let rule = self.best(slot)?.rule;
        let (left, depth) = (self.nodes.len(), self.nodes[slot].depth + 1);
        let child = GrowingNode { stats: NodeStats::default(), depth, children: None };
        self.nodes.extend([child; 2]);
        self.nodes[slot].children = Some([left, left + 1]);
        self.leaves += 1;
        Some(SplitCommand { slot, rule, left, right: left + 1 })
    }

    fn leaf_work_now(&self) -> Vec<Work> {
        let (tree, leaves, _) = self.to_tree();
        (self.leaf_work)(&leaves, tree.leaves.len())
    }

    /// The tree with the values of its leaves.
    fn finish(mut self) -> Result<TreeGrowth, BackendError> {
        let (mut tree, leaves, sums) = self.to_tree();
        let replies = match self.replies.take() {
            Some(replies) => replies,
            None => {
                let work = (self.leaf_work)(&leaves, tree.leaves.len());
                if work.is_empty() { Vec::new() } else { self.client.ask_all(work)? }
            }
        };
        self.budget.spend(1);
        ridge::set_values(&mut tree, &sums, &self.settings.penalties);
        Ok(TreeGrowth { tree, asked: leaves.clone(), leaves, replies })
    }

    /// The splits as a tree, parents before children, left before right; its leaves and their
    /// sums.
    fn to_tree(&self) -> (BinnedTree, Vec<LeafSlot>, Vec<GradientSums>) {
        let mut tree = BinnedTree::default();
        let mut leaves = Vec::new();
        let mut sums: Vec<GradientSums> = Vec::new();
        let mut waiting: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
        while let Some((at, parent)) = waiting.pop() {
            let GrowingNode { stats, children, .. } = self.nodes[at];
            let child = match (stats.best, children) {
                (Some(best), Some([left, right])) => {
                    let number = tree.nodes.len();
                    let unset = Child::Leaf(0);
                    tree.nodes.push(BinnedSplit {
                        rule: best.rule,
                        left: unset,
                        right: unset,
                        gain: best.gain,
                        cover: stats.sums.h,
                    });
                    waiting.push((right, Some((number, true))));
                    waiting.push((left, Some((number, false))));
                    Child::Node(number as u32)
                }
                _ => {
                    leaves.push(LeafSlot { slot: at, leaf: tree.leaves.len() });
                    sums.push(stats.sums);
                    tree.leaves.push(Leaf { value: 0.0, cover: stats.sums.h });
                    Child::Leaf(tree.leaves.len() as u32 - 1)
                }
            };
            if let Some((parent, is_right)) = parent {
                let node = &mut tree.nodes[parent];
                *(if is_right { &mut node.right } else { &mut node.left }) = child;
            }
        }
        (tree, leaves, sums)
    }
}
