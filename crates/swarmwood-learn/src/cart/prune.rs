//! Minimal cost-complexity pruning: the node whose subtree saves least per leaf is pruned first.
//!
//! `g(t) = (R(t) - R(T_t)) / (leaves(T_t) - 1)` with `R` the loss divided by the weight of all rows
//! (Breiman et al. 1984, section 3.3). Pruning always the node of least `g` yields every tree that
//! is optimal for some complexity parameter `alpha`, and they are nested.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::leaf_loss::LeafLoss;
use crate::rank_table::RankTable;
use crate::rank_tree::{NodeRef, RankTree, Subtree, fit_nodes};

/// The nested trees of one grown tree.
#[derive(Debug, Clone)]
pub struct PruningPath {
    tree: RankTree,
    /// The `alpha` from which on each node is a leaf, or is gone with a node above it.
    pruned_at: Vec<f64>,
    steps: Vec<PruningStep>,
}

/// One of the nested trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PruningStep {
    /// The least `alpha` for which it is the optimal tree.
    pub alpha: f64,
    /// Number of leaves.
    pub leaves: usize,
    /// Its loss divided by the weight of all rows.
    pub risk: f64,
}

impl PruningPath {
    /// Prunes a tree step by step down to its root, or to the splits that are given.
    pub fn new(tree: RankTree, table: &RankTable, loss: &LeafLoss) -> Self {
        let total = table.total_weight();
        let (nodes, leaves) = fit_nodes(&tree, table, loss);

        // The squared loss omits an additive constant, which is the same for all trees: only
        // differences are used.
        let own: Vec<f64> = nodes.iter().map(|fit| fit.loss / total).collect();
        let leaf_risk: Vec<f64> = leaves.iter().map(|fit| fit.loss / total).collect();
        let free = tree.free_nodes(table);
        let mut state = PruningState::new(&tree, own, &leaf_risk, free);

        let mut pruned_at = vec![f64::INFINITY; tree.nodes().len()];
        let whole = if tree.nodes().is_empty() { leaf_risk[0] } else { state.below[0] };
        let mut steps = vec![PruningStep { alpha: 0.0, leaves: tree.leaves(), risk: whole }];
        while let Some((node, saved)) = state.weakest() {
            let alpha = saved.max(steps.last().map_or(0.0, |step| step.alpha));
            state.prune(&tree, node, alpha, &mut pruned_at);
            steps.push(PruningStep { alpha, leaves: state.leaves[0], risk: state.below[0] });
        }

        // Of trees with the same alpha the smallest counts.
        let mut distinct: Vec<PruningStep> = Vec::with_capacity(steps.len());
        for step in steps {
            if distinct.last().is_some_and(|last| step.alpha <= last.alpha) {
                distinct.pop();
            }
            distinct.push(step);
        }
        PruningPath { tree, pruned_at, steps: distinct }
    }

    /// The nested trees, the largest first.
    pub fn steps(&self) -> &[PruningStep] {
        &self.steps
    }

    /// The grown tree, and the `alpha` from which on each of its nodes is a leaf or is gone with a
    /// node above it.
    pub fn into_parts(self) -> (RankTree, Vec<f64>) {
        (self.tree, self.pruned_at)
    }

    /// The optimal tree for an `alpha`.
    pub fn tree(&self, alpha: f64) -> RankTree {
        RankTree::new(&self.tree.subtree_with(self.tree.root(), &mut |at| match at {
            NodeRef::Node(node) if self.pruned_at[node as usize] <= alpha => Some(Subtree::Leaf),
            _ => None,
        }))
    }
}

/// A tree while it is pruned.
struct PruningState {
    own: Vec<f64>,
    /// Risk and number of the leaves below each node.
    below: Vec<f64>,
    leaves: Vec<usize>,
    parents: Vec<u32>,
    pruned: Vec<bool>,
    /// Which nodes may be pruned; given splits may not.
    free: Vec<bool>,
    /// Nodes by `g`. A node whose `g` changed is pushed again; older entries are outdated.
    queue: BinaryHeap<Reverse<(OrderedG, usize)>>,
}

/// A value of `g`, totally ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedG(f64);

impl Eq for OrderedG {}

impl PartialOrd for OrderedG {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedG {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PruningState {
    fn new(tree: &RankTree, own: Vec<f64>, leaf_risk: &[f64], free: Vec<bool>) -> Self {
        let count = tree.nodes().len();
        let (mut below, mut leaves) = (vec![0.0; count], vec![0; count]);

        // Children come after their parents.
        for (at, node) in tree.nodes().iter().enumerate().rev() {
            for child in [node.left, node.right] {
                let (risk, number) = match child {
                    NodeRef::Node(child) => (below[child as usize], leaves[child as usize]),
                    NodeRef::Leaf(leaf) => (leaf_risk[leaf as usize], 1),
                };
                below[at] += risk;
                leaves[at] += number;
            }
        }

        let mut state = PruningState {
            own,
            below,
            leaves,
            parents: tree.parents(),
            pruned: vec![false; count],
            free,
            queue: BinaryHeap::with_capacity(count),
        };
        (0..count).for_each(|at| state.enqueue(at));
        state
    }

    /// `g` of a node. Adding zero makes a negative zero positive, so that both compare as equal.
    fn saved_per_leaf(&self, at: usize) -> f64 {
        (self.own[at] - self.below[at]) / (self.leaves[at] - 1) as f64 + 0.0
    }

    fn enqueue(&mut self, at: usize) {
        if self.free[at] {
            self.queue.push(Reverse((OrderedG(self.saved_per_leaf(at)), at)));
        }
    }

    /// The node that saves least per leaf; the first of equals.
    fn weakest(&mut self) -> Option<(usize, f64)> {
        loop {
            let Reverse((g, at)) = self.queue.pop()?;
            if !self.pruned[at] && g.0.to_bits() == self.saved_per_leaf(at).to_bits() {
                return Some((at, g.0));
            }
        }
    }

    /// Makes a leaf of a node.
    fn prune(&mut self, tree: &RankTree, node: usize, alpha: f64, pruned_at: &mut [f64]) {
        let mut todo = vec![node];
        while let Some(at) = todo.pop() {
            // What lies below a pruned node is pruned as well.
            if self.pruned[at] {
                continue;
            }
            self.pruned[at] = true;
            pruned_at[at] = alpha;
            let node = &tree.nodes()[at];
            for child in [node.left, node.right] {
                if let NodeRef::Node(child) = child {
                    todo.push(child as usize);
                }
            }
        }

        let (risk, leaves) = (self.own[node] - self.below[node], self.leaves[node] - 1);
        let mut at = node;
        loop {
            self.below[at] += risk;
            self.leaves[at] -= leaves;
            if at != node {
                self.enqueue(at);
            }
            if at == 0 {
                break;
            }
            at = self.parents[at] as usize;
        }
    }
}
