//! One tree of rules over ranks, small enough to be taken apart and put together again.
//!
//! **Invariant:** nodes and leaves are numbered in the order in which a walk meets them, parents
//! and left sides first; there is one leaf more than there are nodes.

mod members;
#[cfg(test)]
mod tests;

use std::ops::Range;

use swarmwood_model::Split;

use crate::kernels::partition::partition_by;
use crate::pool::{Pool, even_ranges};
use crate::ranked::{Cut, Ranked, Rule};

pub use members::{Decided, Fitted, fit, fit_rows, members};

/// A tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sketch {
    nodes: Vec<Branch>,
}

/// An inner node.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// Rows that pass go right.
    pub rule: Rule,
    /// Where the others go.
    pub left: Edge,
    /// Where rows that pass go.
    pub right: Edge,
}

/// Where a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// At an inner node.
    Node(u32),
    /// Nowhere: it ends in a leaf.
    Leaf(u32),
}

/// A tree as a value that owns its branches: what moves are made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Twig {
    /// A leaf.
    Leaf,
    /// A rule with what lies left and right of it.
    Fork(Box<(Rule, Twig, Twig)>),
}

impl Twig {
    /// A rule with what lies left and right of it.
    pub fn fork(rule: Rule, left: Twig, right: Twig) -> Self {
        Twig::Fork(Box::new((rule, left, right)))
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        match self {
            Twig::Leaf => 1,
            Twig::Fork(fork) => fork.1.leaves() + fork.2.leaves(),
        }
    }

    /// Number of rules on the longest way down.
    pub fn depth(&self) -> usize {
        match self {
            Twig::Leaf => 0,
            Twig::Fork(fork) => 1 + fork.1.depth().max(fork.2.depth()),
        }
    }
}

/// The rows of each node, and of each leaf.
pub type RowsOf = (Vec<Vec<u32>>, Vec<Vec<u32>>);

impl Sketch {
    /// Numbers the nodes of a twig.
    pub fn new(twig: &Twig) -> Self {
        fn place(twig: &Twig, nodes: &mut Vec<Branch>, leaves: &mut u32) -> Edge {
            let Twig::Fork(fork) = twig else {
                *leaves += 1;
                return Edge::Leaf(*leaves - 1);
            };
            let at = nodes.len();
            nodes.push(Branch { rule: fork.0.clone(), left: Edge::Leaf(0), right: Edge::Leaf(0) });
            let left = place(&fork.1, nodes, leaves);
            let right = place(&fork.2, nodes, leaves);
            (nodes[at].left, nodes[at].right) = (left, right);
            Edge::Node(at as u32)
        }
        let mut nodes = Vec::new();
        place(twig, &mut nodes, &mut 0);
        Sketch { nodes }
    }

    /// The inner nodes.
    pub fn nodes(&self) -> &[Branch] {
        &self.nodes
    }

    /// Where walks start.
    pub fn root(&self) -> Edge {
        if self.nodes.is_empty() { Edge::Leaf(0) } else { Edge::Node(0) }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.len() + 1
    }

    /// Gives a node another rule.
    pub fn set_rule(&mut self, node: u32, rule: Rule) {
        self.nodes[node as usize].rule = rule;
    }

    /// What hangs below an edge.
    pub fn twig(&self, edge: Edge) -> Twig {
        self.twig_but(edge, &mut |_| None)
    }

    /// What hangs below an edge, with some of it put in place of what is there.
    pub fn twig_but(&self, edge: Edge, instead: &mut dyn FnMut(Edge) -> Option<Twig>) -> Twig {
        if let Some(twig) = instead(edge) {
            return twig;
        }
        match edge {
            Edge::Leaf(_) => Twig::Leaf,
            Edge::Node(node) => {
                let branch = &self.nodes[node as usize];
                let left = self.twig_but(branch.left, instead);
                let right = self.twig_but(branch.right, instead);
                Twig::fork(branch.rule.clone(), left, right)
            }
        }
    }

    /// The same tree with another twig at an edge.
    #[must_use]
    pub fn replace(&self, edge: Edge, twig: &Twig) -> Self {
        Sketch::new(&self.twig_but(self.root(), &mut |at| (at == edge).then(|| twig.clone())))
    }

    /// The leaves below an edge: they have consecutive numbers.
    pub fn leaves_below(&self, edge: Edge) -> Range<u32> {
        let (mut first, mut last) = (edge, edge);
        while let Edge::Node(node) = first {
            first = self.nodes[node as usize].left;
        }
        while let Edge::Node(node) = last {
            last = self.nodes[node as usize].right;
        }
        match (first, last) {
            (Edge::Leaf(first), Edge::Leaf(last)) => first..last + 1,
            _ => unreachable!("a walk ends in a leaf"),
        }
    }

    /// How many rules lie above each node.
    pub fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes.len()];
        for (at, branch) in self.nodes.iter().enumerate() {
            for child in [branch.left, branch.right] {
                if let Edge::Node(child) = child {
                    depths[child as usize] = depths[at] + 1;
                }
            }
        }
        depths
    }

    /// The node above each node; the root is its own.
    pub fn parents(&self) -> Vec<u32> {
        let mut parents = vec![0; self.nodes.len()];
        for (at, branch) in (0..).zip(&self.nodes) {
            for child in [branch.left, branch.right] {
                if let Edge::Node(child) = child {
                    parents[child as usize] = at;
                }
            }
        }
        parents
    }

    /// Sends rows down from an edge and tells each one's leaf, in the order of the rows.
    pub fn leaves_of(&self, table: &Ranked, edge: Edge, rows: &[u32]) -> Vec<u32> {
        let mut leaves = vec![0; rows.len()];
        let places: Vec<u32> = (0..rows.len() as u32).collect();
        self.send(table, edge, rows, places, &mut |edge, places| {
            if let Edge::Leaf(leaf) = edge {
                places.iter().for_each(|&place| leaves[place as usize] = leaf);
            }
        });
        leaves
    }

    /// The rows that come to each node, and to each leaf.
    pub fn rows_of(&self, table: &Ranked) -> RowsOf {
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        self.rows_among(table, &rows, 0..rows.len())
    }

    /// The same on all threads of a pool.
    pub fn rows_of_on(&self, table: &Ranked, pool: &Pool) -> RowsOf {
        let rows: Vec<u32> = (0..table.rows() as u32).collect();
        let ranges = even_ranges(rows.len(), pool.threads());
        let parts = pool.map(ranges.len(), |at| self.rows_among(table, &rows, ranges[at].clone()));
        // Rows keep their order on the way down, so those of later ranges follow.
        let joined = |(mut nodes, mut leaves): RowsOf, more: RowsOf| {
            nodes.iter_mut().zip(more.0).for_each(|(rows, more)| rows.extend(more));
            leaves.iter_mut().zip(more.1).for_each(|(rows, more)| rows.extend(more));
            (nodes, leaves)
        };
        parts.into_iter().reduce(joined).unwrap_or_default()
    }

    /// The same for a range of all rows, which are their own places.
    fn rows_among(&self, table: &Ranked, rows: &[u32], among: Range<usize>) -> RowsOf {
        let (mut nodes, mut leaves) =
            (vec![Vec::new(); self.nodes.len()], vec![Vec::new(); self.leaves()]);
        self.send(table, self.root(), rows, rows[among].to_vec(), &mut |edge, places| match edge {
            Edge::Node(node) => nodes[node as usize] = places,
            Edge::Leaf(leaf) => leaves[leaf as usize] = places,
        });
        (nodes, leaves)
    }

    fn send(
        &self,
        table: &Ranked,
        edge: Edge,
        rows: &[u32],
        places: Vec<u32>,
        visit: &mut dyn FnMut(Edge, Vec<u32>),
    ) {
        let Edge::Node(node) = edge else { return visit(edge, places) };
        let branch = &self.nodes[node as usize];
        let (left, right) = part(table, &branch.rule, rows, &places);
        visit(edge, places);
        self.send(table, branch.left, rows, left, visit);
        self.send(table, branch.right, rows, right, visit);
    }

    /// Moves every threshold to the middle of the gap that the rows of its node leave, where no row
    /// changes sides, and sends missing values, where a node has none, to the side with more
    /// weight. Tells the splits that the rules now stand for, node by node.
    pub fn centre(&mut self, table: &Ranked) -> Vec<Split> {
        let (rows, _) = self.rows_of(table);
        let mut splits = Vec::with_capacity(self.nodes.len());
        for (branch, rows) in self.nodes.iter_mut().zip(rows) {
            let column = &table.columns()[branch.rule.feature as usize];
            let (mut near, mut weights, mut any_missing) =
                ([0_u16, column.top() + 1], [0.0; 2], false);
            for row in rows {
                let code = column.codes()[row as usize];
                any_missing |= code == 0;
                let right = branch.rule.right(code);
                weights[usize::from(right)] += table.weight(row);
                if code > 0 {
                    near = if right {
                        [near[0], near[1].min(code)]
                    } else {
                        [near[0].max(code), near[1]]
                    };
                }
            }
            if let Cut::Above(cut) = branch.rule.cut {
                near[0] = if near[0] == 0 { cut } else { near[0] };
                branch.rule.cut = Cut::Above(column.between(near[0], near[1]).1);
            }
            if !any_missing {
                branch.rule.missing_right = weights[1] > weights[0];
            }
            splits.push(branch.rule.split(column, near));
        }
        splits
    }
}

/// Deals places of rows to the two sides of a rule.
fn part(table: &Ranked, rule: &Rule, rows: &[u32], places: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let codes = table.columns()[rule.feature as usize].codes();
    let (mut left, mut aside) = (places.to_vec(), vec![0; places.len()]);
    let right = |place: u32| usize::from(rule.right(codes[rows[place as usize] as usize]));
    let middle = partition_by(&mut left, &mut aside, right);
    let right = left.split_off(middle);
    (left, right)
}
