//! The tree-structured Parzen estimator (TPE).
//!
//! The trials are split into the good ones, a tenth of them and at most 25, and all others. A
//! Parzen estimator (`parzen`) is fitted to each group, l to the good and g to the others.
//! Candidates are sampled from l, and the one with the largest l / g is proposed, which maximises
//! the expected improvement. Bergstra, Bardenet, Bengio and Kégl, "Algorithms for hyper-parameter
//! optimization", NeurIPS 2011; the constants are Optuna's (Akiba et al., KDD 2019).
//!
//! The multivariate estimator has joint kernels over all parameters and models interactions
//! (Falkner, Klein and Hutter, ICML 2018); otherwise every parameter has estimators of its own and
//! the best candidate value of each is taken.
//!
//! Deviations. No point is proposed twice: the best candidate that was not asked yet is taken, and
//! if there is none, more are sampled. Failed and running trials belong to the others, so that the
//! engine avoids both; this also spreads the points of a batch. The initial design is a Latin
//! hypercube. Conditions are part of the joint kernel instead of dividing the space into groups,
//! and the bandwidths of joint kernels depend on the trials.

mod parzen;
#[cfg(test)]
mod tests;

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::point::{Point, PointValue};
use crate::position_matrix::PositionMatrix;
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_archive::{TrialArchive, coordinates};
use crate::trial_log::FinishedTrial;
use parzen::{DensityBuffer, ParzenEstimator, TrialCoordinates, cell_half_widths};

/// The largest number of good trials.
const MAX_GOOD: usize = 25;
/// How often candidates are sampled if all of them were asked before.
const MAX_ATTEMPTS: usize = 8;
/// The largest value of the counts in a configuration.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`Tpe`].
#[derive(Debug, Clone, PartialEq)]
pub struct TpeConfig {
    /// Number of points of the initial design; 10.
    pub start: usize,
    /// Number of candidates; 24.
    pub candidates: usize,
    /// Whether kernels are joint over all parameters; true.
    pub multivariate: bool,
}

impl Default for TpeConfig {
    fn default() -> Self {
        TpeConfig { start: 10, candidates: 24, multivariate: true }
    }
}

impl TpeConfig {
    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        for (name, value) in [("start", self.start), ("candidates", self.candidates)] {
            errors.check_count(name, value, 1, MAX_COUNT);
        }
        errors.into_result(TpeMethod::NAME)
    }
}

/// The tree-structured Parzen estimator.
///
/// ```
/// use swarmwood_search::tpe::TpeConfig;
/// use swarmwood_search::{Engine, TrialResult, Param, Space, Tpe};
/// let space = Space::new(vec![
///     Param::choice("booster", &["tree", "linear"]),
///     Param::integer("depth", 1, 12).when("booster", &["tree"]),
///     Param::real("rate", 1e-3, 1.0).log(),
/// ])?;
/// let mut engine = Tpe::new(&space, TpeConfig::default(), 7)?;
/// for _ in 0..100 {
///     for trial in engine.ask(1) {
///         let depth = space.number(1, trial.point[1]).unwrap_or(20.0);
///         let rate = space.number(2, trial.point[2]).unwrap();
///         let loss = (depth - 7.0).abs() / 11.0 + (rate / 0.05).ln().abs() / 7.0;
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.1);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Tpe = SteadyStateEngine<TpeMethod>;

/// The options of [`Tpe`].
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "initial_points",
        (1, MAX_COUNT as i64),
        10,
        "number of points of the initial design",
    ),
    OptionSpec::integer(
        "candidates",
        (1, MAX_COUNT as i64),
        24,
        "number of candidates that a proposal is chosen from",
    ),
    OptionSpec::flag(
        "multivariate",
        true,
        "whether the densities are joint over all parameters, which models interactions",
    ),
];

impl TpeConfig {
    fn of(options: &OptionValues) -> Self {
        TpeConfig {
            start: options.count("initial_points"),
            candidates: options.count("candidates"),
            multivariate: options.flag("multivariate"),
        }
    }
}

/// The registration of [`Tpe`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Tpe::NAME,
    summary: "tree-structured Parzen estimator, multivariate by default",
    options: OPTIONS,
    build: |space, seed, options| boxed(Tpe::new(space, TpeConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Tpe::resume(space, snapshot)),
};

/// The method of [`Tpe`].
#[derive(Debug, Clone, PartialEq)]
pub struct TpeMethod {
    config: TpeConfig,
    archive: TrialArchive,
    /// Half the widths of the cells around the coordinates of each trial.
    half_widths: PositionMatrix,
}

/// The densities l of the good trials and g of the others.
struct DensityPair {
    good: ParzenEstimator,
    other: ParzenEstimator,
}

impl DensityPair {
    /// ln (l / g) at some coordinates.
    fn log_ratio(&self, row: &[f64], scratch: &mut DensityBuffer) -> f64 {
        self.good.density(row, scratch).ln() - self.other.density(row, scratch).ln()
    }
}

impl TpeMethod {
    /// Number of good trials.
    fn good_count(&self) -> usize {
        self.archive.ranked().len().div_ceil(10).min(MAX_GOOD)
    }

    /// The best candidate that was not asked yet.
    fn choose(&self, context: AskContext<'_>, stream: &mut Stream) -> Option<Point> {
        let coordinates_of = |point: &Point| {
            let row = coordinates(context.space, point);
            (cell_half_widths(context.space, &row), row)
        };
        let pending: Vec<(Vec<f64>, Vec<f64>)> =
            context.trial_log.pending().map(coordinates_of).collect();
        let (good, other) = self.split(&pending);
        let parameters: Vec<usize> = (0..context.space.len()).collect();
        let found = if self.config.multivariate {
            let pair = density_pair(context.space, &parameters, &good, &other);
            (0..MAX_ATTEMPTS).find_map(|_| self.propose_joint(context, &pair, stream))
        } else {
            let mut pairs: Vec<Option<DensityPair>> = parameters.iter().map(|_| None).collect();
            // With fewer candidates the best one varies more, and so is less likely to be the same
            // again.
            let mut candidates = |before: usize| {
                let count = (self.config.candidates >> before).max(1);
                let one = |j: usize| {
                    density_pair(
                        context.space,
                        &[j],
                        &with_active(&good, j),
                        &with_active(&other, j),
                    )
                };
                propose_univariate(context.space, count, &mut pairs, one, stream)
            };
            (0..MAX_ATTEMPTS).map(&mut candidates).find(|point| !context.trial_log.has_seen(point))
        };
        found.or_else(|| context.sample_unseen(stream))
    }

    /// The good trials and all others, oldest first. Running trials, as cell half widths and
    /// coordinates, belong to the others.
    fn split<'a>(
        &'a self,
        pending: &'a [(Vec<f64>, Vec<f64>)],
    ) -> (Vec<TrialCoordinates<'a>>, Vec<TrialCoordinates<'a>>) {
        let mut is_good = vec![false; self.archive.len()];
        self.archive.ranked()[..self.good_count()].iter().for_each(|&trial| is_good[trial] = true);
        let (mut good, mut other) = (Vec::new(), Vec::with_capacity(is_good.len() + pending.len()));
        for (index, is_good) in is_good.into_iter().enumerate() {
            let trial = TrialCoordinates {
                row: self.archive.row(index),
                half_widths: self.half_widths.row(index),
            };
            if is_good { good.push(trial) } else { other.push(trial) }
        }
        other
            .extend(pending.iter().map(|(half_widths, row)| TrialCoordinates { row, half_widths }));
        (good, other)
    }

    /// Samples whole points and returns the best one that was not asked yet.
    fn propose_joint(
        &self,
        context: AskContext<'_>,
        pair: &DensityPair,
        stream: &mut Stream,
    ) -> Option<Point> {
        let width = context.space.len();
        let mut candidates: Vec<(f64, Point)> = Vec::with_capacity(self.config.candidates);
        let (mut row, mut scratch) = (vec![f64::NAN; width], DensityBuffer::default());
        for _ in 0..self.config.candidates {
            let mut point = Point(vec![PointValue::Absent; width]);
            pair.good.draw(context.space, stream, &mut point, &mut row);
            candidates.push((pair.log_ratio(&row, &mut scratch), point));
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
        candidates
            .into_iter()
            .map(|(_, point)| point)
            .find(|point| !context.trial_log.has_seen(point))
    }
}

fn density_pair(
    space: &Space,
    parameters: &[usize],
    good: &[TrialCoordinates<'_>],
    other: &[TrialCoordinates<'_>],
) -> DensityPair {
    DensityPair {
        good: ParzenEstimator::new(space, parameters, good),
        other: ParzenEstimator::new(space, parameters, other),
    }
}

/// The trials in which the parameter is active.
fn with_active<'a>(trials: &[TrialCoordinates<'a>], parameter: usize) -> Vec<TrialCoordinates<'a>> {
    trials.iter().copied().filter(|trial| !trial.row[parameter].is_nan()).collect()
}

/// Samples candidates parameter by parameter and keeps the best value of each. Estimators are
/// fitted when a parameter is found to be active.
fn propose_univariate(
    space: &Space,
    candidates: usize,
    pairs: &mut [Option<DensityPair>],
    fit: impl Fn(usize) -> DensityPair,
    stream: &mut Stream,
) -> Point {
    let mut point = Point(vec![PointValue::Absent; space.len()]);
    let (mut row, mut scratch) = (vec![f64::NAN; space.len()], DensityBuffer::default());
    for (j, pair) in pairs.iter_mut().enumerate() {
        if !space.is_active(j, &point.0[..j]) {
            continue;
        }
        let pair = pair.get_or_insert_with(|| fit(j));
        let mut best: Option<(f64, PointValue)> = None;
        for _ in 0..candidates {
            pair.good.draw(space, stream, &mut point, &mut row);
            let log_ratio = pair.log_ratio(&row, &mut scratch);
            if best.is_none_or(|(most, _)| log_ratio > most) {
                best = Some((log_ratio, point[j]));
            }
        }
        point.0[j] = best.map_or(point[j], |(_, value)| value);
    }
    point
}

impl SteadyStateMethod for TpeMethod {
    const NAME: &'static str = "tpe";
    type Config = TpeConfig;

    fn new(space: &Space, config: TpeConfig, _seed: u64) -> Result<Self, Error> {
        config.check()?;
        Ok(TpeMethod {
            config,
            archive: TrialArchive::new(space),
            half_widths: PositionMatrix::new(space.len()),
        })
    }

    fn observe(&mut self, space: &Space, _seed: u64, finished: FinishedTrial) {
        self.archive.push(space, finished);
        self.half_widths.push(&cell_half_widths(space, self.archive.row(self.archive.len() - 1)));
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.start, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || context.is_exhausted() {
            return context.sample_unseen(&mut stream);
        }
        self.choose(context, &mut stream)
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("start", Datum::Natural(self.config.start as u64)),
            ("candidates", Datum::Natural(self.config.candidates as u64)),
            ("multivariate", Datum::flag(self.config.multivariate)),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = TpeConfig {
            start: data.field("start")?.count()?,
            candidates: data.field("candidates")?.count()?,
            multivariate: data.field("multivariate")?.to_flag()?,
        };
        let mut method = TpeMethod::new(space, config, 0).map_err(invalid_config)?;
        for finished in TrialArchive::trials(space, data.field("archive")?)? {
            method.observe(space, 0, finished);
        }
        Ok(method)
    }
}
