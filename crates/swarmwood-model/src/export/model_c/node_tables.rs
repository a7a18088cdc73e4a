//! The nodes of all trees in columns, with thresholds and leaf values of the program's type.

use super::super::scoring_form::{ScoringNode, ScoringTree};
use crate::tree::Child;

/// The nodes of all trees in columns. `T` is the type of thresholds and leaf values.
pub(super) struct NodeTables<T> {
    /// Where each tree begins.
    pub(super) root: Vec<i64>,
    /// The raw score that each tree adds to.
    pub(super) output: Vec<i64>,
    /// The feature of each node.
    pub(super) feature: Vec<i64>,
    /// 1: missing values pass; 2: a category.
    pub(super) kind: Vec<i64>,
    /// The threshold of each node, or where its set begins.
    pub(super) threshold: Vec<T>,
    /// The next node if the test passes; `-1 - n` is leaf `n`.
    pub(super) yes: Vec<i64>,
    /// The next node if it does not.
    pub(super) no: Vec<i64>,
    /// Sets of categories, one bit each.
    pub(super) sets: Vec<i64>,
    /// The leaf values.
    pub(super) leaf: Vec<T>,
}

impl<T> NodeTables<T> {
    /// The tables of some trees. `threshold` and `leaf` convert numbers, `start` the place of a set.
    pub(super) fn new(
        trees: &[ScoringTree],
        threshold: impl Fn(&ScoringNode) -> T,
        start: impl Fn(usize) -> T,
        leaf: impl Fn(f64) -> T,
    ) -> NodeTables<T> {
        let mut tables = NodeTables {
            root: Vec::new(),
            output: Vec::new(),
            feature: Vec::new(),
            kind: Vec::new(),
            threshold: Vec::new(),
            yes: Vec::new(),
            no: Vec::new(),
            sets: Vec::new(),
            leaf: Vec::new(),
        };
        for tree in trees {
            tables.add(tree, &threshold, &start);
            tables.leaf.extend(tree.leaves.iter().map(|each| leaf(each.value)));
        }
        tables
    }

    fn add(
        &mut self,
        tree: &ScoringTree,
        threshold: &impl Fn(&ScoringNode) -> T,
        start: &impl Fn(usize) -> T,
    ) {
        let (first_node, first_leaf) = (self.feature.len() as i64, self.leaf.len() as i64);
        let child = |child: Child| match child {
            Child::Node(node) => first_node + i64::from(node),
            Child::Leaf(leaf) => -1 - first_leaf - i64::from(leaf),
        };
        self.root.push(child(tree.root()));
        self.output.push(tree.output as i64);

        for node in &tree.nodes {
            self.feature.push(node.feature as i64);
            self.yes.push(child(node.yes));
            self.no.push(child(node.no));
            match node.levels() {
                None => {
                    self.kind.push(i64::from(node.missing_yes()));
                    self.threshold.push(threshold(node));
                }
                Some(levels) => {
                    self.kind.push(2);
                    self.threshold.push(start(self.sets.len()));
                    self.sets.extend(bit_set(levels, node.level_count));
                }
            }
        }
    }
}

/// A set of codes below `count` as bytes, the lowest bit first.
fn bit_set(codes: &[u32], count: usize) -> Vec<i64> {
    let mut bytes = vec![0_i64; count.div_ceil(8)];
    for code in codes {
        if let Some(byte) = bytes.get_mut(*code as usize / 8) {
            *byte |= 1 << (code % 8);
        }
    }
    bytes
}
