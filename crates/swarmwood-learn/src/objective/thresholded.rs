//! Regression losses for two classes: the class is the number 0 or 1, and the prediction is
//! thresholded at one half.
//!
//! This is what the published tuning experiments do with classes (methods of range B: squared and
//! squared-log error on 0/1 targets). The prediction `p` of such a loss is no probability and may
//! leave `[0, 1]`, so the model keeps the score `s = a (r - r½)`, where `r` is the raw score of the
//! loss and `r½` the one whose prediction is one half: the sigmoid of `s` is above one half exactly
//! where `p` is, and `a` makes both curves equally steep there. A loss in `s` that is the parabola
//! around the moved targets has the same trees and the same penalties as the loss in `r`, times
//! `a`.

use std::f64::consts::LN_2;

use swarmwood_model::Link;

use super::registry::{ObjectiveSpec, ObjectiveTargets, REGRESSION};
use super::{Objective, Squared};

/// Squared loss of the class as a number: `½ (s - a (r(y) - r½))²` with `y` 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdedRegression {
    /// Whether the number is taken as `ln(1 + y)`.
    pub log: bool,
}

/// The description of `cut-squared-log`.
pub(super) const SQUARED_LOG: ObjectiveSpec = ObjectiveSpec {
    name: "cut-squared-log",
    help: "squared error of ln(1 + class), thresholded at one half",
    targets: ObjectiveTargets::TwoClasses,
    make: |_| Box::new(ThresholdedRegression { log: true }),
    ..REGRESSION
};

/// The description of `cut-squared`.
pub(super) const SQUARED: ObjectiveSpec = ObjectiveSpec {
    name: "cut-squared",
    help: "squared error of the class, thresholded at one half",
    targets: ObjectiveTargets::TwoClasses,
    make: |_| Box::new(ThresholdedRegression { log: false }),
    ..REGRESSION
};

impl Objective for ThresholdedRegression {
    fn name(&self) -> &'static str {
        if self.log { "cut-squared-log" } else { "cut-squared" }
    }
    fn link(&self) -> Link {
        Link::Sigmoid
    }
    fn constant_hessian(&self) -> bool {
        true
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target == 0.0 || target == 1.0 {
            Ok(())
        } else {
            Err("must be the number of one of two classes, 0 or 1")
        }
    }
    fn transform_target(&self, target: f64) -> f64 {
        // The sigmoid rises by 1/4 a unit of score; p rises by 1, or for p = exp(r) - 1 = 1/2 by
        // 3/2, a unit of r.
        if self.log { 6.0 * (target * LN_2 - 1.5f64.ln()) } else { 4.0 * (target - 0.5) }
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
