//! The best leaf values of a tree whose structure is known.
//!
//! Rows of a leaf want the value that minimises `½ h x² - b x`; the penalty pulls. Under a flat
//! penalty every leaf is on its own: `x = b / (h + λ)`. Under the hierarchical one, every node has
//! a value and pays `λ/2` times the square of its deviation from its parent's value (the root's
//! parent has the value zero). That is a quadratic on a tree, so two passes solve it exactly:
//! upwards, a node tells its parent what is left of its quadratic once its own value is chosen as
//! well as it can be, `(h, b) · λ/(h + λ)`; downwards, a node takes
//! `x = (b + λ x_parent) / (h + λ)`.

mod order;

use swarmwood_model::Child;

use crate::binned_tree::BinnedTree;
use crate::isotonic::PartialOrder;
use crate::kernels::quantise::GradientSums;
use crate::split::{Penalties, Ridge};

pub(crate) use order::leaf_order;

/// What the rows of a leaf want: to minimise `½ h x² - b x`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LeafQuadratic {
    /// Curvature.
    pub h: f64,
    /// Pull.
    pub b: f64,
}

impl From<GradientSums> for LeafQuadratic {
    /// Of rows whose scores do not hold the leaf's value yet.
    fn from(sums: GradientSums) -> Self {
        LeafQuadratic { h: sums.h, b: -sums.g }
    }
}

/// Leaf values and what they pay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RidgeSolution {
    /// Leaf values in leaf order.
    pub values: Vec<f64>,
    /// The penalty, `λ/2` times a sum of squares.
    pub penalty: f64,
}

/// Sets the leaf values of a tree from the sums of its leaves, in an order of them.
pub(crate) fn set_values(
    tree: &mut BinnedTree,
    sums: &[GradientSums],
    penalties: &Penalties,
    order: &PartialOrder,
) {
    let quadratics: Vec<LeafQuadratic> = sums.iter().map(|&sums| sums.into()).collect();
    let solution = solve(tree, &quadratics, (penalties.lambda, penalties.ridge), order);
    tree.leaves.iter_mut().zip(solution.values).for_each(|(leaf, value)| leaf.value = value);
}

/// The leaf values in an order that minimise the sum of the quadratics and the penalty.
pub fn solve(
    tree: &BinnedTree,
    quadratics: &[LeafQuadratic],
    (lambda, ridge): (f64, Ridge),
    order: &PartialOrder,
) -> RidgeSolution {
    let free = solve_freely(tree, quadratics, lambda, ridge);
    if order.holds(&free.values) {
        return free;
    }
    order::solve_in_order(tree, quadratics, (lambda, ridge), order, &free.values)
}

/// The same in any order.
fn solve_freely(
    tree: &BinnedTree,
    quadratics: &[LeafQuadratic],
    lambda: f64,
    ridge: Ridge,
) -> RidgeSolution {
    match ridge {
        Ridge::Flat => {
            let values: Vec<f64> =
                quadratics.iter().map(|quadratic| settled(quadratic, lambda, 0.0)).collect();
            let penalty = 0.5 * lambda * values.iter().map(|value| value * value).sum::<f64>();
            RidgeSolution { values, penalty }
        }
        Ridge::Hierarchical if tree.oblivious => levels(tree.nodes.len(), quadratics, lambda),
        Ridge::Hierarchical => nodes(tree, quadratics, lambda),
    }
}

/// The value of a node that wishes and is pulled towards its parent's.
fn settled(quadratic: &LeafQuadratic, lambda: f64, parent: f64) -> f64 {
    let divisor = quadratic.h + lambda;
    if divisor > 0.0 { (quadratic.b + lambda * parent) / divisor } else { parent }
}

/// What a node's wish means to its parent.
fn passed_on(quadratic: &LeafQuadratic, lambda: f64) -> LeafQuadratic {
    let divisor = quadratic.h + lambda;
    let share = if divisor > 0.0 { lambda / divisor } else { 1.0 };
    LeafQuadratic { h: quadratic.h * share, b: quadratic.b * share }
}

fn add(a: LeafQuadratic, b: LeafQuadratic) -> LeafQuadratic {
    LeafQuadratic { h: a.h + b.h, b: a.b + b.b }
}

fn nodes(tree: &BinnedTree, quadratics: &[LeafQuadratic], lambda: f64) -> RidgeSolution {
    let mut inner = vec![LeafQuadratic::default(); tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let of = |child: Child| match child {
            Child::Leaf(leaf) => passed_on(&quadratics[leaf as usize], lambda),
            Child::Node(node) => passed_on(&inner[node as usize], lambda),
        };
        inner[at] = add(of(node.left), of(node.right));
    }
    let mut solution = RidgeSolution { values: vec![0.0; quadratics.len()], penalty: 0.0 };
    let mut parents = vec![0.0; tree.nodes.len()];
    let mut settle = |quadratic: &LeafQuadratic, parent: f64| {
        let value = settled(quadratic, lambda, parent);
        solution.penalty += 0.5 * lambda * (value - parent).powi(2);
        value
    };
    if tree.nodes.is_empty() {
        solution.values[0] = settle(&quadratics[0], 0.0);
        return solution;
    }
    for (at, node) in tree.nodes.iter().enumerate() {
        let value = settle(&inner[at], parents[at]);
        for child in [node.left, node.right] {
            match child {
                Child::Leaf(leaf) => {
                    solution.values[leaf as usize] = settle(&quadratics[leaf as usize], value)
                }
                Child::Node(node) => parents[node as usize] = value,
            }
        }
    }
    solution
}

/// The same for an oblivious tree, where node `j` of level `l` has the children `j` and `j + 2^l`.
fn levels(depth: usize, quadratics: &[LeafQuadratic], lambda: f64) -> RidgeSolution {
    let mut stack = vec![quadratics.to_vec()];
    for level in (0..depth).rev() {
        let below = &stack[stack.len() - 1];
        let width = 1 << level;
        let both =
            |j: usize| add(passed_on(&below[j], lambda), passed_on(&below[j + width], lambda));
        stack.push((0..width).map(both).collect());
    }
    let mut parents = vec![0.0];
    let mut penalty = 0.0;
    for (level, quadratics) in stack.iter().rev().enumerate() {
        let of_parent = |j: usize| parents[if level == 0 { 0 } else { j % (1 << (level - 1)) }];
        let values: Vec<f64> = quadratics
            .iter()
            .enumerate()
            .map(|(j, quadratic)| settled(quadratic, lambda, of_parent(j)))
            .collect();
        penalty += 0.5
            * lambda
            * values.iter().enumerate().map(|(j, v)| (v - of_parent(j)).powi(2)).sum::<f64>();
        parents = values;
    }
    RidgeSolution { values: parents, penalty }
}

#[cfg(test)]
mod tests;
