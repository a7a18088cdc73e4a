//! Differential evolution: members of a population move by the differences between others, and only
//! to better places.
//!
//! In every generation each member gets one trial position (`mutation`); it takes the member's
//! place if it is not worse. Storn and Price 1997; the default adapts its two parameters by what
//! succeeded (`history`): SHADE, Tanabe and Fukunaga 2013. The population adapts the length and the
//! direction of steps by itself, without any covariance.
//!
//! Which variant is the default was decided by measurement on the test functions of this crate (see
//! the test `the_adaptive_variant_is_the_better_default`).
//!
//! Deviations. A failed trial never takes a place. A member without a loss gives way to any trial
//! that has one and counts as the worst; while no trial of a member succeeded its position is drawn
//! anew. A start position takes the place of the worst of the initial population, if it is better.

mod history;
mod mutation;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::generational::{Faults, Generational, Method, Round, Told, unsound};
use crate::point::Point;
use crate::rows::Rows;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use history::{History, Pair};
use mutation::Pool;

/// Mutation needs three members beside the one it is for.
const LEAST: usize = 4;

/// How trial positions are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    /// `current-to-pbest/1/bin` with archive, parameters adapted by success (SHADE).
    Adaptive,
    /// `rand/1/bin` with fixed parameters.
    Classic {
        /// F, how much of a difference is added; 0.5 is usual.
        factor: f64,
        /// CR, how likely a dimension changes; 0.9 is usual.
        rate: f64,
    },
}

/// The settings of differential evolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many members there are; 30.
    pub population: usize,
    /// After how many generations the search ends, the initial population being the first; endless
    /// if `None`.
    pub generations: Option<u64>,
    /// A position that is evaluated first and joins the population.
    pub start: Option<Point>,
    /// How trial positions are made; adaptive.
    pub strategy: Strategy,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { population: 30, generations: None, start: None, strategy: Strategy::Adaptive }
    }
}

impl Settings {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut faults = Faults::default();
        let start = self.start.as_ref().map(|start| (start, space));
        faults.check_run(Some(self.population), LEAST, self.generations, start);
        if let Strategy::Classic { factor, rate } = self.strategy {
            faults.check_within("factor", factor, 0.0, 2.0);
            faults.check_within("rate", rate, 0.0, 1.0);
        }
        faults.report(Differential::NAME)
    }
}

/// Differential evolution.
///
/// ```
/// use swarmwood_search::de::Settings;
/// use swarmwood_search::{De, Engine, Outcome, Param, Space};
/// let space = Space::new(vec![Param::real("x", -5.0, 5.0), Param::real("rate", 1e-4, 1.0).log()])?;
/// let mut engine = De::new(&space, Settings { generations: Some(60), ..Settings::default() }, 7)?;
/// loop {
///     let trials = engine.ask(8);
///     if trials.is_empty() {
///         break; // every answer was told, so the search is over
///     }
///     for trial in trials {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let rate = space.number(1, trial.point[1]).unwrap();
///         engine.tell(&[Outcome::Value { id: trial.id, loss: (x - 1.0).powi(2) + (rate / 0.01).ln().powi(2) }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type De = Generational<Differential>;

/// The method of [`De`].
#[derive(Debug, Clone, PartialEq)]
pub struct Differential {
    /// Without the start, which was used up at the start.
    settings: Settings,
    generation: u64,
    members: Rows,
    /// The losses of the members; `None` before the first answers and after failures.
    losses: Vec<Option<f64>>,
    /// The positions to evaluate, one a member.
    trials: Rows,
    /// What made each trial.
    pairs: Vec<Pair>,
    history: History,
    /// Members that were beaten, at most as many as there are members.
    archive: Rows,
}

impl Differential {
    /// Lets every trial that is not worse take its member's place, and remembers what succeeded.
    fn select(&mut self, losses: &[Option<f64>], next: Round) {
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
                successes.push((self.pairs[i], before / 2.0 - loss / 2.0));
                let place = stream.below(self.members.len() as u64) as usize;
                if self.archive.len() < self.members.len() {
                    self.archive.push(self.members.row(i));
                } else {
                    self.archive.row_mut(place).copy_from_slice(self.members.row(i));
                }
            }
            self.losses[i] = Some(loss);
            self.members.row_mut(i).copy_from_slice(self.trials.row(i));
        }
        self.history.learn(&successes);
    }

    /// The members, best first; of equals the first, and those without a loss last.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.losses.len()).collect();
        let rank = |i: &usize| self.losses[*i].unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        order
    }

    /// A start that is better than the worst member takes its place.
    fn adopt(&mut self, position: &[f64], loss: f64) {
        if let Some(&worst) = self
            .order()
            .last()
            .filter(|worst| self.losses[**worst].is_none_or(|least| loss < least))
        {
            self.losses[worst] = Some(loss);
            self.members.row_mut(worst).copy_from_slice(position);
        }
    }

    /// Makes a trial position for every member.
    fn breed(&mut self, next: Round) {
        let order = self.order();
        let pool = Pool { members: &self.members, order: &order, archive: &self.archive };
        for i in 0..self.members.len() {
            let mut stream = next.stream(i);
            let trial = self.trials.row_mut(i);
            if self.losses[i].is_none() {
                trial.fill_with(|| stream.unit());
                continue;
            }
            match self.settings.strategy {
                Strategy::Adaptive => {
                    self.pairs[i] = self.history.draw(&mut stream);
                    mutation::current_to_best(&pool, i, self.pairs[i], &mut stream, trial);
                }
                Strategy::Classic { factor, rate } => {
                    self.pairs[i] = Pair { factor, rate };
                    mutation::rand_1(&self.members, i, self.pairs[i], &mut stream, trial);
                }
            }
        }
    }
}

impl Method for Differential {
    const NAME: &'static str = "de";
    type Settings = Settings;

    fn given(settings: &Settings) -> Option<&Point> {
        settings.start.as_ref()
    }

    fn begin(space: &Space, mut settings: Settings, round: Round) -> Result<Self, Error> {
        settings.check(space)?;
        settings.start = None;
        let (count, width) = (settings.population, space.len());
        let mut members = Rows::fill(count, width, |_, _| 0.5);
        for i in 0..count {
            let mut stream = round.stream(i);
            members.row_mut(i).fill_with(|| stream.unit());
        }
        Ok(Differential {
            settings,
            generation: 0,
            trials: members.clone(),
            members,
            losses: vec![None; count],
            pairs: vec![Pair { factor: 0.5, rate: 0.5 }; count],
            history: History::new(),
            archive: Rows::new(width),
        })
    }

    fn positions(&self) -> &Rows {
        &self.trials
    }

    fn advance(&mut self, told: Told<'_>, next: Round) -> bool {
        self.select(told.losses, next);
        if let Some((position, loss)) = told.start {
            self.adopt(position, loss);
        }
        self.generation = self.generation.saturating_add(1);
        if self.settings.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        self.breed(next);
        true
    }

    fn ends(&self) -> bool {
        self.settings.generations.is_some()
    }

    fn save(&self) -> Datum {
        let strategy = match self.settings.strategy {
            Strategy::Adaptive => Datum::List(Vec::new()),
            Strategy::Classic { factor, rate } => Datum::reals(&[factor, rate]),
        };
        let limit = self.settings.generations.map(Datum::Natural);
        let pairs: Vec<f64> = self.pairs.iter().flat_map(|pair| [pair.factor, pair.rate]).collect();
        Datum::record([
            ("population", Datum::Natural(self.settings.population as u64)),
            ("generations", Datum::List(limit.into_iter().collect())),
            ("strategy", strategy),
            ("generation", Datum::Natural(self.generation)),
            ("members", self.members.save()),
            (
                "losses",
                Datum::List(self.losses.iter().map(|loss| Datum::optional(*loss)).collect()),
            ),
            ("trials", self.trials.save()),
            ("pairs", Datum::reals(&pairs)),
            ("history", self.history.save()),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let strategy = match data.field("strategy")?.list()? {
            [] => Strategy::Adaptive,
            _ => {
                let fixed = data.field("strategy")?.to_reals(2)?;
                Strategy::Classic { factor: fixed[0], rate: fixed[1] }
            }
        };
        let generations =
            data.field("generations")?.list()?.first().map(Datum::natural).transpose()?;
        let settings = Settings {
            population: data.field("population")?.count()?,
            generations,
            start: None,
            strategy,
        };
        settings.check(space).map_err(unsound)?;
        let (count, width) = (settings.population, space.len());
        let losses = data
            .field("losses")?
            .list()?
            .iter()
            .map(Datum::to_optional)
            .collect::<Result<Vec<_>, Error>>()?;
        let pairs = data.field("pairs")?.to_reals(2 * count)?;
        let archive = Rows::load(data.field("archive")?, width)?;
        if losses.len() != count || archive.len() > count {
            return Err(damaged("another number of members than its settings name"));
        }
        Ok(Differential {
            settings,
            generation: data.field("generation")?.natural()?,
            members: Rows::load_exactly(data.field("members")?, count, width)?,
            losses,
            trials: Rows::load_exactly(data.field("trials")?, count, width)?,
            pairs: pairs.chunks(2).map(|pair| Pair { factor: pair[0], rate: pair[1] }).collect(),
            history: History::load(data.field("history")?)?,
            archive,
        })
    }
}
