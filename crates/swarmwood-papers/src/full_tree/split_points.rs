//! One tree whose rules come from a table of split points that a model was trained with before.
//!
//! Rao 2022 ends with the plan "to train a single decision tree using our swap-based PSO algorithm
//! with the pre-trained split points" (section 8.2): no gradients have to be computed again for
//! every particle, and one tree can be read. A particle is a sequence of numbers of split points,
//! place after place of a full tree (section 5.1), moved by the discrete swarm of section 5.3; an
//! end has the class of most of its rows, or the mean of its rows' targets; the fitness is that of
//! the training rows.
//!
//! Positions are drawn uniformly over the table, as for PSGBDT. In the finished tree rules that
//! separate no rows are removed; thresholds stay those of the table.

use swarmwood_model::{Split, Test};
use swarmwood_search::Point;
use swarmwood_search::discrete_pso::{self, DiscretePso, sequence, sequence_space};

use super::number_fitness::rmse;
use super::{
    FullTreeConfig, FullTreeError, FullTreePruner, FullTreeResult, by_majority, fitness,
    leaf_weights, middle_split,
};
use crate::class_fitness::ClassFitness;
use crate::engine_loop::{EarlierSwarms, IterationStats, SwarmTask, run_engine};
use swarmwood_learn::context::Context;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rule::{Cut, RankRule};

/// Numbered split points.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPoints {
    rules: Vec<RankRule>,
    splits: Vec<Split>,
}

/// How particles move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoveProbabilities {
    /// The chance that a place takes the rule of the particle's own best.
    pub alpha: f64,
    /// The chance that it takes that of the global best.
    pub beta: f64,
    /// The chance that it is drawn anew.
    pub mutation: f64,
    /// Whether the first two follow the state of the swarm.
    pub adaptive: bool,
}

impl SplitPoints {
    /// The splits that separate training rows, in the given order and without duplicates: of splits
    /// that send every row the same way the first is kept.
    pub fn new(splits: impl IntoIterator<Item = Split>, table: &RankTable) -> Self {
        let mut points = SplitPoints { rules: Vec::new(), splits: Vec::new() };
        for split in splits {
            let column = &table.columns()[split.feature as usize];
            let rule = RankRule::from_split(&split, column);
            let split = match (&split.test, &rule.cut) {
                (Test::Above(threshold), Cut::Above(cut)) if column.is_within_code(*threshold) => {
                    // Where values share a code the threshold moves below them; below all there is
                    // no place.
                    if *cut == 0 {
                        continue;
                    }
                    middle_split(&rule, table)
                }
                _ => split,
            };
            let mut sides = column.codes().iter().map(|&code| rule.goes_right(code));
            let first = sides.next();
            let parts = sides.any(|side| Some(side) != first);
            let any_missing = || column.codes().contains(&0);
            let same = |other: &RankRule| {
                other.feature == rule.feature
                    && other.cut == rule.cut
                    && (other.missing_right == rule.missing_right || !any_missing())
            };
            if parts && !points.rules.iter().any(same) {
                points.rules.push(rule);
                points.splits.push(split);
            }
        }
        points
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// Searches. The swarm is one task of the log. A run that was interrupted before there were split
/// points ends with a single leaf.
pub fn search(
    table: &RankTable,
    points: &SplitPoints,
    (config, moves): (&FullTreeConfig, MoveProbabilities),
    context: Context<'_>,
    log: &mut TaskLog<'_>,
) -> Result<FullTreeResult, FullTreeError> {
    let class_fitness = ClassFitness::new(table, config.fitness);
    let measure = class_fitness.as_ref().map_or("rmse", |_| config.fitness.name());
    let nodes = |indices: &[u32]| -> Vec<Option<&RankRule>> {
        indices.iter().map(|&index| points.rules.get(index as usize)).collect()
    };
    let cost = |nodes: &[Option<&RankRule>]| match &class_fitness {
        Some(fit) => {
            let counts = leaf_weights(table, nodes, fit.classes());
            1.0 - fitness(fit, &counts, by_majority)
        }
        None => rmse(table, nodes),
    };

    let (best, last) = if !points.is_empty() {
        let space = sequence_space((1 << config.depth) - 1, points.len() as u32)?;
        let engine = DiscretePso::new(&space, swarm_config(config, moves), config.seed)?;
        let loss = |point: &Point| cost(&nodes(&sequence(point).unwrap_or_default()));
        let (earlier, steps) = (EarlierSwarms::default(), config.iterations);
        let task = SwarmTask { key: "swarm", measure, earlier, steps, space: &space };
        let found = run_engine(engine, &task, context, log, loss)?;
        let best = found.best.as_ref().and_then(sequence).ok_or(FullTreeError::NoSplits)?;
        (best, found.last)
    } else if context.budget.is_interrupted() {
        (Vec::new(), IterationStats::default())
    } else {
        return Err(FullTreeError::NoSplits);
    };

    let nodes = nodes(&best);
    let classes = class_fitness.as_ref().map_or(1, ClassFitness::classes);
    let counts = match &class_fitness {
        Some(_) => leaf_weights(table, &nodes, classes),
        // Leaves of numbers are fitted later; nothing is predicted here.
        None => vec![0.0; 2 * nodes.len() + 1],
    };
    let split = |at: usize| points.splits[best[at] as usize].clone();
    let pruner = FullTreePruner {
        table,
        nodes: &nodes,
        split: &split,
        counts: &counts,
        classes,
        predict: by_majority,
        merge: false,
    };
    Ok(FullTreeResult {
        tree: pruner.to_tree(),
        measure,
        fitness: match &class_fitness {
            Some(fit) => fitness(fit, &counts, by_majority),
            None => rmse(table, &nodes),
        },
        iterations: last.iteration,
        evaluations: last.evaluations,
        repeats: last.repeats,
        choices: points.len(),
    })
}

fn swarm_config(
    config: &FullTreeConfig,
    moves: MoveProbabilities,
) -> discrete_pso::DiscretePsoConfig {
    discrete_pso::DiscretePsoConfig {
        population: config.population,
        generations: Some(config.iterations as u64),
        alpha: moves.alpha,
        beta: moves.beta,
        mutation: moves.mutation,
        adaptive: moves.adaptive,
        memo: true,
        ..discrete_pso::DiscretePsoConfig::default()
    }
}
