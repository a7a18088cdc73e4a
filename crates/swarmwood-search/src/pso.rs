//! Particle swarm optimisation with fixed coefficients.
//!
//! The default inertia weight and acceleration coefficients are those of the constriction factor of
//! Clerc and Kennedy, "The particle swarm: explosion, stability and convergence in a
//! multidimensional complex space", 2002 (w = 0.7298, c1 = c2 = 1.49618). With a limit of
//! generations the inertia weight may decrease linearly, as in Shi and Eberhart, "A modified
//! particle swarm optimizer", 1998 (0.9 to 0.4 with c1 = c2 = 2,
//! [`PsoConfig::linearly_decreasing`]); Zhan et al. 2009 compare adaptive PSO with that variant.

use crate::config::{ConfigErrors, GENERATIONS, invalid_config, population_bounds};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::generational::{GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed};
use crate::options::{OptionCondition, OptionSpec, OptionValues};
use crate::particle_swarm::{MoveCoefficients, ParticleSwarm};
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::snapshot::Datum;
use crate::space::Space;

/// Configuration of [`Pso`].
#[derive(Debug, Clone, PartialEq)]
pub struct PsoConfig {
    /// Number of particles; 30.
    pub population: usize,
    /// Number of generations, the initial swarm included; unlimited if `None`.
    pub generations: Option<u64>,
    /// A point that is evaluated first and is the global best until a better one is found.
    pub start: Option<Point>,
    /// w, the inertia weight at the start and at the end of the search; 0.7298 both. Without a
    /// limit of generations the first one is used throughout.
    pub inertia: (f64, f64),
    /// c1, the acceleration toward the personal best; 1.49618.
    pub c1: f64,
    /// c2, the acceleration toward the global best; 1.49618.
    pub c2: f64,
    /// The largest velocity per dimension, as a fraction of its range; 0.2.
    pub max_velocity: f64,
}

impl Default for PsoConfig {
    fn default() -> Self {
        PsoConfig {
            population: 30,
            generations: None,
            start: None,
            inertia: (0.7298, 0.7298),
            c1: 1.49618,
            c2: 1.49618,
            max_velocity: 0.2,
        }
    }
}

impl PsoConfig {
    /// Inertia weight decreasing from 0.9 to 0.4, c1 = c2 = 2 (Shi and Eberhart 1998).
    pub fn linearly_decreasing(population: usize, generations: u64) -> Self {
        let generations = Some(generations);
        PsoConfig {
            population,
            generations,
            inertia: (0.9, 0.4),
            c1: 2.0,
            c2: 2.0,
            ..PsoConfig::default()
        }
    }

    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population, 1);
        errors.check_generations(self.generations);
        errors.check_start(self.start.as_ref(), space);
        for (name, value) in [("inertia", self.inertia.0), ("inertia", self.inertia.1)] {
            errors.check_number(name, value, 0.0, 1.0);
        }
        errors.check_number("c1", self.c1, 0.0, 4.0);
        errors.check_number("c2", self.c2, 0.0, 4.0);
        errors.check_number("max_velocity", self.max_velocity, 1e-9, 1.0);
        errors.into_result(PsoMethod::NAME)
    }
}

/// Particle swarm optimisation.
///
/// ```
/// use swarmwood_search::pso::PsoConfig;
/// use swarmwood_search::{Engine, TrialResult, Param, Pso, Space};
/// let space = Space::new(vec![Param::real("x", -5.0, 5.0), Param::real("y", -5.0, 5.0)])?;
/// let mut swarm = Pso::new(&space, PsoConfig { generations: Some(60), ..PsoConfig::default() }, 7)?;
/// loop {
///     let trials = swarm.ask(8);
///     if trials.is_empty() {
///         break; // all results are known, so the search has ended
///     }
///     for trial in trials {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let y = space.number(1, trial.point[1]).unwrap();
///         swarm.tell(&[TrialResult::Complete { id: trial.id, loss: (x - 1.0).powi(2) + (y + 2.0).powi(2) }]);
///     }
/// }
/// assert!(swarm.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Pso = GenerationalEngine<PsoMethod>;

/// The options of [`Pso`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer("population", population_bounds(1), 10, "number of particles"),
    GENERATIONS,
    OptionSpec::real(
        "inertia",
        (0.0, 1.0),
        0.7298,
        "w, the inertia weight, at the start of the search if it changes",
    ),
    OptionSpec::real(
        "final_inertia",
        (0.0, 1.0),
        0.4,
        "inertia weight in the last generation, reached in equal steps",
    )
    .unless_given("constant")
    .when(OptionCondition::IsSet("generations")),
    OptionSpec::real("c1", (0.0, 4.0), 1.49618, "acceleration toward the personal best"),
    OptionSpec::real("c2", (0.0, 4.0), 1.49618, "acceleration toward the global best"),
    OptionSpec::real(
        "max_velocity",
        (1e-9, 1.0),
        0.2,
        "largest velocity, as a fraction of the range of a parameter",
    ),
];

impl PsoConfig {
    fn of(options: &OptionValues) -> Self {
        let inertia = options.real("inertia");
        PsoConfig {
            population: options.count("population"),
            generations: options.optional_natural("generations"),
            start: None,
            inertia: (inertia, options.optional_real("final_inertia").unwrap_or(inertia)),
            c1: options.real("c1"),
            c2: options.real("c2"),
            max_velocity: options.real("max_velocity"),
        }
    }
}

/// The registration of [`Pso`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Pso::NAME,
    summary: "particle swarm with fixed coefficients in the unit cube",
    options: OPTIONS,
    build: |space, seed, options| boxed(Pso::new(space, PsoConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Pso::resume(space, snapshot)),
};

/// The method of [`Pso`].
#[derive(Debug, Clone, PartialEq)]
pub struct PsoMethod {
    /// Without the initial point.
    config: PsoConfig,
    swarm: ParticleSwarm,
    generation: u64,
}

impl PsoMethod {
    /// The inertia weight of this generation.
    fn inertia(&self) -> f64 {
        let (first, last) = self.config.inertia;
        match self.config.generations {
            Some(limit) => {
                first + (last - first) * (self.generation as f64 / limit as f64).min(1.0)
            }
            None => first,
        }
    }
}

impl GenerationalMethod for PsoMethod {
    const NAME: &'static str = "pso";
    type Config = PsoConfig;

    fn initial_point(config: &PsoConfig) -> Option<&Point> {
        config.start.as_ref()
    }

    fn new(space: &Space, mut config: PsoConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        config.start = None;
        let swarm =
            ParticleSwarm::random(config.population, space.len(), config.max_velocity, round);
        Ok(PsoMethod { config, swarm, generation: 0 })
    }

    fn positions(&self) -> &PositionMatrix {
        &self.swarm.positions
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        self.swarm.observe(results);
        self.generation = self.generation.saturating_add(1);
        if self.config.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        let PsoConfig { c1, c2, max_velocity, .. } = self.config;
        let inertia = self.inertia();
        self.swarm.move_particles(MoveCoefficients { inertia, c1, c2, max_velocity }, next);
        true
    }

    fn terminates(&self) -> bool {
        self.config.generations.is_some()
    }

    fn save(&self) -> Datum {
        let config = &self.config;
        Datum::record([
            ("population", Datum::Natural(config.population as u64)),
            ("generations", Datum::optional_natural(config.generations)),
            (
                "coefficients",
                Datum::reals(&[config.inertia.0, config.inertia.1, config.c1, config.c2]),
            ),
            ("velocity", Datum::Real(config.max_velocity)),
            ("generation", Datum::Natural(self.generation)),
            ("particles", self.swarm.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let coefficients = data.field("coefficients")?.to_reals(4)?;
        let config = PsoConfig {
            population: data.field("population")?.count()?,
            generations: data.field("generations")?.to_optional_natural()?,
            start: None,
            inertia: (coefficients[0], coefficients[1]),
            c1: coefficients[2],
            c2: coefficients[3],
            max_velocity: data.field("velocity")?.real()?,
        };
        config.check(space).map_err(invalid_config)?;
        let swarm = ParticleSwarm::load(data.field("particles")?, config.population, space.len())?;
        Ok(PsoMethod { config, swarm, generation: data.field("generation")?.counter()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generational::tests::{assert_contract, assert_resumable, plain_start};

    #[test]
    fn the_plain_swarm_keeps_every_rule() {
        for population in [1, 3, 5] {
            assert_contract::<PsoMethod>(&|_| PsoConfig { population, ..PsoConfig::default() });
        }
        assert_contract::<PsoMethod>(&|space| PsoConfig {
            start: plain_start(space),
            ..PsoConfig::linearly_decreasing(4, 6)
        });
    }

    #[test]
    fn snapshots_and_batches() {
        assert_resumable::<PsoMethod>(&|space| PsoConfig {
            population: 5,
            start: plain_start(space),
            ..PsoConfig::default()
        });
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let space = Space::new(vec![crate::Param::real("x", 0.0, 1.0)]).unwrap();
        let config = PsoConfig {
            population: 0,
            generations: Some(0),
            start: Some(Point(Vec::new())),
            inertia: (f64::NAN, 2.0),
            c1: -1.0,
            c2: 5.0,
            max_velocity: 0.0,
        };
        let text = config.check(&space).unwrap_err().to_string();
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(text.starts_with(
            "setting 'population' of engine 'pso': must lie within 1 and 1000000, not 0\n"
        ));
        assert!(text.contains("'start' of engine 'pso': lies outside the space"), "{text}");
    }

    #[test]
    fn inertia_falls_along_the_run() {
        let space = Space::new(vec![crate::Param::real("x", 0.0, 1.0)]).unwrap();
        let mut plain = PsoMethod::new(
            &space,
            PsoConfig::linearly_decreasing(2, 10),
            RoundSeed { seed: 1, number: 0 },
        )
        .unwrap();
        let at = |plain: &mut PsoMethod, generation| {
            plain.generation = generation;
            plain.inertia()
        };
        assert_eq!(at(&mut plain, 0), 0.9);
        assert!(
            (at(&mut plain, 5) - 0.65).abs() < 1e-12 && (at(&mut plain, 10) - 0.4).abs() < 1e-12
        );
    }
}
