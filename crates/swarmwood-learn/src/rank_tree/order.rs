//! Leaves in the order that monotone features ask for.
//!
//! The best values in an order are the isotonic regression of the best values in any order, for the
//! squared error and, as it is one of Bregman's divergences, for the Gini impurity and the log loss of
//! two classes.

use swarmwood_model::{Child, Leaf, Node, Split, Test, Tree};

use super::{NodeFit, NodeRef, RankTree};
use crate::isotonic::PartialOrder;
use crate::leaf_loss::LeafLoss;
use crate::rank_table::{RankTable, RankTarget};
use crate::rule::Cut;

/// The order of the leaves of a tree over codes.
pub(super) fn order_of_codes(tree: &RankTree, table: &RankTable) -> PartialOrder {
    if tree.nodes().is_empty() || !table.constraints().has_monotone() {
        return PartialOrder::default();
    }
    let split = |rule: &crate::rule::RankRule| match rule.cut {
        Cut::Above(code) => Split {
            feature: rule.feature,
            test: Test::Above(f64::from(code)),
            missing_right: rule.missing_right,
        },
        Cut::In(_) => rule.to_split(&table.columns()[rule.feature as usize], [0, 0]),
    };
    let nodes = tree.nodes().iter().map(|node| Node {
        split: split(&node.rule),
        left: to_child(node.left),
        right: to_child(node.right),
        gain: 0.0,
        cover: 0.0,
    });
    let tree = Tree { nodes: nodes.collect(), leaves: vec![Leaf::default(); tree.leaves()] };
    table.constraints().leaf_order(&tree)
}

/// The same position in the tree of a model.
pub(super) fn to_child(at: NodeRef) -> Child {
    match at {
        NodeRef::Node(node) => Child::Node(node),
        NodeRef::Leaf(leaf) => Child::Leaf(leaf),
    }
}

/// The weight of an average row, by which class counts are smoothed.
pub(super) fn row_weight(table: &RankTable) -> f64 {
    table.total_weight() / (table.rows().max(1) as f64)
}

/// Gives leaves the best values in an order; `rows` are those of each leaf.
pub(super) fn put_in_order(
    leaves: &mut [NodeFit],
    rows: &[Vec<u32>],
    order: &PartialOrder,
    (table, loss): (&RankTable, &LeafLoss),
) {
    let smoothing = row_weight(table);
    let value_and_weight = |leaf: &NodeFit| match (table.target(), &leaf.sums[..]) {
        (RankTarget::Classes { .. }, &[first, second]) => {
            let weight = first + second + 2.0 * smoothing;
            ((second + smoothing) / weight, weight)
        }
        (_, sums) => (leaf.value, sums[0]),
    };
    let (values, weights): (Vec<f64>, Vec<f64>) = leaves.iter().map(value_and_weight).unzip();
    if order.holds(&values) {
        return;
    }

    let ordered = order.project(&values, &weights);
    for ((leaf, rows), (value, was)) in
        leaves.iter_mut().zip(rows).zip(ordered.into_iter().zip(values))
    {
        match table.target() {
            _ if value == was => {}
            RankTarget::Classes { .. } => {
                leaf.share = Some(value);
                leaf.loss = loss_of_share(loss, &leaf.sums, value, leaf.class(loss));
            }
            RankTarget::Numbers { of_row, centre } if *loss == LeafLoss::Absolute => {
                leaf.value = value;
                let error =
                    |&row: &u32| table.weight(row) * (of_row[row as usize] + centre - value).abs();
                leaf.loss = rows.iter().map(error).sum();
            }
            RankTarget::Numbers { .. } => {
                leaf.value = value;
                leaf.loss += leaf.sums[0] * (value - was).powi(2);
            }
        }
    }
}

/// The loss of two classes with these weights in a leaf that predicts a share of the second one, and
/// so a class.
fn loss_of_share(loss: &LeafLoss, sums: &[f64], share: f64, class: usize) -> f64 {
    let (first, second) = (sums[0], sums[1]);
    let error = if class == 0 { second } else { first };
    let gini = 2.0 * (second * (1.0 - share).powi(2) + first * share.powi(2));
    match loss {
        LeafLoss::Error => error,
        LeafLoss::Gini => gini,
        LeafLoss::Entropy => -(second * share.ln() + first * (1.0 - share).ln()),
        LeafLoss::Mix { share: part } => (1.0 - part) * error + part * gini,
        LeafLoss::Costs(costs) => costs.of(sums, class),
        LeafLoss::Squared | LeafLoss::Absolute => 0.0,
    }
}
