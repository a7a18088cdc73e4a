//! What held-out rows say about the use of a model's predictions: where two classes are separated,
//! how far a target may be from its prediction, and which classes cannot be ruled out.

use crate::tree::Tree;

/// Numbers that turn predictions into decisions. All are absent unless training asked for them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calibration {
    /// Two classes: the second one is predicted where its probability is greater than this. Without
    /// it the most probable class is predicted.
    pub threshold: Option<f64>,
    /// Numbers: the interval around a prediction.
    pub interval: Option<PredictionInterval>,
    /// Classes: the set of classes that are predicted together.
    pub class_sets: Option<ClassSets>,
    /// The unit of points: every leaf value is a whole number of them.
    pub points_unit: Option<f64>,
}

/// An interval around a predicted number that contains the target with a given probability.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictionInterval {
    /// The share of future targets within their intervals.
    pub level: f64,
    /// The distance from the prediction to both ends, on the scale of residuals; with a tree, in
    /// units of its value.
    pub half_width: f64,
    /// A tree whose leaf values, all above 0, tell how far targets are from predictions; without it
    /// all intervals have the same width.
    pub scale: Option<Tree>,
}

/// Sets of classes that contain the class of a row with a given probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassSets {
    /// The share of future rows whose class is in their set.
    pub level: f64,
    /// Classes with at least this probability are in the set, and the most probable one always is.
    pub min_probability: f64,
}

impl Calibration {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Calibration::default()
    }

    /// The raw score of two classes above which the second one is predicted.
    ///
    /// ```
    /// use swarmwood_model::Calibration;
    /// assert_eq!(Calibration::default().raw_threshold(), 0.0);
    /// let at = |threshold| Calibration { threshold: Some(threshold), ..Calibration::default() };
    /// assert_eq!(at(0.5).raw_threshold(), 0.0);
    /// assert!(at(0.2).raw_threshold() < -1.0);
    /// ```
    pub fn raw_threshold(&self) -> f64 {
        self.threshold.map_or(0.0, |threshold| (threshold / (1.0 - threshold)).ln())
    }
}
