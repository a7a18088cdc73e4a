//! Intervals around predicted numbers, and sets of classes.

use crate::calibration::PredictionInterval;
use crate::ensemble::{Link, Model};
use crate::predict::block::FeatureValue;

impl PredictionInterval {
    /// The half-width for a row; `value` returns the row's value of a feature. Codes without a level
    /// in the schema must have been replaced by [`super::MISSING`].
    pub fn half_width_of(&self, value: impl Fn(u32) -> FeatureValue) -> f64 {
        let scale = self.scale.as_ref().map_or(1.0, |tree| {
            tree.leaves.get(tree.leaf_of(value) as usize).map_or(1.0, |leaf| leaf.value)
        });
        self.half_width * scale
    }
}

impl Link {
    /// A target on the scale on which residuals are measured: `ln(1 + y)` for [`Link::ExpM1`], whose
    /// objective is fitted on that scale, the target itself for all others.
    pub fn residual_target(self, target: f64) -> f64 {
        if self == Link::ExpM1 { target.ln_1p() } else { target }
    }

    /// The prediction for a raw score on the scale on which residuals are measured.
    pub fn residual_centre(self, raw: f64) -> f64 {
        if self == Link::ExpM1 { raw } else { self.number(raw) }
    }

    /// The interval around the prediction for a raw score, with a half-width on the scale of
    /// residuals. Its ends are finite, and at least the least target that the link can predict.
    ///
    /// ```
    /// use swarmwood_model::Link;
    /// assert_eq!(Link::Identity.interval(3.0, 4.0), (-1.0, 7.0));
    /// assert_eq!(Link::Exp.interval(0.0, 4.0), (0.0, 5.0));
    /// ```
    pub fn interval(self, raw: f64, half_width: f64) -> (f64, f64) {
        let centre = self.residual_centre(raw);
        let bounded = |end: f64| end.clamp(-f64::MAX, f64::MAX);
        let (lower, upper) = (bounded(centre - half_width), bounded(centre + half_width));
        match self {
            Link::Exp => (lower.max(0.0), upper.max(0.0)),
            Link::ExpM1 => (self.number(lower), self.number(upper)),
            Link::Identity | Link::Sigmoid | Link::Softmax => (lower, upper),
        }
    }
}

impl Model {
    /// Which classes are in the prediction set of a row, given its probabilities: those with at
    /// least the stored probability, and the most probable one. `None` if the model has no sets.
    pub fn class_set(&self, probabilities: &[f64]) -> Option<Vec<bool>> {
        let sets = self.calibration.class_sets?;
        let largest = probabilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut set: Vec<bool> =
            probabilities.iter().map(|&probability| probability >= sets.min_probability).collect();
        if let Some(best) = probabilities.iter().position(|&probability| probability == largest) {
            set[best] = true;
        }
        Some(set)
    }
}
