//! Parzen estimators: a density as a mixture of kernels, one around every trial and one for what is not known.
//!
//! A mixture covers one parameter or several. Its kernel around a trial is a product over the parameters: a normal
//! distribution cut off at the ends of the unit interval for an ordered parameter, and for a choice most of the
//! probability on the trial's label and a little on all others. A trial that has no value of a parameter, because a
//! condition does not hold, says nothing of it: there its kernel is even. So a kernel is a distribution over whole
//! configurations of a space with conditions, whichever parameters the trial had. The prior is one more kernel, as wide as
//! the interval and even over labels.
//!
//! Widths, as in Optuna. For a single parameter: the larger of the distances to the neighbours on both sides. For several:
//! `0.2 n^(-1/(d+4))` for n trials and d parameters (Scott's rule). Neither below `1 / min(100, n + 2)` of the range
//! (Bergstra's magic clip), nor below half a cell of a countable parameter, for a kernel cannot tell apart what a cell joins.

use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::space::{Domain, Space};

/// From so many trials on, older ones count less.
const YOUNG: usize = 25;
/// A squared distance beyond which a kernel has less than 10⁻¹³ of its height.
const FAR: f64 = 60.0;
/// How often a number outside of the interval is drawn again.
const DRAWS: usize = 32;
/// 1 / √(2π).
const HEIGHT: f64 = 0.398_942_280_401_432_7;

/// One factor of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Factor {
    /// The middle; NaN for an even distribution.
    middle: f64,
    /// One over the width of an ordered parameter.
    inverse: f64,
    /// The density at the middle; for choices the probability of the label there.
    height: f64,
    /// For choices the probability of each other label.
    other: f64,
}

/// A mixture of kernels over some parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mixture {
    parameters: Vec<usize>,
    /// Whether the parameter of each factor is a choice.
    choices: Vec<bool>,
    /// Kernel after kernel, a factor for each parameter.
    factors: Vec<Factor>,
    /// The shares of the kernels, and their sums up to each.
    weights: Vec<f64>,
    sums: Vec<f64>,
}

impl Mixture {
    /// The mixture around the trials with these coordinates, oldest first; NaN where a parameter has no value.
    pub(super) fn new(space: &Space, parameters: &[usize], rows: &[&[f64]]) -> Self {
        let choices: Vec<bool> =
            parameters.iter().map(|&j| matches!(space.params()[j].domain, Domain::Choice(_))).collect();
        let kernels = rows.len() + 1;
        let mut factors = Vec::with_capacity(kernels * parameters.len());
        let widths = match parameters {
            [one] => neighbour_widths(rows.iter().map(|row| row[*one])),
            _ => vec![0.2 * (rows.len().max(1) as f64).powf(-1.0 / (parameters.len() + 4) as f64); rows.len()],
        };
        let least = 1.0 / (1 + kernels).min(100) as f64;
        for (row, width) in rows.iter().zip(widths) {
            for (&j, choice) in parameters.iter().zip(&choices) {
                factors.push(match choice {
                    true => label(space, j, row[j], kernels),
                    false => normal(row[j], width.clamp(least, 1.0).max(half_cell(space, j, row[j]))),
                });
            }
        }
        for (&j, choice) in parameters.iter().zip(&choices) {
            factors.push(if *choice { label(space, j, f64::NAN, kernels) } else { normal(0.5, 1.0) });
        }
        let mut weights = ages(rows.len());
        weights.push(1.0);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let sums = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Mixture { parameters: parameters.to_vec(), choices, factors, sums: sums.collect(), weights }
    }

    /// The density at some coordinates; parameters without a value (NaN) do not count.
    pub(super) fn density(&self, row: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (kernel, weight) in self.factors.chunks_exact(self.parameters.len().max(1)).zip(&self.weights) {
            let (mut product, mut distance) = (*weight, 0.0);
            for ((factor, &j), choice) in kernel.iter().zip(&self.parameters).zip(&self.choices) {
                let x = row[j];
                if x.is_nan() {
                    continue;
                }
                if *choice {
                    product *= if factor.middle == x { factor.height } else { factor.other };
                } else if !factor.middle.is_nan() {
                    let z = (x - factor.middle) * factor.inverse;
                    distance += z * z;
                    product *= factor.height;
                }
            }
            if distance < FAR {
                sum += product * (-0.5 * distance).exp();
            }
        }
        sum
    }

    /// Draws values of the mixture's parameters into the point, and their coordinates into the row; all from one kernel.
    /// The values of earlier parameters decide which of them are active.
    pub(super) fn draw(&self, space: &Space, stream: &mut Stream, point: &mut Point, row: &mut [f64]) {
        let u = stream.unit();
        let kernel = self.sums.partition_point(|sum| *sum <= u).min(self.weights.len() - 1);
        let width = self.parameters.len();
        for (f, &j) in self.parameters.iter().enumerate() {
            let value = if space.is_active(j, &point.0[..j]) {
                self.factors[kernel * width + f].draw(space, j, self.choices[f], stream)
            } else {
                Value::Absent
            };
            point.0[j] = value;
            row[j] = space.coordinate(j, value).unwrap_or(f64::NAN);
        }
    }
}

impl Factor {
    fn draw(&self, space: &Space, parameter: usize, choice: bool, stream: &mut Stream) -> Value {
        if self.middle.is_nan() {
            return space.draw_value(parameter, stream);
        }
        if choice {
            let own = space.value_at(parameter, self.middle);
            let (labels, Value::Index(label)) = (space.params()[parameter].domain.values().unwrap_or(1), own) else {
                return own;
            };
            if labels < 2 || stream.unit() < self.height {
                return own;
            }
            let other = stream.below(labels - 1) as usize;
            return Value::Index(other + usize::from(other >= label));
        }
        let inside = (0..DRAWS).map(|_| self.middle + stream.normal() / self.inverse).find(|u| (0.0..=1.0).contains(u));
        let u = inside.unwrap_or_else(|| stream.unit());
        space.value_at(parameter, u)
    }
}

/// A normal distribution cut off at the ends of the unit interval; even where there is no middle.
fn normal(middle: f64, width: f64) -> Factor {
    if middle.is_nan() {
        return Factor { middle, inverse: 0.0, height: 1.0, other: 1.0 };
    }
    let inverse = 1.0 / width;
    let inside = 1.0 - tail(middle * inverse) - tail((1.0 - middle) * inverse);
    Factor { middle, inverse, height: HEIGHT * inverse / inside, other: 0.0 }
}

/// One of the labels of a choice, smoothed by one trial's worth of all of them among all kernels; even without a label.
fn label(space: &Space, parameter: usize, middle: f64, kernels: usize) -> Factor {
    let labels = space.params()[parameter].domain.values().unwrap_or(1) as f64;
    if middle.is_nan() {
        return Factor { middle, inverse: 0.0, height: 1.0 / labels, other: 1.0 / labels };
    }
    let little = 1.0 / kernels as f64;
    let total = 1.0 + labels * little;
    Factor { middle, inverse: 0.0, height: (1.0 + little) / total, other: little / total }
}

fn half_cell(space: &Space, parameter: usize, u: f64) -> f64 {
    if u.is_nan() { 0.0 } else { space.cell(parameter, u).map_or(0.0, |(low, high)| (high - low) / 2.0) }
}

/// The larger of the distances to the neighbours on both sides, the middle of the interval, where the prior stands, being
/// one; those at the ends have one neighbour.
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

/// How much each of `count` trials counts, oldest first: the young ones fully, the others the less the older.
fn ages(count: usize) -> Vec<f64> {
    let old = count.saturating_sub(YOUNG);
    let least = 1.0 / count.max(1) as f64;
    let ramp = |i: usize| if old < 2 { least } else { least + (1.0 - least) * i as f64 / (old - 1) as f64 };
    (0..count).map(|i| if i < old { ramp(i) } else { 1.0 }).collect()
}

/// The probability of a normal number above `x ≥ 0`: Hastings' polynomial (Abramowitz and Stegun 26.2.17), whose error of
/// 7.5·10⁻⁸ is plenty for the height of a kernel.
fn tail(x: f64) -> f64 {
    if x > 5.5 {
        return 0.0;
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let series =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    HEIGHT * (-0.5 * x * x).exp() * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::coordinates;
    use crate::space::Param;

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

    fn build(space: &Space, parameters: &[usize], rows: &[Vec<f64>]) -> Mixture {
        Mixture::new(space, parameters, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The density of one real parameter sums to one over the interval, whatever the kernels.
    #[test]
    fn densities_of_reals_have_the_area_one() {
        let space = mixed();
        for count in [0, 1, 7, 40] {
            let mixture = build(&space, &[1], &rows(&space, count));
            let steps = 20_000;
            let area: f64 =
                (0..steps).map(|s| mixture.density(&[0.5, (f64::from(s) + 0.5) / f64::from(steps), 0.5])).sum();
            assert!((area / f64::from(steps) - 1.0).abs() < 1e-5, "{count}: {area}");
        }
    }

    /// Labels times reals, over a whole space with a condition: the sum over what exists is one.
    #[test]
    fn joint_densities_are_distributions_over_conditional_spaces() {
        let space = mixed();
        let mixture = build(&space, &[0, 1, 2], &rows(&space, 12));
        let label = |l: usize| space.coordinate(0, Value::Index(l)).unwrap();
        let (mut sum, steps) = (0.0, 400);
        for s in 0..steps {
            let x = (f64::from(s) + 0.5) / f64::from(steps);
            for l in 0..3 {
                if l == 0 {
                    // The mass of a value is the density at its middle times its width: a quarter, roughly.
                    sum += (0..64)
                        .map(|k| mixture.density(&[label(l), x, (f64::from(k) + 0.5) / 64.0]) / 64.0)
                        .sum::<f64>();
                } else {
                    sum += mixture.density(&[label(l), x, f64::NAN]);
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
        let (mut point, mut row) = (Point(vec![Value::Absent; 3]), vec![f64::NAN; 3]);
        let draws = 40_000;
        let mut counts = [[0.0; 4]; 3];
        for _ in 0..draws {
            mixture.draw(&space, &mut stream, &mut point, &mut row);
            assert!(space.contains(&point));
            let Value::Index(label) = point[0] else { panic!() };
            counts[label][(row[1] * 4.0).min(3.0) as usize] += 1.0 / f64::from(draws);
        }
        for (l, strips) in counts.iter().enumerate() {
            for (strip, share) in strips.iter().enumerate() {
                let at = |s: i32| (strip as f64 + (f64::from(s) + 0.5) / 100.0) / 4.0;
                let u = space.coordinate(0, Value::Index(l)).unwrap();
                let mass: f64 = (0..100).map(|s| mixture.density(&[u, at(s), f64::NAN])).sum::<f64>() / 400.0;
                assert!((share - mass).abs() < 0.012, "label {l}, strip {strip}: {share} and {mass}");
            }
        }
    }

    #[test]
    fn widths_by_hand() {
        let widths = neighbour_widths([0.1, 0.9, 0.2].into_iter());
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        assert!(close(widths[0], 0.1) && close(widths[1], 0.4) && close(widths[2], 0.3), "{widths:?}");
        assert_eq!(ages(3), [1.0; 3]);
        let ages = ages(45);
        assert!(close(ages[0], 1.0 / 45.0) && close(ages[19], 1.0) && ages[20..].iter().all(|age| *age == 1.0));
        for (x, share) in [(0.0, 0.5), (1.0, 0.158_655_253_9), (1.96, 0.024_997_895_1), (4.0, 3.167_124_2e-5)] {
            assert!((tail(x) - share).abs() < 1e-7, "{x}");
        }
    }
}
