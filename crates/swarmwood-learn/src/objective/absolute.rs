//! Absolute loss `|s - y|`: the median.

use swarmwood_model::Link;

use super::registry::{ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, rows};

/// Absolute loss `|s - y|`: `g` is the sign of `s - y`, `h` the weight, and a leaf's exact value
/// the median residual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absolute;

/// The description of `absolute`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "absolute",
    help: "absolute error: predicts the median",
    make: |_| Box::new(Absolute),
    ..REGRESSION
};

impl Objective for Absolute {
    fn name(&self) -> &'static str {
        "absolute"
    }
    fn link(&self) -> Link {
        Link::Identity
    }
    fn shift_invariant(&self) -> bool {
        true
    }
    fn constant_hessian(&self) -> bool {
        true
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
            (f32::from(score > target) - f32::from(score < target), 1.0)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        rows::sum(score, target, weight, |score, target| (score - target).abs())
    }
    fn leaf_quantile(&self) -> Option<f64> {
        Some(0.5)
    }
    fn curvature(&self) -> Curvature {
        Curvature::Weight
    }
}
