//! Differential evolution: trial vectors from scaled differences between members of a population.
//!
//! In every generation one trial vector per member is generated (`mutation`) and replaces the
//! member if it is not worse. Storn and Price 1997; the default adapts F and CR by success history
//! (`history`): SHADE, Tanabe and Fukunaga 2013.
//!
//! The default variant was chosen by measurement on the test functions of this crate (see the test
//! `the_adaptive_variant_is_the_better_default`).
//!
//! Deviations. A failed trial replaces no member. A member without a loss is replaced by any trial
//! with one and ranks last; while all trials of a member failed, its trial vectors are drawn at
//! random. The initial point replaces the worst member of the initial population, if it is better.

mod history;
mod mutation;
#[cfg(test)]
mod tests;

use crate::config::{ConfigErrors, GENERATIONS, invalid_config, population_bounds};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::generational::{GenerationalEngine, GenerationalMethod, RoundLosses, RoundSeed};
use crate::options::{OptionCondition, OptionSpec, OptionValues};
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use history::{ControlParams, SuccessHistory};
use mutation::DonorPool;

/// Mutation needs three members besides the target.
const MIN_POPULATION: usize = 4;

/// How trial vectors are generated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeStrategy {
    /// `current-to-pbest/1/bin` with archive, parameters adapted by success (SHADE).
    Shade,
    /// `rand/1/bin` with fixed parameters.
    Rand1Bin {
        /// F, the scale factor; 0.5 is usual.
        f: f64,
        /// CR, the crossover rate; 0.9 is usual.
        cr: f64,
    },
}

/// Configuration of [`De`].
#[derive(Debug, Clone, PartialEq)]
pub struct DeConfig {
    /// Number of members; 30.
    pub population: usize,
    /// Number of generations, the initial population included; unlimited if `None`.
    pub generations: Option<u64>,
    /// A point that is evaluated first and joins the population.
    pub start: Option<Point>,
    /// How trial vectors are generated; SHADE.
    pub strategy: DeStrategy,
}

impl Default for DeConfig {
    fn default() -> Self {
        DeConfig { population: 30, generations: None, start: None, strategy: DeStrategy::Shade }
    }
}

impl DeConfig {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_population(self.population, MIN_POPULATION);
        errors.check_generations(self.generations);
        errors.check_start(self.start.as_ref(), space);
        if let DeStrategy::Rand1Bin { f, cr } = self.strategy {
            errors.check_number("f", f, 0.0, 2.0);
            errors.check_number("cr", cr, 0.0, 1.0);
        }
        errors.into_result(DeMethod::NAME)
    }
}

/// Differential evolution.
///
/// ```
/// use swarmwood_search::de::DeConfig;
/// use swarmwood_search::{De, Engine, TrialResult, Param, Space};
/// let space = Space::new(vec![Param::real("x", -5.0, 5.0), Param::real("rate", 1e-4, 1.0).log()])?;
/// let mut engine = De::new(&space, DeConfig { generations: Some(60), ..DeConfig::default() }, 7)?;
/// loop {
///     let trials = engine.ask(8);
///     if trials.is_empty() {
///         break; // all results are known, so the search has ended
///     }
///     for trial in trials {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let rate = space.number(1, trial.point[1]).unwrap();
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss: (x - 1.0).powi(2) + (rate / 0.01).ln().powi(2) }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type De = GenerationalEngine<DeMethod>;

/// The options of [`De`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::choice(
        "strategy",
        &[
            ("shade", "current-to-pbest/1/bin with archive, F and CR adapted by success"),
            ("rand1bin", "rand/1/bin with fixed F and CR"),
        ],
        "how trial vectors are generated",
    ),
    OptionSpec::real("f", (0.0, 2.0), 0.5, "F, the scale factor of differences")
        .when(OptionCondition::Is("strategy", "rand1bin")),
    OptionSpec::real("cr", (0.0, 1.0), 0.9, "CR, the crossover rate")
        .when(OptionCondition::Is("strategy", "rand1bin")),
    OptionSpec::integer(
        "population",
        population_bounds(MIN_POPULATION),
        10,
        "number of members of the population",
    ),
    GENERATIONS,
];

impl DeConfig {
    fn of(options: &OptionValues) -> Self {
        DeConfig {
            population: options.count("population"),
            generations: options.optional_natural("generations"),
            start: None,
            strategy: match options.choice("strategy") {
                "rand1bin" => DeStrategy::Rand1Bin { f: options.real("f"), cr: options.real("cr") },
                _ => DeStrategy::Shade,
            },
        }
    }
}

/// The registration of [`De`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: De::NAME,
    summary: "differential evolution, with adaptive parameters (SHADE) by default",
    options: OPTIONS,
    build: |space, seed, options| boxed(De::new(space, DeConfig::of(options), seed)),
    resume: |space, snapshot| boxed(De::resume(space, snapshot)),
};

/// The method of [`De`].
#[derive(Debug, Clone, PartialEq)]
pub struct DeMethod {
    /// Without the initial point.
    config: DeConfig,
    generation: u64,
    members: PositionMatrix,
    /// The losses of the members; `None` before the first results and after failures.
    losses: Vec<Option<f64>>,
    /// The trial vectors, one per member.
    trials: PositionMatrix,
    /// F and CR of each trial vector.
    params: Vec<ControlParams>,
    history: SuccessHistory,
    /// Replaced members, at most as many as there are members.
    archive: PositionMatrix,
}

impl DeMethod {
    /// Selection: every trial that is not worse replaces its member; updates the success history.
    fn select(&mut self, losses: &[Option<f64>], next: RoundSeed) {
        let mut successes = Vec::new();
        let mut stream = next.whole();
        for (i, loss) in losses.iter().enumerate() {
            let Some(loss) = *loss else { continue };
            let before = self.losses[i];
            if before.is_some_and(|before| loss > before) {
                continue;
            }
            if let Some(before) = before.filter(|before| loss < *before) {
                // Halves, because the difference of two finite numbers may not be finite.
                successes.push((self.params[i], before / 2.0 - loss / 2.0));
                let slot = stream.below(self.members.len() as u64) as usize;
                if self.archive.len() < self.members.len() {
                    self.archive.push(self.members.row(i));
                } else {
                    self.archive.row_mut(slot).copy_from_slice(self.members.row(i));
                }
            }
            self.losses[i] = Some(loss);
            self.members.row_mut(i).copy_from_slice(self.trials.row(i));
        }
        // Fixed parameters need no history, and may lie outside of its bounds.
        if self.config.strategy == DeStrategy::Shade {
            self.history.update(&successes);
        }
    }

    /// The members, best first; among equal losses the first, members without a loss last.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.losses.len()).collect();
        let rank = |i: &usize| self.losses[*i].unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        order
    }

    /// Replaces the worst member by the initial point if that is better.
    fn insert_start(&mut self, position: &[f64], loss: f64) {
        if let Some(&worst) = self
            .order()
            .last()
            .filter(|worst| self.losses[**worst].is_none_or(|least| loss < least))
        {
            self.losses[worst] = Some(loss);
            self.members.row_mut(worst).copy_from_slice(position);
        }
    }

    /// Generates a trial vector for every member.
    fn make_trials(&mut self, next: RoundSeed) {
        let order = self.order();
        let pool = DonorPool { members: &self.members, order: &order, archive: &self.archive };
        for i in 0..self.members.len() {
            let mut stream = next.stream(i);
            let trial = self.trials.row_mut(i);
            if self.losses[i].is_none() {
                trial.fill_with(|| stream.unit());
                continue;
            }
            match self.config.strategy {
                DeStrategy::Shade => {
                    self.params[i] = self.history.sample(&mut stream);
                    mutation::current_to_pbest(&pool, i, self.params[i], &mut stream, trial);
                }
                DeStrategy::Rand1Bin { f, cr } => {
                    self.params[i] = ControlParams { f, cr };
                    mutation::rand_1(&self.members, i, self.params[i], &mut stream, trial);
                }
            }
        }
    }
}

impl GenerationalMethod for DeMethod {
    const NAME: &'static str = "de";
    type Config = DeConfig;

    fn initial_point(config: &DeConfig) -> Option<&Point> {
        config.start.as_ref()
    }

    fn new(space: &Space, mut config: DeConfig, round: RoundSeed) -> Result<Self, Error> {
        config.check(space)?;
        config.start = None;
        let (count, width) = (config.population, space.len());
        let mut members = PositionMatrix::from_fn(count, width, |_, _| 0.5);
        for i in 0..count {
            let mut stream = round.stream(i);
            members.row_mut(i).fill_with(|| stream.unit());
        }
        Ok(DeMethod {
            config,
            generation: 0,
            trials: members.clone(),
            members,
            losses: vec![None; count],
            params: vec![ControlParams { f: 0.5, cr: 0.5 }; count],
            history: SuccessHistory::new(),
            archive: PositionMatrix::new(width),
        })
    }

    fn positions(&self) -> &PositionMatrix {
        &self.trials
    }

    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool {
        self.select(results.losses, next);
        if let Some((position, loss)) = results.start {
            self.insert_start(position, loss);
        }
        self.generation = self.generation.saturating_add(1);
        if self.config.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        self.make_trials(next);
        true
    }

    fn terminates(&self) -> bool {
        self.config.generations.is_some()
    }

    fn save(&self) -> Datum {
        let strategy = match self.config.strategy {
            DeStrategy::Shade => Datum::List(Vec::new()),
            DeStrategy::Rand1Bin { f, cr } => Datum::reals(&[f, cr]),
        };
        let params: Vec<f64> =
            self.params.iter().flat_map(|params| [params.f, params.cr]).collect();
        Datum::record([
            ("population", Datum::Natural(self.config.population as u64)),
            ("generations", Datum::optional_natural(self.config.generations)),
            ("strategy", strategy),
            ("generation", Datum::Natural(self.generation)),
            ("members", self.members.save()),
            (
                "losses",
                Datum::List(self.losses.iter().map(|loss| Datum::optional(*loss)).collect()),
            ),
            ("trials", self.trials.save()),
            ("f and cr", Datum::reals(&params)),
            ("history", self.history.save()),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let strategy = match data.field("strategy")?.list()? {
            [] => DeStrategy::Shade,
            _ => {
                let fixed = data.field("strategy")?.to_reals(2)?;
                DeStrategy::Rand1Bin { f: fixed[0], cr: fixed[1] }
            }
        };
        let config = DeConfig {
            population: data.field("population")?.count()?,
            generations: data.field("generations")?.to_optional_natural()?,
            start: None,
            strategy,
        };
        config.check(space).map_err(invalid_config)?;

        let (count, width) = (config.population, space.len());
        let losses = data
            .field("losses")?
            .list()?
            .iter()
            .map(Datum::to_optional)
            .collect::<Result<Vec<_>, Error>>()?;
        let params = data.renamed_field("f and cr", "pairs")?.to_reals(2 * count)?;
        let archive = PositionMatrix::load(data.field("archive")?, width)?;
        if losses.len() != count || archive.len() > count {
            return Err(damaged("a wrong number of members"));
        }
        Ok(DeMethod {
            config,
            generation: data.field("generation")?.counter()?,
            members: PositionMatrix::load_exactly(data.field("members")?, count, width)?,
            losses,
            trials: PositionMatrix::load_exactly(data.field("trials")?, count, width)?,
            params: params
                .chunks(2)
                .map(|params| ControlParams { f: params[0], cr: params[1] })
                .collect(),
            history: SuccessHistory::load(data.field("history")?)?,
            archive,
        })
    }
}
