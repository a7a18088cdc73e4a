//! Pinball loss: a quantile (Koenker and Bassett 1978).

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, rows};

/// Pinball loss: `alpha (y - s)` below the target, `(1 - alpha) (s - y)` above it; its minimum is
/// the `alpha` quantile. `h` is the weight, and a leaf's exact value the quantile of its residuals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// Which quantile, between 0 and 1.
    pub alpha: f64,
}

/// The description of `quantile`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "quantile",
    help: "pinball loss: predicts the given quantile",
    parameter: Some("quantile"),
    metric: Some(ObjectiveMetric {
        name: "pinball",
        of_row: |alpha, p, y| Some(if y > p { alpha * (y - p) } else { (1.0 - alpha) * (p - y) }),
        root: false,
    }),
    check: |config| match config.parameter() {
        alpha if alpha > 0.0 && alpha < 1.0 => Ok(()),
        _ => Err("the quantile must lie between 0 and 1, both excluded"),
    },
    make: |config| Box::new(Quantile { alpha: config.parameter() }),
    ..REGRESSION
};

impl Objective for Quantile {
    fn name(&self) -> &'static str {
        "quantile"
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
        let (above, below) = ((1.0 - self.alpha) as f32, -self.alpha as f32);
        rows::write(score, target, weight, g, h, |score, target| {
            let side = if score < target { below } else { 0.0 };
            (if score > target { above } else { side }, 1.0)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let alpha = self.alpha;
        rows::sum(score, target, weight, |score, target| {
            let residual = target - score;
            if residual > 0.0 { alpha * residual } else { (alpha - 1.0) * residual }
        })
    }
    fn leaf_quantile(&self) -> Option<f64> {
        Some(self.alpha)
    }
    fn curvature(&self) -> Curvature {
        Curvature::Weight
    }
}
