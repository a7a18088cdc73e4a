//! Changes of a sum of trees that the search tries: splits are removed and added again elsewhere,
//! or given another rule.

use swarmwood_search::rng::Stream;

use crate::rank_tree::{NodeRef, RankTree, Subtree};
use crate::rule::{Cut, RankRule};

use super::leaf_fit::{SumFit, bottom_nodes, row_loss};
use super::rows::SumRows;
use super::search::SumSearch;
use super::split_scan::{JointGain, SplitScan, SumSplit};

/// Candidates whose joint gain is computed.
const JOINT_CANDIDATES: usize = 10;

/// Rules that are tried in the place of another.
const RULE_CANDIDATES: usize = 3;

/// Standard deviation of the logarithm of a noisy gain.
const GAIN_NOISE: f64 = 0.3;

/// Share of the features that a noisy scan reads.
const FEATURE_SHARE: f64 = 0.7;

/// Kinds of moves with their weights.
const WEIGHTS: [(SumMove, f64); 6] = [
    (SumMove::Bottom, 3.0),
    (SumMove::Splice, 3.0),
    (SumMove::Rule, 0.5),
    (SumMove::Subtree, 0.3),
    (SumMove::Tree, 0.2),
    (SumMove::Several, 0.4),
];

/// A kind of move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SumMove {
    /// A split above two leaves is removed.
    Bottom,
    /// A split is replaced by one of its children.
    Splice,
    /// A split gets another rule.
    Rule,
    /// A split is removed with all below it.
    Subtree,
    /// A whole tree is removed.
    Tree,
    /// Several splits above two leaves are removed.
    Several,
}

impl SumSearch<'_> {
    /// Adds splits until there are as many as allowed, or none helps.
    pub(super) fn grow(&self, fit: &mut SumFit, noise: Option<&mut Stream>) {
        let mut noise = noise;
        while fit.splits() < self.config.splits && !self.context.budget.is_interrupted() {
            let features = match &mut noise {
                None => self.features.clone(),
                Some(stream) => {
                    let count = (self.features.len() as f64 * FEATURE_SHARE).ceil() as usize;
                    let mut chosen = stream.sample_without(self.features.len(), count);
                    chosen.sort_unstable();
                    chosen.into_iter().map(|at| self.features[at]).collect()
                }
            };
            let Some(best) = self.best_split(fit, &features, noise.as_deref_mut()) else { break };
            let tree = match fit.trees.get(best.tree) {
                None => RankTree::default(),
                Some(tree) => tree.clone(),
            };
            let split = Subtree::split(best.rule, Subtree::Leaf, Subtree::Leaf);
            let tree = tree.replace(NodeRef::Leaf(u32::from(best.leaf)), &split);
            fit.set_tree(self.rows, best.tree, tree);
            match fit.splits() < self.config.splits {
                true => fit.refit_once(self.rows, self.config.ridge),
                false => fit.refit(self.rows, self.config.ridge),
            }
        }
    }

    /// The split with the greatest joint gain, if any has one.
    fn best_split(
        &self,
        fit: &SumFit,
        features: &[u32],
        noise: Option<&mut Stream>,
    ) -> Option<SumSplit> {
        let derivatives = fit.derivatives(self.rows);
        let scan = SplitScan {
            rows: self.rows,
            fit,
            derivatives: &derivatives,
            ridge: self.config.ridge,
            min_leaf: self.config.min_leaf,
        };
        let mut candidates = scan.candidates(features);
        if let Some(stream) = noise {
            let noisy = |one: &mut SumSplit| one.gain *= (GAIN_NOISE * stream.normal()).exp();
            candidates.iter_mut().for_each(noisy);
        }
        candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        candidates.truncate(JOINT_CANDIDATES);

        let joint = JointGain::new(&scan);
        let mut best: Option<SumSplit> = None;
        for candidate in candidates {
            let gain = joint.of(&candidate);
            if gain > 1e-9 * fit.loss && best.as_ref().is_none_or(|best| gain > best.gain) {
                best = Some(SumSplit { gain, ..candidate });
            }
        }
        best
    }

    /// One move: something is changed, and splits are added until the sum is full again.
    pub(super) fn propose(&self, from: &SumFit, stream: &mut Stream) -> SumFit {
        let mut fit = from.clone();
        match self.draw_move(stream) {
            SumMove::Rule => {
                let (tree, node) = draw_node(&fit, stream);
                fit = self.with_best_rule(&fit, (tree, node), RULE_CANDIDATES).unwrap_or(fit);
            }
            SumMove::Bottom => self.remove_bottom(&mut fit, stream),
            SumMove::Several => {
                let count = 2 + stream.below(3) as usize;
                for _ in 0..count.min(fit.splits()) {
                    self.remove_bottom(&mut fit, stream);
                }
            }
            SumMove::Splice => {
                let (tree, node) = draw_node(&fit, stream);
                self.splice(&mut fit, tree, node, stream);
            }
            SumMove::Subtree => {
                let (tree, node) = draw_node(&fit, stream);
                let pruned = fit.trees[tree].replace(NodeRef::Node(node), &Subtree::Leaf);
                fit.set_tree(self.rows, tree, pruned);
            }
            SumMove::Tree => {
                let tree = stream.below(fit.trees.len() as u64) as usize;
                fit.set_tree(self.rows, tree, RankTree::default());
            }
        }
        match fit.splits() < self.config.splits {
            true => fit.refit_once(self.rows, self.config.ridge),
            false => fit.refit(self.rows, self.config.ridge),
        }
        let is_noisy = stream.unit() < 0.5;
        self.grow(&mut fit, is_noisy.then_some(stream));
        fit
    }

    fn draw_move(&self, stream: &mut Stream) -> SumMove {
        let total: f64 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
        let mut left = stream.unit() * total;
        for (kind, weight) in WEIGHTS {
            left -= weight;
            if left < 0.0 {
                return kind;
            }
        }
        SumMove::Bottom
    }

    fn remove_bottom(&self, fit: &mut SumFit, stream: &mut Stream) {
        let of_tree = |(at, tree): (usize, &RankTree)| {
            bottom_nodes(tree).into_iter().map(move |node| (at, node)).collect::<Vec<_>>()
        };
        let nodes: Vec<(usize, u32)> = fit.trees.iter().enumerate().flat_map(of_tree).collect();
        if nodes.is_empty() {
            return;
        }
        let (tree, node) = nodes[stream.below(nodes.len() as u64) as usize];
        let pruned = fit.trees[tree].replace(NodeRef::Node(node), &Subtree::Leaf);
        fit.set_tree(self.rows, tree, pruned);
    }

    /// Replaces a split by one of its children, unless that leaves too few rows in a leaf.
    fn splice(&self, fit: &mut SumFit, tree: usize, node: u32, stream: &mut Stream) {
        let own = &fit.trees[tree];
        let split = &own.nodes()[node as usize];
        let child = if stream.below(2) == 0 { split.left } else { split.right };
        let spliced = own.replace(NodeRef::Node(node), &own.subtree(child));
        let is_empty = spliced.nodes().is_empty();
        fit.set_tree(self.rows, tree, spliced);
        debug_assert!(is_empty || fit.has_large_leaves(tree, self.config.min_leaf));
    }

    /// Re-selects the rule of every split once; changes that do not help are undone.
    pub(super) fn polish(&self, fit: &SumFit) -> SumFit {
        let mut best = fit.clone();
        let mut tree = 0;
        while tree < best.trees.len() {
            for node in 0..best.trees[tree].nodes().len() as u32 {
                if self.context.budget.is_interrupted() {
                    return best;
                }
                if let Some(changed) = self.with_best_rule(&best, (tree, node), 1)
                    && changed.loss < best.loss
                {
                    best = changed;
                }
            }
            tree += 1;
        }
        best
    }

    /// The best other rule of a node: rules are compared with all values as they are, and the best
    /// `count` with values fitted again.
    fn with_best_rule(
        &self,
        fit: &SumFit,
        (tree, node): (usize, u32),
        count: usize,
    ) -> Option<SumFit> {
        let mut rules = self.rules_of_node(fit, tree, node);
        rules.sort_by(|a, b| a.0.total_cmp(&b.0));
        let present = &fit.trees[tree].nodes()[node as usize].rule;
        let mut best: Option<SumFit> = None;
        for (_, rule) in rules.into_iter().filter(|(_, rule)| rule != present).take(count) {
            let mut changed = fit.clone();
            let mut with_rule = fit.trees[tree].clone();
            with_rule.set_rule(node, rule);
            changed.set_tree(self.rows, tree, with_rule);
            if !changed.has_large_leaves(tree, self.config.min_leaf) {
                continue;
            }
            changed.refit(self.rows, self.config.ridge);
            if best.as_ref().is_none_or(|best| changed.loss < best.loss) {
                best = Some(changed);
            }
        }
        best
    }

    /// The best rule of each feature for a node with what is below it, and the loss of the rows that
    /// it sends right above that on the left.
    fn rules_of_node(&self, fit: &SumFit, tree: usize, node: u32) -> Vec<(f64, RankRule)> {
        let own = &fit.trees[tree];
        let below = own.leaves_below(NodeRef::Node(node));
        let leaf_of = &fit.leaf_of[tree];
        let rows: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|&row| below.contains(&u32::from(leaf_of[row as usize])))
            .collect();
        let split = &own.nodes()[node as usize];
        let sides =
            [split.left, split.right].map(|child| own.assign_leaves(self.rows.table, child, &rows));
        let costs: Vec<f64> = (0..rows.len())
            .map(|at| {
                let [left, right] = sides
                    .each_ref()
                    .map(|leaves| self.loss_in_leaf(fit, tree, rows[at], leaves[at]));
                right - left
            })
            .collect();

        let best =
            |&feature: &u32| best_rule(self.rows, feature, &rows, &costs, self.config.min_leaf);
        self.features.iter().filter_map(best).collect()
    }

    /// The loss of a row if a tree gave it the value of another leaf.
    fn loss_in_leaf(&self, fit: &SumFit, tree: usize, row: u32, leaf: u32) -> f64 {
        let (row, outputs) = (row as usize, self.rows.outputs());
        let now = usize::from(fit.leaf_of[tree][row]) * outputs;
        let then = leaf as usize * outputs;
        let of_output = |output: usize| {
            let values = &fit.values[tree];
            let score = fit.scores[output][row] + values[then + output] - values[now + output];
            row_loss(score, self.rows.targets[output][row], self.rows.is_logistic)
        };
        self.rows.weight[row] * (0..outputs).map(of_output).sum::<f64>()
    }
}

/// The rule of a feature that sends the rows right whose costs sum to the least.
fn best_rule(
    rows: &SumRows<'_>,
    feature: u32,
    of_node: &[u32],
    costs: &[f64],
    min_leaf: usize,
) -> Option<(f64, RankRule)> {
    let column = &rows.columns[feature as usize];
    let mut sums = vec![[0.0; 2]; column.max_code() + 1];
    for (&row, cost) in of_node.iter().zip(costs) {
        let entry = &mut sums[usize::from(column.codes[row as usize])];
        *entry = [entry[0] + cost, entry[1] + 1.0];
    }
    let mut order: Vec<usize> = (1..sums.len()).filter(|&code| sums[code][1] > 0.0).collect();
    if column.is_category {
        let mean = |code: usize| sums[code][0] / sums[code][1];
        order.sort_by(|&a, &b| mean(b).total_cmp(&mean(a)));
    }
    let total = sums.iter().fold([0.0; 2], |all, sum| [all[0] + sum[0], all[1] + sum[1]]);
    let (missing, min_leaf) = (sums[0], min_leaf as f64);
    let mut best: Option<(f64, usize, bool)> = None;
    let mut below = [0.0; 2];
    let last = order.len() - usize::from(!column.parts_missing && !order.is_empty());
    for (at, &code) in order.iter().enumerate().take(last) {
        below = [below[0] + sums[code][0], below[1] + sums[code][1]];
        for missing_right in [true, false] {
            let left = match missing_right {
                true if missing[1] == 0.0 => continue,
                true => below,
                false => [below[0] + missing[0], below[1] + missing[1]],
            };
            let cost = total[0] - left[0];
            let fits = left[1] >= min_leaf && total[1] - left[1] >= min_leaf;
            if fits && best.is_none_or(|best| cost < best.0) {
                best = Some((cost, at, missing_right));
            }
        }
    }
    let (cost, at, missing_right) = best?;
    let cut = match column.is_category {
        true => Cut::In(order[at + 1..].iter().map(|&code| code as u16).collect()),
        false => Cut::Above(column.last_rank[order[at] - 1]),
    };
    Some((cost, RankRule { feature, cut, missing_right }))
}

/// A random split of a sum that has one.
fn draw_node(fit: &SumFit, stream: &mut Stream) -> (usize, u32) {
    let mut at = stream.below(fit.splits() as u64) as usize;
    for (tree, own) in fit.trees.iter().enumerate() {
        if at < own.nodes().len() {
            return (tree, at as u32);
        }
        at -= own.nodes().len();
    }
    unreachable!("a split was drawn by its number")
}
