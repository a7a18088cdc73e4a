//! What held-out rows say about the use of a model's predictions: where two classes are separated.

/// Numbers that turn predictions into decisions. All are absent unless training asked for them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calibration {
    /// Two classes: the second one is predicted where its probability is greater than this. Without
    /// it the most probable class is predicted.
    pub threshold: Option<f64>,
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
    /// assert_eq!(Calibration { threshold: Some(0.5) }.raw_threshold(), 0.0);
    /// assert!(Calibration { threshold: Some(0.2) }.raw_threshold() < -1.0);
    /// ```
    pub fn raw_threshold(&self) -> f64 {
        self.threshold.map_or(0.0, |threshold| (threshold / (1.0 - threshold)).ln())
    }
}
