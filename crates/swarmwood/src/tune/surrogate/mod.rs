//! Sequential model-based optimisation with tree surrogates.
//!
//! After an initial design of ten points, every ask fits a [`SurrogateModel`] to the losses so far
//! and proposes, among a thousand random candidates, the one with the largest expected improvement
//! (Jones, Schonlau and Welch 1998; Hutter, Hoos and Leyton-Brown 2011 for forests) that was not
//! asked yet. The model learns normal scores of the ranks instead of the losses, because a few
//! losses that are a hundred times larger than the rest would otherwise dominate the splits. Random
//! candidates were better than neighbours of good points, which overfit noise.
//!
//! Running trials are modelled with the median of the targets, so that the points of a batch
//! differ. Failed trials are neither repeated nor modelled.
//!
//! The models grow trees of their own instead of the learner's, which are made for many rows. At
//! 150 trials of seven parameters an ask takes 23 million instructions with the forest and 27
//! million with the booster (callgrind, 1000 candidates included); the learner's greedy trees take
//! 48 and 47 million for as many trees of the same size and their predictions.

pub mod forest;
pub mod gbrt;
mod improvement;
mod normal;
#[cfg(test)]
mod tests;

use swarmwood_search::engine::{EngineSpec, boxed};
use swarmwood_search::options::{OptionSpec, OptionValues};
use swarmwood_search::rng::Stream;
use swarmwood_search::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use swarmwood_search::trial_log::FinishedTrial;
use swarmwood_search::{Datum, Error, Point, Space};

use improvement::rank_by_improvement;

/// Number of points of the initial design.
const INITIAL_POINTS: usize = 10;

/// At most this many trials are modelled, the latest ones.
const MAX_MODELLED: usize = 2000;

/// Number of candidates per proposal, by default.
const DEFAULT_CANDIDATES: usize = 1000;

/// The engine with a random forest.
pub type Forest = SteadyStateEngine<SurrogateMethod<forest::ForestModel>>;

/// The engine with gradient boosted quantiles.
pub type Gbrt = SteadyStateEngine<SurrogateMethod<gbrt::QuantileBooster>>;

/// The options of [`Forest`].
const FOREST_OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer("trees", (1, 1000), forest::DEFAULT_TREES as i64, "number of trees"),
    CANDIDATES,
    TARGET,
];

/// The options of [`Gbrt`].
const GBRT_OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "trees",
        (1, 1000),
        gbrt::DEFAULT_TREES as i64,
        "number of trees for each of three quantiles",
    ),
    CANDIDATES,
    TARGET,
];

const CANDIDATES: OptionSpec = OptionSpec::integer(
    "candidates",
    (1, 100_000),
    DEFAULT_CANDIDATES as i64,
    "number of random configurations that a proposal is chosen from",
);

const TARGET: OptionSpec = OptionSpec::choice(
    "target",
    &[
        ("ranks", "the normal scores of the ranks of the losses"),
        ("losses", "the losses, as published"),
    ],
    "what the model learns",
);

/// The registration of the surrogate engines.
pub(super) const ENGINES: &[EngineSpec] = &[
    EngineSpec {
        name: Forest::NAME,
        summary: "expected improvement under a random forest",
        options: FOREST_OPTIONS,
        build: |space, seed, options| boxed(Forest::new(space, SurrogateConfig::of(options), seed)),
        resume: |space, snapshot| boxed(Forest::resume(space, snapshot)),
    },
    EngineSpec {
        name: Gbrt::NAME,
        summary: "expected improvement under gradient boosted quantiles",
        options: GBRT_OPTIONS,
        build: |space, seed, options| boxed(Gbrt::new(space, SurrogateConfig::of(options), seed)),
        resume: |space, snapshot| boxed(Gbrt::resume(space, snapshot)),
    },
];

/// The target of the surrogate model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SurrogateTarget {
    /// The normal scores of the ranks of the losses.
    #[default]
    Ranks,
    /// The losses.
    Losses,
}

/// The predicted loss of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossPrediction {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// The coordinates of points in the unit cube, by column.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinateTable {
    /// One column per parameter.
    pub columns: Vec<Vec<f64>>,
    /// Length of each column.
    pub rows: usize,
}

impl CoordinateTable {
    /// The coordinates of some points; 0.5 for inactive parameters.
    pub fn new<'a>(space: &Space, points: impl Iterator<Item = &'a Point>) -> CoordinateTable {
        let mut table = CoordinateTable { columns: vec![Vec::new(); space.len()], rows: 0 };
        for point in points {
            table
                .columns
                .iter_mut()
                .zip(space.encode(point))
                .for_each(|(column, u)| column.push(u));
            table.rows += 1;
        }
        table
    }
}

/// A regression model of losses.
pub trait SurrogateModel: Clone + Send + Default {
    /// The name of its engine.
    const NAME: &'static str;
    /// A model with a number of trees.
    fn with_trees(trees: usize) -> Self;
    /// The number of trees.
    fn trees(&self) -> usize;
    /// Fits the model to known points and predicts the losses of candidates. All randomness comes
    /// from the stream.
    fn fit_predict(
        &self,
        known: &CoordinateTable,
        target: &[f64],
        candidates: &CoordinateTable,
        stream: &mut Stream,
    ) -> Vec<LossPrediction>;
}

/// Configuration of a surrogate engine.
#[derive(Debug, Clone)]
pub struct SurrogateConfig<R> {
    /// The model.
    pub model: R,
    /// Its target.
    pub target: SurrogateTarget,
    /// Number of candidates per proposal.
    pub candidates: usize,
}

impl<R: Default> Default for SurrogateConfig<R> {
    fn default() -> Self {
        SurrogateConfig {
            model: R::default(),
            target: SurrogateTarget::default(),
            candidates: DEFAULT_CANDIDATES,
        }
    }
}

impl<R: SurrogateModel> SurrogateConfig<R> {
    fn of(options: &OptionValues) -> Self {
        SurrogateConfig {
            model: R::with_trees(options.count("trees")),
            target: match options.choice("target") {
                "losses" => SurrogateTarget::Losses,
                _ => SurrogateTarget::Ranks,
            },
            candidates: options.count("candidates"),
        }
    }
}

/// The method of surrogate engines: finished trials and the model that is fitted to them.
#[derive(Debug, Clone)]
pub struct SurrogateMethod<R> {
    config: SurrogateConfig<R>,
    trials: Vec<(Point, f64)>,
}

impl<R: SurrogateModel> SurrogateMethod<R> {
    /// The trials that are modelled.
    fn modelled(&self) -> &[(Point, f64)] {
        &self.trials[self.trials.len().saturating_sub(MAX_MODELLED)..]
    }

    /// The targets of the modelled trials, then those of the running ones.
    fn targets(&self, pending: usize) -> Vec<f64> {
        let losses: Vec<f64> = self.modelled().iter().map(|&(_, loss)| loss).collect();
        let mut targets = match self.config.target {
            SurrogateTarget::Ranks => normal::scores(&losses),
            SurrogateTarget::Losses => losses,
        };
        let mut sorted = targets.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        targets.resize(targets.len() + pending, median);
        targets
    }
}

impl<R: SurrogateModel> SteadyStateMethod for SurrogateMethod<R> {
    const NAME: &'static str = R::NAME;
    type Config = SurrogateConfig<R>;

    fn new(_: &Space, config: SurrogateConfig<R>, _: u64) -> Result<Self, Error> {
        Ok(SurrogateMethod { config, trials: Vec::new() })
    }

    fn observe(&mut self, _: &Space, _: u64, finished: FinishedTrial) {
        if let Some(loss) = finished.loss {
            self.trials.push((finished.point, loss));
        }
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(INITIAL_POINTS, &mut stream) {
            return Some(point);
        }
        if self.trials.len() < 2 {
            return context.sample_unseen(&mut stream);
        }
        let pending: Vec<&Point> = context.trial_log.pending().collect();
        let target = self.targets(pending.len());
        let known = CoordinateTable::new(
            context.space,
            self.modelled().iter().map(|(point, _)| point).chain(pending),
        );
        let candidates: Vec<Point> =
            (0..self.config.candidates).map(|_| context.space.draw(&mut stream)).collect();
        let candidate_table = CoordinateTable::new(context.space, candidates.iter());
        let least = target[..self.modelled().len()].iter().copied().fold(f64::INFINITY, f64::min);
        let predictions =
            self.config.model.fit_predict(&known, &target, &candidate_table, &mut stream);
        let unseen = rank_by_improvement(&predictions, least)
            .find(|&at| !context.trial_log.has_seen(&candidates[at]));
        unseen.map(|at| candidates[at].clone()).or_else(|| context.sample_unseen(&mut stream))
    }

    fn save(&self) -> Datum {
        let trials = self
            .trials
            .iter()
            .map(|(point, loss)| Datum::List(vec![Datum::point(point), Datum::Real(*loss)]));
        Datum::record([
            ("losses", Datum::flag(self.config.target == SurrogateTarget::Losses)),
            ("trees", Datum::Natural(self.config.model.trees() as u64)),
            ("candidates", Datum::Natural(self.config.candidates as u64)),
            ("trials", Datum::List(trials.collect())),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let losses = data.field("losses")?.to_flag()?;
        let target = if losses { SurrogateTarget::Losses } else { SurrogateTarget::Ranks };
        let model = R::with_trees(data.field("trees")?.count()?);
        let candidates = data.field("candidates")?.count()?;
        let trials =
            data.field("trials").or_else(|_| data.field("told"))?.list()?.iter().map(|datum| {
                let [point, loss] = datum.tuple()?;
                Ok((point.to_point(space)?, loss.real()?))
            });
        let trials = trials.collect::<Result<Vec<_>, Error>>()?;
        Ok(SurrogateMethod { config: SurrogateConfig { model, target, candidates }, trials })
    }
}
