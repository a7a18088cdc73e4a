//! One tree of a given depth, every place of which a particle swarm fills.
//!
//! A full binary tree is an array: the children of place `p` are `2p + 1` and `2p + 2` (Rao 2022,
//! equation 20, arity 2). A particle says what stands at each place, and two methods differ in how.
//! Tree Swarm Optimisation scores every symbol that could stand there (`symbols.rs`, plain particle
//! swarm). The other draws rules from a table of split points of a model that was trained before
//! (`split_points.rs`, discrete particle swarm). How well the rows of the ends are decided is the
//! same question for both and is answered here.

pub mod split_points;
pub mod symbols;
#[cfg(test)]
mod tests;

use crate::merit::{Fitness, Merit, majority};
use crate::ranked::{Cut, Ranked, Rule, Target};
use crate::sketch::{Decided, Sketch, Twig};

/// How long is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Rules on a way down.
    pub depth: usize,
    /// Particles.
    pub population: usize,
    /// Iterations of the swarm.
    pub iterations: usize,
    /// What is to be large.
    pub fitness: Fitness,
    /// Start of the random streams.
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

/// What a search ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The best tree.
    pub tree: Decided,
    /// Its fitness.
    pub fitness: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Trees evaluated.
    pub evaluations: u64,
    /// Positions that were known already.
    pub repeats: u64,
    /// Split points or symbols that there were to choose from.
    pub choices: usize,
}

/// What the places of a full tree hold: rules, or nothing where it ends. Places of the last level
/// have none.
type Places<'r> = [Option<&'r Rule>];

/// The weights of the classes at every place where rows end, place after place.
fn ends(table: &Ranked, places: &Places<'_>, classes: usize) -> Vec<f64> {
    let Target::Classes { of_row, .. } = table.target() else {
        unreachable!("a merit exists for classes only")
    };
    let mut counts = vec![0.0; (2 * places.len() + 1) * classes];
    let columns: Vec<&[u16]> = places
        .iter()
        .map(|rule| rule.map_or(&[][..], |rule| table.columns()[rule.feature as usize].codes()))
        .collect();
    for (row, &class) in of_row.iter().enumerate() {
        let mut at = 0;
        while let Some(Some(rule)) = places.get(at) {
            at = 2 * at + 1 + usize::from(rule.right(columns[at][row]));
        }
        counts[at * classes + usize::from(class)] += table.weight(row as u32);
    }
    counts
}

/// The fitness if each place has the class that `decide` tells from its number and its class
/// weights.
fn fitness(merit: &Merit, counts: &[f64], decide: impl Fn(usize, &[f64]) -> usize) -> f64 {
    let places = counts.chunks(merit.classes()).enumerate();
    merit.fitness(places.map(|(at, counts)| merit.of(counts, decide(at, counts))).sum())
}

/// The class of most rows, whatever the place.
fn by_majority(_: usize, counts: &[f64]) -> usize {
    majority(counts)
}

/// A full tree made small: a rule that sends all rows that reach it to one side goes, as the other
/// side says nothing about rows, and with `merge` a rule whose sides are leaves of the same class.
struct Pruner<'a, D> {
    table: &'a Ranked,
    places: &'a Places<'a>,
    /// The split of the rule at a place.
    split: &'a dyn Fn(usize) -> swarmwood_model::Split,
    counts: &'a [f64],
    classes: usize,
    decide: D,
    merge: bool,
}

/// A twig with its splits and classes in the order of a walk.
struct Piece {
    twig: Twig,
    splits: Vec<swarmwood_model::Split>,
    classes: Vec<u16>,
}

impl<D: Fn(usize, &[f64]) -> usize> Pruner<'_, D> {
    fn tree(&self) -> Decided {
        let rows = (0..self.table.rows() as u32).collect();
        let Piece { twig, splits, classes } = self.piece(0, rows);
        Decided { sketch: Sketch::new(&twig), splits, classes }
    }

    fn piece(&self, at: usize, rows: Vec<u32>) -> Piece {
        let Some(Some(rule)) = self.places.get(at) else {
            let counts = &self.counts[at * self.classes..(at + 1) * self.classes];
            let class = (self.decide)(at, counts) as u16;
            return Piece { twig: Twig::Leaf, splits: Vec::new(), classes: vec![class] };
        };
        let codes = self.table.columns()[rule.feature as usize].codes();
        let (right, left): (Vec<u32>, Vec<u32>) =
            rows.iter().partition(|&&row| rule.right(codes[row as usize]));
        if left.is_empty() || right.is_empty() {
            return if left.is_empty() {
                self.piece(2 * at + 2, right)
            } else {
                self.piece(2 * at + 1, left)
            };
        }
        let (left, right) = (self.piece(2 * at + 1, left), self.piece(2 * at + 2, right));
        let alike =
            left.twig == Twig::Leaf && right.twig == Twig::Leaf && left.classes == right.classes;
        if self.merge && alike {
            return left;
        }
        let splits = [vec![(self.split)(at)], left.splits, right.splits].concat();
        let classes = [left.classes, right.classes].concat();
        Piece { twig: Twig::fork((*rule).clone(), left.twig, right.twig), splits, classes }
    }
}

/// The rule over codes as a split over values, in the middle between the values around a cut.
fn middle_split(rule: &Rule, table: &Ranked) -> swarmwood_model::Split {
    let near = match rule.cut {
        Cut::Above(cut) => [cut, cut + 1],
        Cut::In(_) => [0, 0],
    };
    rule.split(&table.columns()[rule.feature as usize], near)
}
