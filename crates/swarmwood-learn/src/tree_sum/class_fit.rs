//! Values of given trees for three or more classes: multinomial logistic regression with a ridge, by
//! Newton steps of one class after another.
//!
//! The search itself fits class indicators by least squares, for which all classes share one matrix.

use super::leaf_fit::SumFit;
use super::rows::SumRows;

/// Rounds over all classes, at most.
const ROUNDS: usize = 12;

/// Relative decrease of the loss below which rounds end.
const TOLERANCE: f64 = 1e-4;

/// Scores beyond this one change no probability that matters.
const MAX_SCORE: f64 = 30.0;

/// Replaces the values of a fit of class indicators by those of log odds.
pub(super) fn fit_classes(fit: &mut SumFit, rows: &SumRows<'_>, ridge: f64) {
    let outputs = rows.outputs();
    let total: f64 = rows.weight.iter().sum();
    for (intercept, target) in fit.intercept.iter_mut().zip(&rows.targets) {
        let share: f64 = target.iter().zip(&rows.weight).map(|(y, w)| y * w).sum::<f64>() / total;
        *intercept = share.max(1e-6).ln();
    }
    fit.values.iter_mut().for_each(|values| values.fill(0.0));
    fit.update_scores(rows);

    let mut odds: Vec<Vec<f64>> =
        fit.scores.iter().map(|scores| scores.iter().map(|s| s.exp()).collect()).collect();
    let mut sums = vec![0.0; rows.len()];
    odds.iter().for_each(|odds| sums.iter_mut().zip(odds).for_each(|(sum, odd)| *sum += odd));
    let mut loss = f64::INFINITY;
    for _ in 0..ROUNDS {
        for (class, odds) in odds.iter_mut().enumerate() {
            class_step(fit, rows, ridge, class, (odds, &mut sums));
        }
        let of_row = |row: usize| {
            let own = (0..outputs).find(|&class| rows.targets[class][row] == 1.0);
            rows.weight[row] * (sums[row] / odds[own.unwrap_or(0)][row]).ln()
        };
        let squares: f64 = fit.values.iter().flatten().map(|value| value * value).sum();
        let next = (0..rows.len()).map(of_row).sum::<f64>() + 0.5 * ridge * squares;
        if loss - next <= TOLERANCE * next {
            break;
        }
        loss = next;
    }
}

/// A Newton step of one class's values. `odds` are the exponentials of its scores, `sums` those of
/// all classes together.
fn class_step(
    fit: &mut SumFit,
    rows: &SumRows<'_>,
    ridge: f64,
    class: usize,
    (odds, sums): (&mut [f64], &mut [f64]),
) {
    let (outputs, (offsets, size)) = (rows.outputs(), fit.offsets());
    let mut step = vec![0.0; size];
    let mut curvature = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let (p, w) = (odds[row] / sums[row], rows.weight[row]);
        let g = w * (p - rows.targets[class][row]);
        // The curvature of one class alone is too small where classes change together.
        curvature.push(w * (p * (1.0 - p)).max(1e-4));
        step[0] -= g;
        for (leaf_of, &offset) in fit.leaf_of.iter().zip(&offsets) {
            step[offset + usize::from(leaf_of[row])] -= g;
        }
    }
    for (values, &offset) in fit.values.iter().zip(&offsets) {
        let own = values.iter().skip(class).step_by(outputs);
        step[offset..].iter_mut().zip(own).for_each(|(step, value)| *step -= ridge * value);
    }
    fit.weighted_matrix(&curvature, ridge).factor().solve(&mut step);

    fit.intercept[class] += step[0];
    for (values, &offset) in fit.values.iter_mut().zip(&offsets) {
        let own = values.iter_mut().skip(class).step_by(outputs);
        own.zip(&step[offset..]).for_each(|(value, step)| *value += step);
    }
    for row in 0..rows.len() {
        let mut score = fit.intercept[class];
        for (leaf_of, values) in fit.leaf_of.iter().zip(&fit.values) {
            score += values[usize::from(leaf_of[row]) * outputs + class];
        }
        let odd = score.clamp(-MAX_SCORE, MAX_SCORE).exp();
        sums[row] = (sums[row] - odds[row] + odd).max(f64::MIN_POSITIVE);
        odds[row] = odd;
    }
}
