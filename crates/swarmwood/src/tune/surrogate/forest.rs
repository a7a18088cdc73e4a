//! A random forest over a few hundred trials (Breiman 2001), fitted and evaluated in one pass.
//!
//! Thirty trees, each on a bootstrap sample; a split is the best over a random 70 % of the
//! parameters per node; a leaf has a weight of at least two, and depth is not limited otherwise.
//! The prediction is the mean over the trees, with their standard deviation as uncertainty.
//!
//! A forest is used once, for one set of candidates. So no tree is stored: when a node is split,
//! its candidates are partitioned together with its rows, a leaf adds its mean to the candidates
//! that reached it, and a branch without candidates is not grown. The rows are sorted once per
//! parameter, and the orders are partitioned with the nodes, so that no node sorts.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::{CoordinateTable, LossPrediction, SurrogateModel};

/// Number of trees, by default.
pub(super) const DEFAULT_TREES: usize = 30;

/// Fraction of the parameters that a split considers.
const PARAMETER_FRACTION: f64 = 0.7;

/// Smallest weight of a leaf: the number of draws of its rows.
const MIN_LEAF_WEIGHT: usize = 2;

/// A random forest.
#[derive(Debug, Clone, Copy)]
pub struct ForestModel {
    trees: usize,
}

impl Default for ForestModel {
    fn default() -> Self {
        Self::with_trees(DEFAULT_TREES)
    }
}

impl SurrogateModel for ForestModel {
    const NAME: &'static str = "forest";

    fn with_trees(trees: usize) -> Self {
        ForestModel { trees: trees.max(1) }
    }

    fn trees(&self) -> usize {
        self.trees
    }

    fn fit_predict(
        &self,
        known: &CoordinateTable,
        target: &[f64],
        asked: &CoordinateTable,
        stream: &mut Stream,
    ) -> Vec<LossPrediction> {
        let mut forest = ForestBuilder::new(known, target, asked);
        (0..self.trees).for_each(|_| forest.tree(stream));
        let count = self.trees as f64;
        let prediction = |(&sum, &squares): (&f64, &f64)| {
            let mean = sum / count;
            LossPrediction { mean, deviation: (squares / count - mean * mean).max(0.0).sqrt() }
        };
        forest.sum.iter().zip(&forest.squares).map(prediction).collect()
    }
}

/// Grows the trees of a forest and sums up their predictions.
struct ForestBuilder<'a> {
    known: &'a CoordinateTable,
    target: &'a [f64],
    asked: &'a CoordinateTable,
    /// The rows in the order of each parameter.
    sorted: Vec<Vec<u32>>,
    /// `1 / w` for every weight a node can have.
    inverse: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
    tree: BootstrapSample,
}

/// The working state of one tree.
#[derive(Default)]
struct BootstrapSample {
    /// How often each row was drawn.
    draws: Vec<u32>,
    /// Draws of each row and draws times target, so that one access per row suffices.
    weighted: Vec<(u32, f64)>,
    /// The drawn rows in the order of each parameter, node after node.
    orders: Vec<Vec<u32>>,
    /// The candidates, node after node.
    candidates: Vec<u32>,
    /// Whether a row goes left in the split that is carried out.
    left: Vec<bool>,
    /// Buffer of the partition.
    buffer: Vec<u32>,
    /// The parameters, partially shuffled per node.
    deck: Vec<usize>,
}

/// A node: its rows and its candidates.
struct ForestNode {
    rows: Range<usize>,
    candidates: Range<usize>,
}

/// The best split of a node so far.
struct ForestSplit {
    score: f64,
    parameter: usize,
    /// Rows on the left side.
    left: usize,
    threshold: f64,
}

impl<'a> ForestBuilder<'a> {
    fn new(known: &'a CoordinateTable, target: &'a [f64], asked: &'a CoordinateTable) -> Self {
        let sorted = known.columns.iter().map(|column| {
            let mut order: Vec<u32> = (0..known.rows as u32).collect();
            order.sort_unstable_by(|&a, &b| {
                column[a as usize].total_cmp(&column[b as usize]).then(a.cmp(&b))
            });
            order
        });
        ForestBuilder {
            known,
            target,
            asked,
            sorted: sorted.collect(),
            inverse: (0..=known.rows).map(|weight| 1.0 / weight as f64).collect(),
            sum: vec![0.0; asked.rows],
            squares: vec![0.0; asked.rows],
            tree: BootstrapSample {
                deck: (0..known.columns.len()).collect(),
                ..BootstrapSample::default()
            },
        }
    }

    /// Draws a bootstrap sample, grows a tree on it and adds its predictions.
    fn tree(&mut self, stream: &mut Stream) {
        let rows = self.known.rows;
        let tree = &mut self.tree;
        tree.draws.clear();
        tree.draws.resize(rows, 0);
        (0..rows).for_each(|_| tree.draws[stream.below(rows as u64) as usize] += 1);
        tree.weighted.clear();
        tree.weighted.extend(
            tree.draws.iter().zip(self.target).map(|(&draws, y)| (draws, f64::from(draws) * y)),
        );
        tree.orders.resize(self.sorted.len(), Vec::new());
        for (order, sorted) in tree.orders.iter_mut().zip(&self.sorted) {
            order.clear();
            order.extend(sorted.iter().filter(|&&row| tree.draws[row as usize] > 0));
        }
        tree.candidates.clear();
        tree.candidates.extend(0..self.asked.rows as u32);
        tree.left.resize(rows, false);
        let drawn = tree.orders.first().map_or(0, Vec::len);
        let mut open = vec![ForestNode { rows: 0..drawn, candidates: 0..self.asked.rows }];
        while let Some(node) = open.pop() {
            if node.candidates.is_empty() {
                continue;
            }
            let (weight, sum) = self.sums(&node);
            match self.best_split(&node, weight, sum, stream) {
                Some(split) => open.extend(self.split_node(&node, &split)),
                None => self.add_leaf(&node, sum / weight as f64),
            }
        }
    }

    /// Weight of a node, and the weighted sum of its targets.
    fn sums(&self, node: &ForestNode) -> (usize, f64) {
        let rows = self.tree.orders.first().map_or(&[][..], |order| &order[node.rows.clone()]);
        rows.iter().fold((0, 0.0), |(weight, sum), &row| {
            let (draws, targets) = self.tree.weighted[row as usize];
            (weight + draws as usize, sum + targets)
        })
    }

    /// The split with the largest reduction of the squared error, over a random subset of the
    /// parameters.
    fn best_split(
        &mut self,
        node: &ForestNode,
        weight: usize,
        sum: f64,
        stream: &mut Stream,
    ) -> Option<ForestSplit> {
        if weight < 2 * MIN_LEAF_WEIGHT {
            return None;
        }
        let parameters = self.tree.deck.len();
        let wanted =
            ((PARAMETER_FRACTION * parameters as f64).round() as usize).clamp(1, parameters);
        // A split must exceed the score of the whole node, plus a tolerance for rounding.
        let whole = sum * sum * self.inverse[weight];
        let mut best: Option<ForestSplit> = None;
        for at in 0..wanted {
            let other = at + stream.below((parameters - at) as u64) as usize;
            self.tree.deck.swap(at, other);
            let parameter = self.tree.deck[at];
            let floor = best.as_ref().map_or(whole + 1e-12, |best| best.score);
            best = self.best_threshold(node, parameter, weight, sum, floor).or(best);
        }
        best
    }

    /// The best threshold of one parameter, if its score is above the floor.
    fn best_threshold(
        &self,
        node: &ForestNode,
        parameter: usize,
        weight: usize,
        sum: f64,
        floor: f64,
    ) -> Option<ForestSplit> {
        let order = &self.tree.orders[parameter][node.rows.clone()];
        let column = &self.known.columns[parameter];
        let (mut left_weight, mut left_sum) = (0, 0.0);
        let (mut score, mut found) = (floor, None);
        let (&first, rest) = order.split_first()?;
        let (mut row, mut value) = (first as usize, column[first as usize]);
        for (before, &next) in rest.iter().enumerate() {
            let (draws, targets) = self.tree.weighted[row];
            left_weight += draws as usize;
            left_sum += targets;
            let current = value;
            (row, value) = (next as usize, column[next as usize]);
            if left_weight < MIN_LEAF_WEIGHT || current == value {
                continue;
            }
            let right_weight = weight - left_weight;
            if right_weight < MIN_LEAF_WEIGHT {
                break;
            }
            let right_sum = sum - left_sum;
            let both = left_sum * left_sum * self.inverse[left_weight]
                + right_sum * right_sum * self.inverse[right_weight];
            if both > score {
                (score, found) = (both, Some((before + 1, 0.5 * (current + value))));
            }
        }
        found.map(|(left, threshold)| ForestSplit { score, parameter, left, threshold })
    }

    /// Partitions the rows and the candidates of a node.
    fn split_node(&mut self, node: &ForestNode, split: &ForestSplit) -> [ForestNode; 2] {
        let tree = &mut self.tree;
        let middle = node.rows.start + split.left;
        for (place, &row) in tree.orders[split.parameter][node.rows.clone()].iter().enumerate() {
            tree.left[row as usize] = place < split.left;
        }
        for (parameter, order) in tree.orders.iter_mut().enumerate() {
            if parameter != split.parameter {
                let left = &tree.left;
                stable_partition(&mut order[node.rows.clone()], &mut tree.buffer, |row| {
                    left[row as usize]
                });
            }
        }
        let column = &self.asked.columns[split.parameter];
        let own = &mut tree.candidates[node.candidates.clone()];
        let kept = stable_partition(own, &mut tree.buffer, |candidate| {
            column[candidate as usize] <= split.threshold
        });
        let cut = node.candidates.start + kept;
        [
            ForestNode { rows: node.rows.start..middle, candidates: node.candidates.start..cut },
            ForestNode { rows: middle..node.rows.end, candidates: cut..node.candidates.end },
        ]
    }

    /// Adds the mean of a leaf to its candidates.
    fn add_leaf(&mut self, node: &ForestNode, mean: f64) {
        for &candidate in &self.tree.candidates[node.candidates.clone()] {
            self.sum[candidate as usize] += mean;
            self.squares[candidate as usize] += mean * mean;
        }
    }
}

/// Stable partition: moves the entries that satisfy the predicate to the front; returns their
/// number.
pub(super) fn stable_partition(
    entries: &mut [u32],
    buffer: &mut Vec<u32>,
    stays: impl Fn(u32) -> bool,
) -> usize {
    if buffer.len() < entries.len() {
        buffer.resize(entries.len(), 0);
    }
    // Both positions are written and one counter moves, so that no branch depends on the entry.
    let (mut kept, mut moved) = (0, 0);
    for at in 0..entries.len() {
        let entry = entries[at];
        let stay = usize::from(stays(entry));
        entries[kept] = entry;
        buffer[moved] = entry;
        kept += stay;
        moved += 1 - stay;
    }
    entries[kept..].copy_from_slice(&buffer[..moved]);
    kept
}
