//! Perturbations: random changes of a tree before it descends again.

use swarmwood_search::rng::Stream;

use super::allowed_rules::features_above;
use super::{ScoredTree, SearchContext};
use crate::rank_tree::{NodeRef, RankTree, Subtree};
use crate::rule::{Cut, RankRule, RankSet};

impl SearchContext<'_> {
    /// A changed copy of a tree of the population: a random rule, a subtree regrown on half of the
    /// features, or a subtree of another tree in place of one of its own.
    pub(super) fn perturb(
        &self,
        population: &[ScoredTree],
        own: usize,
        stream: &mut Stream,
    ) -> ScoredTree {
        let tree = &population[own].tree;
        let free = self.free_nodes(tree);
        if free.is_empty() {
            return population[own].clone();
        }
        let node = free[stream.below(free.len() as u64) as usize];
        let perturbed = match stream.below(if population.len() > 1 { 5 } else { 4 }) {
            0 | 1 => self.with_random_rule(tree, node, stream),
            2 | 3 => self.with_regrown_subtree(tree, node, stream),
            _ => self.with_foreign_subtree(population, own, node, stream),
        };
        let tree = self.prune_to_limits(self.drop_small_leaves(perturbed));
        ScoredTree { loss: self.loss(&tree), tree }
    }

    /// The tree with a rule at the value of a random row of the node.
    fn with_random_rule(&self, tree: &RankTree, node: u32, stream: &mut Stream) -> RankTree {
        let rows = self.rows_at(tree, node);
        let features = self.features_at(tree, node);
        if features.is_empty() {
            return tree.clone();
        }
        let feature = features[stream.below(features.len() as u64) as usize];
        let column = &self.table.columns()[feature as usize];
        let mut perturbed = tree.clone();
        if rows.is_empty() || column.max_code() == 0 {
            return perturbed;
        }
        let code = column.codes()[rows[stream.below(rows.len() as u64) as usize] as usize].max(1);
        let cut = if column.is_category() {
            let picked = |_: &u16| stream.below(2) == 1;
            Cut::In(RankSet::from_iter((1..=column.max_code()).filter(picked)))
        } else {
            Cut::Above(code)
        };
        perturbed.set_rule(node, RankRule { feature, cut, missing_right: false });
        perturbed
    }

    /// The tree with the subtree of a node grown again on a random half of the features.
    fn with_regrown_subtree(&self, tree: &RankTree, node: u32, stream: &mut Stream) -> RankTree {
        let rows = self.rows_at(tree, node);
        let half = self.features.len().div_ceil(2);
        let mut features: Vec<u32> = stream
            .sample_without(self.features.len(), half)
            .into_iter()
            .map(|at| self.features[at])
            .collect();
        features.sort_unstable();
        let leaves = tree.leaves_below(NodeRef::Node(node)).len();
        let grower = self.grower(&features, self.greedy_loss());
        let subtree = grower.grow_subtree(rows, features_above(tree, node), leaves);
        tree.replace(NodeRef::Node(node), &subtree)
    }

    /// The tree with a subtree of another tree of the population at the node.
    fn with_foreign_subtree(
        &self,
        population: &[ScoredTree],
        own: usize,
        node: u32,
        stream: &mut Stream,
    ) -> RankTree {
        let tree = &population[own].tree;
        let other =
            (own + 1 + stream.below(population.len() as u64 - 1) as usize) % population.len();
        let donor = &population[other].tree;
        if donor.nodes().is_empty() {
            return tree.clone();
        }
        let subtree = donor.subtree(NodeRef::Node(stream.below(donor.nodes().len() as u64) as u32));
        let changed = tree.replace(NodeRef::Node(node), &subtree);
        if self.allows(&changed) { changed } else { tree.clone() }
    }

    /// The tree pruned to its limits: first rules that lie too deep, then the pairs of leaves that
    /// help least.
    pub(super) fn prune_to_limits(&self, mut tree: RankTree) -> RankTree {
        let limits = self.config.limits;
        if limits.depth > 0 {
            let depths = tree.depths();
            let too_deep = |at: NodeRef| matches!(at, NodeRef::Node(node) if depths[node as usize] >= limits.depth);
            tree = RankTree::new(
                &tree.subtree_with(tree.root(), &mut |at| too_deep(at).then_some(Subtree::Leaf)),
            );
        }
        while limits.leaves > 0 && tree.leaves() > limits.leaves {
            let Some(weakest) = self.weakest_leaf_pair(&tree) else { break };
            tree = tree.replace(weakest, &Subtree::Leaf);
        }
        tree
    }
}
