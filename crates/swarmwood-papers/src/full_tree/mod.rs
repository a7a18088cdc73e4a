//! One full tree of a given depth, whose nodes are chosen by a particle swarm.
//!
//! A full binary tree is an array: the children of node `p` are `2p + 1` and `2p + 2` (Rao 2022,
//! equation 20, arity 2). A particle determines the content of each node; two methods differ in how.
//! Tree Swarm Optimisation scores every symbol for every node (`symbols.rs`, plain particle swarm).
//! The other method takes rules from a table of split points of a pretrained model
//! (`split_points.rs`, discrete particle swarm). Both share the evaluation of a tree, which is here.

mod number_fitness;
pub mod split_points;
pub mod symbols;
#[cfg(test)]
mod tests;

use crate::class_fitness::{ClassFitness, FitnessMeasure, majority};
use swarmwood_learn::rank_table::{RankTable, RankTarget};
use swarmwood_learn::rank_tree::{ClassifierTree, RankTree, Subtree};
use swarmwood_learn::rule::{Cut, RankRule};

/// The tree and the swarm.
#[derive(Debug, Clone, PartialEq)]
pub struct FullTreeConfig {
    /// Number of rules from the root to a leaf.
    pub depth: usize,
    /// Number of particles.
    pub population: usize,
    /// Iterations of the swarm.
    pub iterations: usize,
    /// What is maximised for classes; for numbers the RMSE is minimised.
    pub fitness: FitnessMeasure,
    /// Seed of the random streams.
    pub seed: u64,
}

/// Why there is no tree.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FullTreeError {
    /// The target is a number.
    #[error("a swarm of whole trees decides between classes, but the target is a number")]
    NoClasses,
    /// There is nothing to choose from.
    #[error("there is no split point that parts the training rows")]
    NoSplits,
    /// A position would be too long.
    #[error("a tree of depth {depth} over {symbols} symbols needs positions of {length} numbers")]
    TooLong {
        /// The depth.
        depth: usize,
        /// Features and classes.
        symbols: usize,
        /// Numbers of a position.
        length: usize,
    },
    /// The swarm itself.
    #[error("{0}")]
    Engine(#[from] swarmwood_search::Error),
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct FullTreeResult {
    /// The best tree.
    pub tree: ClassifierTree,
    /// What was optimised, as users know it.
    pub measure: &'static str,
    /// Its value.
    pub fitness: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Trees evaluated.
    pub evaluations: u64,
    /// Positions that were evaluated before.
    pub repeats: u64,
    /// Number of split points or symbols to choose from.
    pub choices: usize,
}

/// The nodes of a full tree above the last level: a rule, or `None` where the tree ends.
type TreeArray<'r> = [Option<&'r RankRule>];

/// The class weights of every node where rows end, node by node.
fn leaf_weights(table: &RankTable, nodes: &TreeArray<'_>, classes: usize) -> Vec<f64> {
    let RankTarget::Classes { of_row, .. } = table.target() else {
        unreachable!("the fitness exists for classes only")
    };
    let mut counts = vec![0.0; (2 * nodes.len() + 1) * classes];
    let leaf = leaf_of(table, nodes);
    for (row, &class) in of_row.iter().enumerate() {
        counts[leaf(row) * classes + usize::from(class)] += table.weight(row as u32);
    }
    counts
}

/// The node where each row ends.
fn leaf_of<'t>(table: &'t RankTable, nodes: &'t TreeArray<'t>) -> impl Fn(usize) -> usize + 't {
    let columns: Vec<&[u16]> = nodes
        .iter()
        .map(|rule| rule.map_or(&[][..], |rule| table.columns()[rule.feature as usize].codes()))
        .collect();
    move |row| {
        let mut at = 0;
        while let Some(Some(rule)) = nodes.get(at) {
            at = 2 * at + 1 + usize::from(rule.goes_right(columns[at][row]));
        }
        at
    }
}

/// The fitness if each leaf has the class that `predict` gives for its number and class weights.
fn fitness(
    class_fitness: &ClassFitness,
    counts: &[f64],
    predict: impl Fn(usize, &[f64]) -> usize,
) -> f64 {
    let nodes = counts.chunks(class_fitness.classes()).enumerate();
    class_fitness.fitness(
        nodes.map(|(at, counts)| class_fitness.contribution(counts, predict(at, counts))).sum(),
    )
}

/// The majority class of a leaf.
fn by_majority(_: usize, counts: &[f64]) -> usize {
    majority(counts)
}

/// Prunes a full tree: removes rules that send all their rows to one side and, with `merge`, rules
/// between two leaves of the same class.
struct FullTreePruner<'a, D> {
    table: &'a RankTable,
    nodes: &'a TreeArray<'a>,
    /// The split of the rule at a node.
    split: &'a dyn Fn(usize) -> swarmwood_model::Split,
    counts: &'a [f64],
    classes: usize,
    predict: D,
    merge: bool,
}

/// A subtree with its splits and classes in depth-first order.
struct PrunedSubtree {
    subtree: Subtree,
    splits: Vec<swarmwood_model::Split>,
    classes: Vec<u16>,
}

impl<D: Fn(usize, &[f64]) -> usize> FullTreePruner<'_, D> {
    fn to_tree(&self) -> ClassifierTree {
        let rows = (0..self.table.rows() as u32).collect();
        let PrunedSubtree { subtree, splits, classes } = self.prune(0, rows);
        ClassifierTree { rules: RankTree::new(&subtree), splits, classes }
    }

    fn prune(&self, at: usize, rows: Vec<u32>) -> PrunedSubtree {
        let Some(Some(rule)) = self.nodes.get(at) else {
            let counts = &self.counts[at * self.classes..(at + 1) * self.classes];
            let class = (self.predict)(at, counts) as u16;
            return PrunedSubtree {
                subtree: Subtree::Leaf,
                splits: Vec::new(),
                classes: vec![class],
            };
        };
        let codes = self.table.columns()[rule.feature as usize].codes();
        let (right, left): (Vec<u32>, Vec<u32>) =
            rows.iter().partition(|&&row| rule.goes_right(codes[row as usize]));
        if left.is_empty() || right.is_empty() {
            return if left.is_empty() {
                self.prune(2 * at + 2, right)
            } else {
                self.prune(2 * at + 1, left)
            };
        }
        let (left, right) = (self.prune(2 * at + 1, left), self.prune(2 * at + 2, right));
        let alike = left.subtree == Subtree::Leaf
            && right.subtree == Subtree::Leaf
            && left.classes == right.classes;
        if self.merge && alike {
            return left;
        }
        let splits = [vec![(self.split)(at)], left.splits, right.splits].concat();
        let classes = [left.classes, right.classes].concat();
        PrunedSubtree {
            subtree: Subtree::split((*rule).clone(), left.subtree, right.subtree),
            splits,
            classes,
        }
    }
}

/// The rule over codes as a split over values, in the middle between the values around a cut.
fn middle_split(rule: &RankRule, table: &RankTable) -> swarmwood_model::Split {
    let near = match rule.cut {
        Cut::Above(cut) => [cut, cut + 1],
        Cut::In(_) => [0, 0],
    };
    rule.to_split(&table.columns()[rule.feature as usize], near)
}
