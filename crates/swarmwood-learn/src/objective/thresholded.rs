//! Regression losses for two classes: the class is the number 0 or 1, and the prediction is
//! thresholded at one half.
//!
//! This is what the published tuning experiments do with classes (methods of range B: squared and
//! squared-log error on 0/1 targets). The prediction `p` of such a loss is no probability and may
//! leave `[0, 1]`, so the model keeps the score `s = a (r - r½)`, where `r` is the raw score of the
//! loss and `r½` the one whose prediction is one half: the sigmoid of `s` is above one half exactly
//! where `p` is, and `a` makes both curves equally steep there. The loss in `s`, times `a²`, has the
//! same trees and the same penalties as the loss in `r`, with leaves times `a`; of a parabola it is
//! the parabola around the moved targets.

use std::f64::consts::LN_2;

use swarmwood_model::Link;

use super::registry::{ObjectiveSpec, ObjectiveTargets, REGRESSION};
use super::squared_log_error::{LEAST_HESSIAN, derivatives_of, loss_of};
use super::{Curvature, Objective, Squared, rows};

/// The regression losses that two classes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdedLoss {
    /// The squared error of the class.
    Squared,
    /// The squared error of `ln(1 + class)`, with scores on that scale.
    SquaredLog,
    /// The same with scores on the scale of the class, as in XGBoost.
    SquaredLogError,
}

impl ThresholdedLoss {
    /// Every loss.
    pub const ALL: [ThresholdedLoss; 3] =
        [ThresholdedLoss::Squared, ThresholdedLoss::SquaredLog, ThresholdedLoss::SquaredLogError];
}

/// A regression loss of the class as a number, 0 or 1. For the squared losses this is
/// `½ (s - a (r(y) - r½))²`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdedRegression {
    /// The loss of the number.
    pub loss: ThresholdedLoss,
}

/// What these losses have in common.
const THRESHOLDED: ObjectiveSpec =
    ObjectiveSpec { targets: ObjectiveTargets::TwoClasses, ..REGRESSION };

/// The description of `cut-squared`.
pub(super) const SQUARED: ObjectiveSpec = ObjectiveSpec {
    name: "cut-squared",
    help: "squared error of the class, thresholded at one half",
    make: |_| Box::new(ThresholdedRegression { loss: ThresholdedLoss::Squared }),
    ..THRESHOLDED
};

/// The description of `cut-squared-log`.
pub(super) const SQUARED_LOG: ObjectiveSpec = ObjectiveSpec {
    name: "cut-squared-log",
    help: "squared error of ln(1 + class), thresholded at one half",
    make: |_| Box::new(ThresholdedRegression { loss: ThresholdedLoss::SquaredLog }),
    ..THRESHOLDED
};

/// The description of `cut-squaredlogerror`.
pub(super) const SQUARED_LOG_ERROR: ObjectiveSpec = ObjectiveSpec {
    name: "cut-squaredlogerror",
    help: "XGBoost's squared-log error of the class, thresholded at one half",
    make: |_| Box::new(ThresholdedRegression { loss: ThresholdedLoss::SquaredLogError }),
    ..THRESHOLDED
};

/// `a` for predictions that are their own raw score: the sigmoid rises by 1/4 per unit of score.
const STEEPNESS: f64 = 4.0;

/// The score of a prediction that is its own raw score.
fn score_of(predicted: f64) -> f64 {
    STEEPNESS * (predicted - 0.5)
}

/// The inverse of [`score_of`].
fn predicted_of(score: f64) -> f64 {
    score / STEEPNESS + 0.5
}

impl Objective for ThresholdedRegression {
    fn name(&self) -> &'static str {
        match self.loss {
            ThresholdedLoss::Squared => SQUARED.name,
            ThresholdedLoss::SquaredLog => SQUARED_LOG.name,
            ThresholdedLoss::SquaredLogError => SQUARED_LOG_ERROR.name,
        }
    }
    fn link(&self) -> Link {
        Link::Sigmoid
    }
    fn constant_hessian(&self) -> bool {
        self.loss != ThresholdedLoss::SquaredLogError
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target == 0.0 || target == 1.0 {
            Ok(())
        } else {
            Err("must be the number of one of two classes, 0 or 1")
        }
    }
    fn transform_target(&self, target: f64) -> f64 {
        match self.loss {
            // p = exp(r) - 1 = 1/2 rises by 3/2 per unit of r, six times as much as the sigmoid.
            ThresholdedLoss::SquaredLog => 6.0 * (target * LN_2 - 1.5f64.ln()),
            ThresholdedLoss::Squared | ThresholdedLoss::SquaredLogError => score_of(target),
        }
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let mean = |values: &[f64]| rows::mean(values, weight).unwrap_or(0.0);
        vec![match self.loss {
            ThresholdedLoss::SquaredLogError => {
                let logarithms: Vec<f64> =
                    target.iter().map(|&y| predicted_of(y).ln_1p()).collect();
                score_of(mean(&logarithms).exp_m1())
            }
            ThresholdedLoss::Squared | ThresholdedLoss::SquaredLog => mean(target),
        }]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        if self.constant_hessian() {
            return Squared.derivatives(score, target, weight, g, h);
        }
        rows::write(score, target, weight, g, h, |score, target| {
            let (predicted, target) =
                (predicted_of(f64::from(score)), predicted_of(f64::from(target)));
            let (g, h) = derivatives_of(predicted, target);
            ((STEEPNESS * g) as f32, h as f32)
        });
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        if self.constant_hessian() {
            return Squared.loss(score, target, weight);
        }
        rows::sum(score, target, weight, |score, target| {
            STEEPNESS * STEEPNESS * loss_of(predicted_of(score), predicted_of(target))
        })
    }
    fn curvature(&self) -> Curvature {
        match self.loss {
            ThresholdedLoss::SquaredLogError => Curvature::Floored(LEAST_HESSIAN),
            ThresholdedLoss::Squared | ThresholdedLoss::SquaredLog => Curvature::Exact,
        }
    }
}
