//! What is minimised: losses with their first and second derivatives.
//!
//! One file per loss, with its [`ObjectiveSpec`]; [`OBJECTIVES`] lists them, and [`make`] builds
//! one from its [`ObjectiveConfig`]. A new loss implements [`Objective`], gets a line in the list,
//! and must pass [`contract::check`], which any crate can run on its own losses too.

mod absolute;
pub mod contract;
mod custom;
mod gamma;
mod huber;
mod logistic;
pub mod order;
mod poisson;
mod quantile;
mod registry;
mod rows;
mod softmax;
mod squared;
mod squared_log;
mod squared_log_error;
#[cfg(test)]
mod tests;
mod thresholded;
mod tweedie;

use swarmwood_model::Link;

use crate::kernels::particle::{DerivativePair, pair_up};

pub use absolute::Absolute;
pub use custom::{CustomLoss, CustomObjective, CustomRows};
pub use gamma::Gamma;
pub use huber::Huber;
pub use logistic::Logistic;
pub use poisson::Poisson;
pub use quantile::Quantile;
pub use registry::{ObjectiveConfig, ObjectiveMetric, ObjectiveSpec, ObjectiveTargets, make};
pub use softmax::Softmax;
pub use squared::Squared;
pub use squared_log::SquaredLog;
pub use squared_log_error::SquaredLogError;
pub use thresholded::{ThresholdedLoss, ThresholdedRegression};
pub use tweedie::Tweedie;

/// Every objective that users can name, in the order of the help. The first one for a kind of
/// target is its default.
pub const OBJECTIVES: &[&ObjectiveSpec] = &[
    &squared::SPEC,
    &squared_log::SPEC,
    &squared_log_error::SPEC,
    &absolute::SPEC,
    &huber::SPEC,
    &quantile::SPEC,
    &poisson::SPEC,
    &gamma::SPEC,
    &tweedie::SPEC,
    &logistic::SPEC,
    &softmax::SPEC,
];

/// What the numbers that [`Objective::derivatives`] writes as hessians are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Curvature {
    /// The second derivative of the loss.
    Exact,
    /// The second derivative times a factor of at least one, which shortens the Newton step.
    Scaled(f64),
    /// The second derivative where it is above this number, elsewhere this number: for losses that
    /// are not convex, or so flat that Newton steps would overshoot.
    Floored(f64),
    /// The curvature of a parabola that touches the loss at the score and lies above it elsewhere:
    /// its minimum is never worse than the score.
    Majorant,
    /// The weight of the row, for losses without a useful second derivative.
    Weight,
}

/// Rows whose derivatives are paired at a time.
const PAIRED: usize = 256;

/// A loss of several outputs as a function of one of them while the others stay, for searches that
/// change one tree at a time. Of the other outputs, a row needs one number.
pub trait OneOutput: Send + Sync {
    /// Writes the number of every row; scores stand output after output.
    fn others(&self, output: usize, score: &[f32], others: &mut [f32]);
    /// Writes the derivatives of one output, given its scores and the numbers of the others.
    fn derivatives(&self, output: usize, rows: OutputRows<'_>, g: &mut [f32], h: &mut [f32]);
    /// The part of the loss that depends on the output.
    fn loss(&self, output: usize, rows: OutputRows<'_>) -> f64;
    /// The part of the loss that does not; scores stand output after output.
    fn rest(&self, output: usize, rows: OutputRows<'_>) -> f64;
}

/// A run of rows as [`OneOutput`] sees them.
#[derive(Debug, Clone, Copy)]
pub struct OutputRows<'a> {
    /// Raw scores: of the output, or of all outputs.
    pub score: &'a [f32],
    /// The numbers that stand for the other outputs.
    pub others: &'a [f32],
    /// Targets.
    pub target: &'a [f32],
    /// Weights; may be empty.
    pub weight: &'a [f32],
}

/// A loss over raw scores. Scores and targets come as `f32`; sums are `f64`.
///
/// Multi-output objectives lay scores, gradients and hessians out output after output: the value of
/// row `i` for output `k` stands at `k * rows + i`.
pub trait Objective: Send + Sync {
    /// The name users say.
    fn name(&self) -> &'static str;
    /// Raw outputs a row: 1, or the number of classes.
    fn outputs(&self) -> usize {
        1
    }
    /// From raw score to prediction.
    fn link(&self) -> Link;
    /// Whether the loss depends on `score - target` alone. The learner then trains on
    /// `target - base` with scores that start at zero, so that `f32` keeps its precision whatever
    /// the target's offset.
    fn shift_invariant(&self) -> bool {
        false
    }
    /// Whether the hessian of a row is its weight, whatever the score.
    fn constant_hessian(&self) -> bool {
        false
    }
    /// Whether the target is in the loss's domain, any finite number unless said otherwise; the
    /// message says what is allowed.
    fn check_target(&self, target: f64) -> Result<(), &'static str> {
        rows::check_finite(target)
    }
    /// What the learner sees of a target (`ln(1 + y)` for the squared-log loss; the value itself
    /// otherwise).
    fn transform_target(&self, target: f64) -> f64 {
        target
    }
    /// The constant raw scores that minimise the loss; `target` is transformed, `weight` may be
    /// empty. Unless said otherwise this is the quantile that leaves take, or else the mean.
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        match self.leaf_quantile() {
            Some(alpha) => vec![order::quantile_of(target, weight, alpha)],
            None => vec![rows::mean(target, weight).unwrap_or(0.0)],
        }
    }
    /// Writes first and second derivatives of a run of rows; `weight` may be empty. Hessians are
    /// positive or zero.
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    );
    /// The same derivatives, to the bit, as pairs of first and second; for losses of a single
    /// output.
    fn derivative_pairs(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        pairs: &mut [DerivativePair],
    ) {
        let (mut g, mut h) = ([0.0; PAIRED], [0.0; PAIRED]);
        for from in (0..pairs.len()).step_by(PAIRED) {
            let rows = from..(from + PAIRED).min(pairs.len());
            let weight = if weight.is_empty() { weight } else { &weight[rows.clone()] };
            let (g, h) = (&mut g[..rows.len()], &mut h[..rows.len()]);
            self.derivatives(&score[rows.clone()], &target[rows.clone()], weight, g, h);
            pair_up(g, h, &mut pairs[rows]);
        }
    }
    /// The weighted sum of losses of a run of rows; `weight` may be empty.
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64;
    /// For losses whose Newton step is a poor leaf value: the quantile of the residuals that is the
    /// exact one.
    fn leaf_quantile(&self) -> Option<f64> {
        None
    }
    /// The loss as a function of one of several outputs, where that is cheaper.
    fn one_output(&self) -> Option<&dyn OneOutput> {
        None
    }
    /// Whether derivatives and losses are computed for all rows of a fit at once, in their order,
    /// instead of for runs of rows on several threads.
    fn takes_all_rows(&self) -> bool {
        false
    }
    /// Whether [`Objective::loss`] means anything.
    fn has_loss(&self) -> bool {
        true
    }
    /// What the hessians are; the contract holds the objective to it.
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }
}
