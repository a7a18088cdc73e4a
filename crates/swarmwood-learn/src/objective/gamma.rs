//! Gamma loss with a logarithmic link: positive targets whose spread grows with their mean, such as
//! the cost of a claim.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, rows};
use crate::kernels::exp::exp;

/// Half the gamma deviance with `mu = exp(s)`: `y / mu + s - ln y - 1`, zero for a perfect score.
/// `g = 1 - y / mu`; the hessian `y / mu` is at least 1, which it is on average: where `mu` is far
/// above `y`, a Newton step would overshoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gamma;

/// The least hessian of a row.
const LEAST_HESSIAN: f64 = 1.0;

/// The description of `gamma`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "gamma",
    help: "gamma deviance with a log link, for positive amounts",
    metric: Some(ObjectiveMetric {
        name: "gamma_deviance",
        of_row: |_, p, y| (p > 0.0 && y > 0.0).then(|| 2.0 * ((p / y).ln() + y / p - 1.0)),
        root: false,
    }),
    make: |_| Box::new(Gamma),
    ..REGRESSION
};

impl Objective for Gamma {
    fn name(&self) -> &'static str {
        "gamma"
    }
    fn link(&self) -> Link {
        Link::Exp
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target >= f64::from(f32::MIN_POSITIVE) && rows::check_finite(target).is_ok() {
            Ok(())
        } else {
            Err("must be a number above 0, from 1.2e-38 to 1e30")
        }
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        vec![rows::mean(target, weight).unwrap_or(1.0).max(f64::from(f32::MIN_POSITIVE)).ln()]
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
            let ratio = target * exp(-score);
            (1.0 - ratio, ratio.max(LEAST_HESSIAN as f32))
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        rows::sum(score, target, weight, |score, target| {
            target * (-score).exp() + score - target.ln() - 1.0
        })
    }
    fn curvature(&self) -> Curvature {
        Curvature::Floored(LEAST_HESSIAN)
    }
}
