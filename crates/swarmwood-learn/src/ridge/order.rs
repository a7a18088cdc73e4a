//! The best leaf values of a tree whose leaves must be in an order.
//!
//! A tree is monotone in a feature exactly if no leaf has a greater value than a leaf that rows pass
//! to when the feature grows, so that its leaves are partially ordered. Under a flat penalty the
//! best values in that order are an isotonic regression. Under the hierarchical one, the values of
//! inner nodes and those of leaves are solved for in turn, each exactly: the problem is jointly
//! convex, so that this converges to its minimum.

use swarmwood_model::Child;

use super::{LeafQuadratic, RidgeSolution, settled};
use crate::binned_tree::BinnedTree;
use crate::bins::Layout;
use crate::constraints::Constraints;
use crate::isotonic::PartialOrder;
use crate::split::Ridge;

/// Maximum number of turns with the same ties, and of ties, and the share of the largest value that a
/// turn must move some value for another one to follow.
const TURNS: usize = 50;
const PROJECTIONS: usize = 10;
const TURN_TOLERANCE: f64 = 1e-6;

/// The order that constraints ask of the leaves of a tree.
pub(crate) fn leaf_order(
    tree: &BinnedTree,
    layout: &Layout,
    constraints: &Constraints,
) -> PartialOrder {
    if !constraints.has_monotone() || tree.nodes.is_empty() {
        return PartialOrder::default();
    }
    constraints.leaf_order(&tree.to_shape(layout).to_tree())
}

/// The leaf values in an order that minimise the sum of the quadratics and the penalty, given those
/// that do so in any order.
pub(super) fn solve_in_order(
    tree: &BinnedTree,
    quadratics: &[LeafQuadratic],
    (lambda, ridge): (f64, Ridge),
    order: &PartialOrder,
    free: &[f64],
) -> RidgeSolution {
    let weights: Vec<f64> = quadratics.iter().map(|quadratic| quadratic.h + lambda).collect();
    if ridge == Ridge::Flat {
        let values = order.project(free, &weights);
        let penalty = 0.5 * lambda * values.iter().map(|value| value * value).sum::<f64>();
        return RidgeSolution { values, penalty };
    }

    let nodes = InnerNodes::new(tree);
    let mut targets = free.to_vec();
    let mut values = order.project(&targets, &weights);
    for _ in 0..PROJECTIONS {
        // Which leaves are tied changes seldom: with the same ties, a turn takes no projection.
        let ties = Ties::new(&values);
        let mut tied = values.clone();
        for _ in 0..TURNS {
            let inner = nodes.values(&tied);
            let parent = |leaf: usize| nodes.of_leaf[leaf].map_or(0.0, |node| inner[node]);
            let of_leaf = quadratics.iter().enumerate().zip(&mut targets);
            of_leaf.for_each(|((leaf, quadratic), target)| {
                *target = settled(quadratic, lambda, parent(leaf));
            });
            let next = ties.means(&targets, &weights);
            let moved = distance(&next, &tied);
            tied = next;
            if moved <= TURN_TOLERANCE {
                break;
            }
        }

        let next = order.project(&targets, &weights);
        let moved = distance(&next, &values);
        values = next;
        if moved <= TURN_TOLERANCE {
            break;
        }
    }
    let penalty = lambda * nodes.deviation(&values);
    RidgeSolution { values, penalty }
}

/// The largest difference, as a share of the largest value.
fn distance(values: &[f64], others: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let pairs = values.iter().zip(others);
    let moved = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    if moved > 0.0 { moved / largest.max(f64::MIN_POSITIVE) } else { 0.0 }
}

/// Leaves that share a value.
struct Ties {
    /// The first leaf with the value of each leaf.
    first: Vec<usize>,
}

impl Ties {
    fn new(values: &[f64]) -> Ties {
        let mut by_value: Vec<usize> = (0..values.len()).collect();
        by_value.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
        let mut first: Vec<usize> = (0..values.len()).collect();
        for pair in by_value.windows(2) {
            if values[pair[0]] == values[pair[1]] {
                first[pair[1]] = first[pair[0]];
            }
        }
        Ties { first }
    }

    /// The weighted mean of the targets of tied leaves, for each leaf.
    fn means(&self, targets: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![[0.0; 2]; targets.len()];
        for (leaf, &first) in self.first.iter().enumerate() {
            sums[first][0] += weights[leaf];
            sums[first][1] += weights[leaf] * targets[leaf];
        }
        let mean = |(leaf, &first): (usize, &usize)| match sums[first] {
            [weight, sum] if weight > 0.0 => sum / weight,
            _ => targets[leaf],
        };
        self.first.iter().enumerate().map(mean).collect()
    }
}

/// The inner nodes of a tree, parents before children.
struct InnerNodes {
    /// The parent of each inner node; the root has none.
    of_node: Vec<Option<usize>>,
    /// The parent of each leaf; a tree that is one leaf has none.
    of_leaf: Vec<Option<usize>>,
}

impl InnerNodes {
    fn new(tree: &BinnedTree) -> InnerNodes {
        let mut nodes = InnerNodes {
            of_node: vec![None; tree.nodes.len()],
            of_leaf: vec![None; tree.leaves.len()],
        };
        if tree.oblivious {
            // Node `j` of level `l` is at `2^l - 1 + j` and has the children `j` and `j + 2^l`.
            let above = |level: usize, j: usize| (1 << (level - 1)) - 1 + j % (1 << (level - 1));
            let depth = tree.nodes.len();
            nodes.of_node = vec![None];
            for level in 1..depth {
                nodes.of_node.extend((0..1 << level).map(|j| Some(above(level, j))));
            }
            let leaves = nodes.of_leaf.iter_mut().enumerate();
            leaves.for_each(|(j, parent)| *parent = (depth > 0).then(|| above(depth, j)));
            return nodes;
        }
        for (at, node) in tree.nodes.iter().enumerate() {
            for child in [node.left, node.right] {
                match child {
                    Child::Leaf(leaf) => nodes.of_leaf[leaf as usize] = Some(at),
                    Child::Node(node) => nodes.of_node[node as usize] = Some(at),
                }
            }
        }
        nodes
    }

    /// The values of inner nodes whose squared deviations from their parents', and of the leaves'
    /// from theirs, have the least sum.
    fn values(&self, leaves: &[f64]) -> Vec<f64> {
        let mut pulls = vec![LeafQuadratic::default(); self.of_node.len()];
        for (&value, parent) in leaves.iter().zip(&self.of_leaf) {
            if let Some(parent) = *parent {
                pulls[parent].h += 1.0;
                pulls[parent].b += value;
            }
        }
        for at in (0..pulls.len()).rev() {
            let passed = super::passed_on(&pulls[at], 1.0);
            if let Some(parent) = self.of_node[at] {
                pulls[parent] = super::add(pulls[parent], passed);
            }
        }
        let mut values = vec![0.0; pulls.len()];
        for at in 0..pulls.len() {
            let parent = self.of_node[at].map_or(0.0, |parent| values[parent]);
            values[at] = settled(&pulls[at], 1.0, parent);
        }
        values
    }

    /// Half of that sum of squares.
    fn deviation(&self, leaves: &[f64]) -> f64 {
        let inner = self.values(leaves);
        let parent = |of: Option<usize>| of.map_or(0.0, |node| inner[node]);
        let square = |(value, of): (&f64, &Option<usize>)| (value - parent(*of)).powi(2);
        let of_nodes: f64 = inner.iter().zip(&self.of_node).map(square).sum();
        let of_leaves: f64 = leaves.iter().zip(&self.of_leaf).map(square).sum();
        0.5 * (of_nodes + of_leaves)
    }
}
