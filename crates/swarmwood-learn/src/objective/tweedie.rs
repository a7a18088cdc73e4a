//! Tweedie loss with a logarithmic link: targets that are often zero and otherwise positive, such as
//! the cost of a policy.

use swarmwood_model::Link;

use super::registry::{ObjectiveMetric, ObjectiveSpec, REGRESSION};
use super::{Curvature, Objective, rows};
use crate::kernels::exp::exp;

/// Half the Tweedie deviance with `mu = exp(s)` and a variance that is proportional to `mu^p`:
/// `mu^(2-p) / (2-p) - y mu^(1-p) / (1-p)`, less its value at `mu = y`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tweedie {
    /// The power p of the variance, between 1 (Poisson) and 2 (gamma).
    pub power: f64,
}

/// The start value for targets that are all zero, whose best constant would be minus infinity.
const LEAST_MEAN: f64 = 1e-9;

/// The description of `tweedie`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "tweedie",
    help: "Tweedie deviance with a log link, for amounts that are often 0",
    parameter: Some("tweedie_power"),
    metric: Some(ObjectiveMetric {
        name: "tweedie_deviance",
        of_row: |power, p, y| {
            let raw = p.ln();
            (p > 0.0 && y >= 0.0).then(|| 2.0 * (Tweedie { power }).half_deviance(raw, y))
        },
        root: false,
    }),
    check: |config| match config.parameter() {
        power if power > 1.0 && power < 2.0 => Ok(()),
        _ => Err(
            "the power of the tweedie loss must be between 1 and 2; for 1 use poisson, for 2 gamma",
        ),
    },
    make: |config| Box::new(Tweedie { power: config.parameter() }),
    ..REGRESSION
};

impl Tweedie {
    /// Half the deviance at a raw score.
    fn half_deviance(&self, score: f64, target: f64) -> f64 {
        let (one, two) = (1.0 - self.power, 2.0 - self.power);
        // At the perfect score, ln y, both terms are multiples of y^(2-p).
        let perfect = if target > 0.0 { target.powf(two) * (1.0 / two - 1.0 / one) } else { 0.0 };
        (two * score).exp() / two - target * (one * score).exp() / one - perfect
    }
}

impl Objective for Tweedie {
    fn name(&self) -> &'static str {
        "tweedie"
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
        let (one, two) = ((1.0 - self.power) as f32, (2.0 - self.power) as f32);
        rows::write(score, target, weight, g, h, |score, target| {
            let (of_target, of_mean) = (target * exp(one * score), exp(two * score));
            (of_mean - of_target, two * of_mean - one * of_target)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        rows::sum(score, target, weight, |score, target| self.half_deviance(score, target))
    }
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }
}
