//! Trees as one operator.

use super::super::scoring_form::{ScoringForm, ScoringTest, ScoringTree};
use super::super::{ExportError, UnsupportedModel};
use super::graph::{Attribute, Graph, bytes, doubles};
use crate::tree::Child;

/// The mode of a test for `<=` in version 5.
const AT_MOST: u8 = 0;

/// The mode of a test for membership in version 5.
const MEMBER: u8 = 6;

/// Adds the operator that computes the raw scores, and names them.
pub(super) fn raw_scores(
    form: ScoringForm<'_>,
    rows: &str,
    opset: i64,
    scores: &str,
    graph: &mut Graph,
) -> Result<(), ExportError> {
    let outputs = form.base.len();
    let trees = form.trees_with_base();
    if opset == 3 {
        // Its sums are doubles, but its result is not.
        let single = regressor(&trees, outputs, rows, graph)?;
        graph.node_to("Cast", &[&single], &[scores], &[("to", Attribute::Integer(11))]);
        return Ok(());
    }
    let mut table = EnsembleTable::default();
    trees.iter().for_each(|tree| table.add(tree));
    table.node(outputs, rows, scores, graph);
    Ok(())
}

/// The attributes of a `TreeEnsemble`, one entry per node or leaf of all trees.
#[derive(Default)]
struct EnsembleTable {
    roots: Vec<i64>,
    feature: Vec<i64>,
    mode: Vec<u8>,
    split: Vec<f64>,
    missing_true: Vec<i64>,
    true_node: Vec<i64>,
    true_is_leaf: Vec<i64>,
    false_node: Vec<i64>,
    false_is_leaf: Vec<i64>,
    leaf_target: Vec<i64>,
    leaf_weight: Vec<f64>,
    /// The sets of categories in the order of their nodes, each with NaN as its end.
    members: Vec<f64>,
}

impl EnsembleTable {
    fn add(&mut self, tree: &ScoringTree) {
        let (first_node, first_leaf) = (self.feature.len() as i64, self.leaf_target.len() as i64);
        self.roots.push(first_node);
        self.leaf_target.extend(tree.leaves.iter().map(|_| tree.output as i64));
        self.leaf_weight.extend(tree.leaves.iter().map(|leaf| leaf.value));
        if tree.nodes.is_empty() {
            // Both branches of a node lead to the only leaf.
            self.push(0, AT_MOST, 0.0, false, (first_leaf, true), (first_leaf, true));
            return;
        }
        let child = |child: Child| match child {
            Child::Node(node) => (first_node + i64::from(node), false),
            Child::Leaf(leaf) => (first_leaf + i64::from(leaf), true),
        };
        for node in &tree.nodes {
            let (yes, no) = (child(node.yes), child(node.no));
            match &node.test {
                ScoringTest::AtMost { threshold, missing } => {
                    self.push(node.feature, AT_MOST, *threshold, *missing, yes, no);
                }
                // A set may not be empty; no code is at most minus infinity.
                ScoringTest::OneOf(levels) if levels.is_empty() => {
                    self.push(node.feature, AT_MOST, f64::NEG_INFINITY, false, yes, no);
                }
                ScoringTest::OneOf(levels) => {
                    self.members.extend(levels.iter().map(|code| f64::from(*code)));
                    self.members.push(f64::NAN);
                    self.push(node.feature, MEMBER, 0.0, false, yes, no);
                }
            }
        }
    }

    fn push(
        &mut self,
        feature: usize,
        mode: u8,
        split: f64,
        missing_true: bool,
        yes: (i64, bool),
        no: (i64, bool),
    ) {
        self.feature.push(feature as i64);
        self.mode.push(mode);
        self.split.push(split);
        self.missing_true.push(i64::from(missing_true));
        self.true_node.push(yes.0);
        self.true_is_leaf.push(i64::from(yes.1));
        self.false_node.push(no.0);
        self.false_is_leaf.push(i64::from(no.1));
    }

    fn node(self, outputs: usize, rows: &str, scores: &str, graph: &mut Graph) {
        let tensor = |values: &[f64]| Attribute::Tensor(doubles("", &[values.len()], values));
        let mut attributes = vec![
            ("aggregate_function", Attribute::Integer(1)),
            ("leaf_targetids", Attribute::Integers(self.leaf_target)),
            ("leaf_weights", tensor(&self.leaf_weight)),
            ("n_targets", Attribute::Integer(outputs as i64)),
            ("nodes_falseleafs", Attribute::Integers(self.false_is_leaf)),
            ("nodes_falsenodeids", Attribute::Integers(self.false_node)),
            ("nodes_featureids", Attribute::Integers(self.feature)),
            ("nodes_missing_value_tracks_true", Attribute::Integers(self.missing_true)),
            ("nodes_modes", Attribute::Tensor(bytes("", &self.mode))),
            ("nodes_splits", tensor(&self.split)),
            ("nodes_trueleafs", Attribute::Integers(self.true_is_leaf)),
            ("nodes_truenodeids", Attribute::Integers(self.true_node)),
            ("post_transform", Attribute::Integer(0)),
            ("tree_roots", Attribute::Integers(self.roots)),
        ];
        if !self.members.is_empty() {
            attributes.push(("membership_values", tensor(&self.members)));
        }
        graph.node_to("TreeEnsemble", &[rows], &[scores], &attributes);
    }
}

/// Adds the operator of version 3, which knows no sets; returns the name of its result.
fn regressor(
    trees: &[ScoringTree],
    outputs: usize,
    rows: &str,
    graph: &mut Graph,
) -> Result<String, ExportError> {
    let mut nodes: [Vec<i64>; 6] = Default::default();
    let [tree_ids, node_ids, features, missing, true_ids, false_ids] = &mut nodes;
    let mut modes: Vec<String> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut targets: [Vec<i64>; 3] = Default::default();
    let [target_tree, target_node, target_id] = &mut targets;
    let mut weights: Vec<f64> = Vec::new();

    for (number, tree) in trees.iter().enumerate() {
        // Leaves are nodes after the others.
        let count = tree.nodes.len() as i64;
        let child = |child: Child| match child {
            Child::Node(node) => i64::from(node),
            Child::Leaf(leaf) => count + i64::from(leaf),
        };
        for (index, node) in tree.nodes.iter().enumerate() {
            let ScoringTest::AtMost { threshold, missing: missing_true } = node.test else {
                let reason = "the model tests categories, which version 3 cannot express; use the \
                              option opset=5";
                return Err(UnsupportedModel::new(reason).into());
            };
            tree_ids.push(number as i64);
            node_ids.push(index as i64);
            features.push(node.feature as i64);
            missing.push(i64::from(missing_true));
            true_ids.push(child(node.yes));
            false_ids.push(child(node.no));
            modes.push("BRANCH_LEQ".to_string());
            values.push(threshold);
        }
        for (index, leaf) in tree.leaves.iter().enumerate() {
            let id = count + index as i64;
            tree_ids.push(number as i64);
            node_ids.push(id);
            features.push(0);
            missing.push(0);
            true_ids.push(0);
            false_ids.push(0);
            modes.push("LEAF".to_string());
            values.push(0.0);
            target_tree.push(number as i64);
            target_node.push(id);
            target_id.push(tree.output as i64);
            weights.push(leaf.value);
        }
    }

    let [tree_ids, node_ids, features, missing, true_ids, false_ids] = nodes;
    let [target_tree, target_node, target_id] = targets;
    let tensor = |values: &[f64]| Attribute::Tensor(doubles("", &[values.len()], values));
    Ok(graph.node(
        "TreeEnsembleRegressor",
        &[rows],
        &[
            ("aggregate_function", Attribute::Text("SUM".into())),
            ("n_targets", Attribute::Integer(outputs as i64)),
            ("nodes_falsenodeids", Attribute::Integers(false_ids)),
            ("nodes_featureids", Attribute::Integers(features)),
            ("nodes_missing_value_tracks_true", Attribute::Integers(missing)),
            ("nodes_modes", Attribute::Texts(modes)),
            ("nodes_nodeids", Attribute::Integers(node_ids)),
            ("nodes_treeids", Attribute::Integers(tree_ids)),
            ("nodes_truenodeids", Attribute::Integers(true_ids)),
            ("nodes_values_as_tensor", tensor(&values)),
            ("post_transform", Attribute::Text("NONE".into())),
            ("target_ids", Attribute::Integers(target_id)),
            ("target_nodeids", Attribute::Integers(target_node)),
            ("target_treeids", Attribute::Integers(target_tree)),
            ("target_weights_as_tensor", tensor(&weights)),
        ],
    ))
}
