//! Simulated annealing: a walk from a configuration to a neighbour, that now and then goes uphill,
//! and ever more rarely.
//!
//! A neighbour that is not worse is gone to; a worse one with probability
//! `exp(-(difference) / temperature)`. Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated
//! annealing", Science 1983; acceptance after Metropolis et al. 1953.
//!
//! Deviations. Losses have no natural unit, so the first temperature is half of what lies between
//! the best and the median of the first points, which are spread over the space; the walk starts at
//! the best of them. The temperature and the usual length of a step fall with the number k of steps
//! so far, as `1 / (1 + k/10)` and `1 / (1 + k/30)`, without an end that would have to be known. No
//! configuration is asked twice. Neighbours that are evaluated at the same time are all of the
//! place the walk is at when they are asked; they are gone to or not in the order of asking. A
//! failed neighbour is not gone to.

use crate::error::Error;
use crate::generational::{Faults, unsound};
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};
use crate::space::Space;
use crate::steady::{Method, Place, Steady};
use crate::steps::vary;

/// A neighbour that was asked before is made again so often before a random configuration takes its
/// place.
const TRIES: usize = 60;
/// By how much each such time raises the probability that a value changes.
const MORE: f64 = 0.05;
/// The first and the least usual length of a step, as a share of the range.
const WIDEST: f64 = 0.25;
const NARROWEST: f64 = 0.02;
const MOST: usize = 10_000;

/// The settings of annealing.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many configurations are spread over the space before the walk begins at the best of
    /// them; 10.
    pub start: usize,
    /// The first temperature, in units of what lies between the best and the median of those; 0.5.
    pub temperature: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { start: 10, temperature: 0.5 }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        if !(1..=MOST).contains(&self.start) {
            faults.add("start", format!("must lie within 1 and {MOST}, not {}", self.start));
        }
        faults.check_within("temperature", self.temperature, 0.0, 1e9);
        faults.report(Walk::NAME)
    }
}

/// Simulated annealing.
///
/// ```
/// use swarmwood_search::annealing::Settings;
/// use swarmwood_search::{Annealing, Engine, Outcome, Param, Space};
/// let space = Space::new(vec![Param::integer("a", 0, 50), Param::real("x", 0.0, 1.0)])?;
/// let mut engine = Annealing::new(&space, Settings::default(), 7)?;
/// for _ in 0..300 {
///     for trial in engine.ask(1) {
///         let (a, x) = (space.number(0, trial.point[0]).unwrap(), space.number(1, trial.point[1]).unwrap());
///         engine.tell(&[Outcome::Value { id: trial.id, loss: (a - 20.0).abs() / 50.0 + (x - 0.7).abs() }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.05);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Annealing = Steady<Walk>;

/// The method of [`Annealing`].
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    settings: Settings,
    /// The losses of the first points, until there are enough.
    first: Vec<f64>,
    /// Half of what lies between the best and the median of the first points.
    spread: f64,
    /// Where the walk is.
    here: Option<(f64, Point)>,
    /// How many neighbours were answered.
    steps: u64,
}

impl Walk {
    /// Half the present temperature; halves, because the difference of two finite numbers may not
    /// be finite.
    fn half_temperature(&self) -> f64 {
        self.settings.temperature * self.spread / (1.0 + self.steps as f64 / 10.0)
    }

    fn width(&self) -> f64 {
        (WIDEST / (1.0 + self.steps as f64 / 30.0)).max(NARROWEST)
    }

    /// Whether the walk goes to a neighbour with this loss, given an even random number.
    fn accepts(&self, loss: f64, chance: f64) -> bool {
        let Some((here, _)) = self.here else { return true };
        loss <= here || chance < (-(loss / 2.0 - here / 2.0) / self.half_temperature()).exp()
    }

    /// Takes one of the first points; the last of them sets the temperature.
    fn open(&mut self, loss: f64, point: Point) {
        if self.here.as_ref().is_none_or(|(least, _)| loss < *least) {
            self.here = Some((loss, point));
        }
        self.first.push(loss);
        if self.first.len() == self.settings.start {
            self.first.sort_by(f64::total_cmp);
            self.spread = self.first[self.first.len() / 2] / 2.0 - self.first[0] / 2.0;
        }
    }
}

impl Method for Walk {
    const NAME: &'static str = "annealing";
    type Settings = Settings;

    fn begin(_space: &Space, settings: Settings, _seed: u64) -> Result<Self, Error> {
        settings.check()?;
        Ok(Walk { settings, first: Vec::new(), spread: 0.0, here: None, steps: 0 })
    }

    fn learn(&mut self, _space: &Space, seed: u64, settled: Settled) {
        let Settled { id, point, loss } = settled;
        if let Some(loss) = loss.filter(|_| self.first.len() < self.settings.start) {
            return self.open(loss, point);
        }
        self.steps = self.steps.saturating_add(1);
        if let Some(loss) = loss
            && self.accepts(loss, Stream::new(seed, id, 1).unit())
        {
            self.here = Some((loss, point));
        }
    }

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = place.opening(self.settings.start, &mut stream) {
            return Some(point);
        }
        let Some((_, here)) = self.here.as_ref().filter(|_| !place.is_used_up()) else {
            return place.fresh(&mut stream);
        };
        let present: Vec<usize> = (0..here.0.len()).filter(|&j| here[j] != Value::Absent).collect();
        let rate = 1.0 / present.len().max(1) as f64;
        let neighbour = |before: usize, stream: &mut Stream| {
            let one = present.get(stream.below(present.len() as u64) as usize).copied();
            vary(place.space, here, one, rate + MORE * before as f64, self.width(), stream)
        };
        place.first_new(TRIES, &mut stream, neighbour)
    }

    fn save(&self) -> Datum {
        let here = self
            .here
            .iter()
            .map(|(loss, point)| Datum::List(vec![Datum::Real(*loss), Datum::point(point)]));
        Datum::record([
            ("start", Datum::Natural(self.settings.start as u64)),
            ("temperature", Datum::Real(self.settings.temperature)),
            ("first", Datum::reals(&self.first)),
            ("spread", Datum::Real(self.spread)),
            ("here", Datum::List(here.collect())),
            ("steps", Datum::Natural(self.steps)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let settings = Settings {
            start: data.field("start")?.count()?,
            temperature: data.field("temperature")?.real()?,
        };
        settings.check().map_err(unsound)?;
        let here = |datum: &Datum| -> Result<(f64, Point), Error> {
            let [loss, point] = datum.tuple()?;
            Ok((loss.real()?, point.to_point(space)?))
        };
        let first = data.field("first")?;
        let first = first.to_reals(first.list()?.len())?;
        let here = data.field("here")?.list()?.first().map(here).transpose()?;
        if first.len() > settings.start || here.is_none() != first.is_empty() {
            return Err(damaged("a walk that cannot be where it is"));
        }
        let (spread, steps) = (data.field("spread")?.real()?, data.field("steps")?.natural()?);
        Ok(Walk { settings, first, spread, here, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::{abides, harness};

    #[test]
    fn every_rule_is_kept() {
        abides::<Walk>(&Settings::default);
        let cold = || Settings { start: 3, temperature: 0.0 };
        abides::<Walk>(&cold);
        harness::<Walk>(&Settings::default);
    }

    #[test]
    fn faults_are_reported_together() {
        assert_eq!(
            Settings { start: 0, temperature: f64::NAN }
                .check()
                .unwrap_err()
                .to_string()
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn worse_places_are_gone_to_by_temperature() {
        let point = Point(Vec::new());
        let settings = Settings { start: 3, temperature: 0.5 };
        let mut walk = Walk { settings, first: Vec::new(), spread: 0.0, here: None, steps: 0 };
        for loss in [5.0, 1.0, 3.0] {
            walk.open(loss, point.clone());
        }
        assert_eq!((walk.spread, walk.here.as_ref().map(|(loss, _)| *loss)), (1.0, Some(1.0)));
        // The temperature is 1: one worse has the chance 1/e, and after ten steps 1/e².
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
        walk.settings.temperature = 0.0;
        assert!(!walk.accepts(1.0 + 1e-9, 0.0) && walk.accepts(1.0, 0.999));
    }
}
