//! One grid of thresholds, moved together by an adaptive particle swarm: the published swarm tree.
//!
//! Phase 1 grows a tree greedily and cuts it back by cross-validation; only its variables and the
//! number of thresholds of each are kept (`axes.rs`). In phase 2 all thresholds are one position of
//! an adaptive particle swarm, whose global best starts at the greedy tree's own; they cut the
//! space into cells, and a cell has the class of most of its rows (`cells.rs`). Phase 3 makes a
//! tree of the cells (`to_tree.rs`). Jun, Cho, Lee, "Improving tree-based classification rules
//! using a particle swarm optimization", APMS 2012, section 3.
//!
//! Where this differs from the paper:
//! - A cell without rows has the class of the nearest cell with rows; the paper's random class is
//!   an option (`empty.rs`).
//! - A threshold that was found is moved to the middle between the two training values around it.
//!   No training row changes its cell.
//! - A grid of many thresholds consists of cells without rows, so that more than a limit are
//!   refused.
//! - The paper repeats the first two phases "by selecting different variables" and does not say
//!   how. Here the first grid may use all features and each further one a random half of them; the
//!   best on the training rows wins.
//! - The paper's data have no missing values. Here they lie at the end of an axis that the greedy
//!   tree sends them to.

mod axes;
mod cells;
mod empty;
#[cfg(test)]
mod tests;
mod to_tree;

use swarmwood_search::rng::{self, Stream};
use swarmwood_search::{Apso, Engine, Param, Point, Space, Value, apso};

use crate::cart::{self, Choice, Growing, Limits, Path};
use crate::event::{Event, Flow};
use crate::iterate::{Before, iterate};
use crate::leaf_loss::Loss;
use crate::merit::{Fitness, Merit, majority};
use crate::pool::Pool;
use crate::ranked::Ranked;
use crate::sketch::{self, Sketch};

pub use axes::Axis;
pub use cells::Cells;
pub use empty::Empty;

/// Streams of a run: a round is what is drawn, an item a repetition or a cell.
const SWARM_STREAM: u64 = 7 << 32;
const FEATURE_STREAM: u64 = SWARM_STREAM + 1;
const EMPTY_STREAM: u64 = SWARM_STREAM + 2;

/// The most thresholds that a limit may allow: so many make a million cells.
pub const MOST_THRESHOLDS: usize = 20;

/// What is searched, and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Limits of the preliminary tree.
    pub limits: Limits,
    /// How the preliminary tree is cut back, if it is.
    pub prune: Option<Choice>,
    /// Parts of the rows for cross-validation.
    pub folds: usize,
    /// Particles.
    pub population: usize,
    /// Iterations of a swarm.
    pub iterations: usize,
    /// What is to be large.
    pub fitness: Fitness,
    /// The class of cells without rows.
    pub empty: Empty,
    /// Grids that are searched, the best of which is kept.
    pub repeats: usize,
    /// The most thresholds of a grid.
    pub most_thresholds: usize,
    /// Start of the random streams.
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
pub struct Grid {
    /// The variables.
    pub axes: Vec<Axis>,
    /// The thresholds of each as codes, ascending: greater codes lie above.
    pub cuts: Vec<Vec<u16>>,
    /// The class of every cell; the last axis runs fastest.
    pub classes: Vec<u16>,
    /// Cells with rows.
    pub occupied: usize,
}

/// What a search ends with.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The best grid.
    pub grid: Grid,
    /// Its fitness.
    pub fitness: f64,
    /// The thresholds that were searched, some of which may have come together.
    pub thresholds: usize,
    /// The pruned greedy tree of all features.
    pub preliminary: Sketch,
    /// Its fitness.
    pub preliminary_fitness: f64,
    /// Iterations of all swarms.
    pub iterations: usize,
    /// Grids evaluated.
    pub evaluations: u64,
    /// Grids that were searched.
    pub repeats: usize,
    /// Repetitions left out because they had more thresholds than allowed.
    pub refused: usize,
}

/// Searches. `watch` hears of every iteration.
///
/// ```
/// use swarmwood_learn::cart::{Choice, Limits};
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::event::Flow;
/// use swarmwood_learn::grid::{Empty, Settings, search};
/// use swarmwood_learn::merit::Fitness;
/// use swarmwood_learn::pool::Pool;
/// use swarmwood_learn::ranked::Ranked;
/// use swarmwood_model::{Feature, Kind};
///
/// // A class that begins at 30 and ends at 60.
/// let values: Vec<f64> = (0..100).map(f64::from).collect();
/// let target = values.iter().map(|&x| f64::from(u8::from((30.0..60.0).contains(&x)))).collect();
/// let chunk = Chunk { columns: vec![Column::Number(values)], target, rows: 100, ..Chunk::default() };
/// let table = Ranked::new(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }], Some(2), 1000);
/// let settings = Settings {
///     limits: Limits { leaves: 0, depth: 0, min_leaf: 1 },
///     prune: Some(Choice::Best),
///     folds: 5,
///     population: 20,
///     iterations: 20,
///     fitness: Fitness::Accuracy,
///     empty: Empty::Nearest,
///     repeats: 1,
///     most_thresholds: 15,
///     seed: 0,
/// };
/// let found = search(&table, &settings, &Pool::new(1)?, &mut |_| Flow::Continue).map_err(|e| e.to_string())?;
/// assert_eq!((found.fitness, found.grid.classes), (1.0, vec![0, 1, 0]));
/// # Ok::<(), String>(())
/// ```
pub fn search(
    table: &Ranked,
    settings: &Settings,
    pool: &Pool,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Outcome, GridError> {
    let merit = Merit::new(table, settings.fitness).ok_or(GridError::NoClasses)?;
    if let Some(feature) =
        (0..).zip(table.columns()).find(|(_, column)| column.is_category()).map(|(at, _)| at)
    {
        return Err(GridError::Category { feature });
    }
    let mut run = Run { table, settings, pool, merit, before: Before::default(), stopped: false };
    let all: Vec<u32> = (0..table.columns().len() as u32).collect();
    let preliminary = run.preliminary(&all);
    let mut best = run.fly(&preliminary, 0, watch)?;
    let (mut repeats, mut refused) = (1, 0);
    for number in 1..settings.repeats {
        if run.stopped || pool.hurried() {
            break;
        }
        let mut stream = Stream::new(settings.seed, FEATURE_STREAM, number as u64);
        let mut half: Vec<u32> = stream
            .sample_without(all.len(), all.len().div_ceil(2))
            .iter()
            .map(|&at| at as u32)
            .collect();
        half.sort_unstable();
        let tree = run.preliminary(&half);
        match run.fly(&tree, number, watch) {
            Err(GridError::TooMany { .. }) => refused += 1,
            Err(error) => return Err(error),
            Ok(found) => {
                repeats += 1;
                if found.fitness > best.fitness {
                    best = found;
                }
            }
        }
    }
    Ok(Outcome {
        grid: run.finish(&best),
        fitness: best.fitness,
        thresholds: best.axes.iter().map(|axis| axis.thresholds).sum(),
        preliminary_fitness: run.fitness_of(&preliminary),
        preliminary,
        iterations: run.before.iterations,
        evaluations: run.before.evaluations,
        repeats,
        refused,
    })
}

/// A search while it runs.
struct Run<'a> {
    table: &'a Ranked,
    settings: &'a Settings,
    pool: &'a Pool,
    merit: Merit,
    before: Before,
    stopped: bool,
}

/// The best thresholds of one repetition.
struct Found {
    axes: Vec<Axis>,
    cuts: Vec<Vec<u16>>,
    fitness: f64,
    number: usize,
}

impl Run<'_> {
    /// Phase 1: steps 1-1 and 1-2.
    fn preliminary(&self, features: &[u32]) -> Sketch {
        let Settings { limits, prune, folds, seed, .. } = *self.settings;
        let growing =
            Growing { table: self.table, loss: &Loss::Gini, limits, features, pool: self.pool };
        let path = Path::new(cart::grow(&growing), self.table, &Loss::Gini);
        let mut alpha = prune.map_or(-1.0, |choice| {
            let folds = cart::deal(self.table, folds, seed, 0, self.pool);
            cart::choose_alpha(&growing, &path, &Loss::Error, &folds, choice).0
        });
        if self.pool.hurried() {
            // There was no time to find out how far to cut back: as far as a grid must be small.
            let limit = self.settings.most_thresholds.min(MOST_THRESHOLDS);
            let small = path.steps().iter().find(|step| step.leaves <= limit + 1);
            alpha = small.map_or(f64::INFINITY, |step| step.alpha);
        }
        let mut tree = path.tree(alpha);
        tree.centre(self.table);
        tree
    }

    /// Phase 2, on the variables of a tree.
    fn fly(
        &mut self,
        tree: &Sketch,
        number: usize,
        watch: &mut dyn FnMut(&Event) -> Flow,
    ) -> Result<Found, GridError> {
        let (axes, start) = axes::of_tree(tree, self.table);
        let limit = self.settings.most_thresholds.min(MOST_THRESHOLDS);
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
        let cells = Cells::new(self.table, &self.merit, &axes);
        if axes.is_empty() {
            let fitness = cells.fitness(&[]);
            return Ok(Found { axes, cuts: Vec::new(), fitness, number });
        }
        let parameter = |(at, range): (usize, [f64; 2])| {
            Param::real(&format!("threshold {at}"), range[0], range[1])
        };
        let ranges = axes.iter().flat_map(|axis| std::iter::repeat_n(axis.range, axis.thresholds));
        let space = Space::new(ranges.enumerate().map(parameter).collect())?;
        let swarm = apso::Settings {
            population: self.settings.population,
            generations: Some(self.settings.iterations as u64),
            start: Some(Point(start.iter().map(|&threshold| Value::Real(threshold)).collect())),
            ..apso::Settings::default()
        };
        let mut engine =
            Apso::new(&space, swarm, rng::hash(self.settings.seed, SWARM_STREAM, number as u64))?;
        let loss = |point: &Point| 1.0 - cells.fitness(&cells.cuts(&numbers(point)));
        let (measure, steps) =
            (self.settings.fitness.name(), self.settings.iterations * self.settings.repeats.max(1));
        let (before, mut stopped) = (self.before, false);
        let last = iterate(&mut engine, self.pool, loss, &mut |step| {
            let flow = watch(&step.event(measure, before, steps));
            stopped = flow == Flow::Stop;
            flow
        });
        let point = engine.best().map_or_else(|| start.clone(), |best| numbers(best.point));
        let cuts = cells.cuts(&point);
        let fitness = cells.fitness(&cuts);
        let best = Some(before.best.map_or(fitness, |best| best.max(fitness)));
        self.stopped = stopped;
        self.before = Before {
            iterations: before.iterations + last.iteration,
            evaluations: before.evaluations + last.evaluations,
            best,
        };
        Ok(Found { axes, cuts, fitness, number })
    }

    /// The classes of all cells.
    fn finish(&self, found: &Found) -> Grid {
        let cells = Cells::new(self.table, &self.merit, &found.axes);
        let (axes, cuts) = cells.tidy(&found.cuts);
        let cells = Cells::new(self.table, &self.merit, &axes);
        let occupied = cells.occupied(&cuts);
        let shape: Vec<usize> = cuts.iter().map(|cuts| cuts.len() + 1).collect();
        let decided: Vec<empty::Occupied> = occupied
            .iter()
            .map(|(cell, counts)| empty::Occupied {
                cell,
                class: majority(counts) as u16,
                weight: counts.iter().sum(),
            })
            .collect();
        let seed = rng::hash(self.settings.seed, EMPTY_STREAM, found.number as u64);
        let classes =
            empty::fill(&shape, &decided, self.settings.empty, self.merit.classes(), seed);
        Grid { axes, cuts, classes, occupied: decided.len() }
    }

    fn fitness_of(&self, tree: &Sketch) -> f64 {
        let (_, leaves) = sketch::fit(tree, self.table, &Loss::Error);
        let worth = |leaf: &sketch::Fitted| self.merit.of(&leaf.sums, majority(&leaf.sums));
        self.merit.fitness(leaves.iter().map(worth).sum())
    }
}

fn numbers(point: &Point) -> Vec<f64> {
    let number = |value: &Value| if let Value::Real(number) = *value { number } else { f64::NAN };
    point.0.iter().map(number).collect()
}
