//! First and second derivatives of the three losses that nearly everybody trains with.
//!
//! An empty `weight` means that every row weighs one. All other slices are as long as `target`,
//! except those of the softmax, which hold one such run an output.

use super::dispatch::dispatched;
use super::exp::exp_of_negative;

/// A hessian is never smaller than this (before it is weighted), so that a Newton step stays
/// finite.
pub const LEAST_HESSIAN: f32 = 1e-16;

/// Rows of the softmax handled at a time: their maxima and sums stay in the first-level cache.
const BLOCK: usize = 256;

dispatched! {
    /// Squared loss: `g = score - target`, `h = 1`.
    pub fn squared(score: &[f32], target: &[f32], weight: &[f32], g: &mut [f32], h: &mut [f32]) {
        let n = target.len();
        let (score, g, h) = (&score[..n], &mut g[..n], &mut h[..n]);
        if weight.is_empty() {
            for i in 0..n {
                g[i] = score[i] - target[i];
                h[i] = 1.0;
            }
        } else {
            let weight = &weight[..n];
            for i in 0..n {
                g[i] = (score[i] - target[i]) * weight[i];
                h[i] = weight[i];
            }
        }
    }
}

dispatched! {
    /// Logistic loss of targets 0 and 1: `g = p - target`, `h = p (1 - p)`.
    pub wide fn logistic(score: &[f32], target: &[f32], weight: &[f32], g: &mut [f32], h: &mut [f32]) {
        let n = target.len();
        let (score, g, h) = (&score[..n], &mut g[..n], &mut h[..n]);
        // Two short loops over a block that stays in the first-level cache run faster than one long
        // one, whose chain of operations does not fit the processor's window.
        for from in (0..n).step_by(BLOCK) {
            let to = n.min(from + BLOCK);
            let (score, target) = (&score[from..to], &target[from..to]);
            let (g, h) = (&mut g[from..to], &mut h[from..to]);
            for i in 0..score.len() {
                h[i] = exp_of_negative(-score[i].abs());
            }
            for i in 0..score.len() {
                (g[i], h[i]) = logistic_row(score[i], h[i], target[i]);
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

/// The exponential of `-|score|` never overflows, and gives the smaller of `p` and `1 - p` without
/// cancellation.
#[inline(always)]
pub(super) fn logistic_row(score: f32, e: f32, target: f32) -> (f32, f32) {
    let larger = 1.0 / (1.0 + e);
    let smaller = e * larger;
    let p = if score >= 0.0 { larger } else { smaller };
    let second = smaller * larger;
    (p - target, if second < LEAST_HESSIAN { LEAST_HESSIAN } else { second })
}

dispatched! {
    /// Softmax loss of class indices, output after output: `g = p - [target = k]`,
    /// `h = factor · p (1 - p)`.
    pub fn softmax(
        outputs: usize,
        factor: f32,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        let rows = target.len();
        let mut most = [0.0f32; BLOCK];
        let mut sum = [0.0f32; BLOCK];
        for from in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - from);
            let (most, sum) = (&mut most[..n], &mut sum[..n]);
            maxima(outputs, rows, from, score, most);
            sum.fill(0.0);
            for k in 0..outputs {
                let at = k * rows + from;
                let (score, g) = (&score[at..at + n], &mut g[at..at + n]);
                for i in 0..n {
                    let e = exp_of_negative(score[i] - most[i]);
                    g[i] = e;
                    sum[i] += e;
                }
            }
            for total in sum.iter_mut() {
                *total = 1.0 / *total;
            }
            let target = &target[from..from + n];
            for k in 0..outputs {
                let at = k * rows + from;
                let (g, h) = (&mut g[at..at + n], &mut h[at..at + n]);
                for i in 0..n {
                    let p = g[i] * sum[i];
                    let hit = if target[i] == k as f32 { 1.0 } else { 0.0 };
                    // Rounding may carry p past one by a hair; the floor keeps the hessian positive
                    // there too.
                    let second = factor * p * (1.0 - p);
                    g[i] = p - hit;
                    h[i] = if second < LEAST_HESSIAN { LEAST_HESSIAN } else { second };
                }
                if !weight.is_empty() {
                    let weight = &weight[from..from + n];
                    for i in 0..n {
                        g[i] *= weight[i];
                        h[i] *= weight[i];
                    }
                }
            }
        }
    }
}

/// The largest score of each row of a block: what keeps the exponentials of a softmax below one.
#[inline(always)]
pub(super) fn maxima(outputs: usize, rows: usize, from: usize, score: &[f32], most: &mut [f32]) {
    let n = most.len();
    most.fill(f32::NEG_INFINITY);
    for k in 0..outputs {
        let score = &score[k * rows + from..k * rows + from + n];
        for i in 0..n {
            most[i] = if score[i] > most[i] { score[i] } else { most[i] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores from very negative to very positive, with both signs of zero, and lengths that leave
    /// ragged ends.
    fn rows(n: usize, outputs: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u32 << 24) as f32
        };
        let mut score: Vec<f32> = (0..n * outputs).map(|_| (draw() - 0.5) * 40.0).collect();
        for (slot, odd) in score.iter_mut().zip([0.0, -0.0, 200.0, -200.0, 1e30, -1e30]) {
            *slot = odd;
        }
        let target = (0..n).map(|_| (draw() * outputs.max(2) as f32).floor()).collect();
        let weight = (0..n).map(|_| draw() * 3.0).collect();
        (score, target, weight)
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|v| v.to_bits()).collect()
    }

    type Kernel = dyn Fn(&[f32], &[f32], &[f32], &mut [f32], &mut [f32]);

    fn agree(outputs: usize, portable: &Kernel, chosen: &Kernel) {
        for n in [0, 1, 7, 8, 63, 255, 256, 257, 1000] {
            let (score, target, weight) = rows(n, outputs);
            for weight in [&weight[..], &[]] {
                let mut a = (vec![0.0; n * outputs], vec![0.0; n * outputs]);
                let mut b = a.clone();
                portable(&score, &target, weight, &mut a.0, &mut a.1);
                chosen(&score, &target, weight, &mut b.0, &mut b.1);
                assert_eq!(bits(&a.0), bits(&b.0));
                assert_eq!(bits(&a.1), bits(&b.1));
            }
        }
    }

    #[test]
    fn the_chosen_version_equals_the_portable_one_bit_for_bit() {
        agree(1, &|s, t, w, g, h| squared::portable(s, t, w, g, h), &|s, t, w, g, h| {
            squared(s, t, w, g, h)
        });
        agree(1, &|s, t, w, g, h| logistic::portable(s, t, w, g, h), &|s, t, w, g, h| {
            logistic(s, t, w, g, h)
        });
        for k in [2, 3, 7] {
            let factor = k as f32 / (k - 1) as f32;
            agree(
                k,
                &move |s, t, w, g, h| softmax::portable(k, factor, s, t, w, g, h),
                &move |s, t, w, g, h| softmax(k, factor, s, t, w, g, h),
            );
        }
    }

    #[test]
    fn logistic_is_close_to_the_definition() {
        let (score, target, _) = rows(5000, 1);
        let (mut g, mut h) = (vec![0.0; 5000], vec![0.0; 5000]);
        logistic(&score, &target, &[], &mut g, &mut h);
        for i in 0..5000 {
            let p = 1.0 / (1.0 + (-f64::from(score[i])).exp());
            assert!(
                (f64::from(g[i]) - (p - f64::from(target[i]))).abs() < 1.5e-7,
                "g of {}",
                score[i]
            );
            let e = (-f64::from(score[i]).abs()).exp();
            let exact = (e / ((1.0 + e) * (1.0 + e))).max(1e-16);
            assert!((f64::from(h[i]) / exact - 1.0).abs() < 1e-6, "h of {}", score[i]);
        }
    }

    #[test]
    fn softmax_of_two_outputs_is_the_logistic_of_their_difference() {
        let (score, target, weight) = rows(500, 2);
        let (mut g, mut h) = (vec![0.0; 1000], vec![0.0; 1000]);
        softmax(2, 2.0, &score, &target, &weight, &mut g, &mut h);
        let difference: Vec<f32> = (0..500).map(|i| score[500 + i] - score[i]).collect();
        let (mut first, mut second) = (vec![0.0; 500], vec![0.0; 500]);
        logistic(&difference, &target, &weight, &mut first, &mut second);
        for i in 0..500 {
            assert!((g[500 + i] - first[i]).abs() < 1e-6);
            assert!((g[i] + first[i]).abs() < 1e-6);
            assert!((h[i] - 2.0 * second[i]).abs() < 1e-6);
        }
    }
}
