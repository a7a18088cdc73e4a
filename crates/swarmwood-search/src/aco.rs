//! Ant colony optimisation for numbers and choices (ACO_R, ACO_MV).
//!
//! The pheromone is an archive of the k best points. An ant chooses one of them as its guide, better
//! ones with a larger weight, and samples every number from a normal distribution around the
//! guide's, whose width is the mean distance of the archive from the guide. A choice is sampled by
//! the weights of the labels in the archive. Socha and Dorigo, "Ant colony optimization for
//! continuous domains", European Journal of Operational Research 2008; choices after Liao, Socha,
//! Montes de Oca, Stützle and Dorigo, "Ant colony optimization for mixed-variable optimization
//! problems", IEEE Transactions on Evolutionary Computation 2014.
//!
//! Deviations. The archive is updated after every result instead of after all ants of an iteration.
//! Coordinates are not rotated. The initial archive is a Latin hypercube. Integers and lists are
//! coordinates of the unit cube, one cell per value; values beyond a bound are reflected. No point
//! is asked twice: an ant that repeats a point tries again with some values perturbed. A parameter
//! that is active in the new point but not in the guide is drawn at random. Failed trials do not
//! join the archive.

use crate::config::{ConfigErrors, invalid_config};
use crate::engine::{EngineSpec, boxed};
use crate::error::Error;
use crate::options::{OptionSpec, OptionValues};
use crate::perturbation::{DEFAULT_WIDTH, PointMutation, mutate, reflect};
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::{Domain, Space};
use crate::steady_state::{AskContext, SteadyStateEngine, SteadyStateMethod};
use crate::trial_archive::TrialArchive;
use crate::trial_log::FinishedTrial;

/// Attempts at a point that was not asked before; after them a random point is taken.
const MAX_ATTEMPTS: usize = 60;
/// How much each failed attempt increases the probability that a value is perturbed.
const RATE_INCREMENT: f64 = 0.05;
/// The largest archive.
const MAX_COUNT: usize = 10_000;

/// Configuration of [`Aco`].
#[derive(Debug, Clone, PartialEq)]
pub struct AcoConfig {
    /// k, the size of the archive and of the initial design; 50.
    pub archive: usize,
    /// q, how evenly guides are chosen: with a small one nearly always the best point; 0.0001.
    pub q: f64,
    /// ξ, the width of the normal distributions in units of the mean distance; 0.85.
    pub xi: f64,
}

impl Default for AcoConfig {
    /// As published for continuous functions.
    fn default() -> Self {
        AcoConfig { archive: 50, q: 1e-4, xi: 0.85 }
    }
}

impl AcoConfig {
    fn of(options: &OptionValues) -> Self {
        AcoConfig {
            archive: options.count("archive"),
            q: options.real("q"),
            xi: options.real("xi"),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let mut errors = ConfigErrors::default();
        errors.check_count("archive", self.archive, 2, MAX_COUNT);
        errors.check_number("q", self.q, 1e-9, 1e9);
        errors.check_number("xi", self.xi, 0.0, 1e9);
        errors.into_result(AcoMethod::NAME)
    }
}

/// Ant colony optimisation.
///
/// ```
/// use swarmwood_search::aco::AcoConfig;
/// use swarmwood_search::{Aco, Engine, Param, Space, TrialResult};
/// let space = Space::new(vec![Param::real("x", -1.0, 1.0), Param::real("y", -1.0, 1.0)])?;
/// let mut engine = Aco::new(&space, AcoConfig::default(), 7)?;
/// for _ in 0..400 {
///     for trial in engine.ask(1) {
///         let number = |i: usize| space.number(i, trial.point[i]).unwrap();
///         let loss = (number(0) - 0.2).powi(2) + (number(1) + 0.4).powi(2);
///         engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 1e-4);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Aco = SteadyStateEngine<AcoMethod>;

/// The options of [`Aco`]. Unlike in [`AcoConfig`], the defaults are for tuning: a hundred trials
/// must update the archive several times, and losses are noisy, so that not only the best point
/// guides.
const OPTIONS: &[OptionSpec] = &[
    OptionSpec::integer(
        "archive",
        (2, MAX_COUNT as i64),
        15,
        "size of the archive and of the initial design",
    ),
    OptionSpec::real(
        "q",
        (1e-9, 1e9),
        0.1,
        "how evenly the points of the archive guide the ants; a small value prefers the best one",
    ),
    OptionSpec::real(
        "xi",
        (0.0, 1e9),
        0.85,
        "width of the sampling distributions, in units of the mean distance of the archive",
    ),
];

/// The registration of [`Aco`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: Aco::NAME,
    summary: "ant colony optimisation with an archive (ACO_R, ACO_MV), without repeats",
    options: OPTIONS,
    build: |space, seed, options| boxed(Aco::new(space, AcoConfig::of(options), seed)),
    resume: |space, snapshot| boxed(Aco::resume(space, snapshot)),
};

/// The method of [`Aco`].
#[derive(Debug, Clone, PartialEq)]
pub struct AcoMethod {
    config: AcoConfig,
    archive: TrialArchive,
}

impl AcoMethod {
    /// The k best trials, best first.
    fn solutions(&self) -> &[usize] {
        let ranked = self.archive.ranked();
        &ranked[..ranked.len().min(self.config.archive)]
    }

    /// ω of the solution at a rank, without the constant factor (Socha and Dorigo, equation 3).
    fn weight(&self, rank: usize) -> f64 {
        let far = rank as f64 / (self.config.q * self.config.archive as f64);
        (-far * far / 2.0).exp()
    }

    /// The solution that an ant follows in all its values.
    fn guide(&self, stream: &mut Stream) -> usize {
        let solutions = self.solutions();
        let weights: Vec<f64> = (0..solutions.len()).map(|rank| self.weight(rank)).collect();
        solutions[sample(&weights, stream)]
    }

    /// σ of a parameter around the guide (Socha and Dorigo, equation 6).
    fn deviation(&self, guide: usize, parameter: usize) -> f64 {
        let centre = self.archive.row(guide)[parameter];
        let (mut sum, mut count) = (0.0, 0);
        for &solution in self.solutions() {
            let at = self.archive.row(solution)[parameter];
            if !at.is_nan() {
                sum += (at - centre).abs();
                count += 1;
            }
        }
        if count > 1 { self.config.xi * sum / f64::from(count - 1) } else { 0.0 }
    }

    /// The weight of each label of a choice (Liao et al., equation 6): that of the best solution
    /// with the label, shared among all solutions with it, and some for labels that none has.
    fn label_weights(&self, parameter: usize, labels: usize) -> Vec<f64> {
        let mut best = vec![None; labels];
        let mut counts = vec![0_u32; labels];
        for (rank, &solution) in self.solutions().iter().enumerate() {
            if let PointValue::Index(label) = self.archive.point(solution)[parameter] {
                best[label].get_or_insert(rank);
                counts[label] += 1;
            }
        }
        let unused = best.iter().filter(|best| best.is_none()).count() as f64;
        let explore = if unused > 0.0 { self.config.q / unused } else { 0.0 };
        let weight = |(best, count): (&Option<usize>, &u32)| {
            best.map_or(0.0, |rank| self.weight(rank) / f64::from(*count)) + explore
        };
        best.iter().zip(&counts).map(weight).collect()
    }

    /// The point of an ant.
    fn ant(&self, space: &Space, stream: &mut Stream) -> Point {
        let guide = self.guide(stream);
        let mut values = Vec::with_capacity(space.len());
        for (i, param) in space.params().iter().enumerate() {
            let centre = self.archive.row(guide)[i];
            let value = if !space.is_active(i, &values) {
                PointValue::Absent
            } else if centre.is_nan() {
                space.draw_value(i, stream)
            } else if let Domain::Choice(labels) = &param.domain {
                PointValue::Index(sample(&self.label_weights(i, labels.len()), stream))
            } else {
                let moved = centre + self.deviation(guide, i) * stream.normal();
                space.value_at(i, reflect(moved))
            };
            values.push(value);
        }
        Point(values)
    }
}

/// An index with a probability proportional to its weight; the first if all weights are 0.
fn sample(weights: &[f64], stream: &mut Stream) -> usize {
    let mut rest = stream.unit() * weights.iter().sum::<f64>();
    for (i, &weight) in weights.iter().enumerate() {
        if rest < weight {
            return i;
        }
        rest -= weight;
    }
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}

impl SteadyStateMethod for AcoMethod {
    const NAME: &'static str = "aco";
    type Config = AcoConfig;

    fn new(space: &Space, config: AcoConfig, _seed: u64) -> Result<Self, Error> {
        config.check()?;
        Ok(AcoMethod { config, archive: TrialArchive::new(space) })
    }

    fn observe(&mut self, space: &Space, _seed: u64, finished: FinishedTrial) {
        self.archive.push(space, finished);
    }

    fn propose(&mut self, context: AskContext<'_>) -> Option<Point> {
        let mut stream = context.stream();
        if let Some(point) = context.initial_design(self.config.archive, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || context.is_exhausted() {
            return context.sample_unseen(&mut stream);
        }
        context.first_unseen(MAX_ATTEMPTS, &mut stream, |before, stream| {
            let ant = self.ant(context.space, stream);
            let rate = RATE_INCREMENT * before as f64;
            let mutation = PointMutation { rate, width: DEFAULT_WIDTH, always: None };
            if before == 0 { ant } else { mutate(context.space, &ant, mutation, stream) }
        })
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("size", Datum::Natural(self.config.archive as u64)),
            ("q", Datum::Real(self.config.q)),
            ("xi", Datum::Real(self.config.xi)),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let config = AcoConfig {
            archive: data.field("size")?.count()?,
            q: data.field("q")?.real()?,
            xi: data.field("xi")?.real()?,
        };
        config.check().map_err(invalid_config)?;
        Ok(AcoMethod { config, archive: TrialArchive::load(space, data.field("archive")?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;
    use crate::steady_state::tests::{assert_contract, assert_resumable};

    /// A colony that has seen these points, with their positions as losses.
    fn colony(space: &Space, config: AcoConfig, points: &[Point]) -> AcoMethod {
        let mut colony = AcoMethod::new(space, config, 0).unwrap();
        for (id, point) in (0..).zip(points) {
            let loss = Some(id as f64);
            colony.observe(space, 0, FinishedTrial { id, point: point.clone(), loss });
        }
        colony
    }

    #[test]
    fn every_rule_is_kept() {
        assert_contract::<AcoMethod>(&|| AcoConfig { archive: 15, q: 0.1, xi: 0.85 });
        let small = || AcoConfig { archive: 4, q: 0.5, xi: 0.6 };
        assert_contract::<AcoMethod>(&small);
        assert_resumable::<AcoMethod>(&small);
    }

    #[test]
    fn faults_are_reported_together() {
        let config = AcoConfig { archive: 1, q: 0.0, xi: -1.0 };
        assert_eq!(config.check().unwrap_err().to_string().lines().count(), 3);
    }

    /// Two standard deviations of rank are q k = 2: ranks 0, 1 and 2 weigh 1, e^(-1/8) and e^(-1/2).
    #[test]
    fn guides_are_chosen_by_rank() {
        let space = Space::new(vec![Param::real("x", 0.0, 1.0)]).unwrap();
        let at = |x: f64| Point(vec![PointValue::Real(x)]);
        let config = AcoConfig { archive: 4, q: 0.5, xi: 1.0 };
        let points: Vec<Point> = (0..6).map(|i| at(f64::from(i) / 8.0)).collect();
        let colony = colony(&space, config, &points);
        let mut counts = [0.0; 6];
        for i in 0..8000 {
            counts[colony.guide(&mut Stream::new(1, i, 0))] += 1.0 / 8000.0;
        }
        let weights = [1.0, (-1.0_f64 / 8.0).exp(), (-0.5_f64).exp(), (-9.0_f64 / 8.0).exp()];
        let total: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights.iter().chain(&[0.0; 2])) {
            assert!((count - weight / total).abs() < 0.02, "{counts:?}");
        }
        // Distances of 0.125, 0.25 and 0.375 from the first, divided by k - 1.
        assert!((colony.deviation(0, 0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn labels_share_the_weight_of_their_best_solution() {
        let labels = ["a", "b", "c", "d"];
        let space = Space::new(vec![Param::choice("c", &labels), Param::real("x", 0.0, 1.0)]);
        let space = space.unwrap();
        let at = |label: usize, x: f64| Point(vec![PointValue::Index(label), PointValue::Real(x)]);
        let config = AcoConfig { archive: 4, q: 0.5, xi: 1.0 };
        let points = [at(1, 0.1), at(0, 0.2), at(1, 0.3), at(1, 0.4), at(3, 0.5)];
        let colony = colony(&space, config, &points);
        // Label 1 is the first and held three times; two of the four labels are unused.
        let expected = [(-1.0_f64 / 8.0).exp() + 0.25, 1.0 / 3.0 + 0.25, 0.25, 0.25];
        for (weight, expected) in colony.label_weights(0, 4).iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-12, "{weight} {expected}");
        }
    }

    #[test]
    fn ants_gather_around_the_best_point() {
        let space = crate::tests::functions::cube(4, (-5.0, 5.0));
        let mut engine = Aco::new(&space, AcoConfig::default(), 3).unwrap();
        let loss = |point: &Point| {
            crate::tests::functions::sphere(&crate::tests::functions::numbers(&space, point))
        };
        use crate::engine::Engine;
        use crate::trial::TrialResult;
        for _ in 0..2000 {
            for trial in engine.ask(1) {
                let loss = loss(&trial.point);
                engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
            }
        }
        assert!(engine.best().unwrap().loss < 1e-6, "{:?}", engine.best());
    }
}
