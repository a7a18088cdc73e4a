//! Metrics of predicted numbers. All take rows in the same order, with an empty `weight` for rows that weigh one each,
//! and give `None` where the metric is not defined.

use super::mean;
use crate::objective::huber_loss;
use crate::objective::order::weighted_quantile;

/// Applies `row` to each prediction and its target.
fn each<'a>(
    prediction: &'a [f64],
    target: &'a [f64],
    row: impl Fn(f64, f64) -> f64 + 'a,
) -> impl Iterator<Item = f64> + 'a {
    prediction.iter().zip(target).map(move |(&p, &y)| row(p, y))
}

/// Root of the mean squared error.
pub fn rmse(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    mean(each(prediction, target, |p, y| (p - y) * (p - y)), weight).map(f64::sqrt)
}

/// Mean absolute error.
pub fn mae(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    mean(each(prediction, target, |p, y| (p - y).abs()), weight)
}

/// The share of the target's variance that the predictions explain; not defined if the target does not vary.
pub fn r2(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    let centre = mean(target.iter().copied(), weight)?;
    let spread = mean(target.iter().map(|y| (y - centre) * (y - centre)), weight)?;
    let error = mean(each(prediction, target, |p, y| (p - y) * (p - y)), weight)?;
    // The mean of equal numbers may be off by a rounding, which leaves a spread far below that of any real target.
    let rounding = (f64::EPSILON * centre) * (f64::EPSILON * centre);
    (spread > 16.0 * rounding).then(|| 1.0 - error / spread)
}

/// Median absolute error.
pub fn medae(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    let mut pairs: Vec<(f64, f64)> = each(prediction, target, |p, y| (p - y).abs())
        .enumerate()
        .map(|(i, error)| (error, weight.get(i).copied().unwrap_or(1.0)))
        .collect();
    weighted_quantile(&mut pairs, 0.5)
}

/// Mean absolute error as a share of the target's size; not defined if a target is zero.
pub fn mape(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    if target.contains(&0.0) {
        return None;
    }
    mean(each(prediction, target, |p, y| ((p - y) / y).abs()), weight)
}

/// Root of the mean squared error of `ln(1 + y)`; not defined if a number is -1 or less.
pub fn rmsle(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    if prediction.iter().chain(target).any(|v| *v <= -1.0) {
        return None;
    }
    mean(each(prediction, target, |p, y| (p.ln_1p() - y.ln_1p()).powi(2)), weight).map(f64::sqrt)
}

/// Mean Huber loss.
pub fn huber(prediction: &[f64], target: &[f64], weight: &[f64], delta: f64) -> Option<f64> {
    mean(each(prediction, target, move |p, y| huber_loss(p - y, delta)), weight)
}

/// Mean pinball loss of the `alpha` quantile.
pub fn pinball(prediction: &[f64], target: &[f64], weight: &[f64], alpha: f64) -> Option<f64> {
    mean(each(prediction, target, move |p, y| if y > p { alpha * (y - p) } else { (1.0 - alpha) * (p - y) }), weight)
}

/// Mean Poisson deviance; not defined for a negative target or a prediction that is not positive.
pub fn poisson_deviance(prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    if prediction.iter().any(|p| *p <= 0.0) || target.iter().any(|y| *y < 0.0) {
        return None;
    }
    let deviance = |p: f64, y: f64| 2.0 * (if y > 0.0 { y * (y / p).ln() } else { 0.0 } - y + p);
    mean(each(prediction, target, deviance), weight)
}
