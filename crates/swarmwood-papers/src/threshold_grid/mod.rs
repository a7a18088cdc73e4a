//! One grid of thresholds, optimised by an adaptive particle swarm: the published swarm tree.
//!
//! Phase 1 grows a tree greedily and prunes it by cross-validation; only its variables and the
//! number of thresholds of each are kept (`axes.rs`). In phase 2 all thresholds are one position of
//! an adaptive particle swarm, whose global best starts at the greedy tree's thresholds; they divide
//! the space into cells, and a cell predicts the majority class of its rows (`cells.rs`). Phase 3
//! makes a tree of the cells (`to_tree.rs`). Jun, Cho, Lee, "Improving tree-based classification rules
//! using a particle swarm optimization", APMS 2012, section 3.
//!
//! Where this differs from the paper:
//! - A cell without rows has the class of the nearest cell with rows; the paper's random class is
//!   an option (`empty_cells.rs`).
//! - A final threshold is moved to the middle between the two training values around it. No training
//!   row changes its cell.
//! - A grid of many thresholds consists of cells without rows, so that grids with more than a limit
//!   are rejected.
//! - The paper repeats the first two phases "by selecting different variables" and does not say
//!   how. Here the first grid may use all features and each further one a random half of them; the
//!   best on the training rows wins.
//! - The paper's data have no missing values. Here they lie at the end of an axis to which the
//!   greedy tree sends them.

mod axes;
mod cells;
mod empty_cells;
#[cfg(test)]
mod tests;
mod to_tree;

use swarmwood_search::rng::{self, Stream};
use swarmwood_search::{Apso, Param, Point, PointValue, Space, apso};

use crate::class_fitness::{ClassFitness, FitnessMeasure, majority};
use crate::engine_loop::{EarlierSwarms, SwarmTask, run_engine};
use swarmwood_learn::cart::{
    CartGrower, PruningChoice, PruningPath, RuleSelection, TreeLimits, choose_alpha,
    stratified_folds,
};
use swarmwood_learn::context::Context;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rank_tree::{NodeFit, RankTree, fit_nodes};

pub use axes::GridAxis;
pub use cells::GridCells;
pub use empty_cells::EmptyCellRule;

/// Random streams of a run: a round is what is drawn, an item is a repetition or a cell.
const SWARM_STREAM: u64 = 7 << 32;
const FEATURE_STREAM: u64 = SWARM_STREAM + 1;
const EMPTY_STREAM: u64 = SWARM_STREAM + 2;

/// The greatest limit of thresholds: 20 binary axes make a million cells.
pub const MAX_THRESHOLDS: usize = 20;

/// What is searched, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct GridTreeConfig {
    /// Maximum size of the preliminary tree.
    pub limits: TreeLimits,
    /// How the preliminary tree is pruned, if it is.
    pub prune: Option<PruningChoice>,
    /// Number of folds for cross-validation.
    pub folds: usize,
    /// Number of particles.
    pub population: usize,
    /// Iterations per swarm.
    pub iterations: usize,
    /// What is maximised.
    pub fitness: FitnessMeasure,
    /// The class of cells without rows.
    pub empty: EmptyCellRule,
    /// Number of grids that are searched; the best one is kept.
    pub repeats: usize,
    /// Maximum number of thresholds per grid.
    pub max_thresholds: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

/// Why there is no grid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GridError {
    /// The target is a number.
    #[error("a grid decides between classes, but the target is a number")]
    NoClasses,
    /// A feature is a category.
    #[error("a grid cuts numbers at thresholds, but a feature holds categories")]
    Category {
        /// Which column.
        feature: u32,
    },
    /// Too many thresholds.
    #[error(
        "the preliminary tree has {thresholds} thresholds on {features} features, which make {cells:.0} cells"
    )]
    TooMany {
        /// How many there are.
        thresholds: usize,
        /// How many are allowed.
        limit: usize,
        /// On how many features.
        features: usize,
        /// The cells that they make.
        cells: f64,
    },
    /// The swarm itself.
    #[error("{0}")]
    Engine(#[from] swarmwood_search::Error),
}

/// A grid whose every cell has a class.
#[derive(Debug, Clone, PartialEq)]
pub struct CellGrid {
    /// The variables.
    pub axes: Vec<GridAxis>,
    /// The thresholds of each as codes, ascending: greater codes lie above.
    pub cuts: Vec<Vec<u16>>,
    /// The class of every cell; the last axis runs fastest.
    pub classes: Vec<u16>,
    /// Number of cells with rows.
    pub occupied: usize,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct GridTreeResult {
    /// The best grid.
    pub grid: CellGrid,
    /// Its fitness.
    pub fitness: f64,
    /// Number of thresholds that were searched, some of which may coincide.
    pub thresholds: usize,
    /// The pruned greedy tree of all features.
    pub preliminary: RankTree,
    /// Its fitness.
    pub preliminary_fitness: f64,
    /// Iterations of all swarms.
    pub iterations: usize,
    /// Grids evaluated.
    pub evaluations: u64,
    /// Grids that were searched.
    pub repeats: usize,
    /// Repetitions rejected because they had more thresholds than allowed.
    pub rejected: usize,
}

/// Searches. The preliminary tree and the swarm of every repetition are tasks of the log.
///
/// ```
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::cart::{PruningChoice, TreeLimits};
/// use swarmwood_learn::context::Context;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_papers::threshold_grid::{EmptyCellRule, GridTreeConfig, search};
/// use swarmwood_papers::class_fitness::FitnessMeasure;
/// use swarmwood_learn::event::Event;
/// use swarmwood_learn::plan::TaskLog;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::rank_table::RankTable;
/// use swarmwood_model::{Feature, Kind};
/// use swarmwood_search::Datum;
///
/// // A class that begins at 30 and ends at 60.
/// let values: Vec<f64> = (0..100).map(f64::from).collect();
/// let target = values.iter().map(|&x| f64::from(u8::from((30.0..60.0).contains(&x)))).collect();
/// let chunk = Chunk { columns: vec![Column::Number(values)], target, rows: 100, ..Chunk::default() };
/// let table = RankTable::new(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }], Some(2), 1000);
/// let config = GridTreeConfig {
///     limits: TreeLimits { leaves: 0, depth: 0, min_leaf: 1 },
///     prune: Some(PruningChoice::Best),
///     folds: 5,
///     population: 20,
///     iterations: 20,
///     fitness: FitnessMeasure::Accuracy,
///     empty: EmptyCellRule::Nearest,
///     repeats: 1,
///     max_thresholds: 15,
///     seed: 0,
/// };
/// let (pool, budget) = (Pool::new(1)?, Budget::unlimited());
/// let context = Context { pool: &pool, budget: &budget };
/// let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
/// let mut log = TaskLog::new(None, &mut observer).map_err(|e| e.to_string())?;
/// let found = search(&table, &config, context, &mut log).map_err(|e| e.to_string())?;
/// assert_eq!((found.fitness, found.grid.classes), (1.0, vec![0, 1, 0]));
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &RankTable,
    config: &GridTreeConfig,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
) -> Result<GridTreeResult, GridError> {
    let class_fitness = ClassFitness::new(table, config.fitness).ok_or(GridError::NoClasses)?;
    if let Some(feature) =
        (0..).zip(table.columns()).find(|(_, column)| column.is_category()).map(|(at, _)| at)
    {
        return Err(GridError::Category { feature });
    }
    let mut run =
        GridTreeSearch { table, config, context, class_fitness, earlier: EarlierSwarms::default() };
    let all: Vec<u32> = (0..table.columns().len() as u32).collect();
    let preliminary = run.preliminary(&all, 0, log)?;
    let mut best = run.search_thresholds(&preliminary, 0, log)?;
    let (mut repeats, mut rejected) = (1, 0);
    for number in 1..config.repeats {
        if context.budget.is_interrupted() {
            break;
        }
        let mut stream = Stream::new(config.seed, FEATURE_STREAM, number as u64);
        let mut half: Vec<u32> = stream
            .sample_without(all.len(), all.len().div_ceil(2))
            .iter()
            .map(|&at| at as u32)
            .collect();
        half.sort_unstable();
        let tree = run.preliminary(&half, number, log)?;
        match run.search_thresholds(&tree, number, log) {
            Err(GridError::TooMany { .. }) => rejected += 1,
            Err(error) => return Err(error),
            Ok(found) => {
                repeats += 1;
                if found.fitness > best.fitness {
                    best = found;
                }
            }
        }
    }
    Ok(GridTreeResult {
        grid: run.finish(&best),
        fitness: best.fitness,
        thresholds: best.axes.iter().map(|axis| axis.thresholds).sum(),
        preliminary_fitness: run.fitness_of(&preliminary),
        preliminary,
        iterations: run.earlier.iterations,
        evaluations: run.earlier.evaluations,
        repeats,
        rejected,
    })
}

/// A search while it runs.
struct GridTreeSearch<'a> {
    table: &'a RankTable,
    config: &'a GridTreeConfig,
    context: Context<'a>,
    class_fitness: ClassFitness,
    earlier: EarlierSwarms,
}

/// The best thresholds of one repetition.
struct GridCandidate {
    axes: Vec<GridAxis>,
    cuts: Vec<Vec<u16>>,
    fitness: f64,
    number: usize,
}

impl GridTreeSearch<'_> {
    /// Phase 1: steps 1-1 and 1-2.
    fn preliminary(
        &self,
        features: &[u32],
        number: usize,
        log: &mut TaskLog<'_>,
    ) -> Result<RankTree, GridError> {
        let key = format!("preliminary tree {number}");
        if let Some((stored, _)) = log.recall(&key)? {
            return Ok(RankTree::from_datum(&stored, self.table)?);
        }
        let tree = self.grow_preliminary(features);
        if !self.context.budget.is_interrupted() {
            log.record(&key, 1, tree.to_datum());
        }
        Ok(tree)
    }

    fn grow_preliminary(&self, features: &[u32]) -> RankTree {
        let GridTreeConfig { limits, prune, folds, seed, .. } = *self.config;
        let grower = CartGrower {
            table: self.table,
            loss: &LeafLoss::Gini,
            selection: RuleSelection::LeastLoss,
            limits,
            features,
            context: self.context,
        };
        let path = PruningPath::new(grower.grow(), self.table, &LeafLoss::Gini);
        let mut alpha = prune.map_or(-1.0, |choice| {
            let folds = stratified_folds(self.table, folds, seed, 0, self.context);
            choose_alpha(&grower, &path, &LeafLoss::Error, &folds, choice).0
        });
        if self.context.budget.is_interrupted() {
            // The comparison is incomplete: prune as far as the limit of thresholds demands.
            let limit = self.config.max_thresholds.min(MAX_THRESHOLDS);
            let small = path.steps().iter().find(|step| step.leaves <= limit + 1);
            alpha = small.map_or(f64::INFINITY, |step| step.alpha);
        }
        let mut tree = path.tree(alpha);
        tree.centre_thresholds(self.table);
        tree
    }

    /// Phase 2, on the variables of a tree.
    fn search_thresholds(
        &mut self,
        tree: &RankTree,
        number: usize,
        log: &mut TaskLog<'_>,
    ) -> Result<GridCandidate, GridError> {
        let (axes, start) = axes::of_tree(tree, self.table);
        let limit = self.config.max_thresholds.min(MAX_THRESHOLDS);
        // Equation 5: D is the number of all thresholds.
        if start.len() > limit {
            let cells = axes.iter().map(|axis| (axis.thresholds + 1) as f64).product();
            return Err(GridError::TooMany {
                thresholds: start.len(),
                limit,
                features: axes.len(),
                cells,
            });
        }
        let cells = GridCells::new(self.table, &self.class_fitness, &axes);
        if axes.is_empty() {
            let fitness = cells.fitness(&[]);
            return Ok(GridCandidate { axes, cuts: Vec::new(), fitness, number });
        }
        let parameter = |(at, range): (usize, [f64; 2])| {
            Param::real(&format!("threshold {at}"), range[0], range[1])
        };
        let ranges = axes.iter().flat_map(|axis| std::iter::repeat_n(axis.range, axis.thresholds));
        let space = Space::new(ranges.enumerate().map(parameter).collect())?;
        let swarm = apso::ApsoConfig {
            population: self.config.population,
            generations: Some(self.config.iterations as u64),
            start: Some(Point(
                start.iter().map(|&threshold| PointValue::Real(threshold)).collect(),
            )),
            ..apso::ApsoConfig::default()
        };
        let engine =
            Apso::new(&space, swarm, rng::hash(self.config.seed, SWARM_STREAM, number as u64))?;
        let loss = |point: &Point| 1.0 - cells.fitness(&cells.cuts(&numbers(point)));
        let (measure, steps) =
            (self.config.fitness.name(), self.config.iterations * self.config.repeats.max(1));
        let earlier = self.earlier;
        let key = format!("swarm {number}");
        let task = SwarmTask { key: &key, measure, earlier, steps, space: &space };
        let found = run_engine(engine, &task, self.context, log, loss)?;

        let point = found.best.as_ref().map_or_else(|| start.clone(), numbers);
        let cuts = cells.cuts(&point);
        let fitness = cells.fitness(&cuts);
        let best = Some(earlier.best.map_or(fitness, |best| best.max(fitness)));
        self.earlier = EarlierSwarms {
            iterations: earlier.iterations + found.last.iteration,
            evaluations: earlier.evaluations + found.last.evaluations,
            best,
        };
        Ok(GridCandidate { axes, cuts, fitness, number })
    }

    /// The classes of all cells.
    fn finish(&self, found: &GridCandidate) -> CellGrid {
        let cells = GridCells::new(self.table, &self.class_fitness, &found.axes);
        let (axes, cuts) = cells.drop_useless_cuts(&found.cuts);
        let cells = GridCells::new(self.table, &self.class_fitness, &axes);
        let occupied = cells.occupied(&cuts);
        let shape: Vec<usize> = cuts.iter().map(|cuts| cuts.len() + 1).collect();
        let filled: Vec<empty_cells::OccupiedCell> = occupied
            .iter()
            .map(|(cell, counts)| empty_cells::OccupiedCell {
                cell,
                class: majority(counts) as u16,
                weight: counts.iter().sum(),
            })
            .collect();
        let seed = rng::hash(self.config.seed, EMPTY_STREAM, found.number as u64);
        let classes = empty_cells::fill(
            &shape,
            &filled,
            self.config.empty,
            self.class_fitness.classes(),
            seed,
        );
        CellGrid { axes, cuts, classes, occupied: filled.len() }
    }

    fn fitness_of(&self, tree: &RankTree) -> f64 {
        let (_, leaves) = fit_nodes(tree, self.table, &LeafLoss::Error);
        let worth =
            |leaf: &NodeFit| self.class_fitness.contribution(&leaf.sums, majority(&leaf.sums));
        self.class_fitness.fitness(leaves.iter().map(worth).sum())
    }
}

fn numbers(point: &Point) -> Vec<f64> {
    let number =
        |value: &PointValue| if let PointValue::Real(number) = *value { number } else { f64::NAN };
    point.0.iter().map(number).collect()
}
