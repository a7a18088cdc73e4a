//! XGBoost's `reg:squaredlogerror`: the squared loss of `ln(1 + y)` with scores on the scale of `y`.
//!
//! [`SquaredLog`](super::SquaredLog) is the same loss with scores on the scale of the logarithm,
//! which is convex and what users are better served by; this one repeats experiments that were made
//! with XGBoost. As a function of the score the loss is not convex and ends at -1, so XGBoost clips
//! scores to -1 + 1e-6 where it takes logarithms, and hessians to 1e-6. They are about 1 / (1 + y)²,
//! so that large targets are hardly learnt with the usual `min_child_weight` and `lambda`. Boosting
//! starts at the best constant here, in XGBoost at `base_score`.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, SquaredLog, rows};

/// Squared-log loss `½ (ln(1 + s) - ln(1 + y))²`; the prediction is the score `s` itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SquaredLogError;

/// The least score that logarithms are taken of.
const LEAST_SCORE: f64 = -1.0 + 1e-6;

/// The least hessian.
pub(super) const LEAST_HESSIAN: f64 = 1e-6;

/// The description of `squaredlogerror`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "squaredlogerror",
    help: "squared error of ln(1 + y) with scores on the scale of y, as in XGBoost",
    metric: Some(ObjectiveMetric {
        name: "rmsle",
        of_row: |_, p, y| (y > -1.0).then(|| 2.0 * loss_of(p, y)),
        root: true,
    }),
    make: |_| Box::new(SquaredLogError),
    ..REGRESSION
};

/// The loss of a prediction.
pub(super) fn loss_of(predicted: f64, target: f64) -> f64 {
    0.5 * (predicted.max(LEAST_SCORE).ln_1p() - target.ln_1p()).powi(2)
}

/// The first and second derivative of the loss by the prediction, as XGBoost takes them.
pub(super) fn derivatives_of(predicted: f64, target: f64) -> (f64, f64) {
    let predicted = predicted.max(LEAST_SCORE);
    let (difference, next) = (predicted.ln_1p() - target.ln_1p(), predicted + 1.0);
    (difference / next, ((1.0 - difference) / (next * next)).max(LEAST_HESSIAN))
}

impl Objective for SquaredLogError {
    fn name(&self) -> &'static str {
        SPEC.name
    }
    fn link(&self) -> Link {
        Link::Identity
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        SquaredLog.check_target(target)
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let logarithms: Vec<f64> = target.iter().map(|y| y.ln_1p()).collect();
        vec![rows::mean(&logarithms, weight).unwrap_or(0.0).exp_m1()]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        rows::write(score, target, weight, g, h, |score, target| {
            let (g, h) = derivatives_of(f64::from(score), f64::from(target));
            (g as f32, h as f32)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        rows::sum(score, target, weight, loss_of)
    }
    fn curvature(&self) -> Curvature {
        Curvature::Floored(LEAST_HESSIAN)
    }
}
