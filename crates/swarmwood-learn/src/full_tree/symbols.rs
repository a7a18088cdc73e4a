//! Tree Swarm Optimisation: what stands at a place is the symbol with the greatest score.
//!
//! For every place of a full tree a position holds a score for every symbol, the features and the
//! classes, and the tree has the symbol of greatest score there (Rao 2022, section 3.2, equations
//! 19 to 21, after Veenhuis, Köppen, Krüger, Nickolay, "Tree swarm optimization: an approach to
//! PSO-based tree discovery", CEC 2005). A class ends the way. The positions fly as in any particle
//! swarm, here [`Pso`]; the fitness is the share of rows that are classified right.
//!
//! Where this differs from the paper, or it says nothing:
//! - Places of the last level hold classes alone, as a feature there would have no children.
//! - Thresholds: each place with rules has one more number, which points at a cut of whatever
//!   feature stands there, evenly by the rank of its distinct values. For a category it points at a
//!   level, and the rule asks for that one. Missing values go left.
//! - Of equal scores the first symbol counts.
//! - In the finished tree rules go that part no training row, and rules between two leaves of the
//!   same class.

use swarmwood_search::{Engine, Param, Point, Pso, Space, Value, pso};

use super::{FullTreeError, Outcome, Pruner, Settings, ends, fitness, middle_split};
use crate::event::{Event, Flow};
use crate::iterate::{Before, iterate};
use crate::merit::Merit;
use crate::pool::Pool;
use crate::ranked::{CodeSet, Cut, Ranked, Rule};

/// The most numbers of a position.
pub const LONGEST: usize = 1 << 16;

/// The matrix of scores, as the shape of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    /// Features that can part rows, with their greatest codes and whether they are categories.
    features: Vec<(u32, u16, bool)>,
    classes: usize,
    /// Places that can hold rules: all but the last level.
    inner: usize,
}

/// The tree that a position stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The rule at each place that can hold one; none where the tree ends.
    pub rules: Vec<Option<Rule>>,
    /// The class at each place, used where the tree ends.
    pub classes: Vec<u16>,
}

impl Symbols {
    /// The symbols of a table and the places of a tree of this depth.
    pub fn new(table: &Ranked, classes: usize, depth: usize) -> Self {
        let usable = (0..).zip(table.columns()).filter(|(_, column)| column.top() >= 2);
        let features =
            usable.map(|(at, column)| (at, column.top(), column.is_category())).collect();
        Symbols { features, classes, inner: (1 << depth) - 1 }
    }

    /// How many symbols there are.
    pub fn count(&self) -> usize {
        self.features.len() + self.classes
    }

    /// How many numbers a position has: for each inner place the scores of the features, those of
    /// the classes and the place of the cut; for each place of the last level the scores of the
    /// classes.
    pub fn length(&self) -> usize {
        self.inner * (self.count() + 1) + (self.inner + 1) * self.classes
    }

    /// The tree of a position of numbers from 0 to 1.
    pub fn decode(&self, position: &[f64]) -> Tree {
        let (inner, last) = position.split_at(self.inner * (self.count() + 1));
        let mut tree = Tree {
            rules: Vec::with_capacity(self.inner),
            classes: Vec::with_capacity(2 * self.inner + 1),
        };
        for scores in inner.chunks(self.count() + 1) {
            let (symbols, cut) = scores.split_at(self.count());
            let symbol = greatest(symbols);
            let rule = self.features.get(symbol).map(|&(feature, top, category)| {
                // From 0 to one less than the number of cuts, or of levels.
                let pick = |count: u16| ((cut[0] * f64::from(count)) as u16).min(count - 1);
                let cut = match category {
                    true => Cut::In(CodeSet::new([1 + pick(top)])),
                    false => Cut::Above(1 + pick(top - 1)),
                };
                Rule { feature, cut, missing_right: false }
            });
            tree.rules.push(rule);
            tree.classes.push(symbol.saturating_sub(self.features.len()) as u16);
        }
        tree.classes.extend(last.chunks(self.classes).map(|scores| greatest(scores) as u16));
        tree
    }
}

/// The place of the greatest number; of equals the first.
fn greatest(scores: &[f64]) -> usize {
    (0..scores.len())
        .reduce(|best, at| if scores[at] > scores[best] { at } else { best })
        .unwrap_or(0)
}

/// Searches. `watch` hears of every iteration.
///
/// ```
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::event::Flow;
/// use swarmwood_learn::full_tree::{Settings, symbols};
/// use swarmwood_learn::merit::Fitness;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::ranked::Ranked;
/// use swarmwood_model::{Feature, Kind};
///
/// let values: Vec<f64> = (0..40).map(f64::from).collect();
/// let target = values.iter().map(|&x| f64::from(u8::from(x > 12.0))).collect();
/// let chunk = Chunk { columns: vec![Column::Number(values)], target, rows: 40, ..Chunk::default() };
/// let table = Ranked::new(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }], Some(2), 1000);
/// let settings = Settings { depth: 1, population: 30, iterations: 50, fitness: Fitness::Accuracy, seed: 0 };
/// let found = symbols::search(&table, &settings, &Pool::new(1)?, &mut |_| Flow::Continue);
/// assert_eq!(found.map_err(|e| e.to_string())?.fitness, 1.0);
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &Ranked,
    settings: &Settings,
    pool: &Pool,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Outcome, FullTreeError> {
    let merit = Merit::new(table, settings.fitness).ok_or(FullTreeError::NoClasses)?;
    let symbols = Symbols::new(table, merit.classes(), settings.depth);
    let length = symbols.length();
    if length > LONGEST {
        return Err(FullTreeError::TooLong {
            depth: settings.depth,
            symbols: symbols.count(),
            length,
        });
    }
    let space =
        Space::new((0..length).map(|at| Param::real(&format!("score {at}"), 0.0, 1.0)).collect())?;
    let swarm = pso::Settings {
        population: settings.population,
        generations: Some(settings.iterations as u64),
        ..pso::Settings::default()
    };
    let mut engine = Pso::new(&space, swarm, settings.seed)?;
    let worth = |tree: &Tree| {
        let places: Vec<Option<&Rule>> = tree.rules.iter().map(Option::as_ref).collect();
        let counts = ends(table, &places, merit.classes());
        let worth = fitness(&merit, &counts, |at, _| usize::from(tree.classes[at]));
        (worth, counts)
    };
    let loss = |point: &Point| 1.0 - worth(&symbols.decode(&numbers(point))).0;
    let measure = settings.fitness.name();
    let last = iterate(&mut engine, pool, loss, &mut |step| {
        watch(&step.event(measure, Before::default(), settings.iterations))
    });
    let best = engine.best().map_or_else(|| vec![0.0; length], |best| numbers(best.point));
    let tree = symbols.decode(&best);
    let (found, counts) = worth(&tree);
    let places: Vec<Option<&Rule>> = tree.rules.iter().map(Option::as_ref).collect();
    let split = |at: usize| match places[at] {
        Some(rule) => middle_split(rule, table),
        None => unreachable!("only places with a rule are asked for their split"),
    };
    let decide = |at: usize, _: &[f64]| usize::from(tree.classes[at]);
    let classes = merit.classes();
    let pruner = Pruner {
        table,
        places: &places,
        split: &split,
        counts: &counts,
        classes,
        decide,
        merge: true,
    };
    Ok(Outcome {
        tree: pruner.tree(),
        fitness: found,
        iterations: last.iteration,
        evaluations: last.evaluations,
        repeats: 0,
        choices: symbols.count(),
    })
}

fn numbers(point: &Point) -> Vec<f64> {
    let number = |value: &Value| if let Value::Real(number) = *value { number } else { 0.0 };
    point.0.iter().map(number).collect()
}
