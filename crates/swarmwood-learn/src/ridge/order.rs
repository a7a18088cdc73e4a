//! The best leaf values of a tree whose leaves must be in an order.
//!
//! A tree is monotone in a feature exactly if no leaf has a greater value than a leaf that rows pass
//! to when the feature grows, so that its leaves are partially ordered. Under a flat penalty the
//! best values in that order are an isotonic regression. Under the hierarchical one, inner nodes
//! are solved for together with leaves that stay tied, and then leaves by isotonic regression, in
//! turn: the problem is jointly convex, so that this converges to its minimum, at once if the ties
//! are those of the minimum.

use swarmwood_model::Child;

use super::{LeafQuadratic, RidgeSolution, settled};
use crate::binned_tree::BinnedTree;
use crate::bins::Layout;
use crate::constraints::Constraints;
use crate::isotonic::PartialOrder;
use crate::split::Ridge;

/// Maximum number of projections, of those after solving with ties, and the share of the largest value that one must move some value for
/// another one to follow.
const PROJECTIONS: usize = 50;
const TIED_ROUNDS: usize = 10;
const TOLERANCE: f64 = 1e-7;

/// Trees with more leaves have too many equations to solve at once.
const MOST_SOLVED_LEAVES: usize = 64;

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
    let mut values = order.project(free, &weights);
    for round in 0..PROJECTIONS {
        // Ties that change back and forth end with turns that never raise the value.
        let is_tied = tree.leaves.len() <= MOST_SOLVED_LEAVES && round < TIED_ROUNDS;
        let inner = match is_tied {
            true => TiedSystem::new(&nodes, quadratics, lambda, &values).solve(),
            false => nodes.values(&values),
        };
        let parent = |leaf: usize| nodes.of_leaf[leaf].map_or(0.0, |node| inner[node]);
        let target =
            |(leaf, quadratic): (usize, &LeafQuadratic)| settled(quadratic, lambda, parent(leaf));
        let targets: Vec<f64> = quadratics.iter().enumerate().map(target).collect();
        let next = order.project(&targets, &weights);

        let largest = next.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let moved = next.iter().zip(&values).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
        values = next;
        if moved <= TOLERANCE * largest {
            break;
        }
    }
    let penalty = lambda * nodes.deviation(&values);
    RidgeSolution { values, penalty }
}

/// The normal equations of inner nodes and of leaf values, where leaves that share a value keep sharing
/// one. Unknowns are the inner nodes, children first, and then the shared values.
struct TiedSystem {
    unknowns: usize,
    inner: usize,
    /// Row by row, the right side last.
    rows: Vec<f64>,
}

impl TiedSystem {
    fn new(
        nodes: &InnerNodes,
        quadratics: &[LeafQuadratic],
        lambda: f64,
        values: &[f64],
    ) -> TiedSystem {
        let (place, shared) = ties(values);
        let inner = nodes.of_node.len();
        let unknowns = inner + shared;
        let mut system = TiedSystem { unknowns, inner, rows: vec![0.0; unknowns * (unknowns + 1)] };
        // The last node comes first, so that eliminations meet children before their parents.
        let of_node = |node: usize| inner - 1 - node;

        for (node, parent) in nodes.of_node.iter().enumerate() {
            system.pull(of_node(node), parent.map(of_node), lambda);
        }
        for (leaf, quadratic) in quadratics.iter().enumerate() {
            let at = inner + place[leaf];
            system.pull(at, nodes.of_leaf[leaf].map(of_node), lambda);
            *system.cell(at, at) += quadratic.h;
            *system.cell(at, unknowns) += quadratic.b;
        }
        system
    }

    fn cell(&mut self, row: usize, column: usize) -> &mut f64 {
        &mut self.rows[row * (self.unknowns + 1) + column]
    }

    /// Adds `λ/2` times the squared difference of two unknowns, or of one from zero.
    fn pull(&mut self, at: usize, to: Option<usize>, lambda: f64) {
        *self.cell(at, at) += lambda;
        if let Some(to) = to {
            *self.cell(to, to) += lambda;
            *self.cell(at, to) -= lambda;
            *self.cell(to, at) -= lambda;
        }
    }

    /// The values of the inner nodes, by elimination; the system is positive definite where λ is
    /// positive, and an unknown without weight is zero.
    fn solve(mut self) -> Vec<f64> {
        let (count, width) = (self.unknowns, self.unknowns + 1);
        for pivot in 0..count {
            let (above, below) = self.rows.split_at_mut((pivot + 1) * width);
            let row = &above[pivot * width..];
            if row[pivot] <= 0.0 {
                continue;
            }
            for other in below.chunks_exact_mut(width) {
                let factor = other[pivot] / row[pivot];
                if factor != 0.0 {
                    let cells = other[pivot..].iter_mut().zip(&row[pivot..]);
                    cells.for_each(|(cell, above)| *cell -= factor * above);
                }
            }
        }

        let mut values = vec![0.0; count];
        for at in (0..count).rev() {
            let row = &self.rows[at * width..][..width];
            let known: f64 = (at + 1..count).map(|other| row[other] * values[other]).sum();
            values[at] = if row[at] > 0.0 { (row[count] - known) / row[at] } else { 0.0 };
        }
        values.truncate(self.inner);
        values.reverse();
        values
    }
}

/// Numbers leaves by their value: equal values share a number. Also how many numbers there are.
fn ties(values: &[f64]) -> (Vec<usize>, usize) {
    let mut by_value: Vec<usize> = (0..values.len()).collect();
    by_value.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut place, mut count) = (vec![0; values.len()], 0);
    for (at, &leaf) in by_value.iter().enumerate() {
        let is_new = at == 0 || values[by_value[at - 1]] != values[leaf];
        count += usize::from(is_new);
        place[leaf] = count - 1;
    }
    (place, count)
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
