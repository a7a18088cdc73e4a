//! Simulated annealing.
//!
//! A neighbour of the current point that is not worse is accepted; a worse one with probability
//! `exp(-difference / temperature)`. Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated
//! annealing", Science 1983; acceptance after Metropolis et al. 1953.
//!
//! Deviations. Losses have no natural unit, so the initial temperature is half the difference
//! between the best and the median loss of the initial design; the search starts at the best point
//! of the design. Temperature and step length decrease with the number k of steps as
//! `1 / (1 + k/10)` and `1 / (1 + k/30)`, so that the length of the search need not be known. No
//! point is asked twice. Neighbours that are evaluated in parallel are all neighbours of the point
//! that is current when they are asked; they are accepted or rejected in the order of their ids. A
//! failed neighbour is rejected.

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::{PointMutation, mutate};
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_log::FinishedTrial;

/// Attempts at a neighbour that was not asked before; after them a random point is taken.
const MAX_ATTEMPTS: usize = 60;
/// How much each failed attempt increases the probability that a value changes.
const RATE_INCREMENT: f64 = 0.05;
/// The initial step length, as a fraction of the range.
const MAX_WIDTH: f64 = 0.25;
/// The smallest step length.
const MIN_WIDTH: f64 = 0.02;
/// The largest value of the counts in a configuration.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`Annealing`].
#[derive(Debug, Clone, PartialEq)]
pub struct AnnealingConfig {
    /// Number of points of the initial design; 10.
    pub start: usize,
    /// The initial temperature, in units of the difference between the best and the median loss of
    /// the initial design; 0.5.
    pub temperature: f64,
}

impl Default for AnnealingConfig {
    fn default() -> Self {
        AnnealingConfig { start: 10, temperature: 0.5 }
    }
}

impl AnnealingConfig {
    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_count("start", self.start, 1, MAX_COUNT);
        errors.check_number("temperature", self.temperature, 0.0, 1e9);
        errors.into_result(AnnealingMethod::NAME)
    }
}

/// Simulated annealing.
///
/// ```
/// use swarmwood_search::annealing::AnnealingConfig;
/// use swarmwood_search::{Annealing, Engine, TrialResult, Param, Space};
/// let space = Space::new(vec![Param::integer("a", 0, 50), Param::real("x", 0.0, 1.0)])?;
/// let mut engine = Annealing::new(&space, AnnealingConfig::default(), 7)?;
/// for _ in 0..300 {
///     for trial in engine.ask(1) {
///         let (a, x) = (space.number(0, trial.point[0]).unwrap(), space.number(1, trial.point[1]).unwrap());
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss: (a - 20.0).abs() / 50.0 + (x - 0.7).abs() }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.05);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Annealing = SteadyStateEngine<AnnealingMethod>;

/// The options of [`Annealing`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "initial_points",
        (1, MAX_COUNT as i64),
        10,
        "number of points of the initial design",
    ),
    OptionSpec::real(
        "temperature",
        (0.0, 1e9),
        0.5,
        "initial temperature, in units of the difference between the best and the median loss of \
         the initial design",
    ),
];

impl AnnealingConfig {
    fn of(options: &OptionValues) -> Self {
        AnnealingConfig {
            start: options.count("initial_points"),
            temperature: options.real("temperature"),
        }
    }
}

/// The registration of [`Annealing`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Annealing::NAME,
    summary: "simulated annealing, without repeats",
    options: OPTIONS,
    build: |space, seed, options| boxed(Annealing::new(space, AnnealingConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Annealing::resume(space, snapshot)),
};

/// The method of [`Annealing`].
#[derive(Debug, Clone, PartialEq)]
pub struct AnnealingMethod {
    config: AnnealingConfig,
    /// The losses of the initial design, until it is complete.
    first: Vec<f64>,
    /// Half the difference between the best and the median loss of the initial design.
    spread: f64,
    /// The current point and its loss.
    current: Option<(f64, Point)>,
    /// Number of evaluated neighbours.
    steps: u64,
}

impl AnnealingMethod {
    /// Half the current temperature; halves, because the difference of two finite numbers may
    /// overflow.
    fn half_temperature(&self) -> f64 {
        self.config.temperature * self.spread / (1.0 + self.steps as f64 / 10.0)
    }

    fn width(&self) -> f64 {
        (MAX_WIDTH / (1.0 + self.steps as f64 / 30.0)).max(MIN_WIDTH)
    }

    /// The Metropolis criterion, given a uniform random number.
    fn accepts(&self, loss: f64, uniform: f64) -> bool {
        let Some((current, _)) = self.current else { return true };
        loss <= current || uniform < (-(loss / 2.0 - current / 2.0) / self.half_temperature()).exp()
    }

    /// Takes a point of the initial design; the last one sets the temperature.
    fn observe_initial(&mut self, loss: f64, point: Point) {
        if self.current.as_ref().is_none_or(|(least, _)| loss < *least) {
            self.current = Some((loss, point));
        }
        self.first.push(loss);
        if self.first.len() == self.config.start {
            self.first.sort_by(f64::total_cmp);
            self.spread = self.first[self.first.len() / 2] / 2.0 - self.first[0] / 2.0;
        }
    }
}

impl SteadyStateMethod for AnnealingMethod {
    const NAME: &'static str = "annealing";
    type Config = AnnealingConfig;

    fn new(_space: &Space, config: AnnealingConfig, _seed: u64) -> Result<Self, Error> {
        config.check()?;
        Ok(AnnealingMethod { config, first: Vec::new(), spread: 0.0, current: None, steps: 0 })
    }

    fn observe(&mut self, _space: &Space, seed: u64, finished: FinishedTrial) {
        let FinishedTrial { id, point, loss } = finished;
        if let Some(loss) = loss.filter(|_| self.first.len() < self.config.start) {
            return self.observe_initial(loss, point);
        }
        self.steps = self.steps.saturating_add(1);
        if let Some(loss) = loss
            && self.accepts(loss, Stream::new(seed, id, 1).unit())
        {
            self.current = Some((loss, point));
        }
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.start, &mut stream) {
            return Some(point);
        }
        let Some((_, current)) = self.current.as_ref().filter(|_| !context.is_exhausted()) else {
            return context.sample_unseen(&mut stream);
        };
        let present: Vec<usize> =
            (0..current.0.len()).filter(|&j| current[j] != PointValue::Absent).collect();
        let rate = 1.0 / present.len().max(1) as f64;

        let neighbour = |attempt: usize, stream: &mut Stream| {
            let always = present.get(stream.below(present.len() as u64) as usize).copied();
            let rate = rate + RATE_INCREMENT * attempt as f64;
            let mutation = PointMutation { rate, width: self.width(), always };
            mutate(context.space, current, mutation, stream)
        };
        context.first_unseen(MAX_ATTEMPTS, &mut stream, neighbour)
    }

    fn save(&self) -> Datum {
        let current = self
            .current
            .iter()
            .map(|(loss, point)| Datum::List(vec![Datum::Real(*loss), Datum::point(point)]));
        Datum::record([
            ("start", Datum::Natural(self.config.start as u64)),
            ("temperature", Datum::Real(self.config.temperature)),
            ("first", Datum::reals(&self.first)),
            ("spread", Datum::Real(self.spread)),
            ("current", Datum::List(current.collect())),
            ("steps", Datum::Natural(self.steps)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = AnnealingConfig {
            start: data.field("start")?.count()?,
            temperature: data.field("temperature")?.real()?,
        };
        config.check().map_err(invalid_config)?;
        let current = |datum: &Datum| -> Result<(f64, Point), Error> {
            let [loss, point] = datum.tuple()?;
            Ok((loss.real()?, point.to_point(space)?))
        };
        let first = data.field("first")?;
        let first = first.to_reals(first.list()?.len())?;
        let current =
            data.renamed_field("current", "here")?.list()?.first().map(current).transpose()?;
        if first.len() > config.start || current.is_none() != first.is_empty() {
            return Err(damaged("a current point that contradicts the initial losses"));
        }
        let (spread, steps) = (data.field("spread")?.real()?, data.field("steps")?.counter()?);
        Ok(AnnealingMethod { config, first, spread, current, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady_state::tests::{assert_contract, assert_resumable};

    #[test]
    fn every_rule_is_kept() {
        assert_contract::<AnnealingMethod>(&AnnealingConfig::default);
        let cold = || AnnealingConfig { start: 3, temperature: 0.0 };
        assert_contract::<AnnealingMethod>(&cold);
        assert_resumable::<AnnealingMethod>(&AnnealingConfig::default);
    }

    #[test]
    fn faults_are_reported_together() {
        assert_eq!(
            AnnealingConfig { start: 0, temperature: f64::NAN }
                .check()
                .unwrap_err()
                .to_string()
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn worse_points_are_accepted_by_temperature() {
        let point = Point(Vec::new());
        let config = AnnealingConfig { start: 3, temperature: 0.5 };
        let mut walk =
            AnnealingMethod { config, first: Vec::new(), spread: 0.0, current: None, steps: 0 };
        for loss in [5.0, 1.0, 3.0] {
            walk.observe_initial(loss, point.clone());
        }
        assert_eq!((walk.spread, walk.current.as_ref().map(|(loss, _)| *loss)), (1.0, Some(1.0)));
        // The temperature is 1: a difference of 1 is accepted with probability 1/e, and 1/e² after
        // ten steps.
        let worse = (-1f64).exp();
        assert!(
            walk.accepts(2.0, worse - 1e-9)
                && !walk.accepts(2.0, worse + 1e-9)
                && walk.accepts(1.0, 0.999)
        );
        walk.steps = 10;
        assert!(
            walk.accepts(2.0, worse * worse - 1e-9) && !walk.accepts(2.0, worse * worse + 1e-9)
        );
        walk.config.temperature = 0.0;
        assert!(!walk.accepts(1.0 + 1e-9, 0.0) && walk.accepts(1.0, 0.999));
    }
}
