//! What given splits and interaction constraints leave to the search.

use std::borrow::Cow;

use super::SearchContext;
use crate::cart::features_below;
use crate::rank_tree::{NodeRef, RankTree, Subtree, fit_rows};

/// Maximum number of groups of features that a subtree of two levels is searched in.
const MAX_GROUPS: usize = 16;

impl SearchContext<'_> {
    /// Whether some trees are not allowed.
    pub(super) fn restricts_rules(&self) -> bool {
        let constraints = self.table.constraints();
        !constraints.given_splits().is_empty() || !constraints.interactions().is_empty()
    }

    /// The nodes whose splits are not given.
    pub(super) fn free_nodes(&self, tree: &RankTree) -> Vec<u32> {
        let free = tree.free_nodes(self.table);
        (0..free.len() as u32).filter(|&node| free[node as usize]).collect()
    }

    /// Whether the split of a node is not given.
    pub(super) fn is_free(&self, tree: &RankTree, node: u32) -> bool {
        self.table.constraints().given_splits().is_empty()
            || tree.free_nodes(self.table)[node as usize]
    }

    /// Whether all paths of a tree hold features that may interact.
    pub(super) fn allows(&self, tree: &RankTree) -> bool {
        let constraints = self.table.constraints();
        constraints.interactions().is_empty()
            || tree.leaf_paths().iter().all(|path| constraints.allows_together(path))
    }

    /// The features that the rule of a node may use while the rest of the tree stays.
    pub(super) fn features_at(&self, tree: &RankTree, node: u32) -> Cow<'_, [u32]> {
        if self.table.constraints().interactions().is_empty() {
            return Cow::Borrowed(&self.features);
        }
        let above = features_above(tree, node);
        let mut features = self.features.clone();
        let leaves = tree.leaves_below(NodeRef::Node(node));
        let paths = tree.leaf_paths();
        for path in &paths[leaves.start as usize..leaves.end as usize] {
            let others = [&path[..above.len()], &path[above.len() + 1..]].concat();
            features = features_below(self.table, &features, &others).into_owned();
        }
        Cow::Owned(features)
    }

    /// The best of the subtrees that `search` finds among features that may interact with each other
    /// and with those above.
    pub(super) fn best_allowed(
        &self,
        above: &[usize],
        rows: &[u32],
        search: impl Fn(&[u32]) -> Option<Subtree>,
    ) -> Option<Subtree> {
        let groups = self.table.constraints().interactions();
        if groups.is_empty() {
            return search(&self.features);
        }
        let holds =
            |group: &&Vec<usize>| above.iter().all(|feature| group.binary_search(feature).is_ok());
        let found = groups.iter().filter(holds).take(MAX_GROUPS).filter_map(|group| {
            let features: Vec<u32> = group.iter().map(|&feature| feature as u32).collect();
            let subtree = search(&features)?;
            Some((self.loss_on(&subtree, rows), subtree))
        });
        let best = found.reduce(|best, other| if other.0 < best.0 { other } else { best });
        best.map(|(_, subtree)| subtree)
    }

    /// The loss of the leaves of a subtree on some rows.
    fn loss_on(&self, subtree: &Subtree, rows: &[u32]) -> f64 {
        let tree = RankTree::new(subtree);
        let mut of_leaf = vec![Vec::new(); tree.leaves()];
        let leaves = tree.assign_leaves(self.table, tree.root(), rows);
        rows.iter().zip(leaves).for_each(|(&row, leaf)| of_leaf[leaf as usize].push(row));
        of_leaf.iter().map(|rows| fit_rows(self.table, rows, &self.config.loss).loss).sum()
    }
}

/// The features of the rules above a node, from the root down.
pub(super) fn features_above(tree: &RankTree, node: u32) -> Vec<usize> {
    let parents = tree.parents();
    let mut above = Vec::new();
    let mut at = node;
    while at != 0 {
        at = parents[at as usize];
        above.push(tree.nodes()[at as usize].rule.feature as usize);
    }
    above.reverse();
    above
}
