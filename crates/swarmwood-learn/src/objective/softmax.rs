//! Softmax loss of any number of classes.

use swarmwood_model::Link;

use super::logistic::LEAST_PRIOR;
use super::registry::{ObjectiveSpec, ObjectiveTargets, REGRESSION};
use super::{Curvature, Objective, OneOutput, OutputRows};
use crate::kernels::{derivatives, losses, softmax_output};

/// Softmax loss of class indices, one raw output a class: `g_k = p_k - [y = k]`,
/// `h_k = K / (K - 1) · p_k (1 - p_k)`.
///
/// The factor is Friedman's (2001, algorithm 6), as in LightGBM: it makes up for treating the
/// outputs as if they did not depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    /// Number of classes, at least two.
    pub classes: usize,
}

impl Softmax {
    fn factor(&self) -> f64 {
        let classes = self.classes.max(2) as f64;
        classes / (classes - 1.0)
    }
}

/// The description of `softmax`.
pub(super) const SPEC: ObjectiveSpec = ObjectiveSpec {
    name: "softmax",
    help: "log loss of three or more classes",
    targets: ObjectiveTargets::ManyClasses,
    check: |config| match config.classes() {
        0 | 1 => Err("the softmax loss needs at least two classes"),
        _ => Ok(()),
    },
    make: |config| Box::new(Softmax { classes: config.classes() }),
    ..REGRESSION
};

impl Objective for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }
    fn outputs(&self) -> usize {
        self.classes
    }
    fn link(&self) -> Link {
        Link::Softmax
    }
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        if target >= 0.0 && target < self.classes as f64 && target.fract() == 0.0 {
            Ok(())
        } else {
            Err("must be a class index from 0 to one less than the number of classes")
        }
    }
    /// Log-priors. A class without rows gets a prior of 1e-9: its best constant would be minus
    /// infinity.
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let mut prior = vec![0.0; self.classes];
        for (i, &class) in target.iter().enumerate() {
            if let Some(prior) = prior.get_mut(class as usize) {
                *prior += weight.get(i).copied().unwrap_or(1.0);
            }
        }
        let total: f64 = prior.iter().sum();
        if total <= 0.0 {
            return vec![0.0; self.classes];
        }
        prior.into_iter().map(|prior| (prior / total).max(LEAST_PRIOR).ln()).collect()
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        derivatives::softmax(self.classes, self.factor() as f32, score, target, weight, g, h);
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        losses::softmax(self.classes, score, target, weight)
    }
    fn one_output(&self) -> Option<&dyn OneOutput> {
        Some(self)
    }
    fn curvature(&self) -> Curvature {
        Curvature::Scaled(self.factor())
    }
}

impl OneOutput for Softmax {
    fn others(&self, output: usize, score: &[f32], others: &mut [f32]) {
        softmax_output::log_sums(self.classes, output, score, others);
    }
    fn derivatives(&self, output: usize, rows: OutputRows<'_>, g: &mut [f32], h: &mut [f32]) {
        let OutputRows { score, others, target, weight } = rows;
        let class = (output as f32, self.factor() as f32);
        softmax_output::derivatives(class, score, others, target, weight, g, h);
    }
    fn loss(&self, output: usize, rows: OutputRows<'_>) -> f64 {
        softmax_output::loss(output as f32, rows.score, rows.others, rows.target, rows.weight)
    }
    fn rest(&self, output: usize, rows: OutputRows<'_>) -> f64 {
        softmax_output::rest(output, rows.score, rows.others, rows.target, rows.weight)
    }
}
