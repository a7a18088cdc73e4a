//! CMA-ES with margin: covariance matrix adaptation evolution strategy in the unit cube.
//!
//! Every generation is sampled from `N(m, σ² C)`. The mean moves toward the better half, the
//! covariance matrix is adapted to successful directions and away from unsuccessful ones (active
//! update), and the step size grows while consecutive steps agree and shrinks while they cancel.
//! Hansen, "The CMA evolution
//! strategy: a tutorial", arXiv 1604.00772. Discrete parameters keep a margin of probability on
//! neighbouring values (`margin`: Hamano et al., GECCO 2022), without which they get stuck. When a
//! search stagnates (`stagnation`), it restarts at a random position with twice the population:
//! IPOP, Auger and Hansen, "A restart CMA evolution strategy with increasing population size", CEC
//! 2005.
//!
//! Deviations. Real coordinates outside of the unit interval are reflected into it, which distorts
//! the normal distribution less than clamping or resampling. A choice is a coordinate with one cell
//! per label, in the order of the labels. A failed trial ranks last with a positive weight of zero;
//! a generation that failed as a whole is sampled again. The initial point is the first mean and is
//! evaluated before all samples.

mod distribution;
mod eigen;
mod margin;
mod stagnation;
mod strategy_params;
#[cfg(test)]
mod tests;

use crate::config::{ConfigErrors, GENERATIONS, invalid_config, population_bounds};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::generational::{GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed};
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::reflect;
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use distribution::SearchDistribution;
use margin::Coordinate;
use stagnation::StagnationDetector;
use strategy_params::{StrategyParams, default_population};

/// With fewer samples the better half is too small.
const MIN_POPULATION: usize = 4;
/// Restarts double the population at most this often.
const MAX_DOUBLINGS: u64 = 9;
/// Restarts do not double the population beyond this size.
const MAX_POPULATION: usize = 1 << 16;
/// Avoids a division by zero if the distribution has no width.
const MIN_DEVIATION: f64 = 1e-200;

/// Configuration of [`CmaEs`].
#[derive(Debug, Clone, PartialEq)]
pub struct CmaEsConfig {
    /// λ, the initial number of samples per generation; `4 + 3 ln n` for n parameters if `None`.
    pub population: Option<usize>,
    /// Number of generations; unlimited if `None`.
    pub generations: Option<u64>,
    /// A point that is evaluated first and is the first mean; the centre of the unit cube if
    /// `None`.
    pub start: Option<Point>,
    /// σ, the initial step size, as a fraction of the range; 0.3.
    pub sigma: f64,
    /// Number of restarts on stagnation, each with twice the population, before the search ends;
    /// unlimited if `None`.
    pub restarts: Option<u64>,
    /// Whether discrete parameters keep a margin of `1 / (n λ)` on neighbouring values; true.
    pub margin: bool,
}

impl Default for CmaEsConfig {
    fn default() -> Self {
        CmaEsConfig {
            population: None,
            generations: None,
            start: None,
            sigma: 0.3,
            restarts: None,
            margin: true,
        }
    }
}

impl CmaEsConfig {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population.unwrap_or(MIN_POPULATION), MIN_POPULATION);
        errors.check_generations(self.generations);
        errors.check_start(self.start.as_ref(), space);
        errors.check_number("sigma", self.sigma, 1e-9, 10.0);
        errors.into_result(CmaEsMethod::NAME)
    }

    /// λ after a number of restarts.
    fn population(&self, n: usize, restarts: u64) -> usize {
        let first = self.population.unwrap_or_else(|| default_population(n));
        first.saturating_mul(1 << restarts.min(MAX_DOUBLINGS)).min(first.max(MAX_POPULATION))
    }
}

/// CMA-ES with margin.
///
/// ```
/// use swarmwood_search::cmaes::CmaEsConfig;
/// use swarmwood_search::{CmaEs, Engine, TrialResult, Param, Space};
/// let space = Space::new(vec![Param::real("rate", 1e-4, 1.0).log(), Param::integer("depth", 1, 12)])?;
/// let mut engine = CmaEs::new(&space, CmaEsConfig::default(), 7)?;
/// for _ in 0..600 {
///     for trial in engine.ask(1) {
///         let rate = space.number(0, trial.point[0]).unwrap();
///         let depth = space.number(1, trial.point[1]).unwrap();
///         let loss = (rate / 0.03).ln().powi(2) + (depth - 9.0).abs();
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type CmaEs = GenerationalEngine<CmaEsMethod>;

/// The options of [`CmaEs`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "population",
        population_bounds(MIN_POPULATION),
        MIN_POPULATION as i64,
        "initial number of samples per generation; auto is 4 + 3 ln n for n parameters",
    )
    .unless_given("auto"),
    GENERATIONS,
    OptionSpec::real(
        "sigma",
        (1e-9, 10.0),
        0.3,
        "initial step size, as a fraction of the range of a parameter",
    ),
    OptionSpec::integer(
        "restarts",
        (0, 1_000_000),
        0,
        "number of restarts on stagnation, each with twice the population, before the search ends",
    )
    .unless_given("unlimited"),
    OptionSpec::flag(
        "margin",
        true,
        "whether discrete parameters keep some probability on neighbouring values",
    ),
];

impl CmaEsConfig {
    fn of(options: &OptionValues) -> Self {
        CmaEsConfig {
            population: options.optional_count("population"),
            generations: options.optional_natural("generations"),
            start: None,
            sigma: options.real("sigma"),
            restarts: options.optional_natural("restarts"),
            margin: options.flag("margin"),
        }
    }
}

/// The registration of [`CmaEs`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: CmaEs::NAME,
    summary: "CMA-ES with margin for discrete parameters",
    options: OPTIONS,
    build: |space, seed, options| boxed(CmaEs::new(space, CmaEsConfig::of(options), seed)),
    resume: |space, snapshot| boxed(CmaEs::resume(space, snapshot)),
};

/// The method of [`CmaEs`].
#[derive(Debug, Clone, PartialEq)]
pub struct CmaEsMethod {
    space: Space,
    /// Without the initial point.
    config: CmaEsConfig,
    /// The coordinates of continuous parameters.
    continuous: Vec<usize>,
    params: StrategyParams,
    distribution: SearchDistribution,
    /// A, the scale of each coordinate, set by the margin.
    scales: Vec<f64>,
    /// The samples of this generation, `N(0, C)`.
    steps: PositionMatrix,
    /// Their positions in the unit cube.
    positions: PositionMatrix,
    stagnation: StagnationDetector,
    generation: u64,
    restarts: u64,
}

impl CmaEsMethod {
    /// Number of restarts so far.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// λ, the current number of samples per generation.
    pub fn population(&self) -> usize {
        self.params.weights.len()
    }

    fn with_mean(space: &Space, config: CmaEsConfig, restarts: u64, mean: Vec<f64>) -> Self {
        let n = space.len();
        let continuous = (0..n).filter(|&i| space.params()[i].domain.values().is_none()).collect();
        let params = StrategyParams::new(n, config.population(n, restarts));
        let distribution = SearchDistribution::new(mean, config.sigma);
        let mut method = CmaEsMethod {
            space: space.clone(),
            config,
            continuous,
            params,
            distribution,
            scales: vec![1.0; n],
            steps: PositionMatrix::new(n),
            positions: PositionMatrix::new(n),
            stagnation: StagnationDetector::default(),
            generation: 0,
            restarts,
        };
        method.apply_margin();
        method
    }

    /// Restarts at a random position with the next larger population.
    fn restart(&mut self, next: RoundSeed) {
        let mut stream = next.whole();
        let mean = (0..self.space.len()).map(|_| stream.unit()).collect();
        let restarts = self.restarts.saturating_add(1);
        let restarted = CmaEsMethod::with_mean(&self.space, self.config.clone(), restarts, mean);
        *self = CmaEsMethod { generation: self.generation, ..restarted };
    }

    /// Corrects mean and scale of discrete coordinates.
    fn apply_margin(&mut self) {
        let n = self.space.len();
        let alpha = 1.0 / (n * self.population()) as f64;
        for j in (0..n).filter(|_| self.config.margin) {
            let Some(cell) = self.space.cell(j, self.distribution.mean[j]) else { continue };
            let deviation = self.distribution.deviation(j).max(MIN_DEVIATION);
            let coordinate = Coordinate { mean: self.distribution.mean[j], scale: self.scales[j] };
            let corrected = margin::correct(cell, alpha, deviation, coordinate);
            (self.distribution.mean[j], self.scales[j]) = (corrected.mean, corrected.scale);
        }
    }

    /// Samples the next generation.
    fn sample(&mut self, next: RoundSeed) {
        let n = self.space.len();
        self.steps.clear();
        self.positions.clear();
        let (mut step, mut position) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..self.population() {
            self.distribution.sample(&mut next.stream(i), &mut step);
            for (j, x) in position.iter_mut().enumerate() {
                *x = self.distribution.mean[j] + self.distribution.sigma * self.scales[j] * step[j];
            }
            self.continuous.iter().for_each(|&j| position[j] = reflect(position[j]));
            // Discrete coordinates beyond the bounds stand for the first or the last value.
            position
                .iter_mut()
                .for_each(|x| *x = if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 });
            self.steps.push(&step);
            self.positions.push(&position);
        }
    }

    /// Ranks the samples and updates the distribution; nothing if all failed.
    fn update(&mut self, losses: &[Option<f64>]) {
        let mut order: Vec<usize> = (0..losses.len()).filter(|&i| losses[i].is_some()).collect();
        let loss = |i: &usize| losses[*i].unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        if order.is_empty() {
            return;
        }
        let sorted: Vec<f64> = order.iter().map(loss).collect();
        self.stagnation.record(&sorted, self.space.len(), self.population());

        let weights = self.params.for_known(order.len());
        order.extend((0..losses.len()).filter(|&i| losses[i].is_none()));
        let ys: Vec<&[f64]> = order.iter().map(|&i| self.steps.row(i)).collect();
        self.distribution.update(&self.params, &self.scales, &weights, &ys);
        self.apply_margin();
    }
}

impl GenerationalMethod for CmaEsMethod {
    const NAME: &'static str = "cmaes";
    type Config = CmaEsConfig;

    fn initial_point(config: &CmaEsConfig) -> Option<&Point> {
        config.start.as_ref()
    }

    fn new(space: &Space, mut config: CmaEsConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        let mean = config
            .start
            .take()
            .map_or_else(|| vec![0.5; space.len()], |start| space.encode(&start));
        let mut method = CmaEsMethod::with_mean(space, config, 0, mean);
        method.sample(round);
        Ok(method)
    }

    fn positions(&self) -> &PositionMatrix {
        &self.positions
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        self.update(results.losses);
        self.generation = self.generation.saturating_add(1);
        if self.config.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }

        if self.stagnation.should_restart(&self.distribution, &self.continuous, self.population()) {
            if self.config.restarts.is_some_and(|limit| self.restarts >= limit) {
                return false;
            }
            self.restart(next);
        }
        self.sample(next);
        true
    }

    fn terminates(&self) -> bool {
        self.config.generations.is_some() || self.config.restarts.is_some()
    }

    fn save(&self) -> Datum {
        Datum::record([
            (
                "population",
                Datum::optional_natural(self.config.population.map(|count| count as u64)),
            ),
            ("generations", Datum::optional_natural(self.config.generations)),
            ("first sigma", Datum::Real(self.config.sigma)),
            ("most restarts", Datum::optional_natural(self.config.restarts)),
            ("margin", Datum::flag(self.config.margin)),
            ("generation", Datum::Natural(self.generation)),
            ("restarts", Datum::Natural(self.restarts)),
            ("distribution", self.distribution.save()),
            ("scales", Datum::reals(&self.scales)),
            ("steps", self.steps.save()),
            ("positions", self.positions.save()),
            ("stagnation", self.stagnation.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let natural = |name: &str| data.field(name)?.to_optional_natural();
        let config = CmaEsConfig {
            population: data.field("population")?.list()?.first().map(Datum::count).transpose()?,
            generations: natural("generations")?,
            start: None,
            sigma: data.field("first sigma")?.real()?,
            restarts: natural("most restarts")?,
            margin: data.field("margin")?.to_flag()?,
        };
        config.check(space).map_err(invalid_config)?;
        let (n, restarts) = (space.len(), data.field("restarts")?.counter()?);
        let lambda = config.population(n, restarts);
        // Checked before anything of that size is allocated: a damaged number may be huge.
        if data.field("steps")?.list()?.len() != lambda {
            return Err(damaged("a wrong number of samples"));
        }

        let scales = data.field("scales")?.to_reals(n)?;
        if scales.iter().any(|scale| *scale <= 0.0) {
            return Err(damaged("a scale that is not positive"));
        }

        let empty = CmaEsMethod::with_mean(space, config, restarts, vec![0.5; n]);
        Ok(CmaEsMethod {
            distribution: SearchDistribution::load(data.field("distribution")?, n)?,
            scales,
            steps: PositionMatrix::load_exactly(data.field("steps")?, lambda, n)?,
            positions: PositionMatrix::load_exactly(data.field("positions")?, lambda, n)?,
            stagnation: StagnationDetector::load(
                data.renamed_field("stagnation", "watch")?,
                n,
                lambda,
            )?,
            generation: data.field("generation")?.counter()?,
            ..empty
        })
    }
}
