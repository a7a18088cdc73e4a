//! The standard normal distribution: density, upper tail probability and upper quantiles.

/// The density at `x`.
pub fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// [`above`] for `x ≥ 0`, fast rather than exact: Hastings' polynomial (Abramowitz and Stegun
/// 26.2.17), whose error is below 7.5·10⁻⁸.
///
/// ```
/// use swarmwood_search::normal::{above, roughly_above};
/// assert!((roughly_above(1.5) - above(1.5)).abs() < 7.5e-8);
/// ```
pub fn roughly_above(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    density(x) * series
}

/// The upper tail probability, `1 - Φ(x)`, accurate in the far tail too.
///
/// Near the middle the series `1/2 - φ(x) (x + x³/3 + x⁵/(3·5) + …)`, whose terms are all positive;
/// far out Laplace's continued fraction `φ(x) / (x + 1/(x + 2/(x + 3/(x + …))))`.
pub fn above(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - above(-x);
    }
    if x < 3.0 {
        let mut term = x;
        let mut sum = 0.0;
        let mut odd = 1.0;
        while term > 1e-17 * sum {
            sum += term;
            odd += 2.0;
            term *= x * x / odd;
        }
        return 0.5 - density(x) * sum;
    }
    let fraction = (1..=60).rev().fold(x, |below, k| x + f64::from(k) / below);
    density(x) / fraction
}

/// The upper quantile: the bound that is exceeded with probability `p`, for `0 < p < 1/2`; 0 for
/// larger `p`, and 38 where `p` underflows.
///
/// Newton's method on the logarithm of the tail, which is nearly a parabola.
pub(crate) fn quantile_above(p: f64) -> f64 {
    if p >= 0.5 || p.is_nan() {
        return 0.0;
    }
    if p < 1e-300 {
        return 38.0;
    }
    let mut x = (-2.0 * p.ln()).sqrt().min(37.0);
    for _ in 0..30 {
        let tail = above(x);
        let step = (tail / p).ln() * tail / density(x);
        x = (x + step).max(0.0);
        if step.abs() < 1e-14 * x.max(1.0) {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_have_their_known_sizes() {
        for (x, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (1.959_963_984_540_054, 0.025),
            (2.999_999, 0.001_349_902_464),
            (3.0, 0.001_349_898_031_630_094_5),
            (5.0, 2.866_515_718_791_939e-7),
            (10.0, 7.619_853_024_160_527e-24),
        ] {
            assert!((above(x) / tail - 1.0).abs() < 1e-9, "{x}: {} and not {tail}", above(x));
            assert!((above(-x) - (1.0 - tail)).abs() < 1e-12);
            assert!((roughly_above(x) - tail).abs() < 7.5e-8);
        }
    }

    #[test]
    fn quantiles_are_the_inverse() {
        for p in [0.499_999, 0.4, 0.25, 0.1, 0.025, 1e-3, 1e-6, 1e-20, 1e-200] {
            let x = quantile_above(p);
            assert!((above(x) / p - 1.0).abs() < 1e-9, "{p}: {x}");
        }
        assert_eq!(
            (quantile_above(0.5), quantile_above(0.0), quantile_above(f64::NAN)),
            (0.0, 38.0, 0.0)
        );
    }
}
