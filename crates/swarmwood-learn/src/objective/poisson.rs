//! Poisson loss with a logarithmic link: counts and other targets from zero up.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, rows};
use crate::kernels::exp::exp;

/// Half the Poisson deviance with `mu = exp(s)`: `mu - y s + y ln y - y`, zero for a perfect score.
/// `g = mu - y`; the hessian is `mu` times e^0.7, as in XGBoost and LightGBM: a Newton step from
/// far below would overshoot without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poisson;

/// How much the step is shortened, as a shift of the score (`max_delta_step` elsewhere).
const DAMPING: f64 = 0.7;

/// The start value for targets that are all zero, whose best constant would be minus infinity.
const LEAST_MEAN: f64 = 1e-9;

/// The description of `poisson`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "poisson",
    help: "Poisson deviance with a log link, for counts",
    metric: Some(ObjectiveMetric {
        name: "poisson_deviance",
        of_row: |_, p, y| {
            (p > 0.0 && y >= 0.0)
                .then(|| 2.0 * (if y > 0.0 { y * (y / p).ln() } else { 0.0 } - y + p))
        },
        root: false,
    }),
    make: |_| Box::new(Poisson),
    ..REGRESSION
};

impl Objective for Poisson {
    fn name(&self) -> &'static str {
        "poisson"
    }
    fn link(&self) -> Link {
        Link::Exp
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        rows::check_not_negative(target)
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        vec![rows::mean(target, weight).unwrap_or(1.0).max(LEAST_MEAN).ln()]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        let factor = DAMPING.exp() as f32;
        rows::write(score, target, weight, g, h, |score, target| {
            let mean = exp(score);
            (mean - target, factor * mean)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        rows::sum(score, target, weight, |score, target| {
            let perfect = if target > 0.0 { target * target.ln() - target } else { 0.0 };
            score.exp() - target * score + perfect
        })
    }
    fn curvature(&self) -> Curvature {
        Curvature::Scaled(DAMPING.exp())
    }
}
