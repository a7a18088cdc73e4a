//! Grows ordinary trees, depth-wise or leaf-wise.

mod given;

use swarmwood_model::{Child, Leaf};

use super::{GreedyConfig, Growth, lookahead};
use crate::binned_tree::{BinnedSplit, BinnedTree};
use crate::budget::Budget;
use crate::isotonic::PartialOrder;
use crate::kernels::quantise::GradientSums;
use crate::ridge;
use crate::split::SplitCandidate;
use crate::stats::{
    BackendError, Client, FeatureSet, LeafSlot, LookaheadSplit, NodeStats, Reply, RowSample,
    SplitCommand, SplitConstraints, SplitQuery, Work,
};

/// The share of a split's gain that each of the splits below it is guessed to gain. With more,
/// fewer leaves are split ahead of their turn. Trees of 32 leaves on generated tables of 3,000
/// rows took 9 to 13 messages at this value, with 1 to 15 % of splits in vain; on pure noise 15
/// messages, with 40 %.
const CHILD_GAIN: f64 = 0.75;

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

/// A tree that has grown; its leaves have no values yet.
pub(crate) struct TreeGrowth {
    pub(crate) tree: BinnedTree,
    /// The sums of its leaves.
    pub(crate) sums: Vec<GradientSums>,
    /// The order that constraints ask of its leaves.
    pub(crate) order: PartialOrder,
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
    /// Its children, if its rows were split.
    children: Option<[usize; 2]>,
    /// Whether the tree has the split. Leaf-wise growth splits the rows of promising leaves ahead
    /// of their turn, and some of these stay leaves.
    is_split: bool,
}

impl GrowingNode {
    fn new(stats: NodeStats, depth: usize) -> Self {
        GrowingNode { stats, depth, children: None, is_split: false }
    }
}

/// Grows one tree. Interrupted, it is the tree so far, with at least its first split.
pub(crate) fn grow(
    client: &mut Client<'_>,
    task: TreeTask<'_>,
    settings: &GreedyConfig,
    budget: &Budget,
) -> Result<TreeGrowth, BackendError> {
    let most_leaves = if settings.max_leaves == 0 { usize::MAX } else { settings.max_leaves };
    let TreeTask { output, sample, search, leaf_work } = task;
    let is_given = !client.given_rules().is_empty();
    let query = if most_leaves < 2 || is_given { SplitQuery::Sums } else { SplitQuery::Each };
    let stats = client.begin_tree(Work::BeginTree { output, sample, search, query })?;
    let sets = match most_leaves {
        0..2 => Vec::new(),
        _ => settings.lookahead.sets(client)?,
    };

    let root = GrowingNode::new(stats, 0);
    let mut growing = GrowingTree {
        client,
        settings,
        budget,
        leaf_work,
        replies: None,
        nodes: vec![root],
        leaves: 1,
        most_leaves,
        sets,
    };
    let open = growing.make_given()?;
    growing.look_ahead(&open)?;
    match settings.growth {
        Growth::Depth => growing.depth_wise(open)?,
        _ => growing.leaf_wise(open)?,
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
    /// The features that growth looks ahead by.
    sets: Vec<FeatureSet>,
}

impl GrowingTree<'_, '_> {
    fn depth_wise(&mut self, mut level: Vec<usize>) -> Result<(), BackendError> {
        while !level.is_empty() && self.leaves < self.most_leaves && !self.is_interrupted() {
            let mut chosen: Vec<usize> =
                level.into_iter().filter(|&at| self.best(at).is_some()).collect();
            // Where the limit of leaves does not allow all, the splits that gain most are made.
            chosen.sort_by(|&a, &b| self.gain(b).total_cmp(&self.gain(a)).then(a.cmp(&b)));
            chosen.truncate(self.most_leaves - self.leaves);
            chosen.sort_unstable();
            self.split(&chosen, &chosen)?;
            level = chosen
                .iter()
                .flat_map(|&at| self.nodes[at].children.into_iter().flatten())
                .collect();
        }
        Ok(())
    }

    /// The open leaves are sorted, the oldest first.
    fn leaf_wise(&mut self, mut open: Vec<usize>) -> Result<(), BackendError> {
        while self.leaves < self.most_leaves && !self.is_interrupted() {
            // The open leaf that gains most; equal gains go to the older one.
            let better = |&a: &usize, &b: &usize| {
                self.gain(open[a]).total_cmp(&self.gain(open[b])).then(b.cmp(&a))
            };
            let splittable = (0..open.len()).filter(|&at| self.best(open[at]).is_some());
            let Some(at) = splittable.max_by(better) else {
                break;
            };

            let best = open[at];
            if self.nodes[best].children.is_none() {
                let chosen = self.promising(best);
                self.split(&chosen, &[best])?;
            } else {
                self.make_split(best);
            }
            open.remove(at);
            open.extend(self.nodes[best].children.into_iter().flatten());
        }
        Ok(())
    }

    /// The leaves to split in one message: the best one, and as many more as the backend wants of
    /// those that are likely to be split before the tree is full.
    fn promising(&self, best: usize) -> Vec<usize> {
        let most = self.client.splits_per_message();
        if most <= 1 {
            return vec![best];
        }

        let priorities = self.priorities();
        let is_open = |at: &usize| *at != best && self.nodes[*at].children.is_none();
        let mut others: Vec<usize> =
            (0..self.nodes.len()).filter(|at| is_open(at) && priorities[*at] > 0.0).collect();
        others.sort_by(|&a, &b| priorities[b].total_cmp(&priorities[a]).then(a.cmp(&b)));
        others.truncate(most - 1);

        let splits_left = (self.most_leaves - self.leaves) as f64;
        let is_likely = |at: &usize| self.splits_before(*at, &priorities) < splits_left;
        std::iter::once(best).chain(others.into_iter().filter(is_likely)).collect()
    }

    /// The gain at which each split that the tree does not have yet gets its turn: its own, or
    /// that of a split above it, if that is lower. Zero for all other nodes.
    fn priorities(&self) -> Vec<f64> {
        let mut priorities: Vec<f64> = vec![f64::INFINITY; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let own = priorities[at].min(node.stats.best.map_or(0.0, |best| best.gain));
            // Children come after their parents.
            for child in node.children.into_iter().flatten() {
                priorities[child] = if node.is_split { f64::INFINITY } else { own };
            }
            priorities[at] = if node.is_split { 0.0 } else { own };
        }
        priorities
    }

    /// How many splits are expected to be made before that of a leaf, where each split below a
    /// leaf is guessed to gain [`CHILD_GAIN`] of the one above it.
    fn splits_before(&self, leaf: usize, priorities: &[f64]) -> f64 {
        let gain = priorities[leaf];
        let splits = |at: usize| match self.nodes[at].children {
            Some(_) => 1.0,
            None => {
                let levels = ((gain / priorities[at]).ln() / CHILD_GAIN.ln()).floor() + 1.0;
                levels.exp2() - 1.0
            }
        };
        let earlier = |at: &usize| *at != leaf && priorities[*at] >= gain;
        (0..self.nodes.len()).filter(earlier).map(splits).sum()
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

    /// Splits the rows of some nodes, all of which have a rule, in one message. Those of them that
    /// are `made` are splits of the tree; the others may become so. Children that will not be
    /// split need no search.
    fn split(&mut self, chosen: &[usize], made: &[usize]) -> Result<(), BackendError> {
        if chosen.is_empty() {
            return Ok(());
        }
        let commands: Vec<SplitCommand> =
            chosen.iter().filter_map(|&slot| self.add_children(slot)).collect();
        made.iter().for_each(|&slot| self.make_split(slot));

        let deepest = chosen.iter().all(|&slot| self.is_deepest(self.nodes[slot].depth + 1));
        let is_full = self.leaves >= self.most_leaves;
        let query = if is_full || deepest { SplitQuery::Sums } else { SplitQuery::Each };
        // In leaf-wise growth other leaves may be left to split after the deepest.
        let is_last = is_full || deepest && self.settings.growth == Growth::Depth;
        let leaf_work = if is_last { self.leaf_work_now() } else { Vec::new() };
        let slots: Vec<[usize; 2]> =
            commands.iter().map(|split| [split.left, split.right]).collect();
        let (stats, replies) = self.client.split(commands, query, leaf_work)?;

        if is_last {
            self.replies = Some(replies);
        }
        for (&slot, stats) in slots.iter().flatten().zip(stats.into_iter().flatten()) {
            let best = stats.best.filter(|_| !self.is_deepest(self.nodes[slot].depth));
            self.nodes[slot].stats = NodeStats { best, ..stats };
        }
        match query {
            SplitQuery::Each => self.look_ahead(&slots.into_iter().flatten().collect::<Vec<_>>()),
            _ => Ok(()),
        }
    }

    /// Gives nodes the first split of a tree over some features, where that gains more than the
    /// best split alone and there is room for the tree.
    fn look_ahead(&mut self, slots: &[usize]) -> Result<(), BackendError> {
        if self.sets.is_empty() || self.is_interrupted() {
            return Ok(());
        }
        let found = lookahead::look_ahead(self.client, slots.to_vec(), &self.sets)?;
        for (&slot, split) in slots.iter().zip(found) {
            // The leaves that are left now would depend on the splits ahead of their turn.
            let (depth, most_leaves) = (self.nodes[slot].depth, self.most_leaves);
            let fits = |split: &LookaheadSplit| {
                split.splits < most_leaves && !self.is_deepest(depth + split.levels - 1)
            };
            let best = self.nodes[slot].stats.best;
            if let Some(better) = lookahead::better_split(split.filter(fits), best) {
                self.nodes[slot].stats.best = Some(better);
            }
        }
        Ok(())
    }

    /// Whether nodes at a depth must stay leaves.
    fn is_deepest(&self, depth: usize) -> bool {
        self.settings.depth > 0 && depth >= self.settings.depth
    }

    /// Makes room for the children of a node that has a rule.
    fn add_children(&mut self, slot: usize) -> Option<SplitCommand> {
        let rule = self.best(slot)?.rule;
        let (left, depth) = (self.nodes.len(), self.nodes[slot].depth + 1);
        self.nodes.extend([GrowingNode::new(NodeStats::default(), depth); 2]);
        self.nodes[slot].children = Some([left, left + 1]);
        Some(SplitCommand { slot, rule, left, right: left + 1 })
    }

    /// Gives the tree the split of a node whose rows were split.
    fn make_split(&mut self, slot: usize) {
        self.nodes[slot].is_split = true;
        self.leaves += 1;
    }

    fn leaf_work_now(&self) -> Vec<Work> {
        let (tree, leaves, _) = self.to_tree();
        (self.leaf_work)(&leaves, tree.leaves.len())
    }

    /// The tree, and what is known of its leaves.
    fn finish(mut self) -> Result<TreeGrowth, BackendError> {
        let (tree, leaves, sums) = self.to_tree();
        let replies = match self.replies.take() {
            Some(replies) => replies,
            None => {
                let work = (self.leaf_work)(&leaves, tree.leaves.len());
                if work.is_empty() { Vec::new() } else { self.client.ask_all(work)? }
            }
        };
        self.budget.spend(1);
        let order = ridge::leaf_order(&tree, self.client.layout(), self.client.constraints());
        Ok(TreeGrowth { tree, sums, order, asked: leaves.clone(), leaves, replies })
    }

    /// The splits as a tree, parents before children, left before right; its leaves and their
    /// sums.
    fn to_tree(&self) -> (BinnedTree, Vec<LeafSlot>, Vec<GradientSums>) {
        let mut tree = BinnedTree::default();
        let mut leaves = Vec::new();
        let mut sums: Vec<GradientSums> = Vec::new();
        let mut waiting: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
        while let Some((at, parent)) = waiting.pop() {
            let GrowingNode { stats, children, is_split, .. } = self.nodes[at];
            let child = match (stats.best, children) {
                (Some(best), Some([left, right])) if is_split => {
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

#[cfg(test)]
mod tests;
