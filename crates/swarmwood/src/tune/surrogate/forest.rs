//! A random forest over a few hundred configurations (Breiman 2001), grown and asked at once.
//!
//! Thirty trees, each on a bootstrap sample; a split is the best of 70 % of the parameters, chosen
//! anew at every node; a leaf has at least two draws, and nothing else limits depth. The mean over
//! the trees is what is expected and their standard deviation how unsure that is.
//!
//! A forest is used once, for one set of candidates. So no tree is ever stored: whenever a node is
//! split, its candidates are parted with its rows, a leaf adds its mean to the candidates that
//! reached it, and a branch without candidates is not grown. Every parameter's order of the rows is
//! made once and parted along, so that no node sorts.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::{Belief, Cube, Regressor};

/// Trees, unless said otherwise.
const TREES: usize = 30;

/// Share of the parameters that a split looks at.
const SHARE: f64 = 0.7;

/// Fewest draws in a leaf.
const LEAF: usize = 2;

/// The forest.
#[derive(Debug, Clone, Copy)]
pub struct RandomForest {
    trees: usize,
}

impl Default for RandomForest {
    fn default() -> Self {
        Self::of_trees(TREES)
    }
}

impl Regressor for RandomForest {
    const NAME: &'static str = "forest";

    fn of_trees(trees: usize) -> Self {
        RandomForest { trees: trees.max(1) }
    }

    fn trees(&self) -> usize {
        self.trees
    }

    fn believe(
        &self,
        known: &Cube,
        target: &[f64],
        asked: &Cube,
        stream: &mut Stream,
    ) -> Vec<Belief> {
        let mut forest = Growing::new(known, target, asked);
        (0..self.trees).for_each(|_| forest.tree(stream));
        let count = self.trees as f64;
        let belief = |(&sum, &squares): (&f64, &f64)| {
            let mean = sum / count;
            Belief { mean, deviation: (squares / count - mean * mean).max(0.0).sqrt() }
        };
        forest.sum.iter().zip(&forest.squares).map(belief).collect()
    }
}

/// A forest while it grows.
struct Growing<'a> {
    known: &'a Cube,
    target: &'a [f64],
    asked: &'a Cube,
    /// The rows in the order of each parameter.
    sorted: Vec<Vec<u32>>,
    /// `1 / w` for every weight a node can have.
    inverse: Vec<f64>,
    sum: Vec<f64>,
    squares: Vec<f64>,
    tree: Sample,
}

/// What one tree works on.
#[derive(Default)]
struct Sample {
    /// How often each row was drawn.
    draws: Vec<u32>,
    /// The same beside the target so many times: one look a row.
    weighed: Vec<(u32, f64)>,
    /// The drawn rows in the order of each parameter, node after node.
    orders: Vec<Vec<u32>>,
    /// The candidates, node after node.
    candidates: Vec<u32>,
    /// Whether a row goes left in the split that is carried out.
    left: Vec<bool>,
    /// Where entries that go right wait.
    waiting: Vec<u32>,
    /// The parameters, shuffled again and again.
    deck: Vec<usize>,
}

/// A node: its rows and its candidates.
struct Node {
    rows: Range<usize>,
    candidates: Range<usize>,
}

/// The best split of a node so far.
struct Split {
    score: f64,
    parameter: usize,
    /// Rows on the left side.
    left: usize,
    threshold: f64,
}

impl<'a> Growing<'a> {
    fn new(known: &'a Cube, target: &'a [f64], asked: &'a Cube) -> Self {
        let sorted = known.columns.iter().map(|column| {
            let mut order: Vec<u32> = (0..known.rows as u32).collect();
            order.sort_unstable_by(|&a, &b| {
                column[a as usize].total_cmp(&column[b as usize]).then(a.cmp(&b))
            });
            order
        });
        Growing {
            known,
            target,
            asked,
            sorted: sorted.collect(),
            inverse: (0..=known.rows).map(|weight| 1.0 / weight as f64).collect(),
            sum: vec![0.0; asked.rows],
            squares: vec![0.0; asked.rows],
            tree: Sample { deck: (0..known.columns.len()).collect(), ..Sample::default() },
        }
    }

    /// Draws a sample, grows a tree on it and adds what it says.
    fn tree(&mut self, stream: &mut Stream) {
        let rows = self.known.rows;
        let tree = &mut self.tree;
        tree.draws.clear();
        tree.draws.resize(rows, 0);
        (0..rows).for_each(|_| tree.draws[stream.below(rows as u64) as usize] += 1);
        tree.weighed.clear();
        tree.weighed.extend(
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
        let mut open = vec![Node { rows: 0..drawn, candidates: 0..self.asked.rows }];
        while let Some(node) = open.pop() {
            if node.candidates.is_empty() {
                continue;
            }
            let (weight, sum) = self.sums(&node);
            match self.best_split(&node, weight, sum, stream) {
                Some(split) => open.extend(self.part(&node, &split)),
                None => self.leaf(&node, sum / weight as f64),
            }
        }
    }

    /// Draws of a node, and the sum of their targets.
    fn sums(&self, node: &Node) -> (usize, f64) {
        let rows = self.tree.orders.first().map_or(&[][..], |order| &order[node.rows.clone()]);
        rows.iter().fold((0, 0.0), |(weight, sum), &row| {
            let (draws, targets) = self.tree.weighed[row as usize];
            (weight + draws as usize, sum + targets)
        })
    }

    /// The split that lowers the squared error most, among the parameters that the node may look
    /// at.
    fn best_split(
        &mut self,
        node: &Node,
        weight: usize,
        sum: f64,
        stream: &mut Stream,
    ) -> Option<Split> {
        if weight < 2 * LEAF {
            return None;
        }
        let parameters = self.tree.deck.len();
        let wanted = ((SHARE * parameters as f64).round() as usize).clamp(1, parameters);
        // What a split must exceed: the node as it is, and a little for rounding.
        let whole = sum * sum * self.inverse[weight];
        let mut best: Option<Split> = None;
        for at in 0..wanted {
            let other = at + stream.below((parameters - at) as u64) as usize;
            self.tree.deck.swap(at, other);
            let parameter = self.tree.deck[at];
            let floor = best.as_ref().map_or(whole + 1e-12, |best| best.score);
            best = self.best_cut(node, parameter, weight, sum, floor).or(best);
        }
        best
    }

    /// The best cut of one parameter, if it is above the floor.
    fn best_cut(
        &self,
        node: &Node,
        parameter: usize,
        weight: usize,
        sum: f64,
        floor: f64,
    ) -> Option<Split> {
        let order = &self.tree.orders[parameter][node.rows.clone()];
        let column = &self.known.columns[parameter];
        let (mut left_weight, mut left_sum) = (0, 0.0);
        let (mut score, mut found) = (floor, None);
        let (&first, rest) = order.split_first()?;
        let (mut row, mut value) = (first as usize, column[first as usize]);
        for (before, &next) in rest.iter().enumerate() {
            let (draws, targets) = self.tree.weighed[row];
            left_weight += draws as usize;
            left_sum += targets;
            let here = value;
            (row, value) = (next as usize, column[next as usize]);
            if left_weight < LEAF || here == value {
                continue;
            }
            let right_weight = weight - left_weight;
            if right_weight < LEAF {
                break;
            }
            let right_sum = sum - left_sum;
            let both = left_sum * left_sum * self.inverse[left_weight]
                + right_sum * right_sum * self.inverse[right_weight];
            if both > score {
                (score, found) = (both, Some((before + 1, 0.5 * (here + value))));
            }
        }
        found.map(|(left, threshold)| Split { score, parameter, left, threshold })
    }

    /// Parts the rows and the candidates of a node.
    fn part(&mut self, node: &Node, split: &Split) -> [Node; 2] {
        let tree = &mut self.tree;
        let middle = node.rows.start + split.left;
        for (place, &row) in tree.orders[split.parameter][node.rows.clone()].iter().enumerate() {
            tree.left[row as usize] = place < split.left;
        }
        for (parameter, order) in tree.orders.iter_mut().enumerate() {
            if parameter != split.parameter {
                let left = &tree.left;
                part_stably(&mut order[node.rows.clone()], &mut tree.waiting, |row| {
                    left[row as usize]
                });
            }
        }
        let column = &self.asked.columns[split.parameter];
        let own = &mut tree.candidates[node.candidates.clone()];
        let kept = part_stably(own, &mut tree.waiting, |candidate| {
            column[candidate as usize] <= split.threshold
        });
        let cut = node.candidates.start + kept;
        [
            Node { rows: node.rows.start..middle, candidates: node.candidates.start..cut },
            Node { rows: middle..node.rows.end, candidates: cut..node.candidates.end },
        ]
    }

    /// Tells the candidates of a leaf its mean.
    fn leaf(&mut self, node: &Node, mean: f64) {
        for &candidate in &self.tree.candidates[node.candidates.clone()] {
            self.sum[candidate as usize] += mean;
            self.squares[candidate as usize] += mean * mean;
        }
    }
}

/// Moves the entries that stay to the front, both kinds in their order; answers how many stay.
pub(super) fn part_stably(
    entries: &mut [u32],
    waiting: &mut Vec<u32>,
    stays: impl Fn(u32) -> bool,
) -> usize {
    if waiting.len() < entries.len() {
        waiting.resize(entries.len(), 0);
    }
    // Both places are written and one counter moves: no branch depends on the entry.
    let (mut kept, mut moved) = (0, 0);
    for at in 0..entries.len() {
        let entry = entries[at];
        let stay = usize::from(stays(entry));
        entries[kept] = entry;
        waiting[moved] = entry;
        kept += stay;
        moved += 1 - stay;
    }
    entries[kept..].copy_from_slice(&waiting[..moved]);
    kept
}
