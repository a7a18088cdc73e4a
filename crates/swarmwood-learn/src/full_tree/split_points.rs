//! One tree whose rules come from a table of split points that a model was trained with before.
//!
//! Rao 2022 ends with the plan "to train a single decision tree using our swap-based PSO algorithm
//! with the pre-trained split points" (section 8.2): no gradients have to be computed again for
//! every particle, and one tree can be read. A particle is a sequence of numbers of split points,
//! place after place of a full tree (section 5.1), moved by the discrete swarm of section 5.3; an
//! end has the class of most of its rows; the fitness is that of the training rows.
//!
//! Positions are drawn uniformly over the table, as for PSGBDT. In the finished tree rules go that
//! part no row that reaches them; thresholds stay those of the table.

use swarmwood_model::{Split, Test};
use swarmwood_search::pso_discrete::{self, PsoDiscrete, sequence, sequence_space};
use swarmwood_search::{Engine, Point};

use super::{FullTreeError, Outcome, Pruner, Settings, by_majority, ends, fitness, middle_split};
use crate::event::{Event, Flow};
use crate::iterate::{Before, iterate};
use crate::merit::Merit;
use crate::pool::Pool;
use crate::ranked::{Cut, Ranked, Rule};

/// Numbered split points.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPoints {
    rules: Vec<Rule>,
    splits: Vec<Split>,
}

/// How particles move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moves {
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
    /// The splits that part training rows, in the order in which they come, each once: of splits
    /// that send every row the same way the first counts.
    pub fn new(splits: impl IntoIterator<Item = Split>, table: &Ranked) -> Self {
        let mut points = SplitPoints { rules: Vec::new(), splits: Vec::new() };
        for split in splits {
            let column = &table.columns()[split.feature as usize];
            let rule = Rule::of_split(&split, column);
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
            let mut sides = column.codes().iter().map(|&code| rule.right(code));
            let first = sides.next();
            let parts = sides.any(|side| Some(side) != first);
            let any_missing = || column.codes().contains(&0);
            let same = |other: &Rule| {
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

/// Searches. `watch` hears of every iteration.
pub fn search(
    table: &Ranked,
    points: &SplitPoints,
    settings: &Settings,
    moves: Moves,
    pool: &Pool,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Outcome, FullTreeError> {
    let merit = Merit::new(table, settings.fitness).ok_or(FullTreeError::NoClasses)?;
    if points.is_empty() {
        return Err(FullTreeError::NoSplits);
    }
    let space = sequence_space((1 << settings.depth) - 1, points.len() as u32)?;
    let swarm = pso_discrete::Settings {
        population: settings.population,
        generations: Some(settings.iterations as u64),
        alpha: moves.alpha,
        beta: moves.beta,
        mutation: moves.mutation,
        adaptive: moves.adaptive,
        memo: true,
        ..pso_discrete::Settings::default()
    };
    let mut engine = PsoDiscrete::new(&space, swarm, settings.seed)?;
    let places = |indices: &[u32]| -> Vec<Option<&Rule>> {
        indices.iter().map(|&index| points.rules.get(index as usize)).collect()
    };
    let classes = merit.classes();
    let loss = |point: &Point| {
        let indices = sequence(point).unwrap_or_default();
        1.0 - fitness(&merit, &ends(table, &places(&indices), classes), by_majority)
    };
    let measure = settings.fitness.name();
    let last = iterate(&mut engine, pool, loss, &mut |step| {
        watch(&step.event(measure, Before::default(), settings.iterations))
    });
    let best =
        engine.best().and_then(|best| sequence(best.point)).ok_or(FullTreeError::NoSplits)?;
    let places = places(&best);
    let counts = ends(table, &places, classes);
    let split = |at: usize| points.splits[best[at] as usize].clone();
    let pruner = Pruner {
        table,
        places: &places,
        split: &split,
        counts: &counts,
        classes,
        decide: by_majority,
        merge: false,
    };
    Ok(Outcome {
        tree: pruner.tree(),
        fitness: fitness(&merit, &counts, by_majority),
        iterations: last.iteration,
        evaluations: last.evaluations,
        repeats: last.repeats,
        choices: points.len(),
    })
}
