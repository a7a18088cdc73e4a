//! Squared loss on the scale `ln(1 + y)`: relative errors of targets from zero up.
//!
//! XGBoost keeps the score on the scale of `y` and differentiates through the logarithm, which
//! makes the loss non-convex and its hessian negative far from the target. Here the target is
//! transformed once and the score lives on the logarithm's scale: the same loss, now a plain
//! parabola; the link `exp(s) - 1` leads back.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Objective, Squared, rows};

/// Squared-log loss `½ (s - ln(1 + y))²`; the prediction is `exp(s) - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SquaredLog;

/// The description of `squared-log`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "squared-log",
    help: "squared error of ln(1 + y), for targets above -1 that grow by factors",
    metric: Some(ObjectiveMetric {
        name: "rmsle",
        of_row: |_, p, y| (p > -1.0 && y > -1.0).then(|| (p.ln_1p() - y.ln_1p()).powi(2)),
        root: true,
    }),
    make: |_| Box::new(SquaredLog),
    ..REGRESSION
};

impl Objective for SquaredLog {
    fn name(&self) -> &'static str {
        "squared-log"
    }
    fn link(&self) -> Link {
        Link::ExpM1
    }
    fn shift_invariant(&self) -> bool {
        true
    }
    fn constant_hessian(&self) -> bool {
        true
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target > -1.0 && rows::check_finite(target).is_ok() {
            Ok(())
        } else {
            Err("must be a finite number greater than -1 and at most 1e30")
        }
    }
    fn transform_target(&self, target: f64) -> f64 {
        target.ln_1p()
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        Squared.derivatives(score, target, weight, g, h);
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        Squared.loss(score, target, weight)
    }
}
