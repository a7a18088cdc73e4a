//! Adaptive particle swarm optimisation (APSO): coefficients that follow the state of the swarm,
//! and elitist learning of the global best.
//!
//! After every generation the distances between the particles determine the evolutionary factor f
//! and the state of the swarm ([`evolutionary_state`](crate::evolutionary_state)). The inertia
//! weight is a function of f, the acceleration coefficients take a small step that depends on the
//! state, and in the convergence state the global best is mutated in one dimension
//! (`elitist_learning`). Zhan, Zhang, Li, Chung: "Adaptive particle swarm optimization", IEEE
//! Transactions on Systems, Man and Cybernetics B, 2009, as used by Jun, Cho, Lee, "Improving
//! tree-based classification rules using a particle swarm optimization", APMS 2012, section 2,
//! whose parameters are the defaults: 100 particles, 500 generations, (w, c1, c2) starting at (0.9,
//! 2, 2).
//!
//! Deviations. Distances are measured in the unit cube and not in raw units, so that a parameter
//! with a large range does not outweigh the others. The mutated global best is evaluated in a round
//! of its own, between two generations, as in the paper: an ask then returns a single trial.
//! Without a limit of generations the mutation width decreases over 500 of them and then stays at
//! its minimum. Further deviations are listed in
//! [`evolutionary_state`](crate::evolutionary_state) and `particle_swarm`.

mod distance;
mod elitist_learning;
#[cfg(test)]
mod tests;

use crate::config::{ConfigErrors, invalid_config, population_bounds};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::evolutionary_state::{AdaptiveCoefficients, EvolutionaryState, evolutionary_factor};
use crate::generational::{GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed};
use crate::options::{OptionSpec, OptionValues};
use crate::particle_swarm::{MoveCoefficients, ParticleSwarm};
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::snapshot::Datum;
use crate::space::Space;

/// The inertia weight before the first evolutionary factor is known.
const INITIAL_INERTIA: f64 = 0.9;
/// Number of generations over which the width of elitist learning decreases without a limit.
const HORIZON: u64 = 500;

/// Configuration of [`Apso`]. The defaults are those of Jun, Cho, Lee 2012; Zhan et al. use 20
/// particles.
#[derive(Debug, Clone, PartialEq)]
pub struct ApsoConfig {
    /// Number of particles; 100.
    pub population: usize,
    /// Number of generations, the initial swarm included; 500, unlimited if `None`.
    pub generations: Option<u64>,
    /// A point that is evaluated first and is the global best until a better one is found; the
    /// particles start at random nevertheless.
    pub start: Option<Point>,
    /// The largest velocity per dimension, as a fraction of its range; 0.2.
    pub max_velocity: f64,
    /// Whether the global best is mutated in the convergence state; true.
    pub elitist: bool,
}

impl Default for ApsoConfig {
    fn default() -> Self {
        ApsoConfig {
            population: 100,
            generations: Some(500),
            start: None,
            max_velocity: 0.2,
            elitist: true,
        }
    }
}

impl ApsoConfig {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population, 1);
        errors.check_generations(self.generations);
        errors.check_start(self.start.as_ref(), space);
        errors.check_number("max_velocity", self.max_velocity, 1e-9, 1.0);
        errors.into_result(ApsoMethod::NAME)
    }
}

/// Adaptive particle swarm optimisation.
///
/// ```
/// use swarmwood_search::apso::ApsoConfig;
/// use swarmwood_search::{Apso, Engine, TrialResult, Param, Point, Space, PointValue};
/// // Two thresholds, starting from those of a greedy tree.
/// let space = Space::new(vec![Param::real("age", 18.0, 90.0), Param::real("glucose", 50.0, 200.0)])?;
/// let start = Some(Point(vec![PointValue::Real(40.0), PointValue::Real(120.0)]));
/// let config = ApsoConfig { population: 20, generations: Some(100), start, ..ApsoConfig::default() };
/// let mut swarm = Apso::new(&space, config, 7)?;
/// loop {
///     let trials = swarm.ask(usize::MAX); // a whole generation
///     if trials.is_empty() {
///         break; // all results are known, so the search has ended
///     }
///     let loss = |point: &Point| {
///         let (age, glucose) = (space.number(0, point[0]).unwrap(), space.number(1, point[1]).unwrap());
///         (age - 33.0).abs() + (glucose - 141.0).abs()
///     };
///     let results: Vec<TrialResult> =
///         trials.iter().map(|trial| TrialResult::Complete { id: trial.id, loss: loss(&trial.point) }).collect();
///     swarm.tell(&results);
/// }
/// assert!(swarm.best().unwrap().loss < 0.01);
/// assert_eq!(swarm.method().status().generation, 100);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Apso = GenerationalEngine<ApsoMethod>;

/// The options of [`Apso`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer("population", population_bounds(1), 10, "number of particles"),
    OptionSpec::integer(
        "generations",
        (1, 1_000_000_000),
        500,
        "number of generations, the initial one included, after which the search ends",
    )
    .or("unlimited"),
    OptionSpec::real(
        "max_velocity",
        (1e-9, 1.0),
        0.2,
        "largest velocity, as a fraction of the range of a parameter",
    ),
    OptionSpec::flag(
        "elitist",
        true,
        "whether the global best is mutated when the swarm has converged",
    ),
];

impl ApsoConfig {
    fn of(options: &OptionValues) -> Self {
        ApsoConfig {
            population: options.count("population"),
            generations: options.optional_natural("generations"),
            start: None,
            max_velocity: options.real("max_velocity"),
            elitist: options.flag("elitist"),
        }
    }
}

/// The registration of [`Apso`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Apso::NAME,
    summary: "adaptive particle swarm in the unit cube",
    options: OPTIONS,
    build: |space, seed, options| boxed(Apso::new(space, ApsoConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Apso::resume(space, snapshot)),
};

/// The status of an adaptive swarm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApsoStatus {
    /// Number of evaluated generations.
    pub generation: u64,
    /// The smallest loss so far.
    pub best: Option<f64>,
    /// The evolutionary factor of the last generation: 0 if the global best lies inside the swarm,
    /// 1 if it lies apart.
    pub factor: Option<f64>,
    /// The state of the swarm.
    pub state: EvolutionaryState,
    /// w, the inertia weight of the next move.
    pub inertia: f64,
    /// c1 of the next move, toward the personal best.
    pub c1: f64,
    /// c2 of the next move, toward the global best.
    pub c2: f64,
}

/// The method of [`Apso`].
#[derive(Debug, Clone, PartialEq)]
pub struct ApsoMethod {
    /// Without the initial point.
    config: ApsoConfig,
    swarm: ParticleSwarm,
    generation: u64,
    coefficients: AdaptiveCoefficients,
    factor: Option<f64>,
    /// The mutated global best while it is evaluated: one row, or none.
    elite: PositionMatrix,
}

impl ApsoMethod {
    /// The status of the swarm.
    pub fn status(&self) -> ApsoStatus {
        ApsoStatus {
            generation: self.generation,
            best: self.swarm.global_best.as_ref().map(|best| best.loss),
            factor: self.factor,
            state: self.coefficients.state,
            inertia: self.inertia(),
            c1: self.coefficients.c1,
            c2: self.coefficients.c2,
        }
    }

    /// `w = 1 / (1 + 1.5 exp(-2.6 f))`: from 0.4 at f = 0 to 0.9 at f = 1 (Zhan et al., section
    /// IV).
    fn inertia(&self) -> f64 {
        self.factor.map_or(INITIAL_INERTIA, |f| 1.0 / (1.0 + 1.5 * (-2.6 * f).exp()))
    }

    /// Estimates the state of the swarm and adapts the coefficients.
    fn adapt(&mut self, next: RoundSeed) {
        let Some(best) = &self.swarm.global_best else { return };
        let positions = &self.swarm.positions;
        let distances = distance::mean_distances(positions);
        let best_distance = distance::mean_distance_to(&best.position, best.finder, positions);

        let f = evolutionary_factor(&distances, best_distance);
        self.factor = Some(f);
        self.coefficients.adapt(f, &mut next.whole());
    }

    /// Moves to the next generation; `false` after the last one.
    fn move_or_end(&mut self, next: RoundSeed) -> bool {
        if self.config.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        let AdaptiveCoefficients { c1, c2, .. } = self.coefficients;
        let max_velocity = self.config.max_velocity;
        let inertia = self.inertia();
        self.swarm.move_particles(MoveCoefficients { inertia, c1, c2, max_velocity }, next);
        true
    }
}

impl GenerationalMethod for ApsoMethod {
    const NAME: &'static str = "apso";
    type Config = ApsoConfig;

    fn initial_point(config: &ApsoConfig) -> Option<&Point> {
        config.start.as_ref()
    }

    fn new(space: &Space, mut config: ApsoConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        config.start = None;
        let swarm =
            ParticleSwarm::random(config.population, space.len(), config.max_velocity, round);
        let elite = PositionMatrix::new(space.len());
        Ok(ApsoMethod {
            config,
            swarm,
            generation: 0,
            coefficients: AdaptiveCoefficients::default(),
            factor: None,
            elite,
        })
    }

    fn positions(&self) -> &PositionMatrix {
        if self.elite.is_empty() { &self.swarm.positions } else { &self.elite }
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        if !self.elite.is_empty() {
            let loss = results.losses.first().copied().flatten();
            elitist_learning::observe(&mut self.swarm, self.elite.row(0), loss);
            self.elite.clear();
            return self.move_or_end(next);
        }

        self.swarm.observe(results);
        self.generation = self.generation.saturating_add(1);
        self.adapt(next);

        if let Some(best) = &self.swarm.global_best
            && self.config.elitist
            && self.coefficients.state == EvolutionaryState::Convergence
        {
            let horizon = self.config.generations.unwrap_or(HORIZON);
            let width = elitist_learning::width(self.generation, horizon);
            let mut stream = next.stream(self.swarm.positions.len());
            self.elite.push(&elitist_learning::mutate(&best.position, width, &mut stream));
            return true;
        }
        self.move_or_end(next)
    }

    fn terminates(&self) -> bool {
        self.config.generations.is_some()
    }

    fn save(&self) -> Datum {
        let config = &self.config;
        Datum::record([
            ("population", Datum::Natural(config.population as u64)),
            ("generations", Datum::optional_natural(config.generations)),
            ("velocity", Datum::Real(config.max_velocity)),
            ("elitist", Datum::flag(config.elitist)),
            ("generation", Datum::Natural(self.generation)),
            ("control", self.coefficients.save()),
            ("factor", Datum::optional(self.factor)),
            ("elite", self.elite.save()),
            ("particles", self.swarm.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = ApsoConfig {
            population: data.field("population")?.count()?,
            generations: data.field("generations")?.to_optional_natural()?,
            start: None,
            max_velocity: data.field("velocity")?.real()?,
            elitist: data.field("elitist")?.to_flag()?,
        };
        config.check(space).map_err(invalid_config)?;
        let swarm = ParticleSwarm::load(data.field("particles")?, config.population, space.len())?;
        Ok(ApsoMethod {
            config,
            swarm,
            generation: data.field("generation")?.counter()?,
            coefficients: AdaptiveCoefficients::load(data.field("control")?)?,
            factor: data.field("factor")?.to_optional()?,
            elite: PositionMatrix::load(data.field("elite")?, space.len())?,
        })
    }
}
