//! One loop over rows for the losses of a single output that need no kernel of their own, and
//! weighted means.

/// Writes what `row` gives for each score and target, times the row's weight.
pub(super) fn write(
    score: &[f32],
    target: &[f32],
    weight: &[f32],
    g: &mut [f32],
    h: &mut [f32],
    row: impl Fn(f32, f32) -> (f32, f32),
) {
    let n = target.len();
    let (score, g, h) = (&score[..n], &mut g[..n], &mut h[..n]);
    for i in 0..n {
        (g[i], h[i]) = row(score[i], target[i]);
    }
    for ((g, h), weight) in g.iter_mut().zip(h).zip(weight) {
        *g *= weight;
        *h *= weight;
    }
}

/// Sums what `row` gives for each score and target, times the row's weight.
pub(super) fn sum(
    score: &[f32],
    target: &[f32],
    weight: &[f32],
    row: impl Fn(f64, f64) -> f64,
) -> f64 {
    let losses =
        score.iter().zip(target).map(|(&score, &target)| row(f64::from(score), f64::from(target)));
    if weight.is_empty() {
        losses.sum()
    } else {
        losses.zip(weight).map(|(loss, &weight)| loss * f64::from(weight)).sum()
    }
}

/// The weighted mean; `None` if nothing weighs anything. A running mean, so that large values do
/// not overflow the sum.
pub(super) fn mean(target: &[f64], weight: &[f64]) -> Option<f64> {
    let (mut mean, mut total) = (0.0, 0.0);
    for (i, value) in target.iter().enumerate() {
        let weight = weight.get(i).copied().unwrap_or(1.0);
        if weight > 0.0 {
            total += weight;
            mean += (value - mean) * (weight / total);
        }
    }
    (total > 0.0).then_some(mean)
}

/// The largest size of a regression target: far inside the range of `f32`, in which residuals are
/// kept.
const LARGEST: f64 = 1e30;

/// Whether a regression target can be learnt.
pub(super) fn check_finite(target: f64) -> Result<(), &'static str> {
    if target.abs() <= LARGEST {
        Ok(())
    } else {
        Err("must be a finite number between -1e30 and 1e30")
    }
}

/// Whether a target of a loss with a logarithmic link that allows zero can be learnt.
pub(super) fn check_not_negative(target: f64) -> Result<(), &'static str> {
    if (0.0..=LARGEST).contains(&target) { Ok(()) } else { Err("must be a number from 0 to 1e30") }
}
