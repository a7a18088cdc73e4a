//! The positions of the nodes and leaves of a tree.
//!
//! Leaves have one line each, from top to bottom, and are in one column at the right; a node is in
//! the column of its depth, half-way between its children. Subtrees have lines of their own, so
//! nothing overlaps (a tidy drawing after Wetherell and Shannon 1979, rotated by 90 degrees).
//! Columns are as wide as their longest label.

use super::palette::{fit, width};
use super::split_side;
use crate::single_tree::SingleTree;
use crate::text::printable;
use crate::tree::Child;

/// Height of a line.
pub(super) const LINE: f64 = 36.0;
/// Size of letters in nodes and on edges.
pub(super) const NAME: f64 = 12.0;
pub(super) const EDGE: f64 = 11.0;
/// Maximum width of the name of a node and of the label of an edge.
const MAX_NAME: f64 = 180.0;
const MAX_EDGE: f64 = 120.0;
/// Room for the curve from a node to its children.
pub(super) const CURVE: f64 = 24.0;

/// The positions and labels of a tree.
pub(super) struct TreeLayout {
    /// Depth of each node.
    pub(super) depth: Vec<usize>,
    /// Height of each node and leaf on the page, from the top of the first line.
    pub(super) node_y: Vec<f64>,
    pub(super) leaf_y: Vec<f64>,
    /// Left end of each column of nodes, its nodes' width, and the width of the labels on the edges
    /// that leave it.
    pub(super) columns: Vec<LayoutColumn>,
    /// The labels: of each node, and of its two edges.
    pub(super) names: Vec<String>,
    pub(super) edges: Vec<[String; 2]>,
    /// Left end of the column of leaves, and the height of all lines.
    pub(super) leaf_x: f64,
    pub(super) height: f64,
}

/// A column of nodes.
#[derive(Clone, Copy, Default)]
pub(super) struct LayoutColumn {
    pub(super) left: f64,
    pub(super) nodes: f64,
    pub(super) edges: f64,
}

impl TreeLayout {
    pub(super) fn new(single: &SingleTree<'_>) -> TreeLayout {
        let (tree, schema) = (&single.tree, &single.model.schema);
        let mut depth = vec![0; tree.nodes.len()];
        for (at, node) in tree.nodes.iter().enumerate() {
            for child in [node.left, node.right] {
                if let Child::Node(child) = child {
                    depth[child as usize] = depth[at] + 1;
                }
            }
        }

        let mut leaf_y = vec![0.0; tree.leaves.len()];
        tree.leaves_left_to_right()
            .iter()
            .enumerate()
            .for_each(|(line, &leaf)| leaf_y[leaf] = (line as f64 + 0.5) * LINE);

        // Children come after their parent, so one backward pass visits them first.
        let mut node_y = vec![0.0; tree.nodes.len()];
        for (at, node) in tree.nodes.iter().enumerate().rev() {
            let y = |child| match child {
                Child::Node(node) => node_y[node as usize],
                Child::Leaf(leaf) => leaf_y[leaf as usize],
            };
            node_y[at] = (y(node.left) + y(node.right)) / 2.0;
        }

        let name =
            |feature: u32| fit(&printable(&schema.features[feature as usize].name), NAME, MAX_NAME);
        let names: Vec<String> = tree.nodes.iter().map(|node| name(node.split.feature)).collect();
        let label = |node: &crate::tree::Node, right| {
            fit(&split_side(schema, &node.split, right, true), EDGE, MAX_EDGE)
        };

        let edges: Vec<[String; 2]> =
            tree.nodes.iter().map(|node| [label(node, false), label(node, true)]).collect();
        let mut columns = vec![LayoutColumn::default(); tree.depth()];
        for (at, &depth) in depth.iter().enumerate() {
            let column = &mut columns[depth];
            column.nodes = column.nodes.max(width(&names[at], NAME) + 18.0).max(48.0);
            edges[at].iter().for_each(|edge| {
                column.edges = column.edges.max(width(edge, EDGE) + width(" ?", EDGE) + 8.0)
            });
        }

        let mut left = 0.0;
        for column in &mut columns {
            column.left = left;
            left += column.nodes + CURVE + column.edges;
        }

        let height = tree.leaves.len() as f64 * LINE;
        TreeLayout { depth, node_y, leaf_y, columns, names, edges, leaf_x: left, height }
    }
}
