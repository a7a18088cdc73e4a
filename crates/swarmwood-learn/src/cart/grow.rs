//! Greedy growth: the node whose best split lowers the loss most is split first.

use std::borrow::Cow;

use super::gain_ratio::{self, RuleSelection};
use crate::context::Context;
use crate::leaf_loss::LeafLoss;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::{NodeRef, RankTree, Subtree, fit_rows, given_tree};
use crate::threshold_scan::{NodeRows, RuleCandidate, SplitCriterion};

/// The maximum size of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Maximum number of leaves; 0 is no limit.
    pub leaves: usize,
    /// Maximum number of rules from the root to a leaf; 0 is no limit.
    pub depth: usize,
    /// Minimum number of rows per leaf.
    pub min_leaf: usize,
}

impl TreeLimits {
    /// Whether a node with `depth` rules above it may have a rule itself.
    pub(crate) fn allow_split_at(&self, depth: usize) -> bool {
        self.depth == 0 || depth < self.depth
    }

    /// Whether a tree of so many leaves may have more.
    pub(crate) fn allow_more_than(&self, leaves: usize) -> bool {
        self.leaves == 0 || leaves < self.leaves
    }
}

/// Grows trees greedily.
#[derive(Debug, Clone, Copy)]
pub struct CartGrower<'a> {
    /// The rows.
    pub table: &'a RankTable,
    /// The loss that splits minimise.
    pub loss: &'a LeafLoss,
    /// How the rule of a node is chosen among the best rules of its features.
    pub selection: RuleSelection,
    /// The maximum size of a tree.
    pub limits: TreeLimits,
    /// The features that may be used.
    pub features: &'a [u32],
    /// Threads and budget. When the budget is interrupted, growth stops with the tree it has.
    pub context: Context<'a>,
}

/// A leaf that may still be split.
struct FrontierNode {
    /// Its index in the list of all nodes, in order of creation.
    key: usize,
    rows: Vec<u32>,
    /// The features of the rules above it.
    path: Vec<usize>,
    loss: f64,
    /// The best rule; `None` if it stays a leaf.
    candidate: Option<RuleCandidate>,
}

impl FrontierNode {
    /// How much the best rule lowers the loss.
    fn gain(&self) -> Option<f64> {
        self.candidate.as_ref().map(|candidate| self.loss - candidate.loss)
    }
}

/// The rule of a node with the keys of its children.
type ExpandedNode = Option<(RuleCandidate, usize, usize)>;

impl CartGrower<'_> {
    /// A tree of all rows.
    pub fn grow(&self) -> RankTree {
        if !self.table.constraints().given_splits().is_empty() {
            return self.grow_leaves(&given_tree(self.table, self.loss));
        }
        let rows = (0..self.table.rows() as u32).collect();
        RankTree::new(&self.grow_subtree(rows, Vec::new(), self.limits.leaves))
    }

    /// Splits leaves of a tree, those with the largest gain first, until the limits are reached.
    pub(crate) fn grow_leaves(&self, tree: &RankTree) -> RankTree {
        if !self.limits.allow_more_than(tree.leaves()) {
            return tree.clone();
        }

        let (_, leaves) = tree.partition_rows(self.table);
        let starts = leaves.into_iter().zip(tree.leaf_paths()).collect();
        let subtrees = self.best_first(starts, self.limits.leaves);
        RankTree::new(&tree.subtree_with(tree.root(), &mut |at| match at {
            NodeRef::Leaf(leaf) => Some(subtrees[leaf as usize].clone()),
            NodeRef::Node(_) => None,
        }))
    }

    /// A subtree of the given rows below rules of the features of `path`, with at most `leaves`
    /// leaves (0: no limit).
    pub(crate) fn grow_subtree(&self, rows: Vec<u32>, path: Vec<usize>, leaves: usize) -> Subtree {
        self.best_first(vec![(rows, path)], leaves).pop().unwrap_or(Subtree::Leaf)
    }

    /// Splits the frontier node with the largest gain until none is left. Without a limit of the
    /// leaves the order makes no difference.
    fn best_first(&self, starts: Vec<(Vec<u32>, Vec<usize>)>, max_leaves: usize) -> Vec<Subtree> {
        let budget = self.context.budget;
        let count = starts.len();
        let mut nodes: Vec<ExpandedNode> = vec![None; count];
        let mut frontier: Vec<FrontierNode> = Vec::with_capacity(count);
        for (key, (rows, path)) in starts.into_iter().enumerate() {
            if key > 0 && budget.is_interrupted() {
                break;
            }
            frontier.push(self.frontier_node(key, rows, path));
        }

        let mut leaves = count;
        while (max_leaves == 0 || leaves < max_leaves) && !budget.is_interrupted() {
            let splittable = (0..frontier.len()).filter(|&at| frontier[at].gain().is_some());
            let best = splittable.reduce(|best, at| {
                if frontier[at].gain() > frontier[best].gain() { at } else { best }
            });
            let Some(best) = best else { break };
            let parent = frontier.swap_remove(best);
            let Some(candidate) = parent.candidate else { break };

            let codes = self.table.columns()[candidate.rule.feature as usize].codes();
            let (right, left): (Vec<u32>, Vec<u32>) = parent
                .rows
                .iter()
                .partition(|&&row| candidate.rule.goes_right(codes[row as usize]));
            let key = nodes.len();
            nodes.extend([None, None]);
            let mut path = parent.path;
            path.push(candidate.rule.feature as usize);
            for (key, rows) in [(key, left), (key + 1, right)] {
                frontier.push(self.frontier_node(key, rows, path.clone()));
            }
            nodes[parent.key] = Some((candidate, key, key + 1));
            leaves += 1;
        }
        (0..count).map(|key| assemble(&nodes, key)).collect()
    }

    fn frontier_node(&self, key: usize, rows: Vec<u32>, path: Vec<usize>) -> FrontierNode {
        let loss = fit_rows(self.table, &rows, self.loss).loss;
        let few = rows.len() < 2 * self.limits.min_leaf.max(1);
        if few || !self.limits.allow_split_at(path.len()) || is_pure(self.table, &rows) {
            return FrontierNode { key, rows, path, loss, candidate: None };
        }

        let node = NodeRows::above_new_leaves(self.table, rows);
        let criterion = SplitCriterion { loss: self.loss, min_leaf: self.limits.min_leaf };
        let features = features_below(self.table, self.features, &path);
        let candidate = match self.selection {
            RuleSelection::LeastLoss => node.best_rule(criterion, &features, self.context),
            RuleSelection::GainRatio => {
                let candidates = node.rules_of_features(criterion, &features, self.context);
                gain_ratio::choose(self.table, &node.rows, loss, candidates)
            }
        };
        FrontierNode { key, rows: node.rows, path, loss, candidate }
    }
}

/// Those of some features that interaction constraints allow below others.
pub(crate) fn features_below<'f>(
    table: &RankTable,
    features: &'f [u32],
    path: &[usize],
) -> Cow<'f, [u32]> {
    let constraints = table.constraints();
    if constraints.interactions().is_empty() {
        return Cow::Borrowed(features);
    }
    let mut together = path.to_vec();
    let mut is_allowed = |feature: &u32| {
        together.push(*feature as usize);
        let allowed = constraints.allows_together(&together);
        together.pop();
        allowed
    };
    features.iter().copied().filter(|feature| is_allowed(feature)).collect()
}

fn assemble(nodes: &[ExpandedNode], key: usize) -> Subtree {
    match &nodes[key] {
        None => Subtree::Leaf,
        Some((candidate, left, right)) => {
            Subtree::split(candidate.rule.clone(), assemble(nodes, *left), assemble(nodes, *right))
        }
    }
}

/// Whether all rows have the same target.
fn is_pure(table: &RankTable, rows: &[u32]) -> bool {
    let Some(&first) = rows.first() else { return true };
    match table.target() {
        RankTarget::Classes { of_row, .. } => {
            rows.iter().all(|&row| of_row[row as usize] == of_row[first as usize])
        }
        RankTarget::Numbers { of_row, .. } => {
            rows.iter().all(|&row| of_row[row as usize] == of_row[first as usize])
        }
    }
}
