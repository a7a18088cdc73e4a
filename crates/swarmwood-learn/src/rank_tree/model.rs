//! From a [`RankTree`] to the trees of a model: leaf values, covers, gains.

use swarmwood_model::{Leaf, Member, Node, Shape, Split, Tree, VectorTree};

use super::order::{order_of_codes, put_in_order, row_weight, to_child};
use super::{NodeRef, RankTree};
use crate::leaf_loss::{LeafLoss, MedianLeafStats, SumLeafStats};
use crate::pool::Pool;
use crate::rank_table::{RankTable, RankTarget};

/// The statistics of the rows that reach a node or a leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFit {
    /// The weight of each class, or weight and weighted (centred) target.
    pub sums: Vec<f64>,
    /// The loss if it were a leaf.
    pub loss: f64,
    /// The optimal leaf value, for numeric targets.
    pub value: f64,
    /// Number of rows.
    pub rows: usize,
    /// The share of the second of two classes that the order of the leaves asks for, where it is not
    /// that of the rows.
    pub share: Option<f64>,
}

impl NodeFit {
    /// The weight of the rows.
    pub fn weight(&self, table: &RankTable) -> f64 {
        match table.target() {
            RankTarget::Classes { .. } => self.sums.iter().sum(),
            RankTarget::Numbers { .. } => self.sums[0],
        }
    }

    /// The class with the lowest cost; the first of equals.
    pub fn class(&self, loss: &LeafLoss) -> usize {
        let given = self.share.map(|share| [1.0 - share, share]);
        let sums = given.as_ref().map_or(&self.sums[..], |sums| sums);
        let cost = |class: usize| match loss {
            LeafLoss::Costs(costs) => costs.of(sums, class),
            _ => -sums[class],
        };
        (0..self.sums.len())
            .reduce(|best, class| if cost(class) < cost(best) { class } else { best })
            .unwrap_or(0)
    }
}

/// Fits the rows of every node and of every leaf as if each were a leaf; the leaves are in the order
/// that the constraints of the table ask for.
pub fn fit_nodes(
    tree: &RankTree,
    table: &RankTable,
    loss: &LeafLoss,
) -> (Vec<NodeFit>, Vec<NodeFit>) {
    let (nodes, leaves) = tree.partition_rows(table);
    let fit = |rows: &Vec<u32>| fit_rows(table, rows, loss);
    let (nodes, mut fits): (Vec<NodeFit>, Vec<NodeFit>) =
        (nodes.iter().map(fit).collect(), leaves.iter().map(fit).collect());
    put_in_order(&mut fits, &leaves, &order_of_codes(tree, table), (table, loss));
    (nodes, fits)
}

/// Fits one leaf to rows.
pub fn fit_rows(table: &RankTable, rows: &[u32], loss: &LeafLoss) -> NodeFit {
    let mut stats = SumLeafStats::new(table, loss, 1, 1);
    rows.iter().for_each(|&row| stats.add(0, stats.row_stats(row), 1));
    let total = stats.total_loss();
    let sums = stats.of(0).to_vec();
    let RankTarget::Numbers { of_row, centre } = table.target() else {
        return NodeFit { sums, loss: total, value: 0.0, rows: rows.len(), share: None };
    };
    if *loss == LeafLoss::Absolute {
        let mut medians = MedianLeafStats::new(table, rows, 1, 1);
        rows.iter().for_each(|&row| medians.add(0, table.weight(row), of_row[row as usize]));
        let total = medians.total_loss();
        let value = medians.median(0) + centre;
        return NodeFit { sums, loss: total, value, rows: rows.len(), share: None };
    }
    let value = if sums[0] > 0.0 { sums[1] / sums[0] } else { 0.0 };
    NodeFit { sums, loss: total, value: value + centre, rows: rows.len(), share: None }
}

/// The tree of a model: a vector tree for three or more classes. Its base scores are 0.
///
/// The class probabilities of a leaf are smoothed as if each class had one more row (Laplace), so
/// that no class gets probability 0; the order of the classes stays. With a cost matrix the class
/// of lowest cost gets the largest probability.
pub fn to_member(tree: &mut RankTree, table: &RankTable, loss: &LeafLoss) -> Member {
    let splits = tree.centre_thresholds(table);
    let fitted = fit_nodes(tree, table, loss);
    let mut member = assemble(tree, splits, None, fitted, (table, loss));

    // Thresholds between the same codes may differ in their values, and probabilities are not those
    // that were put in order if costs decide.
    if let Shape::Ordinary(tree) = &mut member.shape
        && table.constraints().has_monotone()
    {
        let order = table.constraints().leaf_order(tree);
        let (values, weights): (Vec<f64>, Vec<f64>) =
            tree.leaves.iter().map(|leaf| (leaf.value, leaf.cover)).unzip();
        let values = order.project(&values, &weights);
        tree.leaves.iter_mut().zip(values).for_each(|(leaf, value)| leaf.value = value);
    }
    member
}

/// A tree whose thresholds and leaf classes are given and are not refitted to the rows. For numbers
/// the leaf values are fitted, and there are no classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassifierTree {
    /// Its rules over codes.
    pub rules: RankTree,
    /// The same rules over values, node by node.
    pub splits: Vec<Split>,
    /// The class of each leaf.
    pub classes: Vec<u16>,
}

impl ClassifierTree {
    /// The tree of a model. Probabilities are those of [`to_member`], except that the class of a
    /// leaf gets one row more than any other class if its rows would not make it the first.
    pub fn to_member(&self, table: &RankTable, loss: &LeafLoss, pool: &Pool) -> Member {
        // A grid has thousands of leaves, and this runs after the deadline of an interrupted search.
        let (nodes, leaves) = self.rules.partition_rows_on(table, pool);
        let fit = |of: &[Vec<u32>]| pool.map(of.len(), |at| fit_rows(table, &of[at], loss));
        let fitted = (fit(&nodes), fit(&leaves));
        let classes = match table.target() {
            RankTarget::Classes { .. } => Some(&self.classes[..]),
            RankTarget::Numbers { .. } => None,
        };
        assemble(&self.rules, self.splits.clone(), classes, fitted, (table, loss))
    }
}

fn assemble(
    tree: &RankTree,
    splits: Vec<Split>,
    classes: Option<&[u16]>,
    (nodes, leaves): (Vec<NodeFit>, Vec<NodeFit>),
    (table, loss): (&RankTable, &LeafLoss),
) -> Member {
    let fit_at = |at: NodeRef| match at {
        NodeRef::Node(node) => &nodes[node as usize],
        NodeRef::Leaf(leaf) => &leaves[leaf as usize],
    };
    let model_nodes: Vec<Node> = tree
        .nodes()
        .iter()
        .zip(splits)
        .zip(&nodes)
        .map(|((node, split), fitted)| Node {
            split,
            left: to_child(node.left),
            right: to_child(node.right),
            gain: (fitted.loss - fit_at(node.left).loss - fit_at(node.right).loss).max(0.0),
            cover: fitted.weight(table),
        })
        .collect();
    let row_weight = row_weight(table);
    let value = |(at, leaf): (usize, &NodeFit)| match classes {
        None => leaf_values(leaf, table, loss, row_weight),
        Some(classes) => given_class_values(leaf, usize::from(classes[at]), row_weight),
    };
    let values: Vec<Vec<f64>> = leaves.iter().enumerate().map(value).collect();
    let outputs = values.first().map_or(1, Vec::len);
    let leaf = |(values, fitted): (&Vec<f64>, &NodeFit)| Leaf {
        value: if outputs == 1 { values[0] } else { 0.0 },
        cover: fitted.weight(table),
    };
    let leaves = values.iter().zip(&leaves).map(leaf).collect();
    let tree = Tree { nodes: model_nodes, leaves };
    let shape = match outputs {
        1 => Shape::Ordinary(tree),
        _ => Shape::Vector(VectorTree { tree, values: values.concat() }),
    };
    Member { output: 0, shape }
}

/// The raw scores of a leaf.
fn leaf_values(leaf: &NodeFit, table: &RankTable, loss: &LeafLoss, row_weight: f64) -> Vec<f64> {
    let RankTarget::Classes { count, .. } = table.target() else { return vec![leaf.value] };
    let mut counts: Vec<f64> = match leaf.share {
        Some(share) => vec![1.0 - share, share],
        None => leaf.sums.iter().map(|weight| weight + row_weight).collect(),
    };
    let class = leaf.class(loss);
    let most = counts.iter().copied().fold(0.0, f64::max);
    if counts[class] < most || counts[..class].contains(&most) {
        // The class of lowest cost is not the most frequent one; it must still win, if barely.
        counts[class] = most * (1.0 + 1e-9);
    }
    debug_assert_eq!(counts.len(), *count);
    scores(&counts)
}

/// The raw scores of a leaf whose class is given.
fn given_class_values(leaf: &NodeFit, class: usize, row_weight: f64) -> Vec<f64> {
    let mut counts: Vec<f64> = leaf.sums.iter().map(|weight| weight + row_weight).collect();
    let most = counts.iter().copied().fold(0.0, f64::max);
    if counts[class] < most || counts[..class].contains(&most) {
        counts[class] = most + row_weight;
    }
    scores(&counts)
}

/// Log odds of two classes, log shares of more.
fn scores(counts: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    match counts {
        [first, second] => vec![(second / first).ln()],
        _ => counts.iter().map(|share| (share / total).ln()).collect(),
    }
}
