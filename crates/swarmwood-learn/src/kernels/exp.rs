//! Exponential and logarithm for `f32`, written so that a loop over them turns into vector
//! instructions.
//!
//! Neither calls the system's library: the result is the same on every machine.

/// Adding and subtracting 1.5 · 2²³ rounds to the nearest whole number, and leaves that number in
/// the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts: the first has so few bits that its product with a whole number below 2¹⁰ is
/// exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Below this the result would leave the normal numbers.
const LOWEST: f32 = -87.33;
/// Above this the result would overflow.
const HIGHEST: f32 = 88.72;

/// `e^x`, to a relative error below 2e-7 for `x` in -87.33 ..= 88.72; outside, the value at the
/// nearer end, so that the result is always a normal, finite number. NaN stays NaN.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = if x < LOWEST { LOWEST } else { x };
    exp_in_range(if x > HIGHEST { HIGHEST } else { x })
}

/// [`exp`] of a number that is known not to be positive: one comparison less.
#[inline(always)]
pub(super) fn exp_of_negative(x: f32) -> f32 {
    exp_in_range(if x < LOWEST { LOWEST } else { x })
}

#[inline(always)]
fn exp_in_range(x: f32) -> f32 {
    // x = n ln 2 + r with |r| ≤ ln 2 / 2, so e^x = 2^n e^r.
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // e^r = 1 + r + r² q(r); q interpolates at the Chebyshev nodes, which leaves a relative error
    // of 1e-8. Its terms are paired so that the processor can work on several at once: the chain of
    // operations is what takes the time.
    let r2 = r * r;
    let low = 0.5 + 0.166_665_76 * r;
    let high = (4.166_655_2e-2 + 8.363_293e-3 * r) + 1.392_632_6e-3 * r2;
    let power = ((1.0 + r) + r2 * low) + (r2 * r2) * high;
    // The whole number n sits in the low bits of `shifted`: moved up, it is added to the exponent.
    f32::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// `ln(1 + x)` for `x` in 0 ..= 1, to a relative error below 3e-7 even where `x` is tiny.
#[inline(always)]
pub fn ln_1p_unit(x: f32) -> f32 {
    // ln(1 + x) = 2 atanh(s) with s = x / (2 + x) ≤ 1/3, and atanh(s) = s (1 + s² p(s²)).
    let s = x / (2.0 + x);
    let u = s * s;
    let p = 0.134_257_5_f32;
    let p = p * u + 0.141_183_1;
    let p = p * u + 0.200_037_8;
    let p = p * u + 0.333_333_2;
    (s + s) + (s + s) * (u * p)
}

/// `ln x` for a finite `x` from 1 up, to an absolute error below 3e-7 times the larger of one and
/// the result.
#[inline(always)]
pub(super) fn ln_from_one(x: f32) -> f32 {
    // x = 2^n m with 1 ≤ m < 2: the exponent's bits give n, the others m.
    let n = (x.to_bits() >> 23) as i32 - 127;
    let m = f32::from_bits((x.to_bits() & 0x007f_ffff) | 1f32.to_bits());
    n as f32 * std::f32::consts::LN_2 + ln_1p_unit(m - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_exact_at_zero_and_finite_everywhere() {
        assert_eq!((exp(0.0), ln_1p_unit(0.0)), (1.0, 0.0));
        assert!((exp(1.0) - std::f32::consts::E).abs() < 3e-7);
        assert!((ln_1p_unit(1.0) - std::f32::consts::LN_2).abs() < 2e-7);
        assert!(exp(-1000.0) > 0.0 && exp(1000.0).is_finite());
    }

    #[test]
    fn exp_is_close_over_its_whole_range() {
        let mut worst = 0.0f64;
        let steps = 2_000_000;
        for step in 0..=steps {
            let x = (LOWEST as f64 + (HIGHEST - LOWEST) as f64 * step as f64 / steps as f64) as f32;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) / exact - 1.0).abs());
        }
        assert!(worst <= 2e-7, "relative error {worst:e}");
    }

    #[test]
    fn exp_is_close_near_zero() {
        for exponent in -40..=0 {
            for mantissa in 0..64 {
                let x = (1.0 + mantissa as f32 / 64.0) * 2f32.powi(exponent);
                for x in [x, -x] {
                    let error = (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs();
                    assert!(error <= 2e-7, "exp({x}) is off by {error:e}");
                }
            }
        }
    }

    #[test]
    fn exp_saturates_and_keeps_nan() {
        assert_eq!(exp(f32::NEG_INFINITY), exp(LOWEST));
        assert_eq!(exp(f32::INFINITY), exp(HIGHEST));
        assert!(exp(LOWEST).is_normal() && exp(HIGHEST).is_finite());
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn logarithm_is_close_from_tiny_to_one() {
        let mut worst = 0.0f64;
        for step in 0..=1_000_000 {
            let x = 2f32.powf(-126.0 * (1.0 - step as f32 / 1e6)).min(1.0);
            worst = worst.max((f64::from(ln_1p_unit(x)) / f64::from(x).ln_1p() - 1.0).abs());
        }
        for step in 1..=1_000_000 {
            let x = step as f32 / 1e6;
            worst = worst.max((f64::from(ln_1p_unit(x)) / f64::from(x).ln_1p() - 1.0).abs());
        }
        assert!(worst <= 3e-7, "relative error {worst:e}");
    }

    #[test]
    fn logarithm_from_one_is_close() {
        for step in 0..1_000_000 {
            let x = 2f32.powf(step as f32 / 1e6 * 30.0);
            let exact = f64::from(x).ln();
            assert!((f64::from(ln_from_one(x)) - exact).abs() <= 3e-7 * exact.max(1.0), "ln {x}");
        }
        assert_eq!(ln_from_one(1.0), 0.0);
    }
}
