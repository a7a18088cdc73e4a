//! Scores all cuts of one feature at once.

use super::dispatch::dispatched;
use crate::bins::CODES;

/// Prefix sums over a feature's codes, in integer units.
#[derive(Debug, Clone)]
pub struct Prefix {
    /// Gradients left of each cut.
    pub g: [i32; CODES],
    /// Hessians left of each cut.
    pub h: [i32; CODES],
}

impl Default for Prefix {
    fn default() -> Self {
        Prefix { g: [0; CODES], h: [0; CODES] }
    }
}

/// What the score of a cut depends on beside the sums, in integer units of the hessian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutLimits {
    /// L2 penalty.
    pub lambda: f64,
    /// Least hessian of a child; at least 1, so that no child is empty.
    pub least: f64,
    /// The value from which children deviate, in units of gradient over hessian; 0 where leaves are
    /// shrunk towards zero.
    pub from: f64,
}

dispatched! {
    /// Writes `GL²/(HL+λ) + GR²/(HR+λ)` for each of the first `cuts` prefixes, minus infinity where
    /// a child is too small; gradients are those at the value that children deviate from.
    pub fn score_cuts(prefix: &Prefix, cuts: usize, total: (i32, i32), limits: CutLimits, scores: &mut [f64; CODES]) {
        let (g, h) = (f64::from(total.0), f64::from(total.1));
        let g = g + limits.from * h;
        for ((score, &gl), &hl) in scores.iter_mut().zip(&prefix.g).zip(&prefix.h).take(cuts) {
            let (gl, hl) = (f64::from(gl), f64::from(hl));
            let gl = gl + limits.from * hl;
            let (gr, hr) = (g - gl, h - hl);
            let (dl, dr) = (hl + limits.lambda, hr + limits.lambda);
            // One division in place of two.
            let value = (gl * gl * dr + gr * gr * dl) / (dl * dr);
            *score = if hl >= limits.least && hr >= limits.least { value } else { f64::NEG_INFINITY };
        }
    }
}

dispatched! {
    /// The first position of the greatest score among the first `cuts`, and the score.
    pub fn greatest(scores: &[f64; CODES], cuts: usize) -> (usize, f64) {
        let scores = &scores[..cuts];
        let mut lanes = [f64::NEG_INFINITY; 8];
        let (runs, rest) = scores.as_chunks::<8>();
        for run in runs {
            for (lane, &score) in lanes.iter_mut().zip(run) {
                *lane = if score > *lane { score } else { *lane };
            }
        }
        let best = lanes.iter().chain(rest).fold(f64::NEG_INFINITY, |best, &score| if score > best { score } else { best });
        (scores.iter().position(|&score| score == best).unwrap_or(0), best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_equal_the_formula_and_the_first_best_is_found() {
        let mut prefix = Prefix::default();
        for cut in 0..CODES {
            prefix.g[cut] = (cut as i32 * 7919 % 4001) - 2000;
            prefix.h[cut] = cut as i32 * 40;
        }
        let total = (777, 255 * 40);
        for (cuts, from) in [(0, 0.0), (1, 0.0), (7, 0.5), (8, -0.25), (100, 0.0), (256, 1.5)] {
            let limits = CutLimits { lambda: 3.5, least: 100.0, from };
            let mut scores = [0.0; CODES];
            score_cuts(&prefix, cuts, total, limits, &mut scores);
            let mut best = (0, f64::NEG_INFINITY);
            for (cut, &score) in scores.iter().enumerate().take(cuts) {
                let (gl, hl) = (f64::from(prefix.g[cut]), f64::from(prefix.h[cut]));
                let (gr, hr) = (f64::from(total.0) - gl, f64::from(total.1) - hl);
                let (gl, gr) = (gl + from * hl, gr + from * hr);
                if hl < 100.0 || hr < 100.0 {
                    assert_eq!(score, f64::NEG_INFINITY);
                    continue;
                }
                let plain = gl * gl / (hl + 3.5) + gr * gr / (hr + 3.5);
                assert!((score - plain).abs() <= 1e-12 * plain.abs());
                if score > best.1 {
                    best = (cut, score);
                }
            }
            assert_eq!(greatest(&scores, cuts), best);
        }
    }
}
