//! From a sketch to the trees of a model: leaf values, covers, gains.

use swarmwood_model::{Child, Leaf, Member, Node, Shape, Split, Tree};

use super::{Edge, Sketch};
use crate::leaf_loss::{Loss, Medians, Sums};
use crate::pool::Pool;
use crate::ranked::{Ranked, Target};

/// What the rows that come to a place say.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The weight of each class, or weight and weighted (centred) target.
    pub sums: Vec<f64>,
    /// The loss there if the place were a leaf.
    pub loss: f64,
    /// The best number, for numbers.
    pub value: f64,
    /// Rows there.
    pub rows: usize,
}

impl Fitted {
    /// The weight of the rows.
    pub fn weight(&self, table: &Ranked) -> f64 {
        match table.target() {
            Target::Classes { .. } => self.sums.iter().sum(),
            Target::Numbers { .. } => self.sums[0],
        }
    }

    /// The class that costs least; of equals the first.
    pub fn class(&self, loss: &Loss) -> usize {
        let cost = |class: usize| match loss {
            Loss::Costs(costs) => costs.of(&self.sums, class),
            _ => -self.sums[class],
        };
        (0..self.sums.len())
            .reduce(|best, class| if cost(class) < cost(best) { class } else { best })
            .unwrap_or(0)
    }
}

/// Fits the rows of every node and of every leaf as if they were leaves.
pub fn fit(sketch: &Sketch, table: &Ranked, loss: &Loss) -> (Vec<Fitted>, Vec<Fitted>) {
    let (nodes, leaves) = sketch.rows_of(table);
    let fit = |rows: &Vec<u32>| fit_rows(table, rows, loss);
    (nodes.iter().map(fit).collect(), leaves.iter().map(fit).collect())
}

/// Fits rows as if they were a leaf.
pub fn fit_rows(table: &Ranked, rows: &[u32], loss: &Loss) -> Fitted {
    let mut books = Sums::new(table, loss, 1, 1);
    rows.iter().for_each(|&row| books.add(0, books.load(row), 1));
    let total = books.settle();
    let sums = books.of(0).to_vec();
    let Target::Numbers { of_row, centre } = table.target() else {
        return Fitted { sums, loss: total, value: 0.0, rows: rows.len() };
    };
    if *loss == Loss::Absolute {
        let mut medians = Medians::new(table, rows, 1, 1);
        rows.iter().for_each(|&row| medians.add(0, table.weight(row), of_row[row as usize]));
        let total = medians.settle();
        return Fitted { sums, loss: total, value: medians.median(0) + centre, rows: rows.len() };
    }
    let value = if sums[0] > 0.0 { sums[1] / sums[0] } else { 0.0 };
    Fitted { sums, loss: total, value: value + centre, rows: rows.len() }
}

/// The trees of a model: one for numbers and for two classes, one a class with the same rules for
/// more. Their start value is 0.
///
/// A leaf's shares of the classes are smoothed as if each class had one more row (Laplace), so that
/// no class is called impossible; the order of the classes stays. Under a matrix of costs the class
/// that costs least has the largest share.
pub fn members(sketch: &mut Sketch, table: &Ranked, loss: &Loss) -> Vec<Member> {
    let splits = sketch.centre(table);
    let fitted = fit(sketch, table, loss);
    assemble(sketch, splits, None, fitted, (table, loss))
}

/// A tree whose thresholds and classes were decided elsewhere, and stay what they are whatever rows
/// say.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// Its rules over codes.
    pub sketch: Sketch,
    /// The same rules over values, node by node.
    pub splits: Vec<Split>,
    /// The class of each leaf.
    pub classes: Vec<u16>,
}

impl Decided {
    /// The trees of a model. Shares of classes are those of [`members`], except that the class of a
    /// leaf has a row more than any other where its rows, or their lack, would not make it the
    /// first.
    pub fn members(&self, table: &Ranked, loss: &Loss, pool: &Pool) -> Vec<Member> {
        // A grid has thousands of leaves, and whoever interrupts its search waits for them.
        let (nodes, leaves) = self.sketch.rows_of_on(table, pool);
        let fit = |of: &[Vec<u32>]| pool.map(of.len(), |at| fit_rows(table, &of[at], loss));
        let fitted = (fit(&nodes), fit(&leaves));
        assemble(&self.sketch, self.splits.clone(), Some(&self.classes), fitted, (table, loss))
    }
}

fn assemble(
    sketch: &Sketch,
    splits: Vec<Split>,
    classes: Option<&[u16]>,
    (nodes, leaves): (Vec<Fitted>, Vec<Fitted>),
    (table, loss): (&Ranked, &Loss),
) -> Vec<Member> {
    let child = |edge: Edge| match edge {
        Edge::Node(node) => Child::Node(node),
        Edge::Leaf(leaf) => Child::Leaf(leaf),
    };
    let at = |edge: Edge| match edge {
        Edge::Node(node) => &nodes[node as usize],
        Edge::Leaf(leaf) => &leaves[leaf as usize],
    };
    let made: Vec<Node> = sketch
        .nodes()
        .iter()
        .zip(splits)
        .zip(&nodes)
        .map(|((branch, split), fitted)| Node {
            split,
            left: child(branch.left),
            right: child(branch.right),
            gain: (fitted.loss - at(branch.left).loss - at(branch.right).loss).max(0.0),
            cover: fitted.weight(table),
        })
        .collect();
    let row_weight = table.total_weight() / (table.rows().max(1) as f64);
    let value = |(at, leaf): (usize, &Fitted)| match classes {
        None => leaf_values(leaf, table, loss, row_weight),
        Some(classes) => decided_values(leaf, usize::from(classes[at]), row_weight),
    };
    let values: Vec<Vec<f64>> = leaves.iter().enumerate().map(value).collect();
    let tree = |output: usize| {
        let leaf = |(values, fitted): (&Vec<f64>, &Fitted)| Leaf {
            value: values[output],
            cover: fitted.weight(table),
        };
        let leaves = values.iter().zip(&leaves).map(leaf).collect();
        Member {
            output: output as u32,
            shape: Shape::Ordinary(Tree { nodes: made.clone(), leaves }),
        }
    };
    (0..values[0].len()).map(tree).collect()
}

/// The raw scores of a leaf.
fn leaf_values(leaf: &Fitted, table: &Ranked, loss: &Loss, row_weight: f64) -> Vec<f64> {
    let Target::Classes { count, .. } = table.target() else { return vec![leaf.value] };
    let mut counts: Vec<f64> = leaf.sums.iter().map(|weight| weight + row_weight).collect();
    let decided = leaf.class(loss);
    let most = counts.iter().copied().fold(0.0, f64::max);
    if counts[decided] < most || counts[..decided].contains(&most) {
        // Costs decide otherwise than shares: the decision must win, if only just.
        counts[decided] = most * (1.0 + 1e-9);
    }
    debug_assert_eq!(counts.len(), *count);
    scores(&counts)
}

/// The raw scores of a leaf whose class is decided.
fn decided_values(leaf: &Fitted, decided: usize, row_weight: f64) -> Vec<f64> {
    let mut counts: Vec<f64> = leaf.sums.iter().map(|weight| weight + row_weight).collect();
    let most = counts.iter().copied().fold(0.0, f64::max);
    if counts[decided] < most || counts[..decided].contains(&most) {
        counts[decided] = most + row_weight;
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
