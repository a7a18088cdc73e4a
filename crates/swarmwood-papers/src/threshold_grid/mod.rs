//! One grid of thresholds, optimised by an adaptive particle swarm: the published swarm tree.
//!
//! Phase 1 grows a tree greedily and prunes it by cross-validation; only its variables and the
//! number of thresholds of each are kept (`axes.rs`). In phase 2 all thresholds are one position of
//! an adaptive particle swarm, whose global best starts at the greedy tree's thresholds; they divide
//! the space into cells, and a cell predicts the majority class of its rows (`cells.rs`). Phase 3
//! combines adjacent cells of equal class (`grid.rs`) and draws a tree of the result
//! (`to_tree.rs`). Jun, Cho, Lee, "Improving tree-based classification rules using a particle swarm
//! optimization", APMS 2012, section 3.
//!
//! What section 5 of the paper proposes as future work are options: the fully grown tree, variables
//! by a random forest (`forest.rs`), other optimisers (`optimizer.rs`), pruning the result
//! (`prune.rs`). Redundant thresholds are always dropped (`redundant.rs`). A variable with several
//! thresholds is a split into several intervals: the grid is a tree of multi-way splits, one level
//! per variable.
//!
//! Where this differs from the paper:
//! - A cell without rows has the class of the nearest cell with rows; the paper's random class is
//!   an option (`empty_cells.rs`). In grids of more than [`MAX_FILLED_CELLS`] cells it has the class
//!   of the leaf that it falls into.
//! - A final threshold is moved to the middle between the two training values around it. No training
//!   row changes its cell.
//! - The paper repeats the first two phases "by selecting different variables" and does not say
//!   how. Here the first grid may use all features and each further one a random half of them; the
//!   best on the training rows wins, or as an option the best in cross-validation.
//! - The paper's data have no missing values. Here they lie at the end of an axis to which the
//!   greedy tree sends them.

mod axes;
mod cells;
mod empty_cells;
mod forest;
mod grid;
mod optimizer;
mod prune;
mod redundant;
#[cfg(test)]
mod tests;
mod to_tree;

use swarmwood_search::rng::{self, Stream};
use swarmwood_search::{Param, Point, PointValue, Space};

use crate::class_fitness::{ClassFitness, FitnessMeasure, majority};
use crate::engine_loop::{
    EarlierSwarms, EvaluationLimit, SwarmResult, SwarmTask, run_engine, run_evaluations,
};
use swarmwood_learn::cart::{
    CartGrower, PruningChoice, PruningPath, RuleSelection, TreeFold, TreeLimits, choose_alpha,
    stratified_folds,
};
use swarmwood_learn::context::Context;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::{RankTable, RankTarget};
use swarmwood_learn::rank_tree::{NodeFit, RankTree, fit_nodes};

pub use axes::GridAxis;
pub use cells::{GridCell, GridCells};
pub use empty_cells::EmptyCellRule;
pub use grid::{CellBox, CellGrid, GridSize, MAX_FILLED_CELLS};
pub use optimizer::ThresholdOptimizer;
pub use prune::prune_to_size;

/// Random streams of a run: a round is what is drawn, an item is a repetition or a cell.
const SWARM_STREAM: u64 = 7 << 32;
const FEATURE_STREAM: u64 = SWARM_STREAM + 1;
const EMPTY_STREAM: u64 = SWARM_STREAM + 2;
const FOREST_STREAM: u64 = SWARM_STREAM + 3;

/// Leaves of the preliminary tree of an interrupted run.
const INTERRUPTED_LEAVES: usize = 16;

/// Cells with rows, times classes, of a grid that an interrupted run still simplifies and stores.
const MAX_INTERRUPTED_VALUES: usize = 100_000;

/// Folds of the comparison of grids are not those of pruning.
const SELECTION_FOLDS: u64 = 1;

/// What chooses the variables of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridVariables {
    /// The preliminary tree, as published.
    Tree,
    /// A random forest; the preliminary tree gives the number of thresholds.
    Forest,
}

/// Which of several grids is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridSelection {
    /// The one with the best fitness on the training rows, as published.
    Training,
    /// The one whose three phases have the best fitness in cross-validation.
    CrossValidation,
}

/// What is searched, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct GridTreeConfig {
    /// Maximum size of the preliminary tree before it is pruned.
    pub limits: TreeLimits,
    /// How the preliminary tree is pruned, if it is.
    pub prune: Option<PruningChoice>,
    /// Number of folds for cross-validation.
    pub folds: usize,
    /// What chooses the variables.
    pub variables: GridVariables,
    /// What places the thresholds.
    pub optimizer: ThresholdOptimizer,
    /// Number of particles.
    pub population: usize,
    /// Iterations per swarm; one of another optimiser is as many evaluations as there are
    /// particles.
    pub iterations: usize,
    /// What is maximised.
    pub fitness: FitnessMeasure,
    /// The class of cells without rows.
    pub empty: EmptyCellRule,
    /// Number of grids that are searched; the best one is kept.
    pub repeats: usize,
    /// Which of them is the best.
    pub selection: GridSelection,
    /// Maximum number of thresholds per grid, 0 for no limit: a preliminary tree with more is pruned
    /// further.
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
    /// The swarm itself.
    #[error("{0}")]
    Engine(#[from] swarmwood_search::Error),
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
}

/// Searches. The preliminary tree and the swarm of every repetition are tasks of the log.
///
/// ```
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::cart::{PruningChoice, TreeLimits};
/// use swarmwood_learn::context::Context;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_papers::threshold_grid::{
///     EmptyCellRule, GridSelection, GridTreeConfig, GridVariables, ThresholdOptimizer, search,
/// };
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
///     variables: GridVariables::Tree,
///     optimizer: ThresholdOptimizer::Apso,
///     population: 20,
///     iterations: 20,
///     fitness: FitnessMeasure::Accuracy,
///     empty: EmptyCellRule::Nearest,
///     repeats: 1,
///     selection: GridSelection::Training,
///     max_thresholds: 0,
///     seed: 0,
/// };
/// let (pool, budget) = (Pool::new(1)?, Budget::unlimited());
/// let context = Context { pool: &pool, budget: &budget };
/// let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
/// let mut log = TaskLog::new(None, &mut observer).map_err(|e| e.to_string())?;
/// let found = search(&table, &config, context, &mut log).map_err(|e| e.to_string())?;
/// let classes: Vec<u16> = found.grid.boxes.iter().map(|one| one.class).collect();
/// assert_eq!((found.fitness, classes), (1.0, vec![0, 1, 0]));
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
    let preliminary = run.preliminary(&all, &GridName::of_repeat(0), log)?;
    let mut best = run.search_repeat(&preliminary, &all, 0, log)?;
    let mut repeats = 1;
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
        let tree = run.preliminary(&half, &GridName::of_repeat(number), log)?;
        let found = run.search_repeat(&tree, &half, number, log)?;
        repeats += 1;
        if found.score > best.score {
            best = found;
        }
    }
    if context.budget.is_interrupted() && run.is_large(&best) {
        best = run.small_candidate(&preliminary);
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
    /// What grids are compared by.
    score: f64,
    name: GridName,
}

/// Which grid of a run: that of a repetition, or of one of its folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GridName {
    number: usize,
    fold: Option<usize>,
}

impl GridName {
    fn of_repeat(number: usize) -> Self {
        GridName { number, fold: None }
    }

    /// The key of a task.
    fn key(&self, task: &str) -> String {
        match self.fold {
            None => format!("{task} {}", self.number),
            Some(fold) => format!("{task} {} of fold {fold}", self.number),
        }
    }

    /// The item of a random stream.
    fn item(&self) -> u64 {
        self.number as u64 | self.fold.map_or(0, |fold| (fold as u64 + 1) << 32)
    }
}

impl GridTreeSearch<'_> {
    /// Phase 1: steps 1-1 and 1-2.
    fn preliminary(
        &self,
        features: &[u32],
        name: &GridName,
        log: &mut TaskLog<'_>,
    ) -> Result<RankTree, GridError> {
        let key = name.key("preliminary tree");
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
            // The comparison is incomplete: a small tree is quickly made into a grid.
            let small = path.steps().iter().find(|step| step.leaves <= INTERRUPTED_LEAVES);
            alpha = alpha.max(small.map_or(f64::INFINITY, |step| step.alpha));
        }
        let mut tree = path.tree(alpha);
        let limit = match self.config.max_thresholds {
            0 => usize::MAX,
            limit => limit,
        };
        let mut smaller = path.steps().iter().filter(|step| step.alpha > alpha);
        while axes::of_tree(&tree, self.table).1.len() > limit {
            tree = path.tree(smaller.next().map_or(f64::INFINITY, |step| step.alpha));
        }
        tree.centre_thresholds(self.table);
        tree
    }

    /// Phase 2 on the variables of a tree, and its score among the repetitions.
    fn search_repeat(
        &mut self,
        tree: &RankTree,
        features: &[u32],
        number: usize,
        log: &mut TaskLog<'_>,
    ) -> Result<GridCandidate, GridError> {
        let mut found = self.search_thresholds(tree, features, GridName::of_repeat(number), log)?;
        let is_compared = self.config.repeats > 1;
        if is_compared && self.config.selection == GridSelection::CrossValidation {
            found.score = self.cross_validate(features, number, log)?;
        }
        Ok(found)
    }

    /// The fitness of the three phases on rows that they were not fitted to; 0 if it is cut short.
    fn cross_validate(
        &mut self,
        features: &[u32],
        number: usize,
        log: &mut TaskLog<'_>,
    ) -> Result<f64, GridError> {
        let GridTreeConfig { folds, seed, .. } = *self.config;
        let folds = stratified_folds(self.table, folds, seed, SELECTION_FOLDS, self.context);
        let mut sum = 0.0;
        for (fold, rows) in folds.iter().enumerate() {
            let name = GridName { number, fold: Some(fold) };
            sum += self.score_fold(features, name, rows, log)?;
            if self.context.budget.is_interrupted() {
                return Ok(0.0);
            }
        }
        Ok(self.class_fitness.fitness(sum))
    }

    /// The contribution of the test rows of a fold.
    fn score_fold(
        &mut self,
        features: &[u32],
        name: GridName,
        rows: &TreeFold,
        log: &mut TaskLog<'_>,
    ) -> Result<f64, GridError> {
        let table = self.table.subset(&rows.train);
        let Some(class_fitness) = ClassFitness::new(&table, self.config.fitness) else {
            return Err(GridError::NoClasses);
        };
        let mut run = GridTreeSearch { table: &table, class_fitness, ..*self };
        let tree = run.preliminary(features, &name, log)?;
        let found = run.search_thresholds(&tree, features, name, log)?;
        let tree = run.finish(&found).to_tree(&table);
        self.earlier = run.earlier;

        let RankTarget::Classes { of_row, .. } = self.table.target() else {
            return Err(GridError::NoClasses);
        };
        let leaves = tree.rules.assign_leaves(self.table, tree.rules.root(), &rows.test);
        let worth = |(&row, &leaf): (&u32, &u32)| {
            let class = of_row[row as usize];
            let mut counts = vec![0.0; self.class_fitness.classes()];
            counts[usize::from(class)] = self.table.weight(row);
            self.class_fitness.contribution(&counts, usize::from(tree.classes[leaf as usize]))
        };
        Ok(rows.test.iter().zip(&leaves).map(worth).sum())
    }

    /// The variables of a grid, and where its thresholds start.
    fn variables(
        &self,
        tree: &RankTree,
        features: &[u32],
        name: GridName,
    ) -> (Vec<GridAxis>, Vec<f64>) {
        let of_tree = axes::of_tree(tree, self.table);
        match self.config.variables {
            GridVariables::Tree => of_tree,
            GridVariables::Forest => {
                let GridTreeConfig { limits, seed, .. } = *self.config;
                let stream = (rng::hash(seed, FOREST_STREAM, name.item()), FOREST_STREAM);
                let count = of_tree.1.len();
                forest::axes_of_forest(self.table, (features, count), limits, stream, self.context)
            }
        }
    }

    /// Phase 2, on the variables of a tree.
    fn search_thresholds(
        &mut self,
        tree: &RankTree,
        features: &[u32],
        name: GridName,
        log: &mut TaskLog<'_>,
    ) -> Result<GridCandidate, GridError> {
        // Equation 5: D is the number of all thresholds.
        let (axes, start) = self.variables(tree, features, name);
        let cells = GridCells::new(self.table, &self.class_fitness, &axes);
        if axes.is_empty() {
            let fitness = cells.fitness(&[]);
            return Ok(GridCandidate { axes, cuts: Vec::new(), fitness, score: fitness, name });
        }
        let parameter = |(at, range): (usize, [f64; 2])| {
            Param::real(&format!("threshold {at}"), range[0], range[1])
        };
        let ranges = axes.iter().flat_map(|axis| std::iter::repeat_n(axis.range, axis.thresholds));
        let space = Space::new(ranges.enumerate().map(parameter).collect())?;
        let loss = |point: &Point| 1.0 - cells.fitness(&cells.cuts(&numbers(point)));
        let earlier = self.earlier;
        let key = name.key("swarm");
        let measure = self.config.fitness.name();
        let task = SwarmTask { key: &key, measure, earlier, steps: self.steps(), space: &space };
        let first = Point(start.iter().map(|&threshold| PointValue::Real(threshold)).collect());
        let found = self.optimise(&task, first, name, log, loss)?;

        let point = found.best.as_ref().map_or_else(|| start.clone(), numbers);
        let cuts = cells.cuts(&point);
        let fitness = cells.fitness(&cuts);
        let best = match name.fold {
            None => Some(earlier.best.map_or(fitness, |best| best.max(fitness))),
            Some(_) => earlier.best,
        };
        self.earlier = EarlierSwarms {
            iterations: earlier.iterations + found.last.iteration,
            evaluations: earlier.evaluations + found.last.evaluations,
            best,
        };
        Ok(GridCandidate { axes, cuts, fitness, score: fitness, name })
    }

    /// Iterations of all swarms of the run.
    fn steps(&self) -> usize {
        let GridTreeConfig { iterations, repeats, selection, folds, .. } = *self.config;
        let is_compared = repeats > 1 && selection == GridSelection::CrossValidation;
        iterations * repeats.max(1) * if is_compared { folds + 1 } else { 1 }
    }

    fn optimise(
        &self,
        task: &SwarmTask<'_>,
        start: Point,
        name: GridName,
        log: &mut TaskLog<'_>,
        loss: impl Fn(&Point) -> f64 + Sync,
    ) -> Result<SwarmResult, GridError> {
        let GridTreeConfig { optimizer, population, iterations, seed, .. } = *self.config;
        let (size, seed) = ((population, iterations), rng::hash(seed, SWARM_STREAM, name.item()));
        if optimizer == ThresholdOptimizer::Apso {
            let swarm = ThresholdOptimizer::apso(task.space, size, start, seed)?;
            return Ok(run_engine(swarm, task, self.context, log, loss)?);
        }
        let limit =
            EvaluationLimit { population: population as u64, iterations: iterations as u64 };
        let known = loss(&start);
        let build = || optimizer.build(task.space, size, (start, known), seed);
        Ok(run_evaluations(build, limit, task, (self.context, log), loss)?)
    }

    /// Whether an interrupted run has no time to finish a grid.
    fn is_large(&self, found: &GridCandidate) -> bool {
        let cells = GridCells::new(self.table, &self.class_fitness, &found.axes);
        let count = cells.count_occupied(&found.cuts);
        count * self.class_fitness.classes() > MAX_INTERRUPTED_VALUES
    }

    /// The thresholds of the first splits of a tree, without a search.
    fn small_candidate(&self, tree: &RankTree) -> GridCandidate {
        let path = PruningPath::new(tree.clone(), self.table, &LeafLoss::Gini);
        let small = path.steps().iter().find(|step| step.leaves <= INTERRUPTED_LEAVES);
        let tree = path.tree(small.map_or(f64::INFINITY, |step| step.alpha));
        let (axes, start) = axes::of_tree(&tree, self.table);
        let cells = GridCells::new(self.table, &self.class_fitness, &axes);
        let cuts = cells.cuts(&start);
        let fitness = cells.fitness(&cuts);
        GridCandidate { axes, cuts, fitness, score: fitness, name: GridName::of_repeat(0) }
    }

    /// Phase 3: the simplified grid.
    fn finish(&self, found: &GridCandidate) -> CellGrid {
        let cells = GridCells::new(self.table, &self.class_fitness, &found.axes);
        let (axes, cuts) = cells.drop_useless_cuts(&found.cuts);
        let occupied = GridCells::new(self.table, &self.class_fitness, &axes).occupied(&cuts);
        let seed = rng::hash(self.config.seed, EMPTY_STREAM, found.name.item());
        CellGrid::simplified((axes, cuts), occupied, self.config.empty, seed)
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
