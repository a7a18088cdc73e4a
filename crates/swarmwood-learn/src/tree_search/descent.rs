//! Coordinate descent to a tree that no single change improves.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use swarmwood_search::rng::Stream;

use super::allowed_rules::features_above;
use super::{ScoredTree, SearchContext, depth_two};
use crate::rank_tree::{NodeRef, RankNode, RankTree, Subtree, fit_nodes, fit_rows};
use crate::rule::RankRule;
use crate::threshold_scan::{NodeRows, SplitCriterion};

/// Maximum number of rows for which the provably best subtree is searched at the bottom of a tree;
/// above, the best one over coarse cuts.
const MAX_EXACT_ROWS: usize = 2000;

/// Maximum number of rules of a node that are tried where leaves are in an order.
const MAX_ORDERED_RULES: usize = 3;

/// Maximum number of cached subtrees.
const MAX_CACHED_SUBTREES: usize = 1 << 14;

/// The position of a subtree of two levels: the rules above, each with the side taken, and its
/// maximum number of leaves.
pub(super) type SubtreeKey = (Vec<(RankRule, bool)>, usize);

impl SearchContext<'_> {
    /// Improves a tree until no rule, no move of a leaf and no subtree of two levels improves it
    /// further, or until the budget is interrupted. Also returns the number of node scans.
    pub(super) fn descend(&self, start: ScoredTree, stream: &mut Stream) -> (ScoredTree, u64) {
        if self.is_interrupted() {
            return (start, 0);
        }
        let mut scans = 0;
        let mut current =
            ScoredTree { tree: self.drop_small_leaves(start.tree.clone()), loss: 0.0 };
        current.loss = self.loss(&current.tree);
        loop {
            self.reselect_rules(&mut current, stream, &mut scans);
            if self.is_interrupted()
                || !(self.move_leaf(&mut current) || self.replace_bottom_subtrees(&mut current))
            {
                break;
            }
        }
        // Collapsing leaves that are too small can cost more than the descent saved.
        if current.loss <= start.loss || self.has_small_leaf(&start.tree) {
            (current, scans)
        } else {
            (start, scans)
        }
    }

    /// Re-selects the rules of all nodes, in random order, until none changes. A node is scanned
    /// again only after a change above or below it.
    fn reselect_rules(&self, current: &mut ScoredTree, stream: &mut Stream, scans: &mut u64) {
        loop {
            let mut changed = false;
            let mut dirty = vec![true; current.tree.nodes().len()];
            let parents = current.tree.parents();
            while dirty.contains(&true) {
                let mut order: Vec<u32> =
                    (0..dirty.len() as u32).filter(|&node| dirty[node as usize]).collect();
                stream.shuffle(&mut order);
                for node in order {
                    if self.is_interrupted() {
                        break;
                    }
                    *scans += 1;
                    dirty[node as usize] = false;
                    if let Some(saved) = self.reselect_rule(&mut current.tree, node) {
                        current.loss -= saved;
                        changed = true;
                        mark_relatives(&mut dirty, &parents, node);
                    }
                }
                if self.is_interrupted() {
                    break;
                }
            }
            let before = current.tree.leaves();
            let pruned = self.drop_small_leaves(current.tree.clone());
            let mut grown = self.grower(&self.features, self.greedy_loss()).grow_leaves(&pruned);
            let mut loss = self.loss(&grown);
            // More leaves never raise a loss, but for rounding where weights differ by many orders
            // of magnitude; what raised it would be undone below, and grown again, for ever.
            if self.is_better(current.loss, loss) && grown.leaves() > pruned.leaves() {
                let without = self.loss(&pruned);
                if self.is_better(without, loss) {
                    (grown, loss) = (pruned.clone(), without);
                }
            }
            let resized = pruned.leaves() != before || grown.leaves() != pruned.leaves();
            if !resized || self.is_interrupted() {
                *current = ScoredTree { tree: grown, loss };
                return;
            }
            let stuck = !changed && !self.is_better(loss, current.loss);
            *current = ScoredTree { tree: grown, loss };
            if stuck {
                return;
            }
        }
    }

    /// Gives a node the best rule while the rest of the tree stays; returns how much that lowers
    /// the loss, `None` if no rule is better.
    pub(super) fn reselect_rule(&self, tree: &mut RankTree, node: u32) -> Option<f64> {
        if !self.is_free(tree, node) {
            return None;
        }
        let node_rows = self.node_rows(tree, node);
        let criterion =
            SplitCriterion { loss: &self.config.loss, min_leaf: self.config.limits.min_leaf };
        if self.table.constraints().has_monotone() {
            return self.reselect_in_order(tree, node, &node_rows, criterion);
        }
        let current = self.loss_of_rule(&tree.nodes()[node as usize].rule, &node_rows);
        let features = self.features_at(tree, node);
        let found = node_rows.best_rule(criterion, &features, self.context)?;
        // A scan adds and removes rows; where their weights differ by many orders of magnitude,
        // its loss may be lower by rounding alone. Two such rules would replace each other for ever.
        if !self.is_better(found.loss, current)
            || !self.is_better(self.loss_of_rule(&found.rule, &node_rows), current)
        {
            return None;
        }
        tree.set_rule(node, found.rule);
        Some(current - found.loss)
    }

    /// The same where leaves are in an order: a scan knows the loss in any order, so that the best
    /// rules of some features are tried.
    fn reselect_in_order(
        &self,
        tree: &mut RankTree,
        node: u32,
        node_rows: &NodeRows<'_>,
        criterion: SplitCriterion<'_>,
    ) -> Option<f64> {
        let features = self.features_at(tree, node);
        let mut found = node_rows.rules_of_features(criterion, &features, self.context);
        found.sort_by(|a, b| a.loss.total_cmp(&b.loss));
        let before = self.loss(tree);
        for candidate in found.into_iter().take(MAX_ORDERED_RULES) {
            let mut changed = tree.clone();
            changed.set_rule(node, candidate.rule);
            let loss = self.loss(&changed);
            if self.is_better(loss, before) {
                *tree = changed;
                return Some(before - loss);
            }
        }
        None
    }

    /// The rows of a node with their leaf on either side.
    fn node_rows(&self, tree: &RankTree, node: u32) -> NodeRows<'_> {
        let rows = self.rows_at(tree, node);
        let inner = &tree.nodes()[node as usize];
        let side = |at: NodeRef, offset: u32| -> (Vec<u16>, u32) {
            let leaves = tree.leaves_below(at);
            let of = tree.assign_leaves(self.table, at, &rows);
            (
                of.into_iter().map(|leaf| (leaf - leaves.start + offset) as u16).collect(),
                leaves.len() as u32,
            )
        };
        let (right, rights) = side(inner.right, 0);
        let (left, lefts) = side(inner.left, rights);
        NodeRows {
            table: self.table,
            rows,
            right,
            left,
            right_leaves: rights as u16,
            leaves: (rights + lefts) as u16,
        }
    }

    /// The loss of the leaves below a node with a rule.
    fn loss_of_rule(&self, rule: &RankRule, node: &NodeRows<'_>) -> f64 {
        let codes = self.table.columns()[rule.feature as usize].codes();
        let mut of_leaf = vec![Vec::new(); usize::from(node.leaves)];
        for (at, &row) in node.rows.iter().enumerate() {
            let leaf =
                if rule.goes_right(codes[row as usize]) { node.right[at] } else { node.left[at] };
            of_leaf[usize::from(leaf)].push(row);
        }
        let loss = |rows: &Vec<u32>| fit_rows(self.table, rows, &self.config.loss).loss;
        of_leaf.iter().map(loss).sum()
    }

    /// The rows of a node.
    pub(super) fn rows_at(&self, tree: &RankTree, node: u32) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.table.rows() as u32).collect();
        for (rule, to_right) in path_to(tree, node) {
            let codes = self.table.columns()[rule.feature as usize].codes();
            rows.retain(|&row| rule.goes_right(codes[row as usize]) == to_right);
        }
        rows
    }

    /// Removes leaves with fewer than `min_leaf` rows, except those of given splits: their sibling
    /// replaces the parent.
    pub(super) fn drop_small_leaves(&self, mut tree: RankTree) -> RankTree {
        let least = self.config.limits.min_leaf.max(1);
        loop {
            let (_, leaves) = tree.partition_rows(self.table);
            let small = |at: NodeRef| matches!(at, NodeRef::Leaf(leaf) if leaves[leaf as usize].len() < least);
            let free = self.free_nodes(&tree);
            let faulty = free.into_iter().find(|&node| {
                let inner = &tree.nodes()[node as usize];
                small(inner.left) || small(inner.right)
            });
            let Some(node) = faulty else { return tree };
            let inner = &tree.nodes()[node as usize];
            let kept = if small(inner.left) { inner.right } else { inner.left };
            tree = tree.replace(NodeRef::Node(node), &tree.subtree(kept));
        }
    }

    fn has_small_leaf(&self, tree: &RankTree) -> bool {
        let (_, leaves) = tree.partition_rows(self.table);
        let least = self.config.limits.min_leaf.max(1);
        let small =
            |at: NodeRef| matches!(at, NodeRef::Leaf(leaf) if leaves[leaf as usize].len() < least);
        let inner = |node: u32| &tree.nodes()[node as usize];
        self.free_nodes(tree)
            .into_iter()
            .any(|node| small(inner(node).left) || small(inner(node).right))
    }

    /// Merges the pair of leaves that helps least, and splits the leaf with the largest gain.
    fn move_leaf(&self, current: &mut ScoredTree) -> bool {
        let limits = self.config.limits;
        if limits.leaves == 0 || current.tree.leaves() < 3 {
            return false;
        }
        let Some(weakest) = self.weakest_leaf_pair(&current.tree) else { return false };
        let pruned = current.tree.replace(weakest, &Subtree::Leaf);
        let grown = self.grower(&self.features, &self.config.loss).grow_leaves(&pruned);
        self.accept(current, grown)
    }

    /// The parent of the pair of leaves that lowers the loss least.
    pub(super) fn weakest_leaf_pair(&self, tree: &RankTree) -> Option<NodeRef> {
        let (nodes, leaves) = fit_nodes(tree, self.table, &self.config.loss);
        let saved = |(node, inner): (usize, &RankNode)| match (inner.left, inner.right) {
            (NodeRef::Leaf(left), NodeRef::Leaf(right)) => Some((
                node,
                nodes[node].loss - leaves[left as usize].loss - leaves[right as usize].loss,
            )),
            _ => None,
        };
        let free = tree.free_nodes(self.table);
        let pairs = tree.nodes().iter().enumerate().filter(|(node, _)| free[*node]);
        let pairs = pairs.filter_map(saved);
        let weakest = pairs.reduce(|best, other| if other.1 < best.1 { other } else { best });
        weakest.map(|(node, _)| NodeRef::Node(node as u32))
    }

    /// Replaces a subtree of at most two levels by the best one, where that lowers the loss.
    fn replace_bottom_subtrees(&self, current: &mut ScoredTree) -> bool {
        let exact = depth_two::can_solve(self.table, &self.config.loss);
        let limits = self.config.limits;
        let depths = current.tree.depths();
        for node in self.free_nodes(&current.tree) {
            let held = current.tree.leaves_below(NodeRef::Node(node)).len();
            let subtree = current.tree.subtree(NodeRef::Node(node));
            let room =
                if limits.leaves == 0 { 4 } else { limits.leaves - current.tree.leaves() + held };
            let deep_enough = limits.depth == 0 || depths[node as usize] + 2 <= limits.depth;
            if subtree.depth() > 2 || held < 2 || room < 3 || !deep_enough || self.is_interrupted()
            {
                continue;
            }
            if let Some(best) = self.best_bottom_subtree(&current.tree, node, room.min(4), exact) {
                let changed = current.tree.replace(NodeRef::Node(node), &best);
                if self.accept(current, changed) {
                    return true;
                }
            }
        }
        false
    }

    /// The best subtree of two levels below a node. Descents come to the same nodes again and again,
    /// so results are cached: they depend on the rows alone, which follow from the rules above.
    fn best_bottom_subtree(
        &self,
        tree: &RankTree,
        node: u32,
        leaves: usize,
        exact: bool,
    ) -> Option<Subtree> {
        let key: SubtreeKey = (path_to(tree, node), leaves);
        if let Some(known) = self.subtree_cache().get(&key) {
            return known.clone();
        }
        let rows = self.rows_at(tree, node);
        let small = exact && (node == 0 || rows.len() <= MAX_EXACT_ROWS);
        let best_of = |features: &[u32]| match small {
            true => {
                let (loss, min_leaf) = (&self.config.loss, self.config.limits.min_leaf);
                let criterion = SplitCriterion { loss, min_leaf };
                depth_two::best(self.table, features, &rows, criterion, leaves, self.context)
            }
            false => self.best_of_two_levels(features, &rows, leaves),
        };
        let best = self.best_allowed(&features_above(tree, node), &rows, best_of);
        let mut cache = self.subtree_cache();
        if cache.len() >= MAX_CACHED_SUBTREES {
            cache.clear();
        }
        cache.insert(key, best.clone());
        best
    }

    /// The cache. A thread that panicked while it held the lock cannot have left half of an entry.
    fn subtree_cache(&self) -> MutexGuard<'_, HashMap<SubtreeKey, Option<Subtree>>> {
        self.subtree_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&self, current: &mut ScoredTree, tree: RankTree) -> bool {
        let loss = self.loss(&tree);
        let accepted = self.is_better(loss, current.loss);
        if accepted {
            *current = ScoredTree { tree, loss };
        }
        accepted
    }
}

/// The rules above a node, each with the side that leads to it, from the root down.
fn path_to(tree: &RankTree, node: u32) -> Vec<(RankRule, bool)> {
    let parents = tree.parents();
    let mut path = Vec::new();
    let mut at = node;
    while at != 0 {
        let above = &tree.nodes()[parents[at as usize] as usize];
        path.push((above.rule.clone(), above.right == NodeRef::Node(at)));
        at = parents[at as usize];
    }
    path.reverse();
    path
}

/// Marks the nodes above and below a changed node.
fn mark_relatives(dirty: &mut [bool], parents: &[u32], changed: u32) {
    let mut at = changed;
    while at != 0 {
        at = parents[at as usize];
        dirty[at as usize] = true;
    }
    // Children come after their parents.
    let mut below = vec![false; dirty.len()];
    below[changed as usize] = true;
    for node in changed as usize + 1..dirty.len() {
        below[node] = below[parents[node] as usize];
        dirty[node] |= below[node];
    }
}
