//! Grid search: every combination of values once, and then the end; what lies near the best is
//! tried early.
//!
//! Countable parameters have all their values, and real ones a number of steps that are even over
//! their scale, both ends included. The combinations are numbered; number `start + k · stride`
//! modulo their count is the k-th of the round, with a random start and a random stride without a
//! factor in common with the count. So each comes once, and a search that is stopped early has seen
//! all parts of the grid rather than one corner.
//!
//! Most grids are stopped early: seven parameters have a million combinations. An order that learns
//! nothing is then no better than random search (docs/results/tuning), so after the first ten
//! trials three of four are combinations near the best so far that were not tried yet, and every
//! fourth goes on with the round, which leaves those out when it comes to them. A grid that is
//! searched to its end has seen the same combinations whatever the order.
//!
//! A grid with more combinations than 64 bits can count has no end that anybody will see; its
//! points are drawn.

use crate::error::Error;
use crate::generational::{Faults, unsound};
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};
use crate::space::{Domain, Param, Space};
use crate::steady::{Method, Place, Steady};
use crate::steps::{WIDTH, vary};

/// So many trials follow the round before any looks near the best.
const OPENING: u64 = 10;
/// Of so many trials one goes on with the round.
const TURN: u64 = 4;
/// A combination near the best that was asked before is made again so often before the round goes
/// on.
const TRIES: usize = 60;
/// How often a point of an uncountable grid is drawn again if it was asked.
const DRAWS: usize = 1000;
const MOST: usize = 10_000;

/// The settings of grid search.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many values a real parameter has; 10.
    pub steps: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { steps: 10 }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        if !(2..=MOST).contains(&self.steps) {
            faults.add("steps", format!("must lie within 2 and {MOST}, not {}", self.steps));
        }
        faults.report(Walk::NAME)
    }
}

/// Grid search.
///
/// ```
/// use swarmwood_search::grid::Settings;
/// use swarmwood_search::{Engine, Grid, Param, Space};
/// let space = Space::new(vec![Param::integer("depth", 1, 4), Param::real("rate", 0.01, 1.0).log()])?;
/// let mut engine = Grid::new(&space, Settings { steps: 3 }, 7)?;
/// let trials = engine.ask(100);
/// assert_eq!(trials.len(), 12); // four depths with the rates 0.01, 0.1 and 1
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Grid = Steady<Walk>;

/// The method of [`Grid`].
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    settings: Settings,
    /// The space with lists in the place of real parameters.
    grid: Space,
    /// Whether the space has more than its grid.
    coarse: bool,
    /// The order, if the combinations can be counted.
    order: Option<Order>,
    /// How many numbers were used.
    next: u64,
}

/// An order of the numbers below `count`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Order {
    count: u64,
    start: u64,
    stride: u64,
}

impl Order {
    fn shuffled(count: u64, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 0, u64::MAX);
        let start = stream.below(count);
        let mut stride = 1 + stream.below(count.saturating_sub(1).max(1));
        while common_factor(stride, count) != 1 {
            stride = 1 + stream.below(count.saturating_sub(1).max(1));
        }
        Order { count, start, stride }
    }

    fn number(&self, k: u64) -> u128 {
        (u128::from(self.start) + u128::from(k) * u128::from(self.stride)) % u128::from(self.count)
    }
}

/// The greatest common factor, by Euclid.
fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

impl Walk {
    fn at(space: &Space, settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let coarse = space.params().iter().any(|param| param.domain.values().is_none());
        let listed = |(j, param): (usize, &Param)| match param.domain.values() {
            Some(_) => param.clone(),
            None => {
                Param { domain: Domain::List(steps(space, j, settings.steps)), ..param.clone() }
            }
        };
        let grid = Space::new(space.params().iter().enumerate().map(listed).collect())?;
        Ok(Walk { settings, grid, coarse, order: None, next: 0 })
    }

    /// A combination near the best so far that was not asked yet: one value moved for sure, each
    /// other now and then.
    fn near_best(&self, place: &Place<'_>, stream: &mut Stream) -> Option<Point> {
        let turn = place.ledger.next_id();
        let best = place.ledger.best().filter(|_| turn >= OPENING && !turn.is_multiple_of(TURN))?;
        let here = self.grid.decode(&place.space.encode(best.point));
        let present: Vec<usize> = (0..here.0.len()).filter(|&j| here[j] != Value::Absent).collect();
        let rate = 1.0 / present.len().max(1) as f64;
        let neighbours = (0..TRIES).map(|_| {
            let one = present.get(stream.below(present.len() as u64) as usize).copied();
            self.point(place.space, vary(&self.grid, &here, one, rate, WIDTH, stream))
        });
        { neighbours }.find(|point| !place.ledger.has_seen(point))
    }

    fn count(&self) -> Option<u64> {
        self.grid.size().and_then(|size| u64::try_from(size).ok())
    }

    /// A point of the grid as one of the space.
    fn point(&self, space: &Space, on_grid: Point) -> Point {
        let value = |(j, value): (usize, &Value)| match (
            &space.params()[j].domain,
            self.grid.number(j, *value),
        ) {
            (Domain::Real { .. }, Some(number)) => Value::Real(number),
            _ => *value,
        };
        Point(on_grid.0.iter().enumerate().map(value).collect())
    }
}

/// The values of a real parameter, in ascending order and each once: a tiny range may not have as
/// many numbers.
fn steps(space: &Space, parameter: usize, count: usize) -> Vec<f64> {
    let at = |k: usize| {
        space.number(parameter, space.value_at(parameter, k as f64 / (count - 1) as f64))
    };
    let mut values: Vec<f64> = (0..count).filter_map(at).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

impl Method for Walk {
    const NAME: &'static str = "grid";
    type Settings = Settings;

    fn begin(space: &Space, settings: Settings, seed: u64) -> Result<Self, Error> {
        let walk = Walk::at(space, settings)?;
        let order = walk.count().map(|count| Order::shuffled(count, seed));
        Ok(Walk { order, ..walk })
    }

    fn learn(&mut self, _space: &Space, _seed: u64, _settled: Settled) {}

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = self.near_best(&place, &mut stream) {
            return Some(point);
        }
        let Some(order) = self.order else {
            let drawn = (0..DRAWS).map(|_| self.point(place.space, self.grid.draw(&mut stream)));
            return { drawn }.find(|point| !place.ledger.has_seen(point));
        };
        while self.next < order.count {
            let number = order.number(self.next);
            self.next += 1;
            let point = self.grid.nth(number).map(|point| self.point(place.space, point));
            if let Some(point) = point.filter(|point| !place.ledger.has_seen(point)) {
                return Some(point);
            }
        }
        None
    }

    fn ends(&self) -> bool {
        self.coarse
    }

    fn save(&self) -> Datum {
        let order = self
            .order
            .map(|order| Datum::List([order.start, order.stride].map(Datum::Natural).to_vec()));
        Datum::record([
            ("steps", Datum::Natural(self.settings.steps as u64)),
            ("order", Datum::List(order.into_iter().collect())),
            ("next", Datum::Natural(self.next)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let walk =
            Walk::at(space, Settings { steps: data.field("steps")?.count()? }).map_err(unsound)?;
        let order = match (walk.count(), data.field("order")?.list()?.first()) {
            (None, None) => None,
            (Some(count), Some(order)) => {
                let [start, stride] = order.tuple()?;
                let order = Order { count, start: start.natural()?, stride: stride.natural()? };
                Some(order)
                    .filter(|order| order.start < count && common_factor(order.stride, count) == 1)
            }
            _ => None,
        };
        if order.is_some() != walk.count().is_some() {
            return Err(damaged("an order that is none"));
        }
        Ok(Walk { order, next: data.field("next")?.natural()?, ..walk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::steady::tests::{abides, harness};

    #[test]
    fn every_rule_is_kept() {
        abides::<Walk>(&Settings::default);
        harness::<Walk>(&|| Settings { steps: 4 });
        assert!(Settings { steps: 1 }.check().is_err());
    }

    /// Every combination once: conditions, scales, and no value beside the steps.
    #[test]
    fn the_whole_grid_comes_once() {
        let space = Space::new(vec![
            Param::choice("c", &["a", "b"]),
            Param::real("rate", 0.01, 1.0).log().when("c", &["b"]),
            Param::list("l", &[1.0, 2.0, 4.0]),
            Param::real("fixed", 2.0, 2.0),
        ])
        .unwrap();
        let mut engine = Grid::new(&space, Settings { steps: 5 }, 3).unwrap();
        let trials = engine.ask(1000);
        assert_eq!(trials.len(), 3 * (1 + 5));
        let mut seen = std::collections::BTreeSet::new();
        for trial in &trials {
            assert!(space.contains(&trial.point) && seen.insert(trial.point.fingerprint()));
            if let Some(rate) = space.number(1, trial.point[1]) {
                let step = (rate.ln() - 0.01f64.ln()) / (100f64.ln() / 4.0);
                assert!((step - step.round()).abs() < 1e-9, "{rate}");
            }
        }
        assert!(engine.ask(1).is_empty());
    }

    /// Answers make the order, and still each combination comes once.
    #[test]
    fn near_the_best_comes_early_and_the_rest_after() {
        let space =
            Space::new(vec![Param::integer("a", 0, 39), Param::real("x", 0.0, 1.0)]).unwrap();
        let mut engine = Grid::new(&space, Settings { steps: 21 }, 5).unwrap();
        let (mut seen, mut near) = (std::collections::BTreeSet::new(), 0);
        while let Some(trial) = engine.ask(1).pop() {
            let (a, x) = (
                space.number(0, trial.point[0]).unwrap(),
                space.number(1, trial.point[1]).unwrap(),
            );
            let loss = (a / 39.0 - 0.25).abs() + (x - 0.75).abs();
            near += usize::from(seen.len() < 84 && loss < 0.2); // a tenth of the grid, in which 8 % are so near
            assert!(seen.insert(trial.point.fingerprint()));
            engine.tell(&[crate::trial::Outcome::Value { id: trial.id, loss }]);
        }
        assert_eq!(seen.len(), 840);
        assert!(near > 28, "{near} of 84");
    }

    #[test]
    fn orders_hold_every_number_once() {
        for count in [1, 2, 6, 97, 360] {
            let order = Order::shuffled(count, 5);
            let mut numbers: Vec<u128> = (0..count).map(|k| order.number(k)).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..u128::from(count)).collect::<Vec<_>>());
        }
        let huge = Order { count: u64::MAX, start: u64::MAX - 1, stride: u64::MAX - 1 };
        assert!(huge.number(u64::MAX - 1) < u128::from(u64::MAX));
    }
}
