//! CMA-ES with margin: a normal distribution over the unit cube that learns which directions pay.
//!
//! Every generation is drawn from `N(m, σ² C)`. The mean moves to the better half, the covariance
//! takes up the directions that led there and gives up those that did not (active update), and the
//! step size grows while steps agree and shrinks while they cancel. Hansen, "The CMA evolution
//! strategy: a tutorial", arXiv 1604.00772. Countable parameters keep a margin of probability on
//! neighbouring values (`margin`: Hamano et al., GECCO 2022), without which they get stuck. When a
//! search has come to its end (`stagnation`) a new one begins elsewhere with twice the population:
//! IPOP, Auger and Hansen, "A restart CMA evolution strategy with increasing population size", CEC
//! 2005.
//!
//! Deviations. Real coordinates that leave the unit interval are mirrored back into it, which keeps
//! the distribution normal where clamping or drawing again would bend it. A choice is a coordinate
//! with one cell a label, in the order of the labels. A failed trial ranks last and draws nothing
//! to itself; a generation that failed as a whole is drawn again. A start position is the first
//! mean and is evaluated before all samples.

mod distribution;
mod eigen;
mod margin;
mod stagnation;
#[cfg(test)]
mod tests;
mod weights;

use crate::error::Error;
use crate::generational::{Faults, Generational, Method, Round, Told, unsound};
use crate::point::Point;
use crate::rows::Rows;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use crate::steps::mirror;
use distribution::Distribution;
use stagnation::Watch;
use weights::Weights;

/// With fewer samples there is no better half to speak of.
const LEAST: usize = 4;
/// The population doubles at most so often, and not beyond so many samples.
const DOUBLINGS: u64 = 9;
const MOST: usize = 1 << 16;
/// Keeps a distribution without any width from being divided by.
const LEAST_SPREAD: f64 = 1e-200;

/// The settings of CMA-ES.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// λ, how many samples a generation has at first; `4 + 3 ln n` for n parameters if `None`.
    pub population: Option<usize>,
    /// After how many generations the search ends; endless if `None`.
    pub generations: Option<u64>,
    /// A position that is evaluated first and is the first mean; the middle of the unit cube if
    /// `None`.
    pub start: Option<Point>,
    /// σ, the first step size, as a share of the range; 0.3.
    pub sigma: f64,
    /// How often the search begins anew when it has come to its end, each time with twice the
    /// population; then it is over. Endless if `None`.
    pub restarts: Option<u64>,
    /// Whether countable parameters keep a margin of `1 / (n λ)` on neighbouring values; yes.
    pub margin: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            population: None,
            generations: None,
            start: None,
            sigma: 0.3,
            restarts: None,
            margin: true,
        }
    }
}

impl Settings {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut faults = Faults::default();
        let start = self.start.as_ref().map(|start| (start, space));
        faults.check_run(self.population, LEAST, self.generations, start);
        faults.check_within("sigma", self.sigma, 1e-9, 10.0);
        faults.report(Strategy::NAME)
    }

    /// λ after so many restarts.
    fn population(&self, n: usize, restarts: u64) -> usize {
        let first = self.population.unwrap_or_else(|| weights::population(n));
        first.saturating_mul(1 << restarts.min(DOUBLINGS)).min(first.max(MOST))
    }
}

/// CMA-ES with margin.
///
/// ```
/// use swarmwood_search::cmaes::Settings;
/// use swarmwood_search::{CmaEs, Engine, Outcome, Param, Space};
/// let space = Space::new(vec![Param::real("rate", 1e-4, 1.0).log(), Param::integer("depth", 1, 12)])?;
/// let mut engine = CmaEs::new(&space, Settings::default(), 7)?;
/// for _ in 0..600 {
///     for trial in engine.ask(1) {
///         let rate = space.number(0, trial.point[0]).unwrap();
///         let depth = space.number(1, trial.point[1]).unwrap();
///         let loss = (rate / 0.03).ln().powi(2) + (depth - 9.0).abs();
///         engine.tell(&[Outcome::Value { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type CmaEs = Generational<Strategy>;

/// The method of [`CmaEs`].
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    space: Space,
    /// Without the start, which was used up at the start.
    settings: Settings,
    /// The coordinates of parameters that are a continuum.
    continuous: Vec<usize>,
    weights: Weights,
    distribution: Distribution,
    /// A, the scale of each coordinate that the margin asks for.
    scales: Vec<f64>,
    /// The samples of this generation, `N(0, C)`.
    steps: Rows,
    /// Where they lie in the unit cube.
    positions: Rows,
    watch: Watch,
    generation: u64,
    restarts: u64,
}

impl Strategy {
    /// How often the search began anew.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// λ, how many samples a generation has now.
    pub fn population(&self) -> usize {
        self.weights.ranks.len()
    }

    fn at(space: &Space, settings: Settings, restarts: u64, mean: Vec<f64>) -> Self {
        let n = space.len();
        let continuous = (0..n).filter(|&i| space.params()[i].domain.values().is_none()).collect();
        let weights = Weights::new(n, settings.population(n, restarts));
        let distribution = Distribution::new(mean, settings.sigma);
        let (space, scales, watch) = (space.clone(), vec![1.0; n], Watch::default());
        let (steps, positions) = (Rows::new(n), Rows::new(n));
        let generation = 0;
        let mut strategy = Strategy {
            space,
            settings,
            continuous,
            weights,
            distribution,
            scales,
            steps,
            positions,
            watch,
            generation,
            restarts,
        };
        strategy.keep_margin();
        strategy
    }

    /// Begins anew at a random place with the next larger population.
    fn restart(&mut self, next: Round) {
        let mut stream = next.whole();
        let mean = (0..self.space.len()).map(|_| stream.unit()).collect();
        let fresh =
            Strategy::at(&self.space, self.settings.clone(), self.restarts.saturating_add(1), mean);
        *self = Strategy { generation: self.generation, ..fresh };
    }

    fn keep_margin(&mut self) {
        let n = self.space.len();
        let alpha = 1.0 / (n * self.population()) as f64;
        for j in (0..n).filter(|_| self.settings.margin) {
            let spread = self.distribution.deviation(j).max(LEAST_SPREAD);
            let (mean, scale) = (&mut self.distribution.mean[j], &mut self.scales[j]);
            margin::correct(&self.space, j, alpha, spread, mean, scale);
        }
    }

    /// Draws the samples of the next generation.
    fn draw(&mut self, next: Round) {
        let n = self.space.len();
        self.steps.clear();
        self.positions.clear();
        let (mut step, mut position) = (vec![0.0; n], vec![0.0; n]);
        for i in 0..self.population() {
            self.distribution.draw(&mut next.stream(i), &mut step);
            for (j, x) in position.iter_mut().enumerate() {
                *x = self.distribution.mean[j] + self.distribution.sigma * self.scales[j] * step[j];
            }
            self.continuous.iter().for_each(|&j| position[j] = mirror(position[j]));
            // Countable coordinates beyond the ends stand for the first or the last value.
            position
                .iter_mut()
                .for_each(|x| *x = if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 });
            self.steps.push(&step);
            self.positions.push(&position);
        }
    }

    /// Ranks the samples and lets the distribution follow; nothing if all failed.
    fn learn(&mut self, losses: &[Option<f64>]) {
        let mut order: Vec<usize> = (0..losses.len()).filter(|&i| losses[i].is_some()).collect();
        let loss = |i: &usize| losses[*i].unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        if order.is_empty() {
            return;
        }
        let sorted: Vec<f64> = order.iter().map(loss).collect();
        self.watch.note(&sorted, self.space.len(), self.population());
        let ranks = self.weights.of_known(order.len());
        order.extend((0..losses.len()).filter(|&i| losses[i].is_none()));
        let ys: Vec<&[f64]> = order.iter().map(|&i| self.steps.row(i)).collect();
        self.distribution.update(&self.weights, &self.scales, &ranks, &ys);
        self.keep_margin();
    }
}

impl Method for Strategy {
    const NAME: &'static str = "cmaes";
    type Settings = Settings;

    fn given(settings: &Settings) -> Option<&Point> {
        settings.start.as_ref()
    }

    fn begin(space: &Space, mut settings: Settings, round: Round) -> Result<Self, Error> {
        settings.check(space)?;
        let mean = settings
            .start
            .take()
            .map_or_else(|| vec![0.5; space.len()], |start| space.encode(&start));
        let mut strategy = Strategy::at(space, settings, 0, mean);
        strategy.draw(round);
        Ok(strategy)
    }

    fn positions(&self) -> &Rows {
        &self.positions
    }

    fn advance(&mut self, told: Told<'_>, next: Round) -> bool {
        self.learn(told.losses);
        self.generation = self.generation.saturating_add(1);
        if self.settings.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        if self.watch.is_over(&self.distribution, &self.continuous, self.population()) {
            if self.settings.restarts.is_some_and(|limit| self.restarts >= limit) {
                return false;
            }
            self.restart(next);
        }
        self.draw(next);
        true
    }

    fn ends(&self) -> bool {
        self.settings.generations.is_some() || self.settings.restarts.is_some()
    }

    fn save(&self) -> Datum {
        let natural =
            |value: Option<u64>| Datum::List(value.map(Datum::Natural).into_iter().collect());
        Datum::record([
            ("population", natural(self.settings.population.map(|count| count as u64))),
            ("generations", natural(self.settings.generations)),
            ("first sigma", Datum::Real(self.settings.sigma)),
            ("most restarts", natural(self.settings.restarts)),
            ("margin", Datum::flag(self.settings.margin)),
            ("generation", Datum::Natural(self.generation)),
            ("restarts", Datum::Natural(self.restarts)),
            ("distribution", self.distribution.save()),
            ("scales", Datum::reals(&self.scales)),
            ("steps", self.steps.save()),
            ("positions", self.positions.save()),
            ("watch", self.watch.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let natural =
            |name: &str| data.field(name)?.list()?.first().map(Datum::natural).transpose();
        let settings = Settings {
            population: data.field("population")?.list()?.first().map(Datum::count).transpose()?,
            generations: natural("generations")?,
            start: None,
            sigma: data.field("first sigma")?.real()?,
            restarts: natural("most restarts")?,
            margin: data.field("margin")?.to_flag()?,
        };
        settings.check(space).map_err(unsound)?;
        let (n, restarts) = (space.len(), data.field("restarts")?.natural()?);
        let lambda = settings.population(n, restarts);
        // Before anything of that size is made, for a damaged number may be beyond all memory.
        if data.field("steps")?.list()?.len() != lambda {
            return Err(damaged("another number of samples than its settings name"));
        }
        let scales = data.field("scales")?.to_reals(n)?;
        if scales.iter().any(|scale| *scale <= 0.0) {
            return Err(damaged("a scale that is not positive"));
        }
        let empty = Strategy::at(space, settings, restarts, vec![0.5; n]);
        Ok(Strategy {
            distribution: Distribution::load(data.field("distribution")?, n)?,
            scales,
            steps: Rows::load_exactly(data.field("steps")?, lambda, n)?,
            positions: Rows::load_exactly(data.field("positions")?, lambda, n)?,
            watch: Watch::load(data.field("watch")?, n, lambda)?,
            generation: data.field("generation")?.natural()?,
            ..empty
        })
    }
}
