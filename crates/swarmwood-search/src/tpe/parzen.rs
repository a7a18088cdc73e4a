//! Parzen estimators: kernel density estimates with one kernel per trial and one prior.
//!
//! A mixture covers one parameter or several. Its kernel around a trial is a product over the
//! parameters: a normal distribution truncated to the unit interval for an ordered parameter, and
//! for a choice most of the probability on the trial's label and a little on all others. Along a
//! parameter that is inactive in the trial its kernel is uniform. So a kernel is a distribution
//! over whole points of a space with conditions, whichever parameters were active in the trial. The
//! prior is one more kernel, as wide as the interval and uniform over labels.
//!
//! Bandwidths. For a single parameter, as in Optuna: the larger of the distances to the neighbours
//! on both sides. For several, Scott's rule: `n^(-1/(d+4))` standard deviations of the trials along
//! each parameter, for n trials and d parameters. Optuna uses the constant 0.2 for the deviation;
//! with that of the trials, kernels are narrow along a parameter that the good trials agree on and
//! stay wide along one that does not matter. Neither below `1 / min(100, n + 2)` of the range
//! (Bergstra's magic clip), nor below half a cell of a discrete parameter, because all coordinates
//! within a cell are the same value.

use crate::normal::roughly_above;
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::space::{Domain, Space};

/// The latest trials, of this number, have full weight; older ones have less.
const FULL_WEIGHT: usize = 25;
/// The squared distance beyond which a kernel is below 10⁻⁸ of its height.
const CUTOFF: f64 = 40.0;
/// Equal kernels are merged for parameters with at most this many values.
const MAX_MERGED_VALUES: u64 = 256;
/// How often a number outside of the interval is sampled again.
const MAX_DRAWS: usize = 32;
/// 1 / √(2π).
const HEIGHT: f64 = 0.398_942_280_401_432_7;

/// One factor of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KernelFactor {
    /// The centre; NaN for a uniform distribution over labels.
    middle: f64,
    /// One over the bandwidth of an ordered parameter; 0 if the distribution is uniform.
    inverse: f64,
    /// The density at the centre; for choices the probability of the label there.
    height: f64,
    /// For choices the probability of each other label.
    other: f64,
}

/// The coordinates of a trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialCoordinates<'a> {
    /// The coordinates in the unit cube; NaN where a parameter is inactive.
    pub(super) row: &'a [f64],
    /// Half the cell around each coordinate ([`cell_half_widths`]).
    pub(super) half_widths: &'a [f64],
}

/// The factors of all kernels for one parameter, as a structure of arrays, for fast loops over
/// kernels.
#[derive(Debug, Clone, PartialEq)]
struct ParamKernels {
    parameter: usize,
    choice: bool,
    middles: Vec<f64>,
    inverses: Vec<f64>,
    heights: Vec<f64>,
    others: Vec<f64>,
}

/// Reusable buffers for the computation of densities.
#[derive(Debug, Clone, Default)]
pub(super) struct DensityBuffer {
    products: Vec<f64>,
    distances: Vec<f64>,
}

/// A mixture of kernels over some parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParzenEstimator {
    axes: Vec<ParamKernels>,
    /// The weights of the kernels, and their cumulative sums.
    weights: Vec<f64>,
    sums: Vec<f64>,
}

impl ParzenEstimator {
    /// The estimator fitted to some trials, oldest first.
    pub(super) fn new(
        space: &Space,
        parameters: &[usize],
        trials: &[TrialCoordinates<'_>],
    ) -> Self {
        let kernels = trials.len() + 1;
        let least = 1.0 / (1 + kernels).min(100) as f64;
        let mut weights = age_weights(trials.len());
        weights.push(1.0);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let context = |&j: &usize| -> (usize, Vec<(TrialCoordinates<'_>, f64)>) {
            let clip = |(trial, width): (&TrialCoordinates<'_>, f64)| {
                width.clamp(least, 1.0).max(trial.half_widths[j])
            };
            let widths = trials.iter().zip(widths(space, parameters, j, trials)).map(clip);
            (j, trials.iter().copied().zip(widths).collect())
        };
        let mut places: Vec<(usize, Vec<(TrialCoordinates<'_>, f64)>)> =
            parameters.iter().map(context).collect();
        if let [(one, places)] = &mut places[..] {
            merge_equal(space, *one, places, &mut weights);
        }
        let axis = |(j, places): (usize, Vec<(TrialCoordinates<'_>, f64)>)| {
            let choice = is_choice(space, j);
            let factor = |(trial, width): (TrialCoordinates<'_>, f64)| match choice {
                true => label(space, j, trial.row[j], kernels),
                false => normal(trial.row[j], width),
            };
            let prior = if choice { label(space, j, f64::NAN, kernels) } else { normal(0.5, 1.0) };
            ParamKernels::new(j, choice, places.into_iter().map(factor).chain([prior]))
        };
        let axes = places.into_iter().map(axis).collect();
        let sums = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        ParzenEstimator { axes, sums: sums.collect(), weights }
    }

    /// The density at some coordinates; parameters without a value (NaN) do not count.
    pub(super) fn density(&self, row: &[f64], scratch: &mut DensityBuffer) -> f64 {
        let DensityBuffer { products, distances } = scratch;
        products.clear();
        products.extend_from_slice(&self.weights);
        distances.clear();
        distances.resize(self.weights.len(), 0.0);
        for axis in self.axes.iter().filter(|axis| !row[axis.parameter].is_nan()) {
            axis.multiply(row[axis.parameter], products, distances);
        }
        let near = products.iter().zip(distances).filter(|(_, distance)| **distance < CUTOFF);
        near.map(|(product, distance)| product * (-0.5 * *distance).exp()).sum()
    }

    /// Draws values of the mixture's parameters into the point, and their coordinates into the row;
    /// all from one kernel. The values of earlier parameters decide which of them are active.
    pub(super) fn draw(
        &self,
        space: &Space,
        stream: &mut Stream,
        point: &mut Point,
        row: &mut [f64],
    ) {
        let u = stream.unit();
        let kernel = self.sums.partition_point(|sum| *sum <= u).min(self.weights.len() - 1);
        for axis in &self.axes {
            let j = axis.parameter;
            let active = space.is_active(j, &point.0[..j]);
            point.0[j] = if active { axis.draw(space, kernel, stream) } else { PointValue::Absent };
            row[j] = space.coordinate(j, point[j]).unwrap_or(f64::NAN);
        }
    }
}

impl ParamKernels {
    fn new(parameter: usize, choice: bool, factors: impl Iterator<Item = KernelFactor>) -> Self {
        let (middles, inverses, heights, others) = Default::default();
        let mut axis = ParamKernels { parameter, choice, middles, inverses, heights, others };
        for factor in factors {
            axis.middles.push(factor.middle);
            axis.inverses.push(factor.inverse);
            axis.heights.push(factor.height);
            axis.others.push(factor.other);
        }
        axis
    }

    /// Multiplies every kernel by its factor at a coordinate; of normal distributions the exponents
    /// are added up.
    fn multiply(&self, x: f64, products: &mut [f64], distances: &mut [f64]) {
        let heights = self.middles.iter().zip(&self.heights);
        if self.choice {
            for ((product, (middle, height)), other) in
                products.iter_mut().zip(heights).zip(&self.others)
            {
                *product *= if *middle == x { *height } else { *other };
            }
            return;
        }
        let sums = products.iter_mut().zip(distances);
        for (((product, distance), (middle, height)), inverse) in
            sums.zip(heights).zip(&self.inverses)
        {
            let z = (x - middle) * inverse;
            *distance += z * z;
            *product *= height;
        }
    }

    /// A value from one kernel.
    fn draw(&self, space: &Space, kernel: usize, stream: &mut Stream) -> PointValue {
        let (middle, inverse) = (self.middles[kernel], self.inverses[kernel]);
        if !self.choice && inverse > 0.0 {
            let inside = (0..MAX_DRAWS)
                .map(|_| middle + stream.normal() / inverse)
                .find(|u| (0.0..=1.0).contains(u));
            let u = inside.unwrap_or_else(|| stream.unit());
            return space.value_at(self.parameter, u);
        }
        if middle.is_nan() || !self.choice {
            return space.draw_value(self.parameter, stream);
        }
        let labels = space.params()[self.parameter].domain.values().unwrap_or(1);
        match space.value_at(self.parameter, middle) {
            PointValue::Index(label) if labels > 1 && stream.unit() >= self.heights[kernel] => {
                let other = stream.below(labels - 1) as usize;
                PointValue::Index(other + usize::from(other >= label))
            }
            own => own,
        }
    }
}

fn is_choice(space: &Space, parameter: usize) -> bool {
    matches!(space.params()[parameter].domain, Domain::Choice(_))
}

/// A normal distribution truncated to the unit interval; uniform where there is no centre.
fn normal(middle: f64, width: f64) -> KernelFactor {
    if middle.is_nan() {
        return KernelFactor { middle: 0.5, inverse: 0.0, height: 1.0, other: 1.0 };
    }
    let inverse = 1.0 / width;
    let inside = 1.0 - tail(middle * inverse) - tail((1.0 - middle) * inverse);
    KernelFactor { middle, inverse, height: HEIGHT * inverse / inside, other: 0.0 }
}

/// The probabilities of the labels of a choice, smoothed by the weight of one trial over all
/// kernels; uniform without a label.
fn label(space: &Space, parameter: usize, middle: f64, kernels: usize) -> KernelFactor {
    let labels = space.params()[parameter].domain.values().unwrap_or(1) as f64;
    if middle.is_nan() {
        return KernelFactor { middle, inverse: 0.0, height: 1.0 / labels, other: 1.0 / labels };
    }
    let little = 1.0 / kernels as f64;
    let total = 1.0 + labels * little;
    KernelFactor { middle, inverse: 0.0, height: (1.0 + little) / total, other: little / total }
}

/// Half the widths of the cells of the unit interval around some coordinates; 0 where there is
/// none.
pub(super) fn cell_half_widths(space: &Space, row: &[f64]) -> Vec<f64> {
    let half = |(j, &u): (usize, &f64)| match space.cell(j, u) {
        Some((low, high)) if !u.is_nan() => (high - low) / 2.0,
        _ => 0.0,
    };
    row.iter().enumerate().map(half).collect()
}

/// Merges equal kernels of a parameter with few values: many trials share a value, and one kernel
/// with the sum of their weights is the same mixture. The prior's weight stays last.
fn merge_equal(
    space: &Space,
    parameter: usize,
    places: &mut Vec<(TrialCoordinates<'_>, f64)>,
    weights: &mut Vec<f64>,
) {
    if space.params()[parameter].domain.values().is_none_or(|values| values > MAX_MERGED_VALUES) {
        return;
    }
    let mut kept = 0;
    for i in 0..places.len() {
        let (trial, width) = places[i];
        let same = |other: &(TrialCoordinates<'_>, f64)| {
            other.0.row[parameter] == trial.row[parameter] && other.1 == width
        };
        match places[..kept].iter().position(same) {
            Some(at) => weights[at] += weights[i],
            None => {
                (places[kept], weights[kept]) = (places[i], weights[i]);
                kept += 1;
            }
        }
    }
    weights.drain(kept..places.len());
    places.truncate(kept);
}

/// The bandwidths of the kernels of a parameter, before they are clipped.
fn widths(
    space: &Space,
    parameters: &[usize],
    parameter: usize,
    trials: &[TrialCoordinates<'_>],
) -> Vec<f64> {
    let coordinates = trials.iter().map(|trial| trial.row[parameter]);
    match parameters {
        _ if is_choice(space, parameter) => vec![0.0; trials.len()],
        [_] => neighbour_widths(coordinates),
        _ => {
            let scott = (trials.len().max(1) as f64).powf(-1.0 / (parameters.len() + 4) as f64);
            vec![deviation(coordinates) * scott; trials.len()]
        }
    }
}

/// The standard deviation of the coordinates that exist, together with one that is uniform over the
/// interval (the prior), so that few or equal trials do not result in narrow kernels.
fn deviation(coordinates: impl Iterator<Item = f64> + Clone) -> f64 {
    let known = || coordinates.clone().filter(|u| !u.is_nan());
    let (count, sum) = known().fold((1.0, 0.5), |(count, sum), u| (count + 1.0, sum + u));
    let mean = sum / count;
    let squares: f64 = known().map(|u| (u - mean).powi(2)).sum();
    ((squares + (0.5 - mean).powi(2) + 1.0 / 12.0) / count).sqrt()
}

/// The larger of the distances to the neighbours on both sides, where the centre of the prior
/// counts as a neighbour; those at the ends have one neighbour.
fn neighbour_widths(coordinates: impl Iterator<Item = f64>) -> Vec<f64> {
    let coordinates: Vec<f64> = coordinates.chain([0.5]).collect();
    let mut order: Vec<usize> = (0..coordinates.len()).collect();
    order.sort_unstable_by(|&a, &b| coordinates[a].total_cmp(&coordinates[b]).then(a.cmp(&b)));
    let mut widths = vec![0.0f64; coordinates.len()];
    for pair in order.windows(2) {
        let gap = coordinates[pair[1]] - coordinates[pair[0]];
        widths[pair[0]] = widths[pair[0]].max(gap);
        widths[pair[1]] = widths[pair[1]].max(gap);
    }
    widths.pop();
    widths
}

/// The weights of `count` trials, oldest first: the latest have full weight, older ones less.
fn age_weights(count: usize) -> Vec<f64> {
    let old = count.saturating_sub(FULL_WEIGHT);
    let least = 1.0 / count.max(1) as f64;
    let ramp = |i: usize| {
        if old < 2 { least } else { least + (1.0 - least) * i as f64 / (old - 1) as f64 }
    };
    (0..count).map(|i| if i < old { ramp(i) } else { 1.0 }).collect()
}

/// The upper tail probability of the normal distribution at `x ≥ 0`, for the height of a kernel.
fn tail(x: f64) -> f64 {
    if x > 5.5 { 0.0 } else { roughly_above(x) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;
    use crate::trial_archive::coordinates;

    fn mixed() -> Space {
        Space::new(vec![
            Param::choice("c", &["a", "b", "d"]),
            Param::real("x", 0.0, 1.0),
            Param::integer("i", 0, 3).when("c", &["a"]),
        ])
        .unwrap()
    }

    fn rows(space: &Space, count: u64) -> Vec<Vec<f64>> {
        (0..count).map(|i| coordinates(space, &space.draw(&mut Stream::new(1, i, 0)))).collect()
    }

    fn build(space: &Space, parameters: &[usize], rows: &[Vec<f64>]) -> ParzenEstimator {
        let half_widths: Vec<Vec<f64>> =
            rows.iter().map(|row| cell_half_widths(space, row)).collect();
        let trials: Vec<TrialCoordinates<'_>> = rows
            .iter()
            .zip(&half_widths)
            .map(|(row, half_widths)| TrialCoordinates { row, half_widths })
            .collect();
        ParzenEstimator::new(space, parameters, &trials)
    }

    fn density(mixture: &ParzenEstimator, row: &[f64]) -> f64 {
        mixture.density(row, &mut DensityBuffer::default())
    }

    /// The density of one real parameter sums to one over the interval, whatever the kernels.
    #[test]
    fn densities_of_reals_have_the_area_one() {
        let space = mixed();
        for count in [0, 1, 7, 40] {
            let mixture = build(&space, &[1], &rows(&space, count));
            let steps = 20_000;
            let area: f64 = (0..steps)
                .map(|s| density(&mixture, &[0.5, (f64::from(s) + 0.5) / f64::from(steps), 0.5]))
                .sum();
            assert!((area / f64::from(steps) - 1.0).abs() < 1e-5, "{count}: {area}");
        }
    }

    /// Labels times reals, over a whole space with a condition: the sum over what exists is one.
    #[test]
    fn joint_densities_are_distributions_over_conditional_spaces() {
        let space = mixed();
        let mixture = build(&space, &[0, 1, 2], &rows(&space, 12));
        let label = |l: usize| space.coordinate(0, PointValue::Index(l)).unwrap();
        let (mut sum, steps) = (0.0, 400);
        for s in 0..steps {
            let x = (f64::from(s) + 0.5) / f64::from(steps);
            for l in 0..3 {
                if l == 0 {
                    // The mass of a value is the density at its middle times its width: a quarter,
                    // roughly.
                    sum += (0..64)
                        .map(|k| {
                            density(&mixture, &[label(l), x, (f64::from(k) + 0.5) / 64.0]) / 64.0
                        })
                        .sum::<f64>();
                } else {
                    sum += density(&mixture, &[label(l), x, f64::NAN]);
                }
            }
        }
        assert!((sum / f64::from(steps) - 1.0).abs() < 1e-3, "{sum}");
    }

    /// Draws fall where the density says.
    #[test]
    fn draws_follow_the_density() {
        let space = mixed();
        let mixture = build(&space, &[0, 1, 2], &rows(&space, 9));
        let mut stream = Stream::new(5, 0, 0);
        let (mut point, mut row) = (Point(vec![PointValue::Absent; 3]), vec![f64::NAN; 3]);
        let draws = 40_000;
        let mut counts = [[0.0; 4]; 3];
        for _ in 0..draws {
            mixture.draw(&space, &mut stream, &mut point, &mut row);
            assert!(space.contains(&point));
            let PointValue::Index(label) = point[0] else { panic!() };
            counts[label][(row[1] * 4.0).min(3.0) as usize] += 1.0 / f64::from(draws);
        }
        for (l, strips) in counts.iter().enumerate() {
            for (strip, share) in strips.iter().enumerate() {
                let at = |s: i32| (strip as f64 + (f64::from(s) + 0.5) / 100.0) / 4.0;
                let u = space.coordinate(0, PointValue::Index(l)).unwrap();
                let mass: f64 =
                    (0..100).map(|s| density(&mixture, &[u, at(s), f64::NAN])).sum::<f64>() / 400.0;
                assert!(
                    (share - mass).abs() < 0.012,
                    "label {l}, strip {strip}: {share} and {mass}"
                );
            }
        }
    }

    /// Kernels that were joined give the densities of those that were not.
    #[test]
    fn joined_kernels_are_the_same_mixture() {
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        let space =
            Space::new(vec![Param::list("l", &values), Param::choice("c", &["a", "b", "d"])])
                .unwrap();
        let rows = rows(&space, 60);
        for (parameter, most) in [(0, 16), (1, 3)] {
            let mixture = build(&space, &[parameter], &rows);
            assert!(mixture.weights.len() <= most + 1, "{}", mixture.weights.len());
            let widths = if parameter == 0 {
                neighbour_widths(rows.iter().map(|row| row[0]))
            } else {
                vec![0.0; 60]
            };
            let (ages, total) = (age_weights(60), age_weights(60).iter().sum::<f64>() + 1.0);
            for x in rows.iter().map(|row| row[parameter]) {
                let mut sum = 0.0;
                for ((row, width), age) in rows.iter().zip(&widths).zip(&ages) {
                    let factor = match parameter {
                        0 => normal(row[0], width.clamp(1.0 / 62.0, 1.0).max(1.0 / 16.0)),
                        _ => label(&space, 1, row[1], 61),
                    };
                    let z = (x - factor.middle) * factor.inverse;
                    let at = if parameter == 1 && x != factor.middle {
                        factor.other
                    } else {
                        factor.height
                    };
                    sum += age * at * (-0.5 * z * z).exp();
                }
                sum += if parameter == 0 {
                    let prior = normal(0.5, 1.0);
                    prior.height * (-0.5 * (x - 0.5) * (x - 0.5)).exp()
                } else {
                    1.0 / 3.0
                };
                let density = density(&mixture, &[x, x]);
                assert!(
                    (density / (sum / total) - 1.0).abs() < 1e-6,
                    "{density} and {}",
                    sum / total
                );
            }
        }
    }

    /// What the good trials agree on has narrow kernels, what they do not has wide ones.
    #[test]
    fn joint_kernels_are_as_wide_as_the_trials_lie_apart() {
        let space =
            Space::new(vec![Param::real("x", 0.0, 1.0), Param::real("y", 0.0, 1.0)]).unwrap();
        let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![0.3, f64::from(i) / 19.0]).collect();
        let mixture = build(&space, &[0, 1], &rows);
        let width = |axis: usize| 1.0 / mixture.axes[axis].inverses[0];
        let scott = 20f64.powf(-1.0 / 6.0);
        let mean = (20.0 * 0.3 + 0.5) / 21.0;
        let x = (20.0 * (0.3f64 - mean).powi(2) + (0.5f64 - mean).powi(2) + 1.0 / 12.0) / 21.0;
        assert!((width(0) - x.sqrt() * scott).abs() < 1e-12, "{}", width(0));
        assert!(width(1) > 3.0 * width(0), "{} and {}", width(0), width(1));
        assert!((deviation([f64::NAN].into_iter()) - (1.0f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn widths_by_hand() {
        let widths = neighbour_widths([0.1, 0.9, 0.2].into_iter());
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        assert!(
            close(widths[0], 0.1) && close(widths[1], 0.4) && close(widths[2], 0.3),
            "{widths:?}"
        );
        assert_eq!(age_weights(3), [1.0; 3]);
        let ages = age_weights(45);
        assert!(
            close(ages[0], 1.0 / 45.0)
                && close(ages[19], 1.0)
                && ages[20..].iter().all(|age| *age == 1.0)
        );
        for (x, share) in
            [(0.0, 0.5), (1.0, 0.158_655_253_9), (1.96, 0.024_997_895_1), (4.0, 3.167_124_2e-5)]
        {
            assert!((tail(x) - share).abs() < 1e-7, "{x}");
        }
    }
}
