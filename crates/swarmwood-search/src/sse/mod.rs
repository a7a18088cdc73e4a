//! The stochastic schemata exploiter (SSE) as published: children are sampled from the common
//! schemata of the best subsets of a population.
//!
//! Every generation ranks its M individuals, takes the M subsets with the best mean fitness
//! ([`best_subsets`]), and generates one child per subset: each gene is taken from a random member
//! (`schema`) and then replaced by a random value with a small probability, the mutation rate. The
//! child of the best subset, {best}, is not mutated, so that the best individual survives. The
//! children are the next generation. Makino and Kita, "Stochastic
//! schemata exploiter-based optimization of hyper-parameters for XGBoost", 2024, algorithm 1; after
//! Aizawa 1994. Equation numbers are theirs.
//!
//! As in the paper, repeated points are evaluated again, above all the unmutated best individual of
//! every generation. [`schemata`](crate::schemata) is a variant without repeats.
//!
//! Deviations, all where the paper is silent. Fitness is the negated loss. An individual whose
//! trial failed is in no subset; if all failed, the generation is drawn at random again; if there
//! are fewer subsets than children, they take turns. Values are drawn uniformly over the scale of a
//! parameter. Real parameters are discretised into 64 steps for the schema, while mutation draws
//! from the whole range. An individual has a gene for every parameter, and genes of inactive ones
//! are inherited as well. The initial point is an additional individual of the first generation.

pub(crate) mod schema;
mod subsets;
#[cfg(test)]
mod tests;

pub use schema::STEPS;
pub use subsets::best_subsets;

use crate::config::{ConfigErrors, GENERATIONS, invalid_config, population_bounds};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::generational::{GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed};
use crate::options::{OptionSpec, OptionValues};
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;

/// The mutation rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SseMutation {
    /// The same rate for all children except that of the best subset.
    Constant(f64),
    /// A rate that increases linearly with the rank of the subset, up to this bound (eq. 28).
    Ranked(f64),
}

impl SseMutation {
    /// The mutation rate of the child of the subset with this rank, counted from 0, of `count`.
    fn rate(self, rank: usize, count: usize) -> f64 {
        match self {
            _ if rank == 0 => 0.0,
            SseMutation::Constant(rate) => rate,
            SseMutation::Ranked(max_rate) => rank as f64 / count as f64 * max_rate, // eq. 28
        }
    }

    fn max_rate(self) -> f64 {
        match self {
            SseMutation::Constant(rate) | SseMutation::Ranked(rate) => rate,
        }
    }
}

/// Configuration of [`Sse`].
#[derive(Debug, Clone, PartialEq)]
pub struct SseConfig {
    /// M, the number of individuals; 20. The paper does not state it; among 8 to 32 this was the
    /// best in our experiments.
    pub population: usize,
    /// The mutation rate; constant 0.15, the best of the paper's rates in our experiments.
    pub mutation: SseMutation,
    /// Number of generations, the initial population included; unlimited if `None`.
    pub generations: Option<u64>,
    /// A point that is evaluated first and joins the first generation.
    pub start: Option<Point>,
}

impl Default for SseConfig {
    fn default() -> Self {
        SseConfig {
            population: 20,
            mutation: SseMutation::Constant(0.15),
            generations: None,
            start: None,
        }
    }
}

impl SseConfig {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population, 1);
        errors.check_generations(self.generations);
        errors.check_start(self.start.as_ref(), space);
        errors.check_number("mutation", self.mutation.max_rate(), 0.0, 1.0);
        errors.into_result(SseMethod::NAME)
    }
}

/// The stochastic schemata exploiter.
///
/// ```
/// use swarmwood_search::sse::{SseMutation, SseConfig};
/// use swarmwood_search::{Engine, TrialResult, Param, Space, Sse};
/// let space = Space::new((0..5).map(|i| Param::integer(&format!("g{i}"), 0, 9)).collect())?;
/// let config = SseConfig { mutation: SseMutation::Ranked(0.2), generations: Some(20), ..SseConfig::default() };
/// let mut engine = Sse::new(&space, config, 7)?;
/// loop {
///     let trials = engine.ask(20);
///     if trials.is_empty() {
///         break; // all results are known, so the search has ended
///     }
///     for trial in trials {
///         let far = (0..5).map(|i| (space.number(i, trial.point[i]).unwrap() - 3.0).abs()).sum();
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss: far }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 3.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Sse = GenerationalEngine<SseMethod>;

/// The options of [`Sse`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::choice(
        "mutation",
        &[
            ("normal", "the same rate for all children but that of the best individual"),
            ("rank", "a rate that increases with the rank of the subset, up to the bound (eq. 28)"),
        ],
        "mutation rate of the children",
    ),
    OptionSpec::real(
        "rate",
        (0.0, 1.0),
        0.15,
        "the mutation rate, or its upper bound with mutation=rank",
    ),
    OptionSpec::integer(
        "population",
        population_bounds(1),
        20,
        "number of individuals per generation",
    ),
    GENERATIONS,
];

impl SseConfig {
    fn of(options: &OptionValues) -> Self {
        let rate = options.real("rate");
        SseConfig {
            population: options.count("population"),
            mutation: match options.choice("mutation") {
                "rank" => SseMutation::Ranked(rate),
                _ => SseMutation::Constant(rate),
            },
            generations: options.optional_natural("generations"),
            start: None,
        }
    }
}

/// The registration of [`Sse`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Sse::NAME,
    summary: "stochastic schemata exploiter as published, with repeats",
    options: OPTIONS,
    build: |space, seed, options| boxed(Sse::new(space, SseConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Sse::resume(space, snapshot)),
};

/// The method of [`Sse`].
#[derive(Debug, Clone, PartialEq)]
pub struct SseMethod {
    space: Space,
    /// Without the initial point.
    config: SseConfig,
    generation: u64,
    individuals: PositionMatrix,
}

impl SseMethod {
    /// A random population (eq. 13).
    fn draw(&mut self, round: RoundSeed) {
        for i in 0..self.individuals.len() {
            let mut stream = round.stream(i);
            self.individuals.row_mut(i).fill_with(|| stream.unit());
        }
    }

    /// Generates one child per subset of the individuals that have a loss.
    fn make_children(&mut self, results: RoundLosses<'_>, next: RoundSeed) {
        let known = self
            .individuals
            .iter()
            .zip(results.losses)
            .filter_map(|(row, loss)| Some((row, (*loss)?)));
        let mut ranked: Vec<(&[f64], f64)> = results.start.into_iter().chain(known).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (rows, losses): (Vec<&[f64]>, Vec<f64>) = ranked.into_iter().unzip();
        let subsets = best_subsets(&losses, self.config.population);
        if subsets.is_empty() {
            return self.draw(next);
        }

        let mut children = PositionMatrix::new(self.space.len());
        let mut child = vec![0.5; self.space.len()];
        for i in 0..self.config.population {
            let members: Vec<&[f64]> =
                subsets[i % subsets.len()].iter().map(|&rank| rows[rank]).collect();
            let rate = self.config.mutation.rate(i, self.config.population);
            make_child(&self.space, &members, rate, &mut next.stream(i), &mut child);
            children.push(&child);
        }
        self.individuals = children;
    }
}

/// Generates a child from the schema of the members.
fn make_child(
    space: &Space,
    members: &[&[f64]],
    rate: f64,
    stream: &mut Stream,
    child: &mut [f64],
) {
    for (j, u) in child.iter_mut().enumerate() {
        let holders = schema::gene(space, j, members.iter().map(|row| row[j]));
        let holder = holders.get(stream.below(holders.len() as u64) as usize).copied().unwrap_or(0); // eq. 12
        *u = members[holder][j];
        if rate > 0.0 && stream.unit() < rate {
            *u = stream.unit(); // eq. 27
        }
    }
}

impl GenerationalMethod for SseMethod {
    const NAME: &'static str = "sse";
    type Config = SseConfig;

    fn initial_point(config: &SseConfig) -> Option<&Point> {
        config.start.as_ref()
    }

    fn new(space: &Space, mut config: SseConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        config.start = None;
        let individuals = PositionMatrix::from_fn(config.population, space.len(), |_, _| 0.5);
        let mut method = SseMethod { space: space.clone(), config, generation: 0, individuals };
        method.draw(round);
        Ok(method)
    }

    fn positions(&self) -> &PositionMatrix {
        &self.individuals
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        self.generation = self.generation.saturating_add(1);
        if self.config.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        self.make_children(results, next);
        true
    }

    fn terminates(&self) -> bool {
        self.config.generations.is_some()
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("population", Datum::Natural(self.config.population as u64)),
            ("ranked", Datum::flag(matches!(self.config.mutation, SseMutation::Ranked(_)))),
            ("mutation", Datum::Real(self.config.mutation.max_rate())),
            ("generations", Datum::optional_natural(self.config.generations)),
            ("generation", Datum::Natural(self.generation)),
            ("individuals", self.individuals.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let rate = data.field("mutation")?.real()?;
        let ranked = data.field("ranked")?.to_flag()?;
        let config = SseConfig {
            population: data.field("population")?.count()?,
            mutation: if ranked { SseMutation::Ranked(rate) } else { SseMutation::Constant(rate) },
            generations: data.field("generations")?.to_optional_natural()?,
            start: None,
        };
        config.check(space).map_err(invalid_config)?;
        let individuals = PositionMatrix::load_exactly(
            data.field("individuals")?,
            config.population,
            space.len(),
        )?;
        let generation = data.field("generation")?.counter()?;
        Ok(SseMethod { space: space.clone(), config, generation, individuals })
    }
}
