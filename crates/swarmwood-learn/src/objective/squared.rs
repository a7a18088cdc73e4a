//! Squared loss `½ (s - y)²`: the mean.

use swarmwood_model::Link;

use super::Objective;
use super::registry::{ObjectiveSpec, REGRESSION};
use crate::kernels::particle::{self, DerivativePair};
use crate::kernels::{derivatives, losses};

/// Squared loss `½ (s - y)²`: `g = s - y`, `h = 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Squared;

/// The description of `squared`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "squared",
    help: "squared error: predicts the mean",
    make: |_| Box::new(Squared),
    ..REGRESSION
};

impl Objective for Squared {
    fn name(&self) -> &'static str {
        "squared"
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
        derivatives::squared(score, target, weight, g, h);
    }
    fn derivative_pairs(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        pairs: &mut [DerivativePair],
    ) {
        particle::squared_pairs(score, target, pairs);
        particle::weigh_pairs(weight, pairs);
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        losses::squared(score, target, weight)
    }
}
