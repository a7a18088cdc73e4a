//! Expected improvement over the smallest loss.
//!
//! With mean `m`, deviation `s` and the least value `f`, and `z = (f - m) / s`, it is
//! `s (z Φ(z) + φ(z))` (Jones, Schonlau and Welch 1998, eq. 15).

use swarmwood_search::normal::density;

use super::LossPrediction;
use super::normal::below;

/// Lower bound of the predicted standard deviation.
const MIN_DEVIATION: f64 = 0.01;

/// The expected improvement over `least`.
pub(super) fn expected(prediction: &LossPrediction, least: f64) -> f64 {
    let s = prediction.deviation.max(MIN_DEVIATION);
    let z = (least - prediction.mean) / s;
    if z < -4.0 {
        // The asymptotic series avoids the cancellation of two small numbers.
        let square = z * z;
        return s * density(z) / square * (1.0 - 3.0 / square + 15.0 / (square * square));
    }
    s * (z * below(z) + density(z))
}

/// The indices of the predictions, largest expected improvement first; ties in order.
pub(super) fn rank_by_improvement(
    predictions: &[LossPrediction],
    least: f64,
) -> impl Iterator<Item = usize> + use<> {
    let mut order: Vec<(f64, usize)> = predictions
        .iter()
        .enumerate()
        .map(|(at, prediction)| (expected(prediction, least), at))
        .collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of `max(least - y, 0)` over the density of `y`, in small steps.
    fn by_steps(mean: f64, deviation: f64, least: f64) -> f64 {
        let step = deviation / 2000.0;
        (0..40_000)
            .map(|i| mean - 10.0 * deviation + (f64::from(i) + 0.5) * step)
            .map(|y| (least - y).max(0.0) * density((y - mean) / deviation) / deviation * step)
            .sum()
    }

    #[test]
    fn it_is_the_integral() {
        for (mean, deviation, least) in
            [(0.0, 1.0, 0.0), (0.5, 0.2, -0.1), (-1.0, 0.7, 0.3), (2.0, 0.3, 0.6)]
        {
            let (fast, slow) = (
                expected(&LossPrediction { mean, deviation }, least),
                by_steps(mean, deviation, least),
            );
            assert!(
                (fast - slow).abs() < 1e-6 + 0.02 * slow,
                "{mean} {deviation} {least}: {fast} {slow}"
            );
        }
    }

    #[test]
    fn it_decreases_monotonically_in_the_tail() {
        let at = |mean: f64| expected(&LossPrediction { mean, deviation: 1.0 }, 0.0);
        let values: Vec<f64> = (0..120).map(|i| at(f64::from(i) * 0.1)).collect();
        assert!(values.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0));
        let predictions = [
            LossPrediction { mean: 1.0, deviation: 0.0 },
            LossPrediction { mean: 1.0, deviation: 2.0 },
            LossPrediction { mean: 1.0, deviation: 0.5 },
        ];
        assert_eq!(rank_by_improvement(&predictions, 0.0).collect::<Vec<_>>(), [1, 2, 0]);
    }
}
