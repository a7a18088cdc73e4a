//! One tree of rules over ranks, small enough to be edited node by node.
//!
//! **Invariant:** nodes and leaves are numbered in depth-first order, parents and left sides first;
//! there is one leaf more than there are nodes.

mod given;
mod model;
mod order;
#[cfg(test)]
mod tests;

use std::ops::Range;

use swarmwood_model::Split;
use swarmwood_search::{Datum, Error};

use crate::kernels::partition::partition_by;
use crate::pool::{Pool, even_ranges};
use crate::rank_table::RankTable;
use crate::rule::{Cut, RankRule};

pub(crate) use given::given_tree;
pub use model::{ClassifierTree, NodeFit, fit_nodes, fit_rows, to_member};

/// A binary tree, its nodes in one array.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankTree {
    nodes: Vec<RankNode>,
}

/// An inner node.
#[derive(Debug, Clone, PartialEq)]
pub struct RankNode {
    /// Rows that pass go right.
    pub rule: RankRule,
    /// The child of rows that fail.
    pub left: NodeRef,
    /// The child of rows that pass.
    pub right: NodeRef,
}

/// A position in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRef {
    /// An inner node.
    Node(u32),
    /// A leaf.
    Leaf(u32),
}

/// A tree that owns its children: the form in which trees are edited.
#[derive(Debug, Clone, PartialEq)]
pub enum Subtree {
    /// A leaf.
    Leaf,
    /// A rule with its left and right subtree.
    Split(Box<(RankRule, Subtree, Subtree)>),
}

impl Subtree {
    /// A rule with its left and right subtree.
    pub fn split(rule: RankRule, left: Subtree, right: Subtree) -> Self {
        Subtree::Split(Box::new((rule, left, right)))
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        match self {
            Subtree::Leaf => 1,
            Subtree::Split(split) => split.1.leaves() + split.2.leaves(),
        }
    }

    /// Number of rules on the longest path from the root to a leaf.
    pub fn depth(&self) -> usize {
        match self {
            Subtree::Leaf => 0,
            Subtree::Split(split) => 1 + split.1.depth().max(split.2.depth()),
        }
    }
}

/// The rows of each node, and of each leaf.
pub type RowPartition = (Vec<Vec<u32>>, Vec<Vec<u32>>);

impl RankTree {
    /// Numbers the nodes of a subtree.
    pub fn new(subtree: &Subtree) -> Self {
        fn number(subtree: &Subtree, nodes: &mut Vec<RankNode>, leaves: &mut u32) -> NodeRef {
            let Subtree::Split(split) = subtree else {
                *leaves += 1;
                return NodeRef::Leaf(*leaves - 1);
            };
            let (rule, left, right) = &**split;

            // The children are numbered after the node, which must have its place before them.
            let at = nodes.len();
            let unknown = NodeRef::Leaf(0);
            nodes.push(RankNode { rule: rule.clone(), left: unknown, right: unknown });
            nodes[at].left = number(left, nodes, leaves);
            nodes[at].right = number(right, nodes, leaves);
            NodeRef::Node(at as u32)
        }

        let mut nodes = Vec::new();
        number(subtree, &mut nodes, &mut 0);
        RankTree { nodes }
    }

    /// The tree as a part of a stored state: its rules in depth-first order, with an empty list for
    /// each leaf.
    pub fn to_datum(&self) -> Datum {
        let mut items = Vec::with_capacity(2 * self.nodes.len() + 1);
        let mut todo = vec![self.root()];
        while let Some(at) = todo.pop() {
            match at {
                NodeRef::Leaf(_) => items.push(Datum::List(Vec::new())),
                NodeRef::Node(node) => {
                    let node = &self.nodes[node as usize];
                    items.push(Datum::List(node.rule.to_data().into()));
                    todo.extend([node.right, node.left]);
                }
            }
        }
        Datum::List(items)
    }

    /// The tree that [`RankTree::to_datum`] stored; an error if it does not fit the table.
    pub fn from_datum(datum: &Datum, table: &RankTable) -> Result<Self, Error> {
        let damaged = || Error::Snapshot("holds half of a tree; it is damaged".to_string());
        // From the end, so that both children of a node are known before the node.
        let mut known: Vec<Subtree> = Vec::new();
        for item in datum.list()?.iter().rev() {
            let subtree = if item.list()?.is_empty() {
                Subtree::Leaf
            } else {
                let rule = RankRule::from_data(item.tuple()?.each_ref())?;
                if !rule.fits(table) {
                    let message = "holds a rule of another table; it is damaged";
                    return Err(Error::Snapshot(message.to_string()));
                }
                let left = known.pop().ok_or_else(damaged)?;
                let right = known.pop().ok_or_else(damaged)?;
                Subtree::split(rule, left, right)
            };
            known.push(subtree);
        }
        match (known.pop(), known.is_empty()) {
            (Some(root), true) => Ok(RankTree::new(&root)),
            _ => Err(damaged()),
        }
    }

    /// The inner nodes.
    pub fn nodes(&self) -> &[RankNode] {
        &self.nodes
    }

    /// The root.
    pub fn root(&self) -> NodeRef {
        if self.nodes.is_empty() { NodeRef::Leaf(0) } else { NodeRef::Node(0) }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Gives a node another rule.
    pub fn set_rule(&mut self, node: u32, rule: RankRule) {
        self.nodes[node as usize].rule = rule;
    }

    /// The subtree at a position.
    pub fn subtree(&self, at: NodeRef) -> Subtree {
        self.subtree_with(at, &mut |_| None)
    }

    /// The subtree at a position, where `replace` may give another subtree for any position in it.
    pub fn subtree_with(
        &self,
        at: NodeRef,
        replace: &mut dyn FnMut(NodeRef) -> Option<Subtree>,
    ) -> Subtree {
        if let Some(subtree) = replace(at) {
            return subtree;
        }
        match at {
            NodeRef::Leaf(_) => Subtree::Leaf,
            NodeRef::Node(node) => {
                let node = &self.nodes[node as usize];
                let left = self.subtree_with(node.left, replace);
                let right = self.subtree_with(node.right, replace);
                Subtree::split(node.rule.clone(), left, right)
            }
        }
    }

    /// The same tree with another subtree at a position.
    #[must_use]
    pub fn replace(&self, at: NodeRef, subtree: &Subtree) -> Self {
        let mut replace = |other: NodeRef| (other == at).then(|| subtree.clone());
        RankTree::new(&self.subtree_with(self.root(), &mut replace))
    }

    /// The leaves below a position, which have consecutive numbers.
    pub fn leaves_below(&self, at: NodeRef) -> Range<u32> {
        let (mut first, mut last) = (at, at);
        while let NodeRef::Node(node) = first {
            first = self.nodes[node as usize].left;
        }
        while let NodeRef::Node(node) = last {
            last = self.nodes[node as usize].right;
        }
        match (first, last) {
            (NodeRef::Leaf(first), NodeRef::Leaf(last)) => first..last + 1,
            _ => unreachable!("a path ends in a leaf"),
        }
    }

    /// Number of rules above each node.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for child in [node.left, node.right] {
                if let NodeRef::Node(child) = child {
                    depths[child as usize] = depths[at] + 1;
                }
            }
        }
        depths
    }

    /// The features of the rules above each leaf, from the root down.
    pub(crate) fn leaf_paths(&self) -> Vec<Vec<usize>> {
        let mut paths = vec![Vec::new(); self.leaves()];
        let mut todo = vec![(self.root(), Vec::new())];
        while let Some((at, path)) = todo.pop() {
            match at {
                NodeRef::Leaf(leaf) => paths[leaf as usize] = path,
                NodeRef::Node(node) => {
                    let node = &self.nodes[node as usize];
                    let mut below = path;
                    below.push(node.rule.feature as usize);
                    todo.extend([(node.left, below.clone()), (node.right, below)]);
                }
            }
        }
        paths
    }

    /// The parent of each node; the root is its own.
    pub fn parents(&self) -> Vec<u32> {
        let mut parents = vec![0; self.nodes.len()];
        for (at, node) in (0..).zip(&self.nodes) {
            for child in [node.left, node.right] {
                if let NodeRef::Node(child) = child {
                    parents[child as usize] = at;
                }
            }
        }
        parents
    }

    /// The leaf of each row, starting from a position.
    pub fn assign_leaves(&self, table: &RankTable, at: NodeRef, rows: &[u32]) -> Vec<u32> {
        let mut leaves = vec![0; rows.len()];
        let positions: Vec<u32> = (0..rows.len() as u32).collect();
        self.route(table, at, rows, positions, &mut |at, positions| {
            if let NodeRef::Leaf(leaf) = at {
                positions.iter().for_each(|&position| leaves[position as usize] = leaf);
            }
        });
        leaves
    }

    /// The leaf of a row. `path` is filled with the nodes above it, from the root down.
    pub fn path(&self, table: &RankTable, row: u32, path: &mut Vec<u32>) -> u32 {
        path.clear();
        let mut at = self.root();
        loop {
            let node = match at {
                NodeRef::Leaf(leaf) => return leaf,
                NodeRef::Node(node) => node,
            };
            path.push(node);
            let node = &self.nodes[node as usize];
            let code = table.columns()[node.rule.feature as usize].codes()[row as usize];
            at = if node.rule.goes_right(code) { node.right } else { node.left };
        }
    }

    /// The rows of each node, and of each leaf.
    pub fn partition_rows(&self, table: &RankTable) -> RowPartition {
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        self.partition_range(table, &rows, 0..rows.len())
    }

    /// Like [`RankTree::partition_rows`], on all threads.
    pub fn partition_rows_on(&self, table: &RankTable, pool: &Pool) -> RowPartition {
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        let ranges = even_ranges(rows.len(), pool.threads());
        let parts =
            pool.map(ranges.len(), |at| self.partition_range(table, &rows, ranges[at].clone()));

        // Rows keep their order on the way down, so those of later ranges follow.
        let join = |(mut nodes, mut leaves): RowPartition, more: RowPartition| {
            nodes.iter_mut().zip(more.0).for_each(|(rows, more)| rows.extend(more));
            leaves.iter_mut().zip(more.1).for_each(|(rows, more)| rows.extend(more));
            (nodes, leaves)
        };
        parts.into_iter().reduce(join).unwrap_or_default()
    }

    /// The partition of a range of all rows.
    fn partition_range(
        &self,
        table: &RankTable,
        rows: &[u32],
        range: Range<usize>,
    ) -> RowPartition {
        let (mut nodes, mut leaves) =
            (vec![Vec::new(); self.nodes.len()], vec![Vec::new(); self.leaves()]);
        let of_range = rows[range].to_vec();
        self.route(table, self.root(), rows, of_range, &mut |at, positions| match at {
            NodeRef::Node(node) => nodes[node as usize] = positions,
            NodeRef::Leaf(leaf) => leaves[leaf as usize] = positions,
        });
        (nodes, leaves)
    }

    /// Sends rows, given by their positions in `rows`, down the tree and visits every node and leaf
    /// with the positions that reach it.
    fn route(
        &self,
        table: &RankTable,
        at: NodeRef,
        rows: &[u32],
        positions: Vec<u32>,
        visit: &mut dyn FnMut(NodeRef, Vec<u32>),
    ) {
        let NodeRef::Node(node) = at else { return visit(at, positions) };
        let node = &self.nodes[node as usize];
        let (left, right) = partition(table, &node.rule, rows, &positions);
        visit(at, positions);
        self.route(table, node.left, rows, left, visit);
        self.route(table, node.right, rows, right, visit);
    }

    /// Moves every threshold to the middle between the nearest rows of its node, which changes the
    /// side of no row, and sends missing values of nodes without any to the side with more weight.
    /// Given splits stay as they are.
    /// Returns the splits of the new rules, node by node.
    pub fn centre_thresholds(&mut self, table: &RankTable) -> Vec<Split> {
        let (rows, _) = self.partition_rows(table);
        let given = self.given_splits(table);
        let mut splits = Vec::with_capacity(self.nodes.len());
        for ((node, rows), given) in self.nodes.iter_mut().zip(rows).zip(given) {
            let column = &table.columns()[node.rule.feature as usize];
            let (mut near, mut weights, mut any_missing) =
                ([0_u16, column.max_code() + 1], [0.0; 2], false);
            for row in rows {
                let code = column.codes()[row as usize];
                any_missing |= code == 0;
                let right = node.rule.goes_right(code);
                weights[usize::from(right)] += table.weight(row);
                if code > 0 {
                    near = if right {
                        [near[0], near[1].min(code)]
                    } else {
                        [near[0].max(code), near[1]]
                    };
                }
            }
            let chooses_missing = given.is_none_or(|given| given.missing_right.is_none());
            if !any_missing && chooses_missing {
                node.rule.missing_right = weights[1] > weights[0];
            }
            if let Some(given) = given {
                let feature = node.rule.feature;
                let missing_right = node.rule.missing_right;
                splits.push(Split { feature, test: given.test.clone(), missing_right });
                continue;
            }
            if let Cut::Above(cut) = node.rule.cut {
                near[0] = if near[0] == 0 { cut } else { near[0] };
                node.rule.cut = Cut::Above(column.threshold_between(near[0], near[1]).1);
            }
            splits.push(node.rule.to_split(column, near));
        }
        splits
    }
}

/// Splits positions of rows by a rule.
fn partition(
    table: &RankTable,
    rule: &RankRule,
    rows: &[u32],
    positions: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let codes = table.columns()[rule.feature as usize].codes();
    let (mut left, mut scratch) = (positions.to_vec(), vec![0; positions.len()]);
    let side =
        |position: u32| usize::from(rule.goes_right(codes[rows[position as usize] as usize]));
    let middle = partition_by(&mut left, &mut scratch, side);
    let right = left.split_off(middle);
    (left, right)
}
