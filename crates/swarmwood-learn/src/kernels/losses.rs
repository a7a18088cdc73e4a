//! Sums of the three losses that nearly everybody trains with: read after every round, so they must
//! be cheap too.
//!
//! Losses of rows are `f32`, their sum is `f64`, taken in eight interleaved lanes that are part of
//! the definition: the order of additions, and with it every bit, is the same for all versions.

use super::derivatives::maxima;
use super::dispatch::dispatched;
use super::exp::{exp_of_negative, ln_1p_unit, ln_from_one};

const BLOCK: usize = 256;
const LANES: usize = 8;

/// Adds a block of row losses to the lanes; a block starts at lane zero.
#[inline(always)]
fn add_rows(lanes: &mut [f64; LANES], losses: &[f32], weight: &[f32]) {
    let (eights, rest) = losses.as_chunks::<LANES>();
    if weight.is_empty() {
        for eight in eights {
            for lane in 0..LANES {
                lanes[lane] += f64::from(eight[lane]);
            }
        }
        for (lane, &loss) in rest.iter().enumerate() {
            lanes[lane] += f64::from(loss);
        }
    } else {
        let (weights, weights_rest) = weight.as_chunks::<LANES>();
        for (eight, weight) in eights.iter().zip(weights) {
            for lane in 0..LANES {
                lanes[lane] += f64::from(eight[lane]) * f64::from(weight[lane]);
            }
        }
        for (lane, (&loss, &weight)) in rest.iter().zip(weights_rest).enumerate() {
            lanes[lane] += f64::from(loss) * f64::from(weight);
        }
    }
}

/// The weights of a block of rows: none if there are none at all.
#[inline(always)]
fn weights_of(weight: &[f32], from: usize, n: usize) -> &[f32] {
    if weight.is_empty() { weight } else { &weight[from..from + n] }
}

dispatched! {
    /// `½ (score - target)²`, summed.
    pub fn squared(score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let rows = target.len();
        let mut lanes = [0.0f64; LANES];
        // Squares are taken as f64: the square of a large f32 may overflow.
        let mut squares = [0.0f64; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - from);
            let (score, target, squares) = (&score[from..from + n], &target[from..from + n], &mut squares[..n]);
            for i in 0..n {
                let residual = f64::from(score[i] - target[i]);
                squares[i] = residual * residual;
            }
            if !weight.is_empty() {
                let weight = &weight[from..from + n];
                for i in 0..n {
                    squares[i] *= f64::from(weight[i]);
                }
            }
            let (eights, rest) = squares.as_chunks::<LANES>();
            for eight in eights {
                for lane in 0..LANES {
                    lanes[lane] += eight[lane];
                }
            }
            for (lane, square) in rest.iter().enumerate() {
                lanes[lane] += square;
            }
        }
        0.5 * lanes.iter().sum::<f64>()
    }
}

dispatched! {
    /// `-ln p` of the target 0 or 1, summed.
    pub wide fn logistic(score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let rows = target.len();
        let mut lanes = [0.0f64; LANES];
        let mut losses = [0.0f32; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - from);
            let (score, target, losses) = (&score[from..from + n], &target[from..from + n], &mut losses[..n]);
            for i in 0..n {
                losses[i] = exp_of_negative(-score[i].abs());
            }
            for i in 0..n {
                // The margin is the score on the side of the target; the loss is ln(1 + e^-margin).
                let margin = if target[i] > 0.5 { score[i] } else { -score[i] };
                let behind = if margin < 0.0 { -margin } else { 0.0 };
                losses[i] = behind + ln_1p_unit(losses[i]);
            }
            add_rows(&mut lanes, losses, weights_of(weight, from, n));
        }
        lanes.iter().sum()
    }
}

dispatched! {
    /// `-ln p` of the target's class, summed; scores stand output after output.
    pub fn softmax(outputs: usize, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let rows = target.len();
        let mut lanes = [0.0f64; LANES];
        let mut most = [0.0f32; BLOCK];
        let mut sum = [0.0f32; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - from);
            let (most, sum) = (&mut most[..n], &mut sum[..n]);
            maxima(outputs, rows, from, score, most);
            sum.fill(0.0);
            for k in 0..outputs {
                let score = &score[k * rows + from..k * rows + from + n];
                for i in 0..n {
                    sum[i] += exp_of_negative(score[i] - most[i]);
                }
            }
            for i in 0..n {
                most[i] -= score[target[from + i] as usize * rows + from + i];
            }
            for i in 0..n {
                sum[i] = ln_from_one(sum[i]) + most[i];
            }
            add_rows(&mut lanes, sum, weights_of(weight, from, n));
        }
        lanes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weight_of(weight: &[f32], i: usize) -> f64 {
        if weight.is_empty() { 1.0 } else { f64::from(weight[i]) }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * (1e-9 + b.abs())
    }

    proptest! {
        #[test]
        fn sums_equal_the_definition(
            rows in prop::collection::vec((-30f32..30.0, -30f32..30.0, -30f32..30.0, 0u8..3, 0f32..3.0), 0..600),
            weighted: bool,
        ) {
            let n = rows.len();
            let score: Vec<f32> =
                rows.iter().map(|r| r.0).chain(rows.iter().map(|r| r.1)).chain(rows.iter().map(|r| r.2)).collect();
            let class: Vec<f32> = rows.iter().map(|r| f32::from(r.3)).collect();
            let binary: Vec<f32> = rows.iter().map(|r| f32::from(r.3 % 2)).collect();
            let weight: Vec<f32> = if weighted { rows.iter().map(|r| r.4).collect() } else { Vec::new() };

            let exact: f64 = (0..n).map(|i| {
                let margin = f64::from(score[i]) * (2.0 * f64::from(binary[i]) - 1.0);
                weight_of(&weight, i) * (-margin).exp().ln_1p()
            }).sum();
            prop_assert!(close(logistic(&score[..n], &binary, &weight), exact));
            prop_assert_eq!(logistic(&score[..n], &binary, &weight), logistic::portable(&score[..n], &binary, &weight));

            let exact: f64 = (0..n).map(|i| {
                let raw = |k: usize| f64::from(score[k * n + i]);
                weight_of(&weight, i) * ((0..3).map(|k| raw(k).exp()).sum::<f64>().ln() - raw(class[i] as usize))
            }).sum();
            let got = softmax(3, &score, &class, &weight);
            prop_assert!((got - exact).abs() <= 1e-6 * (n as f64 + exact), "{} {}", got, exact);
            prop_assert_eq!(got, softmax::portable(3, &score, &class, &weight));

            let exact: f64 = (0..n).map(|i| {
                let residual = f64::from(score[i]) - f64::from(score[n + i]);
                weight_of(&weight, i) * residual * residual / 2.0
            }).sum();
            let got = squared(&score[..n], &score[n..2 * n], &weight);
            prop_assert!(close(got, exact));
            prop_assert_eq!(got, squared::portable(&score[..n], &score[n..2 * n], &weight));
        }
    }
}
