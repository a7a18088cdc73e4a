//! The softmax loss as a function of one output while the others stay.
//!
//! Of the other outputs a row needs one number, the logarithm `L` of the sum of their exponentials:
//! `p = 1 / (1 + exp(L - s))` for a score `s`, as if it were the logistic loss of `s - L`.

use super::derivatives::logistic_row;
use super::dispatch::dispatched;
use super::exp::{exp_of_negative, ln_1p_unit, ln_from_one};

/// Rows handled at a time.
const BLOCK: usize = 256;

dispatched! {
    /// `L` of every row: the logarithm of the sum of exponentials of all outputs but one. Scores
    /// stand output after output.
    pub wide fn log_sums(outputs: usize, output: usize, score: &[f32], others: &mut [f32]) {
        let rows = others.len();
        let mut most = [0.0f32; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - from);
            let (most, sum) = (&mut most[..n], &mut others[from..from + n]);
            most.fill(f32::MIN);
            for k in (0..outputs).filter(|&k| k != output) {
                let score = &score[k * rows + from..k * rows + from + n];
                for i in 0..n {
                    most[i] = if score[i] > most[i] { score[i] } else { most[i] };
                }
            }
            sum.fill(0.0);
            for k in (0..outputs).filter(|&k| k != output) {
                let score = &score[k * rows + from..k * rows + from + n];
                for i in 0..n {
                    sum[i] += exp_of_negative(score[i] - most[i]);
                }
            }
            for i in 0..n {
                sum[i] = ln_from_one(sum[i]) + most[i];
            }
        }
    }
}

dispatched! {
    /// `g = p - [target = class]`, `h = factor · p (1 - p)`, for a class and a factor.
    pub wide fn derivatives(
        class_and_factor: (f32, f32),
        score: &[f32],
        others: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        let (class, factor) = class_and_factor;
        let rows = target.len();
        for from in (0..rows).step_by(BLOCK) {
            let to = rows.min(from + BLOCK);
            let (score, others, target) = (&score[from..to], &others[from..to], &target[from..to]);
            let (g, h) = (&mut g[from..to], &mut h[from..to]);
            for i in 0..score.len() {
                h[i] = exp_of_negative(-(score[i] - others[i]).abs());
            }
            for i in 0..score.len() {
                let hit = if target[i] == class { 1.0 } else { 0.0 };
                let (first, second) = logistic_row(score[i] - others[i], h[i], hit);
                (g[i], h[i]) = (first, factor * second);
            }
            if !weight.is_empty() {
                let weight = &weight[from..to];
                for i in 0..score.len() {
                    g[i] *= weight[i];
                    h[i] *= weight[i];
                }
            }
        }
    }
}

/// The part of the loss that depends on the output, summed: `-ln p` of rows of the class,
/// `-ln (1 - p)` of all others.
pub fn loss(class: f32, score: &[f32], others: &[f32], target: &[f32], weight: &[f32]) -> f64 {
    let mut losses = vec![0.0; score.len()];
    row_losses(class, score, others, target, &mut losses);
    weighted_sum(&losses, weight)
}

/// The part of the loss that does not: `L - s_y` of every row of another class `y`, summed.
pub fn rest(output: usize, score: &[f32], others: &[f32], target: &[f32], weight: &[f32]) -> f64 {
    let rows = target.len();
    let of_row = |row: usize| match target[row] as usize {
        class if class == output => 0.0,
        class => others[row] - score[class * rows + row],
    };
    weighted_sum(&(0..rows).map(of_row).collect::<Vec<f32>>(), weight)
}

dispatched! {
    /// The losses of rows as functions of one output.
    pub wide fn row_losses(
        class: f32,
        score: &[f32],
        others: &[f32],
        target: &[f32],
        losses: &mut [f32],
    ) {
        let rows = losses.len();
        let (score, others, target) = (&score[..rows], &others[..rows], &target[..rows]);
        for i in 0..rows {
            let margin = if target[i] == class { others[i] - score[i] } else { score[i] - others[i] };
            let positive = if margin > 0.0 { margin } else { 0.0 };
            losses[i] = positive + ln_1p_unit(exp_of_negative(-margin.abs()));
        }
    }
}

fn weighted_sum(losses: &[f32], weight: &[f32]) -> f64 {
    match weight {
        [] => losses.iter().map(|&loss| f64::from(loss)).sum(),
        _ => losses.iter().zip(weight).map(|(&l, &w)| f64::from(l) * f64::from(w)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::{derivatives as full, losses};

    proptest! {
        /// One output at a time gives the derivatives and the loss of all outputs together.
        #[test]
        fn one_output_agrees_with_all(
            rows in prop::collection::vec((-9f32..9.0, -9f32..9.0, -9f32..9.0, 0u8..3, 0f32..3.0), 1..600),
            weighted: bool,
            output in 0usize..3,
        ) {
            let n = rows.len();
            let score: Vec<f32> =
                rows.iter().map(|r| r.0).chain(rows.iter().map(|r| r.1)).chain(rows.iter().map(|r| r.2)).collect();
            let target: Vec<f32> = rows.iter().map(|r| f32::from(r.3)).collect();
            let weight: Vec<f32> = if weighted { rows.iter().map(|r| r.4).collect() } else { Vec::new() };
            let (mut all_g, mut all_h) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
            full::softmax(3, 1.5, &score, &target, &weight, &mut all_g, &mut all_h);

            let own = output * n..(output + 1) * n;
            let (mut others, mut g, mut h) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            log_sums(3, output, &score, &mut others);
            let class = output as f32;
            derivatives((class, 1.5), &score[own.clone()], &others, &target, &weight, &mut g, &mut h);
            for i in 0..n {
                prop_assert!((g[i] - all_g[own.start + i]).abs() < 1e-5, "{} {}", g[i], all_g[own.start + i]);
                prop_assert!((h[i] - all_h[own.start + i]).abs() < 1e-5, "{} {}", h[i], all_h[own.start + i]);
            }
            let total = loss(class, &score[own], &others, &target, &weight)
                + rest(output, &score, &others, &target, &weight);
            let exact = losses::softmax(3, &score, &target, &weight);
            prop_assert!((total - exact).abs() <= 1e-5 * (n as f64 + exact), "{total} {exact}");

            let mut portable = vec![0.0; n];
            log_sums::portable(3, output, &score, &mut portable);
            prop_assert_eq!(&portable, &others);
        }
    }
}
