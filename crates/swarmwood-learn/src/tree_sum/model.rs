//! From a fitted sum to the trees of a model.

use swarmwood_model::{Child, Leaf, Member, Node, Shape, Split, Tree};

use super::leaf_fit::SumFit;
use super::rows::SumRows;
use super::select::TreeSumReport;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::{NodeRef, RankTree};

/// A sum of trees as parts of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSumFit {
    /// The start value of each output.
    pub base: Vec<f64>,
    /// The trees: one per output and tree of the sum.
    pub members: Vec<Member>,
    /// How the sum was chosen.
    pub report: TreeSumReport,
}

/// Moves thresholds to the shortest decimals between the nearest rows of their nodes; the splits of
/// each tree with them. Trees without a split are left out.
pub(super) fn centre(trees: Vec<RankTree>, table: &RankTable) -> (Vec<RankTree>, Vec<Vec<Split>>) {
    let is_split = |tree: &RankTree| !tree.nodes().is_empty();
    let mut trees: Vec<RankTree> = trees.into_iter().filter(is_split).collect();
    let splits = trees.iter_mut().map(|tree| tree.centre_thresholds(table)).collect();
    (trees, splits)
}

/// The trees with their values, covers and gains.
pub(super) fn assemble(
    fit: &SumFit,
    rows: &SumRows<'_>,
    splits: Vec<Vec<Split>>,
    report: TreeSumReport,
) -> TreeSumFit {
    let centre = match rows.table.target() {
        RankTarget::Numbers { centre, .. } => *centre,
        RankTarget::Classes { .. } => 0.0,
    };
    let mut base: Vec<f64> =
        fit.intercept.iter().map(|value| value * rows.scale + centre).collect();
    let mut members = Vec::new();
    for (at, splits) in splits.into_iter().enumerate() {
        for (output, base) in base.iter_mut().enumerate() {
            let mut tree = tree_of_output(fit, rows, (at, output), &splits);
            *base += move_reference(&mut tree);
            members.push(Member { output: output as u32, shape: Shape::Ordinary(tree) });
        }
    }
    TreeSumFit { base, members, report }
}

/// Moves the value of the leaf with the most rows to the intercept: a row for which no rule is
/// remarkable gets the intercept alone.
fn move_reference(tree: &mut Tree) -> f64 {
    let largest = tree.leaves.iter().reduce(|a, b| if b.cover > a.cover { b } else { a });
    let reference = largest.map_or(0.0, |leaf| leaf.value);
    tree.leaves.iter_mut().for_each(|leaf| leaf.value -= reference);
    reference
}

fn tree_of_output(
    fit: &SumFit,
    rows: &SumRows<'_>,
    (at, output): (usize, usize),
    splits: &[Split],
) -> Tree {
    let (tree, outputs) = (&fit.trees[at], rows.outputs());
    let mut leaves: Vec<Leaf> = (0..tree.leaves())
        .map(|leaf| Leaf {
            value: fit.values[at][leaf * outputs + output] * rows.scale,
            cover: 0.0,
        })
        .collect();
    for (row, &leaf) in (0..).zip(&fit.leaf_of[at]) {
        leaves[usize::from(leaf)].cover += rows.table.weight(row);
    }

    // Children come after their parents, so that sums from the end are complete.
    let child = |at: NodeRef| match at {
        NodeRef::Node(node) => Child::Node(node),
        NodeRef::Leaf(leaf) => Child::Leaf(leaf),
    };
    let mut sums = vec![[0.0; 3]; tree.nodes().len()];
    let mut nodes: Vec<Node> = Vec::with_capacity(sums.len());
    for (at, node) in tree.nodes().iter().enumerate().rev() {
        let of = |at: NodeRef| match at {
            NodeRef::Node(node) => sums[node as usize],
            NodeRef::Leaf(leaf) => {
                let Leaf { value, cover } = leaves[leaf as usize];
                [cover, cover * value, cover * value * value]
            }
        };
        let (left, right) = (of(node.left), of(node.right));
        sums[at] = [left[0] + right[0], left[1] + right[1], left[2] + right[2]];
        // What the split explains of the tree's part: the decrease of the sum of squares around
        // the mean.
        let between = |[cover, sum, _]: [f64; 3]| if cover > 0.0 { sum * sum / cover } else { 0.0 };
        let gain = between(left) + between(right) - between(sums[at]);
        nodes.push(Node {
            split: splits[at].clone(),
            left: child(node.left),
            right: child(node.right),
            gain: gain.max(0.0),
            cover: sums[at][0],
        });
    }
    nodes.reverse();
    Tree { nodes, leaves }
}
