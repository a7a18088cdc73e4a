//! Huber's loss (1964): squared near the target, absolute far from it.
//!
//! The second derivative is zero beyond `delta`, so that Newton steps explode; LightGBM puts one
//! everywhere, so that they crawl when `delta` is small beside the residuals. The curvature here is
//! that of the parabola which touches the loss at the residual and lies above it everywhere,
//! `min(1, delta / |r|)`: a leaf's Newton value is then one step of iteratively re-weighted least
//! squares, which never makes the loss worse.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, order, rows};

/// Huber's loss: `½ r²` for `|r| ≤ delta`, else `delta (|r| - ½ delta)`, with `r = s - y`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Huber {
    /// Where the loss turns from squared to absolute; greater than zero, in units of the target.
    pub delta: f64,
}

/// The start value's search has long converged by then; it ends sooner when a step changes nothing.
const STEPS: usize = 200;

/// The description of `huber`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "huber",
    help: "squared error near the target, absolute error further away than huber_delta",
    parameter: Some("huber_delta"),
    metric: Some(ObjectiveMetric {
        name: "huber",
        of_row: |delta, p, y| Some(huber_loss(p - y, delta)),
        root: false,
    }),
    check: |config| match config.parameter() {
        delta if delta > 0.0 && delta.is_finite() => Ok(()),
        _ => Err("the delta of the huber loss must be a finite number greater than 0"),
    },
    make: |config| Box::new(Huber { delta: config.parameter() }),
    ..REGRESSION
};

impl Objective for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }
    fn link(&self) -> Link {
        Link::Identity
    }
    fn shift_invariant(&self) -> bool {
        true
    }
    /// The derivative of the summed loss rises in straight pieces: Newton steps from the median
    /// find its zero, and halving the bracket takes over where a step would leave it.
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for &value in target {
            (low, high) = (low.min(value), high.max(value));
        }
        let mut at = order::quantile_of(target, weight, 0.5);
        for _ in 0..STEPS {
            let (mut slope, mut curvature) = (0.0, 0.0);
            for (i, value) in target.iter().enumerate() {
                let weight = weight.get(i).copied().unwrap_or(1.0);
                let residual = at - value;
                slope += weight * residual.max(-self.delta).min(self.delta);
                curvature += if residual.abs() <= self.delta { weight } else { 0.0 };
            }
            match slope.partial_cmp(&0.0) {
                Some(std::cmp::Ordering::Less) => low = at,
                Some(std::cmp::Ordering::Greater) => high = at,
                _ => break,
            }
            let newton = at - slope / curvature;
            let next =
                if newton > low && newton < high { newton } else { low + (high - low) / 2.0 };
            if next == at {
                break;
            }
            at = next;
        }
        vec![at]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        let delta = self.delta as f32;
        rows::write(score, target, weight, g, h, |score, target| {
            let residual = score - target;
            let size = residual.abs();
            let curvature = if size > delta { delta / size } else { 1.0 };
            (residual * curvature, curvature)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        let delta = self.delta;
        rows::sum(score, target, weight, |score, target| huber_loss(score - target, delta))
    }
    fn curvature(&self) -> Curvature {
        Curvature::Majorant
    }
}

/// The loss of one residual.
fn huber_loss(residual: f64, delta: f64) -> f64 {
    let size = residual.abs();
    if size <= delta { 0.5 * size * size } else { delta * (size - 0.5 * delta) }
}
