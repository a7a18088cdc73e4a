//! Grid search: every combination of values once, those near the best trial early.
//!
//! Discrete parameters have all their values, and real ones a number of steps that are equidistant
//! on their scale, both bounds included. The combinations are numbered and visited in the order
//! `start + k · stride` modulo their count, with a random start and a random stride that is coprime
//! to the count. So each is visited once, and a search that is stopped early has visited all parts
//! of the grid rather than one corner.
//!
//! Most grids are stopped early: seven parameters have a million combinations. A fixed order is
//! then no better than random search (docs/results/tuning), so after the first ten trials three of
//! four are unvisited combinations near the best trial, and every fourth continues the fixed order,
//! which skips what was visited. A complete grid search visits the same combinations in any order.
//!
//! A grid with more than 2⁶⁴ combinations cannot be searched completely; its points are drawn at
//! random.

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::{DEFAULT_WIDTH, PointMutation, mutate};
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};
use crate::space::{Domain, Param, Space};
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_log::FinishedTrial;

/// Number of trials in the fixed order before any is near the best.
const INITIAL_TRIALS: u64 = 10;
/// One of this many trials continues the fixed order.
const ORDER_INTERVAL: u64 = 4;
/// Attempts at an unvisited combination near the best; after them the fixed order continues.
const MAX_ATTEMPTS: usize = 60;
/// Attempts at an unvisited point of a grid that is too large to be numbered.
const MAX_DRAWS: usize = 1000;
/// The largest value of the counts in a configuration.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`GridSearch`].
#[derive(Debug, Clone, PartialEq)]
pub struct GridConfig {
    /// Number of values of a real parameter; 10.
    pub steps: usize,
}

impl Default for GridConfig {
    fn default() -> Self {
        GridConfig { steps: 10 }
    }
}

impl GridConfig {
    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_count("steps", self.steps, 2, MAX_COUNT);
        errors.into_result(GridMethod::NAME)
    }
}

/// Grid search.
///
/// ```
/// use swarmwood_search::grid::GridConfig;
/// use swarmwood_search::{Engine, GridSearch, Param, Space};
/// let space = Space::new(vec![Param::integer("depth", 1, 4), Param::real("rate", 0.01, 1.0).log()])?;
/// let mut engine = GridSearch::new(&space, GridConfig { steps: 3 }, 7)?;
/// let trials = engine.ask(100);
/// assert_eq!(trials.len(), 12); // four depths with the rates 0.01, 0.1 and 1
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type GridSearch = SteadyStateEngine<GridMethod>;

/// The options of [`GridSearch`].
const OPTIONS: &[OptionSpec] = &[OptionSpec::integer(
    "steps",
    (2, MAX_COUNT as i64),
    10,
    "number of values of a real parameter, both bounds included",
)];

impl GridConfig {
    fn of(options: &OptionValues) -> Self {
        GridConfig { steps: options.count("steps") }
    }
}

/// The registration of [`GridSearch`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: GridSearch::NAME,
    summary: "grid search, points near the best first",
    options: OPTIONS,
    build: |space, seed, options| boxed(GridSearch::new(space, GridConfig::of(options), seed)),
    resume: |space, snapshot| boxed(GridSearch::resume(space, snapshot)),
};

/// The method of [`GridSearch`].
#[derive(Debug, Clone, PartialEq)]
pub struct GridMethod {
    config: GridConfig,
    /// The space with lists instead of real parameters.
    grid: Space,
    /// Whether the space has points outside of the grid.
    coarse: bool,
    /// The order, if the combinations can be numbered.
    order: Option<GridOrder>,
    /// Position in the order.
    next: u64,
}

/// A random order of the numbers below `count`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct GridOrder {
    count: u64,
    start: u64,
    stride: u64,
}

impl GridOrder {
    fn shuffled(count: u64, seed: u64) -> Self {
        let mut stream = Stream::new(seed, 0, u64::MAX);
        let start = stream.below(count);
        let mut stride = 1 + stream.below(count.saturating_sub(1).max(1));
        while gcd(stride, count) != 1 {
            stride = 1 + stream.below(count.saturating_sub(1).max(1));
        }
        GridOrder { count, start, stride }
    }

    fn number(&self, k: u64) -> u128 {
        (u128::from(self.start) + u128::from(k) * u128::from(self.stride)) % u128::from(self.count)
    }
}

/// The greatest common divisor, by Euclid.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl GridMethod {
    fn on_grid(space: &Space, config: GridConfig) -> Result<Self, Error> {
        config.check()?;
        let coarse = space.params().iter().any(|param| param.domain.values().is_none());
        let listed = |(j, param): (usize, &Param)| match param.domain.values() {
            Some(_) => param.clone(),
            None => Param { domain: Domain::List(steps(space, j, config.steps)), ..param.clone() },
        };
        let grid = Space::new(space.params().iter().enumerate().map(listed).collect())?;
        Ok(GridMethod { config, grid, coarse, order: None, next: 0 })
    }

    /// An unvisited combination near the best trial: one value is perturbed in any case, the others
    /// with a small probability.
    fn near_best(&self, context: &AskContext<'_>, stream: &mut Stream) -> Option<Point> {
        let id = context.trial_log.next_id();
        let best = context
            .trial_log
            .best()
            .filter(|_| id >= INITIAL_TRIALS && !id.is_multiple_of(ORDER_INTERVAL))?;
        let centre = self.grid.decode(&context.space.encode(best.point));
        let present: Vec<usize> =
            (0..centre.0.len()).filter(|&j| centre[j] != PointValue::Absent).collect();
        let rate = 1.0 / present.len().max(1) as f64;
        let neighbours = (0..MAX_ATTEMPTS).map(|_| {
            let always = present.get(stream.below(present.len() as u64) as usize).copied();
            let mutation = PointMutation { rate, width: DEFAULT_WIDTH, always };
            self.point(context.space, mutate(&self.grid, &centre, mutation, stream))
        });
        { neighbours }.find(|point| !context.trial_log.has_seen(point))
    }

    fn count(&self) -> Option<u64> {
        self.grid.size().and_then(|size| u64::try_from(size).ok())
    }

    /// A point of the grid as a point of the space.
    fn point(&self, space: &Space, on_grid: Point) -> Point {
        let value = |(j, value): (usize, &PointValue)| match (
            &space.params()[j].domain,
            self.grid.number(j, *value),
        ) {
            (Domain::Real { .. }, Some(number)) => PointValue::Real(number),
            _ => *value,
        };
        Point(on_grid.0.iter().enumerate().map(value).collect())
    }
}

/// The values of a real parameter, in ascending order without duplicates, which occur in tiny
/// ranges.
fn steps(space: &Space, parameter: usize, count: usize) -> Vec<f64> {
    let at = |k: usize| {
        space.number(parameter, space.value_at(parameter, k as f64 / (count - 1) as f64))
    };
    let mut values: Vec<f64> = (0..count).filter_map(at).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

impl SteadyStateMethod for GridMethod {
    const NAME: &'static str = "grid";
    type Config = GridConfig;

    fn new(space: &Space, config: GridConfig, seed: u64) -> Result<Self, Error> {
        let method = GridMethod::on_grid(space, config)?;
        let order = method.count().map(|count| GridOrder::shuffled(count, seed));
        Ok(GridMethod { order, ..method })
    }

    fn observe(&mut self, _space: &Space, _seed: u64, _settled: FinishedTrial) {}

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = self.near_best(&context, &mut stream) {
            return Some(point);
        }
        let Some(order) = self.order else {
            let drawn =
                (0..MAX_DRAWS).map(|_| self.point(context.space, self.grid.draw(&mut stream)));
            return { drawn }.find(|point| !context.trial_log.has_seen(point));
        };
        while self.next < order.count {
            let number = order.number(self.next);
            self.next += 1;
            let point = self.grid.nth(number).map(|point| self.point(context.space, point));
            if let Some(point) = point.filter(|point| !context.trial_log.has_seen(point)) {
                return Some(point);
            }
        }
        None
    }

    fn terminates(&self) -> bool {
        self.coarse
    }

    fn save(&self) -> Datum {
        let order = self
            .order
            .map(|order| Datum::List([order.start, order.stride].map(Datum::Natural).to_vec()));
        Datum::record([
            ("steps", Datum::Natural(self.config.steps as u64)),
            ("order", Datum::List(order.into_iter().collect())),
            ("next", Datum::Natural(self.next)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let method =
            GridMethod::on_grid(space, GridConfig { steps: data.field("steps")?.count()? })
                .map_err(invalid_config)?;
        let order = match (method.count(), data.field("order")?.list()?.first()) {
            (None, None) => None,
            (Some(count), Some(order)) => {
                let [start, stride] = order.tuple()?;
                let order = GridOrder { count, start: start.natural()?, stride: stride.natural()? };
                Some(order).filter(|order| order.start < count && gcd(order.stride, count) == 1)
            }
            _ => None,
        };
        if order.is_some() != method.count().is_some() {
            return Err(damaged("an order that is none"));
        }
        Ok(GridMethod { order, next: data.field("next")?.natural()?, ..method })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::steady_state::tests::{assert_contract, assert_resumable};

    #[test]
    fn every_rule_is_kept() {
        assert_contract::<GridMethod>(&GridConfig::default);
        assert_resumable::<GridMethod>(&|| GridConfig { steps: 4 });
        assert!(GridConfig { steps: 1 }.check().is_err());
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
        let mut engine = GridSearch::new(&space, GridConfig { steps: 5 }, 3).unwrap();
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
        let mut engine = GridSearch::new(&space, GridConfig { steps: 21 }, 5).unwrap();
        let (mut seen, mut near) = (std::collections::BTreeSet::new(), 0);
        while let Some(trial) = engine.ask(1).pop() {
            let (a, x) = (
                space.number(0, trial.point[0]).unwrap(),
                space.number(1, trial.point[1]).unwrap(),
            );
            let loss = (a / 39.0 - 0.25).abs() + (x - 0.75).abs();
            near += usize::from(seen.len() < 84 && loss < 0.2); // a tenth of the grid, in which 8 % are so near
            assert!(seen.insert(trial.point.fingerprint()));
            engine.tell(&[crate::trial::TrialResult::Complete { id: trial.id, loss }]);
        }
        assert_eq!(seen.len(), 840);
        assert!(near > 28, "{near} of 84");
    }

    #[test]
    fn orders_hold_every_number_once() {
        for count in [1, 2, 6, 97, 360] {
            let order = GridOrder::shuffled(count, 5);
            let mut numbers: Vec<u128> = (0..count).map(|k| order.number(k)).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..u128::from(count)).collect::<Vec<_>>());
        }
        let huge = GridOrder { count: u64::MAX, start: u64::MAX - 1, stride: u64::MAX - 1 };
        assert!(huge.number(u64::MAX - 1) < u128::from(u64::MAX));
    }
}
