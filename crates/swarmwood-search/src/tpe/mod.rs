//! The tree-structured Parzen estimator: more like the good trials, less like the others.
//!
//! The trials are split into the good ones, a tenth of them and at most 25, and all others. Each
//! group is described by a Parzen estimator (`parzen`), l for the good and g for the others.
//! Candidates are drawn from l, and the one with the largest l / g is tried, for that is where the
//! expected improvement is largest. Bergstra, Bardenet, Bengio and Kégl, "Algorithms for
//! hyper-parameter optimization", NeurIPS 2011; the numbers are Optuna's (Akiba et al., KDD 2019).
//!
//! Multivariate, a kernel covers all parameters together and sees which values go together
//! (Falkner, Klein and Hutter, ICML 2018); otherwise every parameter has estimators of its own and
//! the best candidate of each is taken.
//!
//! Deviations. No configuration is tried twice: the best candidate that is new is taken, and if
//! none is, more are drawn. Failed trials and those somebody is still working on count as not good,
//! so that the engine keeps away from both; that also spreads the points of a batch. The first
//! points are a Latin hypercube. Conditions are part of the joint kernel rather than a reason to
//! split the space into groups, and the widths of joint kernels follow the trials.

mod parzen;
#[cfg(test)]
mod tests;

use crate::archive::{Archive, coordinates};
use crate::error::Error;
use crate::generational::{Faults, unsound};
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::rows::Rows;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::steady::{Method, Place, Steady};
use parzen::{Mixture, Scratch, Seen, half_cells};

/// At most so many trials are good.
const MOST_GOOD: usize = 25;
/// So often new candidates are drawn if all were tried before.
const TRIES: usize = 8;
const MOST: usize = 10_000;

/// The settings of the estimator.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many configurations are spread over the space before anything is learned from; 10.
    pub start: usize,
    /// How many candidates are compared; 24.
    pub candidates: usize,
    /// Whether the parameters are seen together; yes.
    pub multivariate: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { start: 10, candidates: 24, multivariate: true }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        for (name, value) in [("start", self.start), ("candidates", self.candidates)] {
            if !(1..=MOST).contains(&value) {
                faults.add(name, format!("must lie within 1 and {MOST}, not {value}"));
            }
        }
        faults.report(Estimator::NAME)
    }
}

/// The tree-structured Parzen estimator.
///
/// ```
/// use swarmwood_search::tpe::Settings;
/// use swarmwood_search::{Engine, Outcome, Param, Space, Tpe};
/// let space = Space::new(vec![
///     Param::choice("booster", &["tree", "linear"]),
///     Param::integer("depth", 1, 12).when("booster", &["tree"]),
///     Param::real("rate", 1e-3, 1.0).log(),
/// ])?;
/// let mut engine = Tpe::new(&space, Settings::default(), 7)?;
/// for _ in 0..100 {
///     for trial in engine.ask(1) {
///         let depth = space.number(1, trial.point[1]).unwrap_or(20.0);
///         let rate = space.number(2, trial.point[2]).unwrap();
///         let loss = (depth - 7.0).abs() / 11.0 + (rate / 0.05).ln().abs() / 7.0;
///         engine.tell(&[Outcome::Value { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.1);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Tpe = Steady<Estimator>;

/// The method of [`Tpe`].
#[derive(Debug, Clone, PartialEq)]
pub struct Estimator {
    settings: Settings,
    archive: Archive,
    /// What kernels need to know of each trial beside its coordinates.
    halves: Rows,
}

/// The densities of good and other trials.
struct Pair {
    good: Mixture,
    other: Mixture,
}

impl Pair {
    /// How promising some coordinates are.
    fn promise(&self, row: &[f64], scratch: &mut Scratch) -> f64 {
        self.good.density(row, scratch).ln() - self.other.density(row, scratch).ln()
    }
}

impl Estimator {
    /// How many of the trials that have a loss are good.
    fn good(&self) -> usize {
        self.archive.ranked().len().div_ceil(10).min(MOST_GOOD)
    }

    /// The best new configuration among candidates.
    fn choose(&self, place: Place<'_>, stream: &mut Stream) -> Option<Point> {
        let seen = |point: &Point| {
            let row = coordinates(place.space, point);
            (half_cells(place.space, &row), row)
        };
        let pending: Vec<(Vec<f64>, Vec<f64>)> = place.ledger.pending().map(seen).collect();
        let (good, other) = self.split(&pending);
        let parameters: Vec<usize> = (0..place.space.len()).collect();
        let found = if self.settings.multivariate {
            let pair = pair(place.space, &parameters, &good, &other);
            (0..TRIES).find_map(|_| self.together(place, &pair, stream))
        } else {
            let mut pairs: Vec<Option<Pair>> = parameters.iter().map(|_| None).collect();
            // Fewer candidates are less particular, and so less likely to come to the same end
            // again.
            let mut candidates = |before: usize| {
                let count = (self.settings.candidates >> before).max(1);
                let one = |j: usize| pair(place.space, &[j], &having(&good, j), &having(&other, j));
                one_by_one(place.space, count, &mut pairs, one, stream)
            };
            (0..TRIES).map(&mut candidates).find(|point| !place.ledger.has_seen(point))
        };
        found.or_else(|| place.fresh(stream))
    }

    /// The good trials and all others, oldest first; what is pending, its half cells and its
    /// coordinates, is not good.
    fn split<'a>(&'a self, pending: &'a [(Vec<f64>, Vec<f64>)]) -> (Vec<Seen<'a>>, Vec<Seen<'a>>) {
        let mut is_good = vec![false; self.archive.len()];
        self.archive.ranked()[..self.good()].iter().for_each(|&trial| is_good[trial] = true);
        let (mut good, mut other) = (Vec::new(), Vec::with_capacity(is_good.len() + pending.len()));
        for (trial, is_good) in is_good.into_iter().enumerate() {
            let seen = Seen { row: self.archive.row(trial), halves: self.halves.row(trial) };
            if is_good { good.push(seen) } else { other.push(seen) }
        }
        other.extend(pending.iter().map(|(halves, row)| Seen { row, halves }));
        (good, other)
    }

    /// Draws whole configurations and gives the most promising that is new.
    fn together(&self, place: Place<'_>, pair: &Pair, stream: &mut Stream) -> Option<Point> {
        let width = place.space.len();
        let mut candidates: Vec<(f64, Point)> = Vec::with_capacity(self.settings.candidates);
        let (mut row, mut scratch) = (vec![f64::NAN; width], Scratch::default());
        for _ in 0..self.settings.candidates {
            let mut point = Point(vec![Value::Absent; width]);
            pair.good.draw(place.space, stream, &mut point, &mut row);
            candidates.push((pair.promise(&row, &mut scratch), point));
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates.into_iter().map(|(_, point)| point).find(|point| !place.ledger.has_seen(point))
    }
}

fn pair(space: &Space, parameters: &[usize], good: &[Seen<'_>], other: &[Seen<'_>]) -> Pair {
    Pair {
        good: Mixture::new(space, parameters, good),
        other: Mixture::new(space, parameters, other),
    }
}

/// The trials that have a value of the parameter.
fn having<'a>(trials: &[Seen<'a>], parameter: usize) -> Vec<Seen<'a>> {
    trials.iter().copied().filter(|trial| !trial.row[parameter].is_nan()).collect()
}

/// Draws candidates parameter by parameter and keeps the most promising of each. Estimators of
/// parameters that are active are made when they are needed.
fn one_by_one(
    space: &Space,
    candidates: usize,
    pairs: &mut [Option<Pair>],
    make: impl Fn(usize) -> Pair,
    stream: &mut Stream,
) -> Point {
    let mut point = Point(vec![Value::Absent; space.len()]);
    let (mut row, mut scratch) = (vec![f64::NAN; space.len()], Scratch::default());
    for (j, pair) in pairs.iter_mut().enumerate() {
        if !space.is_active(j, &point.0[..j]) {
            continue;
        }
        let pair = pair.get_or_insert_with(|| make(j));
        let mut best: Option<(f64, Value)> = None;
        for _ in 0..candidates {
            pair.good.draw(space, stream, &mut point, &mut row);
            let promise = pair.promise(&row, &mut scratch);
            if best.is_none_or(|(most, _)| promise > most) {
                best = Some((promise, point[j]));
            }
        }
        point.0[j] = best.map_or(point[j], |(_, value)| value);
    }
    point
}

impl Method for Estimator {
    const NAME: &'static str = "tpe";
    type Settings = Settings;

    fn begin(space: &Space, settings: Settings, _seed: u64) -> Result<Self, Error> {
        settings.check()?;
        Ok(Estimator { settings, archive: Archive::new(space), halves: Rows::new(space.len()) })
    }

    fn learn(&mut self, space: &Space, _seed: u64, settled: Settled) {
        self.archive.push(space, settled);
        self.halves.push(&half_cells(space, self.archive.row(self.archive.len() - 1)));
    }

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = place.opening(self.settings.start, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || place.is_used_up() {
            return place.fresh(&mut stream);
        }
        self.choose(place, &mut stream)
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("start", Datum::Natural(self.settings.start as u64)),
            ("candidates", Datum::Natural(self.settings.candidates as u64)),
            ("multivariate", Datum::flag(self.settings.multivariate)),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let settings = Settings {
            start: data.field("start")?.count()?,
            candidates: data.field("candidates")?.count()?,
            multivariate: data.field("multivariate")?.to_flag()?,
        };
        let mut estimator = Estimator::begin(space, settings, 0).map_err(unsound)?;
        for settled in Archive::trials(space, data.field("archive")?)? {
            estimator.learn(space, 0, settled);
        }
        Ok(estimator)
    }
}
