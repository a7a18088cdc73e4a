//! Logistic loss of two classes.

use swarmwood_model::Link;

use super::registry::{ObjectiveSpec, ObjectiveTargets, REGRESSION};
use super::{Objective, rows};
use crate::kernels::particle::{self, DerivativePair};
use crate::kernels::{derivatives, losses};

/// Logistic loss of targets 0 and 1 with `p = 1 / (1 + exp(-s))`: `g = p - y`, `h = p (1 - p)`, at
/// least 1e-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logistic;

/// The start value keeps this far from the probabilities 0 and 1, whose log-odds are infinite:
/// targets of one class.
pub(super) const LEAST_PRIOR: f64 = 1e-9;

/// The description of `logistic`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "logistic",
    help: "log loss of two classes",
    targets: ObjectiveTargets::TwoClasses,
    make: |_| Box::new(Logistic),
    ..REGRESSION
};

impl Objective for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }
    fn link(&self) -> Link {
        Link::Sigmoid
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target == 0.0 || target == 1.0 { Ok(()) } else { Err("must be 0 or 1") }
    }
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let p = rows::mean(target, weight).unwrap_or(0.5).clamp(LEAST_PRIOR, 1.0 - LEAST_PRIOR);
        vec![(p / (1.0 - p)).ln()]
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        derivatives::logistic(score, target, weight, g, h);
    }
    fn derivative_pairs(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        pairs: &mut [DerivativePair],
    ) {
        particle::logistic_pairs(score, target, pairs);
        particle::weigh_pairs(weight, pairs);
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        losses::logistic(score, target, weight)
    }
}
