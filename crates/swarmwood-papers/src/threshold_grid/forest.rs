//! The variables of a grid by the importance that a random forest gives them.
//!
//! "If we can get a good set of variables … combining random forest and the adaptive PSO may be a
//! good alternative" (Jun, Cho, Lee 2012, section 5, which does not say how). Here a forest of CARTs
//! is grown on bootstrap samples of the rows, each tree on a random subset of the features (Breiman
//! 2001; subsets per tree: Ho 1998). The importance of a feature is the Gini impurity that its splits
//! remove. The grid has as many thresholds as the preliminary tree; features share them in
//! proportion to their importance, and start at quantiles of the forest's thresholds.

use super::axes::{self, GridAxis};
use swarmwood_learn::cart::{CartGrower, RuleSelection, TreeLimits};
use swarmwood_learn::context::Context;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rank_tree::{NodeRef, fit_nodes};
use swarmwood_learn::rule::Cut;
use swarmwood_search::rng::Stream;

/// Number of trees.
const TREES: u64 = 100;

/// A threshold of the forest.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ForestSplit {
    feature: u32,
    cut: u16,
    missing_right: bool,
    /// The impurity that it removes.
    gain: f64,
}

/// The variables of a grid of `thresholds` thresholds, and where these start.
pub(super) fn axes_of_forest(
    table: &RankTable,
    (features, thresholds): (&[u32], usize),
    limits: TreeLimits,
    (seed, round): (u64, u64),
    context: Context<'_>,
) -> (Vec<GridAxis>, Vec<f64>) {
    let splits = grow_forest(table, features, limits, (seed, round), context);
    let mut importances = vec![0.0; table.columns().len()];
    splits.iter().for_each(|split| importances[split.feature as usize] += split.gain);
    let shares = apportion(&importances, thresholds, |feature| {
        usize::from(table.columns()[feature].max_code()).saturating_sub(1)
    });

    let (mut axes, mut start) = (Vec::new(), Vec::new());
    for (feature, &count) in (0..).zip(&shares).filter(|(_, count)| **count > 0) {
        let column = &table.columns()[feature as usize];
        let range = axes::range(column);
        let mut own: Vec<ForestSplit> =
            splits.iter().copied().filter(|split| split.feature == feature).collect();
        own.sort_by_key(|split| split.cut);
        let right = own.iter().filter(|split| split.missing_right).map(|split| split.gain);
        let missing_right = 2.0 * right.sum::<f64>() > importances[feature as usize];
        axes.push(GridAxis { feature, thresholds: count, range, missing_right });
        for cut in quantiles(&own, count) {
            start.push(column.threshold_between(cut, cut + 1).0.clamp(range[0], range[1]));
        }
    }
    (axes, start)
}

/// The splits of all trees. An interruption ends it after the tree that is being grown.
fn grow_forest(
    table: &RankTable,
    features: &[u32],
    limits: TreeLimits,
    (seed, round): (u64, u64),
    context: Context<'_>,
) -> Vec<ForestSplit> {
    let mut splits = Vec::new();
    let per_tree = (features.len() as f64).sqrt().ceil() as usize;
    for tree in 0..TREES {
        if tree > 0 && context.budget.is_interrupted() {
            break;
        }
        let mut stream = Stream::new(seed, round, tree);
        let rows: Vec<u32> =
            (0..table.rows()).map(|_| stream.below(table.rows() as u64) as u32).collect();
        let mut chosen: Vec<u32> = stream
            .sample_without(features.len(), per_tree)
            .iter()
            .map(|&at| features[at])
            .collect();
        chosen.sort_unstable();

        let sample = table.subset(&rows);
        let grower = CartGrower {
            table: &sample,
            loss: &LeafLoss::Gini,
            selection: RuleSelection::LeastLoss,
            limits,
            features: &chosen,
            context,
        };
        let grown = grower.grow();
        let (nodes, leaves) = fit_nodes(&grown, &sample, &LeafLoss::Gini);
        let loss = |at: NodeRef| match at {
            NodeRef::Node(node) => nodes[node as usize].loss,
            NodeRef::Leaf(leaf) => leaves[leaf as usize].loss,
        };
        for (node, fit) in grown.nodes().iter().zip(&nodes) {
            if let Cut::Above(cut) = node.rule.cut {
                let gain = (fit.loss - loss(node.left) - loss(node.right)).max(0.0);
                let (feature, missing_right) = (node.rule.feature, node.rule.missing_right);
                splits.push(ForestSplit { feature, cut, missing_right, gain });
            }
        }
    }
    splits
}

/// Shares out a number in proportion to weights, by the largest remainders; the first of equals. A
/// share is at most `most` of its index.
fn apportion(weights: &[f64], total: usize, most: impl Fn(usize) -> usize) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut shares: Vec<usize> = exact.iter().map(|exact| *exact as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let left = total.saturating_sub(shares.iter().sum());
    order.iter().take(left).for_each(|&at| shares[at] += 1);
    shares.iter_mut().enumerate().for_each(|(at, share)| *share = (*share).min(most(at)));
    shares
}

/// The cuts in the middle of `count` parts of equal gain.
fn quantiles(splits: &[ForestSplit], count: usize) -> Vec<u16> {
    let total: f64 = splits.iter().map(|split| split.gain).sum();
    let quantile = |number: usize| {
        let mut rest = (number as f64 + 0.5) / count as f64 * total;
        let reached = splits.iter().find(|split| {
            rest -= split.gain;
            rest <= 0.0
        });
        reached.or(splits.last()).map_or(1, |split| split.cut)
    };
    (0..count).map(quantile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_shared_out_by_importance() {
        let any = |_| 9;
        assert_eq!(apportion(&[6.0, 0.0, 3.0, 1.0], 10, any), [6, 0, 3, 1]);
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 5, any), [2, 2, 1]);
        assert_eq!(apportion(&[7.0, 2.0, 1.0], 4, any), [3, 1, 0]);
        assert_eq!(apportion(&[8.0, 2.0], 5, |at| [1, 9][at]), [1, 1]);
        assert_eq!(apportion(&[0.0, 0.0], 5, any), [0, 0]);
    }

    #[test]
    fn starts_are_quantiles_by_gain() {
        let split = |cut, gain| ForestSplit { feature: 0, cut, missing_right: false, gain };
        let splits = [split(2, 1.0), split(3, 1.0), split(5, 2.0), split(8, 4.0)];
        assert_eq!(quantiles(&splits, 1), [5]);
        assert_eq!(quantiles(&splits, 2), [3, 8]);
        assert_eq!(quantiles(&splits, 4), [2, 5, 8, 8]);
    }
}
