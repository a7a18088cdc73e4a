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
//!   level, and the rule tests for that one. Missing values go left.
//! - Of equal scores the first symbol counts.
//! - In the finished tree rules that separate no training rows are removed, and rules between two
//!   leaves of the same class.

use swarmwood_search::{Param, Point, PointValue, Pso, Space, pso};

use super::{
    FullTreeConfig, FullTreeError, FullTreePruner, FullTreeResult, fitness, leaf_weights,
    middle_split,
};
use crate::class_fitness::ClassFitness;
use crate::engine_loop::{EarlierSwarms, SwarmTask, run_engine};
use swarmwood_learn::context::Context;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rule::{Cut, RankRule, RankSet};

/// The most numbers of a position.
pub const MAX_POSITION_LENGTH: usize = 1 << 16;

/// The matrix of scores, as the shape of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolMatrix {
    /// Features that can separate rows, with their greatest codes and whether they are categories.
    features: Vec<(u32, u16, bool)>,
    classes: usize,
    /// Places that can hold rules: all but the last level.
    inner: usize,
}

/// The tree that a position stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolTree {
    /// The rule at each place that can hold one; none where the tree ends.
    pub rules: Vec<Option<RankRule>>,
    /// The class at each place, used where the tree ends.
    pub classes: Vec<u16>,
}

impl SymbolMatrix {
    /// The symbols of a table and the nodes of a tree of this depth.
    pub fn new(table: &RankTable, classes: usize, depth: usize) -> Self {
        let usable = (0..).zip(table.columns()).filter(|(_, column)| column.max_code() >= 2);
        let features =
            usable.map(|(at, column)| (at, column.max_code(), column.is_category())).collect();
        SymbolMatrix { features, classes, inner: (1 << depth) - 1 }
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
    pub fn decode(&self, position: &[f64]) -> SymbolTree {
        let (inner, last) = position.split_at(self.inner * (self.count() + 1));
        let mut tree = SymbolTree {
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
                    true => Cut::In(RankSet::from_iter([1 + pick(top)])),
                    false => Cut::Above(1 + pick(top - 1)),
                };
                RankRule { feature, cut, missing_right: false }
            });
            tree.rules.push(rule);
            tree.classes.push(symbol.saturating_sub(self.features.len()) as u16);
        }
        tree.classes.extend(last.chunks(self.classes).map(|scores| greatest(scores) as u16));
        tree
    }
}

/// The index of the greatest number; the first of equals.
fn greatest(scores: &[f64]) -> usize {
    (0..scores.len())
        .reduce(|best, at| if scores[at] > scores[best] { at } else { best })
        .unwrap_or(0)
}

/// Searches. The swarm is one task of the log.
///
/// ```
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::context::Context;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_papers::full_tree::{FullTreeConfig, symbols};
/// use swarmwood_papers::class_fitness::FitnessMeasure;
/// use swarmwood_learn::event::Event;
/// use swarmwood_learn::plan::TaskLog;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::rank_table::RankTable;
/// use swarmwood_model::{Feature, Kind};
/// use swarmwood_search::Datum;
///
/// let values: Vec<f64> = (0..40).map(f64::from).collect();
/// let target = values.iter().map(|&x| f64::from(u8::from(x > 12.0))).collect();
/// let chunk = Chunk { columns: vec![Column::Number(values)], target, rows: 40, ..Chunk::default() };
/// let table = RankTable::new(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }], Some(2), 1000);
/// let config = FullTreeConfig { depth: 1, population: 30, iterations: 50, fitness: FitnessMeasure::Accuracy, seed: 0 };
/// let (pool, budget) = (Pool::new(1)?, Budget::unlimited());
/// let context = Context { pool: &pool, budget: &budget };
/// let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
/// let mut log = TaskLog::new(None, &mut observer).map_err(|e| e.to_string())?;
/// let found = symbols::search(&table, &config, context, &mut log);
/// assert_eq!(found.map_err(|e| e.to_string())?.fitness, 1.0);
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &RankTable,
    config: &FullTreeConfig,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
) -> Result<FullTreeResult, FullTreeError> {
    let class_fitness = ClassFitness::new(table, config.fitness).ok_or(FullTreeError::NoClasses)?;
    let symbols = SymbolMatrix::new(table, class_fitness.classes(), config.depth);
    let length = symbols.length();
    if length > MAX_POSITION_LENGTH {
        return Err(FullTreeError::TooLong {
            depth: config.depth,
            symbols: symbols.count(),
            length,
        });
    }
    let space =
        Space::new((0..length).map(|at| Param::real(&format!("score {at}"), 0.0, 1.0)).collect())?;
    let swarm = pso::PsoConfig {
        population: config.population,
        generations: Some(config.iterations as u64),
        ..pso::PsoConfig::default()
    };
    let engine = Pso::new(&space, swarm, config.seed)?;
    let worth = |tree: &SymbolTree| {
        let nodes: Vec<Option<&RankRule>> = tree.rules.iter().map(Option::as_ref).collect();
        let counts = leaf_weights(table, &nodes, class_fitness.classes());
        let worth = fitness(&class_fitness, &counts, |at, _| usize::from(tree.classes[at]));
        (worth, counts)
    };
    let loss = |point: &Point| 1.0 - worth(&symbols.decode(&numbers(point))).0;
    let measure = config.fitness.name();
    let (earlier, steps) = (EarlierSwarms::default(), config.iterations);
    let task = SwarmTask { key: "swarm", measure, earlier, steps, space: &space };
    let found = run_engine(engine, &task, context, log, loss)?;
    let best = found.best.as_ref().map_or_else(|| vec![0.0; length], numbers);
    let tree = symbols.decode(&best);
    let (fitness, counts) = worth(&tree);
    let nodes: Vec<Option<&RankRule>> = tree.rules.iter().map(Option::as_ref).collect();
    let split = |at: usize| match nodes[at] {
        Some(rule) => middle_split(rule, table),
        None => unreachable!("only nodes with a rule are asked for their split"),
    };
    let predict = |at: usize, _: &[f64]| usize::from(tree.classes[at]);
    let classes = class_fitness.classes();
    let pruner = FullTreePruner {
        table,
        nodes: &nodes,
        split: &split,
        counts: &counts,
        classes,
        predict,
        merge: true,
    };
    Ok(FullTreeResult {
        tree: pruner.to_tree(),
        measure: config.fitness.name(),
        fitness,
        iterations: found.last.iteration,
        evaluations: found.last.evaluations,
        repeats: 0,
        choices: symbols.count(),
    })
}

fn numbers(point: &Point) -> Vec<f64> {
    let number =
        |value: &PointValue| if let PointValue::Real(number) = *value { number } else { 0.0 };
    point.0.iter().map(number).collect()
}
