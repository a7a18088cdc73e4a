//! A steady-state variant of the stochastic schemata exploiter, without repeated points.
//!
//! All trials so far are ranked together. The M best subsets of the top trials take turns; a child
//! takes each gene from a random member of its subset and is mutated, at a rate that increases with
//! the rank of the subset. A child that was asked before is generated again with a higher mutation
//! rate, so that the child of {best} explores the neighbourhood of the best trial. There are no
//! generations: every result is used from the next ask on, and the engine never waits.
//!
//! The method is that of Makino and Kita 2024 ([`sse`](crate::sse)), modified according to
//! measurements on surrogates of tuning tasks, where repeated points cost the most, followed by too
//! few initial points. The modified method was on a par there with Optuna's TPE at a fraction of
//! the computation; on real fits the two were hardly distinguishable from each other and from
//! random search. Mutation is a Cauchy step along ordered parameters and another label for choices.
//!
//! [`SchemataConfig::smoothing`] ranks the top trials by losses averaged over neighbours, in case
//! losses are noisy (`smoothing`).

mod smoothing;
#[cfg(test)]
mod tests;

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::{DEFAULT_WIDTH, perturb};
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::sse::{best_subsets, schema};
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_archive::TrialArchive;
use crate::trial_log::FinishedTrial;
use smoothing::NeighbourSums;

/// Attempts at a child that was not asked before; after them a random point is taken.
const MAX_ATTEMPTS: usize = 60;
/// How much each failed attempt increases the mutation rate.
const RATE_INCREMENT: f64 = 0.05;
/// The largest value of the counts in a configuration.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`Schemata`].
#[derive(Debug, Clone, PartialEq)]
pub struct SchemataConfig {
    /// Number of points of the initial design; 20.
    pub start: usize,
    /// M, the number of subsets, and of the top trials that they are taken from; 10.
    pub subsets: usize,
    /// Upper bound of the mutation rate, which increases linearly with the rank of the subset from
    /// 0 on (eq. 28 of the paper); 0.2.
    pub mutation: f64,
    /// Whether trials are ranked by losses averaged over neighbours; true.
    pub smoothing: bool,
}

impl Default for SchemataConfig {
    fn default() -> Self {
        SchemataConfig { start: 20, subsets: 10, mutation: 0.2, smoothing: true }
    }
}

impl SchemataConfig {
    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        for (name, value) in [("start", self.start), ("subsets", self.subsets)] {
            errors.check_count(name, value, 1, MAX_COUNT);
        }
        errors.check_number("mutation", self.mutation, 0.0, 1.0);
        errors.into_result(SchemataMethod::NAME)
    }
}

/// The steady-state schemata exploiter.
///
/// ```
/// use swarmwood_search::schemata::SchemataConfig;
/// use swarmwood_search::{Engine, TrialResult, Param, Schemata, Space};
/// let space = Space::new(vec![
///     Param::integer("depth", 1, 12),
///     Param::real("rate", 1e-3, 1.0).log(),
///     Param::choice("growth", &["depth", "leaf"]),
/// ])?;
/// let mut engine = Schemata::new(&space, SchemataConfig::default(), 7)?;
/// for _ in 0..100 {
///     for trial in engine.ask(1) {
///         let depth = space.number(0, trial.point[0]).unwrap();
///         let rate = space.number(1, trial.point[1]).unwrap();
///         let growth = space.label(2, trial.point[2]).unwrap();
///         let loss = (depth - 7.0).abs() / 11.0 + (rate / 0.05).ln().abs() / 7.0 + f64::from(growth == "depth");
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.1);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Schemata = SteadyStateEngine<SchemataMethod>;

/// The options of [`Schemata`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "initial_points",
        (1, MAX_COUNT as i64),
        20,
        "number of points of the initial design",
    ),
    OptionSpec::integer(
        "subsets",
        (1, MAX_COUNT as i64),
        10,
        "number of subsets of the best trials, and of the trials they are taken from",
    ),
    OptionSpec::real(
        "mutation",
        (0.0, 1.0),
        0.2,
        "upper bound of the mutation rate, which increases with the rank of the subset",
    ),
    OptionSpec::flag(
        "smoothing",
        true,
        "whether trials are ranked by losses averaged over neighbours, against noise",
    ),
];

impl SchemataConfig {
    fn of(options: &OptionValues) -> Self {
        SchemataConfig {
            start: options.count("initial_points"),
            subsets: options.count("subsets"),
            mutation: options.real("mutation"),
            smoothing: options.flag("smoothing"),
        }
    }
}

/// The registration of [`Schemata`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Schemata::NAME,
    summary: "steady-state schemata exploiter, without repeats; the cheapest that learns",
    options: OPTIONS,
    build: |space, seed, options| boxed(Schemata::new(space, SchemataConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Schemata::resume(space, snapshot)),
};

/// The method of [`Schemata`].
#[derive(Debug, Clone, PartialEq)]
pub struct SchemataMethod {
    config: SchemataConfig,
    archive: TrialArchive,
    neighbours: NeighbourSums,
    /// Number of children so far.
    children: u64,
}

impl SchemataMethod {
    /// The M best trials with the losses they are ranked by.
    fn best_trials(&self) -> Vec<(f64, usize)> {
        let count = self.config.subsets;
        let ranked = self.archive.ranked();
        let loss = |&trial: &usize| (self.archive.loss(trial).unwrap_or(f64::MAX), trial);
        if !self.config.smoothing {
            return ranked.iter().take(count).map(loss).collect();
        }
        let smoothed = |(loss, trial): (f64, usize)| (self.neighbours.smoothed(trial, loss), trial);
        let mut best_trials: Vec<(f64, usize)> =
            ranked.iter().take(2 * count).map(loss).map(smoothed).collect();
        best_trials.sort_by(|a, b| a.0.total_cmp(&b.0));
        best_trials.truncate(count);
        best_trials
    }

    /// A child of the subset whose turn it is.
    fn make_child(&mut self, context: AskContext<'_>, stream: &mut Stream) -> Option<Point> {
        let count = self.config.subsets;
        let (losses, trials): (Vec<f64>, Vec<usize>) = self.best_trials().into_iter().unzip();
        let rank = (self.children % count as u64) as usize;
        self.children = self.children.saturating_add(1);

        let subsets = best_subsets(&losses, rank + 1);
        // A few trials have fewer than M subsets.
        let subset = subsets.get(rank % subsets.len().max(1))?;
        let members: Vec<usize> = subset.iter().map(|&member| trials[member]).collect();
        let genes: Vec<Vec<PointValue>> = (0..context.space.len())
            .map(|j| self.gene_values(context.space, &members, j))
            .collect();
        let rate = rank as f64 / count as f64 * self.config.mutation; // eq. 28

        let child = |attempt: usize, stream: &mut Stream| {
            assemble(context.space, &genes, rate + RATE_INCREMENT * attempt as f64, stream)
        };
        context.first_unseen(MAX_ATTEMPTS, stream, child)
    }

    /// The different values of a parameter among the members.
    fn gene_values(&self, space: &Space, members: &[usize], parameter: usize) -> Vec<PointValue> {
        let holders = schema::gene(
            space,
            parameter,
            members.iter().map(|&trial| self.archive.row(trial)[parameter]),
        );
        holders.into_iter().map(|i| self.archive.point(members[i])[parameter]).collect()
    }
}

/// Assembles a child. A parameter that is active in the child but in no member is drawn at random.
fn assemble(space: &Space, genes: &[Vec<PointValue>], rate: f64, stream: &mut Stream) -> Point {
    let mut values = Vec::with_capacity(genes.len());
    for (j, gene) in genes.iter().enumerate() {
        if !space.is_active(j, &values) {
            values.push(PointValue::Absent);
            continue;
        }
        let value = match gene.get(stream.below(gene.len() as u64) as usize) {
            Some(&value) if stream.unit() >= rate => value,
            Some(&value) => perturb(space, j, value, DEFAULT_WIDTH, stream),
            None => space.draw_value(j, stream),
        };
        values.push(value);
    }
    Point(values)
}

impl SteadyStateMethod for SchemataMethod {
    const NAME: &'static str = "schemata";
    type Config = SchemataConfig;

    fn new(space: &Space, config: SchemataConfig, _seed: u64) -> Result<Self, Error> {
        config.check()?;
        Ok(SchemataMethod {
            config,
            archive: TrialArchive::new(space),
            neighbours: NeighbourSums::new(space),
            children: 0,
        })
    }

    fn observe(&mut self, space: &Space, _seed: u64, finished: FinishedTrial) {
        self.archive.push(space, finished);
        if self.config.smoothing {
            self.neighbours.add_newest(&self.archive);
        }
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.start, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || context.is_exhausted() {
            return context.sample_unseen(&mut stream);
        }
        self.make_child(context, &mut stream)
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("start", Datum::Natural(self.config.start as u64)),
            ("subsets", Datum::Natural(self.config.subsets as u64)),
            ("mutation", Datum::Real(self.config.mutation)),
            ("smoothing", Datum::flag(self.config.smoothing)),
            ("archive", self.archive.save()),
            ("children", Datum::Natural(self.children)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = SchemataConfig {
            start: data.field("start")?.count()?,
            subsets: data.field("subsets")?.count()?,
            mutation: data.field("mutation")?.real()?,
            smoothing: data.field("smoothing")?.to_flag()?,
        };
        let mut method = SchemataMethod::new(space, config, 0).map_err(invalid_config)?;
        // Observed again one by one, because the sums over neighbours depend on the order.
        for finished in TrialArchive::trials(space, data.field("archive")?)? {
            method.observe(space, 0, finished);
        }
        method.children = data.renamed_field("children", "turn")?.counter()?;
        Ok(method)
    }
}
