//! A steady-state genetic algorithm: tournament selection, uniform crossover and mutation.
//!
//! The population are the best points so far. Two parents are selected by tournaments; their child
//! takes every value from either with equal probability (uniform crossover: Syswerda, ICGA 1989),
//! and each value is perturbed with a small probability. The child replaces the worst member of the
//! population if it is better (steady state: Whitley, "The GENITOR algorithm and selection
//! pressure", ICGA 1989).
//!
//! Deviations. No point is asked twice: a child that was asked before is generated again with a
//! higher mutation rate. A parameter that is active in the child but in neither parent is drawn at
//! random. Failed trials do not join the population.

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::{DEFAULT_WIDTH, PointMutation, mutate};
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_archive::TrialArchive;
use crate::trial_log::FinishedTrial;

/// Attempts at a child that was not asked before; after them a random point is taken.
const MAX_ATTEMPTS: usize = 60;
/// How much each failed attempt increases the mutation rate.
const RATE_INCREMENT: f64 = 0.05;
/// The largest value of the counts in a configuration.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`Ga`].
#[derive(Debug, Clone, PartialEq)]
pub struct GaConfig {
    /// Size of the population and of the initial design; 20.
    pub population: usize,
    /// Size of a tournament; 2.
    pub tournament: usize,
    /// The crossover rate: the probability that a child has two parents; 0.9.
    pub crossover: f64,
    /// The mutation rate per value; one value per child on average if `None`.
    pub mutation: Option<f64>,
}

impl Default for GaConfig {
    fn default() -> Self {
        GaConfig { population: 20, tournament: 2, crossover: 0.9, mutation: None }
    }
}

impl GaConfig {
    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        for (name, value) in [("population", self.population), ("tournament", self.tournament)] {
            errors.check_count(name, value, 1, MAX_COUNT);
        }
        errors.check_number("crossover", self.crossover, 0.0, 1.0);
        errors.check_number("mutation", self.mutation.unwrap_or(0.0), 0.0, 1.0);
        errors.into_result(GaMethod::NAME)
    }
}

/// The genetic algorithm.
///
/// ```
/// use swarmwood_search::ga::GaConfig;
/// use swarmwood_search::{Engine, Ga, TrialResult, Param, Space};
/// let space = Space::new((0..5).map(|i| Param::integer(&format!("g{i}"), 0, 9)).collect())?;
/// let mut engine = Ga::new(&space, GaConfig::default(), 7)?;
/// for _ in 0..300 {
///     for trial in engine.ask(1) {
///         let far = (0..5).map(|i| (space.number(i, trial.point[i]).unwrap() - 3.0).abs()).sum();
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss: far }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 2.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Ga = SteadyStateEngine<GaMethod>;

/// The options of [`Ga`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "population",
        (1, MAX_COUNT as i64),
        20,
        "size of the population and of the initial design",
    ),
    OptionSpec::integer(
        "tournament",
        (1, MAX_COUNT as i64),
        2,
        "number of members that a parent is the best of",
    ),
    OptionSpec::real("crossover", (0.0, 1.0), 0.9, "probability that a child has two parents"),
    OptionSpec::real(
        "mutation",
        (0.0, 1.0),
        0.0,
        "mutation rate per value; auto changes one value per child on average",
    )
    .unless_given("auto"),
];

impl GaConfig {
    fn of(options: &OptionValues) -> Self {
        GaConfig {
            population: options.count("population"),
            tournament: options.count("tournament"),
            crossover: options.real("crossover"),
            mutation: options.optional_real("mutation"),
        }
    }
}

/// The registration of [`Ga`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Ga::NAME,
    summary: "genetic algorithm: tournaments, uniform crossover, mutation, without repeats",
    options: OPTIONS,
    build: |space, seed, options| boxed(Ga::new(space, GaConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Ga::resume(space, snapshot)),
};

/// The method of [`Ga`].
#[derive(Debug, Clone, PartialEq)]
pub struct GaMethod {
    config: GaConfig,
    archive: TrialArchive,
}

impl GaMethod {
    /// Tournament selection: the best of some members, drawn with replacement.
    fn parent(&self, stream: &mut Stream) -> &Point {
        let ranked = self.archive.ranked();
        let population = ranked.len().min(self.config.population) as u64;
        let rank = (0..self.config.tournament).map(|_| stream.below(population)).min().unwrap_or(0);
        self.archive.point(ranked[rank as usize])
    }

    fn child(&self, space: &Space, more: f64, stream: &mut Stream) -> Point {
        let (first, second) = (self.parent(stream), self.parent(stream));
        let child = if stream.unit() < self.config.crossover {
            crossover(first, second, stream)
        } else {
            first.clone()
        };
        let rate = self.config.mutation.unwrap_or(1.0 / space.len().max(1) as f64);
        let mutation = PointMutation { rate: rate + more, width: DEFAULT_WIDTH, always: None };
        mutate(space, &child, mutation, stream)
    }
}

/// Uniform crossover; a value that only one parent has is taken from that one.
fn crossover(first: &Point, second: &Point, stream: &mut Stream) -> Point {
    let either = |(a, b): (&PointValue, &PointValue)| match (stream.unit() < 0.5, a, b) {
        (_, a, PointValue::Absent) => *a,
        (_, PointValue::Absent, b) => *b,
        (true, a, _) => *a,
        (false, _, b) => *b,
    };
    Point(first.0.iter().zip(&second.0).map(either).collect())
}

impl SteadyStateMethod for GaMethod {
    const NAME: &'static str = "ga";
    type Config = GaConfig;

    fn new(space: &Space, config: GaConfig, _seed: u64) -> Result<Self, Error> {
        config.check()?;
        Ok(GaMethod { config, archive: TrialArchive::new(space) })
    }

    fn observe(&mut self, space: &Space, _seed: u64, finished: FinishedTrial) {
        self.archive.push(space, finished);
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.population, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || context.is_exhausted() {
            return context.sample_unseen(&mut stream);
        }
        context.first_unseen(MAX_ATTEMPTS, &mut stream, |before, stream| {
            self.child(context.space, RATE_INCREMENT * before as f64, stream)
        })
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("population", Datum::Natural(self.config.population as u64)),
            ("tournament", Datum::Natural(self.config.tournament as u64)),
            ("crossover", Datum::Real(self.config.crossover)),
            ("mutation", Datum::optional(self.config.mutation)),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = GaConfig {
            population: data.field("population")?.count()?,
            tournament: data.field("tournament")?.count()?,
            crossover: data.field("crossover")?.real()?,
            mutation: data.field("mutation")?.to_optional()?,
        };
        config.check().map_err(invalid_config)?;
        Ok(GaMethod { config, archive: TrialArchive::load(space, data.field("archive")?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;
    use crate::steady_state::tests::{assert_contract, assert_resumable};

    #[test]
    fn every_rule_is_kept() {
        assert_contract::<GaMethod>(&GaConfig::default);
        let small =
            || GaConfig { population: 4, tournament: 3, crossover: 0.5, mutation: Some(0.3) };
        assert_contract::<GaMethod>(&small);
        assert_resumable::<GaMethod>(&small);
    }

    #[test]
    fn faults_are_reported_together() {
        let config =
            GaConfig { population: 0, tournament: 0, crossover: 2.0, mutation: Some(-1.0) };
        assert_eq!(config.check().unwrap_err().to_string().lines().count(), 4);
    }

    #[test]
    fn children_have_the_values_of_their_parents() {
        let point = |values: [i64; 3]| Point(values.map(PointValue::Integer).to_vec());
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..100 {
            let child = crossover(&point([1, 2, 3]), &point([1, 7, 8]), &mut Stream::new(1, i, 0));
            assert!(
                child[0] == PointValue::Integer(1)
                    && [2, 7].map(PointValue::Integer).contains(&child[1])
            );
            seen.insert(format!("{child:?}"));
        }
        assert_eq!(seen.len(), 4, "every mixture comes");
        let (some, none) = (Point(vec![PointValue::Integer(4)]), Point(vec![PointValue::Absent]));
        assert_eq!(
            (
                crossover(&some, &none, &mut Stream::new(1, 0, 0)),
                crossover(&none, &some, &mut Stream::new(1, 0, 0))
            ),
            (some.clone(), some)
        );
    }

    /// Parents are of the population, and better ones more often.
    #[test]
    fn tournaments_favour_the_better() {
        let space = Space::new(vec![Param::integer("i", 0, 99)]).unwrap();
        let mut ga =
            GaMethod::new(&space, GaConfig { population: 4, ..GaConfig::default() }, 0).unwrap();
        for i in 0..10 {
            ga.observe(
                &space,
                0,
                FinishedTrial {
                    id: i,
                    point: Point(vec![PointValue::Integer(i as i64)]),
                    loss: Some(i as f64),
                },
            );
        }
        let mut counts = [0; 10];
        for i in 0..4000 {
            let PointValue::Integer(parent) = ga.parent(&mut Stream::new(1, i, 0))[0] else {
                panic!()
            };
            counts[parent as usize] += 1;
        }
        // Of two draws from four the best has rank 0 with chance 7/16, then 5/16, 3/16 and 1/16.
        let expected = [1750.0, 1250.0, 750.0, 250.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(
            counts
                .iter()
                .zip(expected)
                .all(|(count, share)| (f64::from(*count) - share).abs() < 120.0),
            "{counts:?}"
        );
    }
}
