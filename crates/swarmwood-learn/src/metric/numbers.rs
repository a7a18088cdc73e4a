//! Metrics of predicted numbers, collected row by row. `None` means that a metric is not defined.

use super::mean::Mean;
use super::weighed::WeightedValues;
use crate::objective::{ObjectiveConfig, ObjectiveMetric};

/// The metrics of every regression.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    squared: Mean,
    absolute: Mean,
    relative: Mean,
    /// Whether some target is zero, of which no error is a share.
    zero: bool,
    spread: Spread,
    errors: WeightedValues,
}

impl Numbers {
    pub(super) fn add(&mut self, prediction: f64, target: f64, weight: f64) {
        let error = prediction - target;
        self.squared.add(error * error, weight);
        self.absolute.add(error.abs(), weight);
        self.zero |= target == 0.0;
        if !self.zero {
            self.relative.add((error / target).abs(), weight);
        }
        self.spread.add(target, weight);
        self.errors.push(error.abs(), weight);
    }

    /// Root of the mean squared error, mean absolute error, the share of the target's variance that
    /// the predictions explain, median absolute error, mean absolute error as a share of the
    /// target's size.
    pub(super) fn finish(self) -> Vec<(&'static str, Option<f64>)> {
        let explained = |error: f64| Some(1.0 - error / self.spread.variance()?);
        vec![
            ("rmse", self.squared.get().map(f64::sqrt)),
            ("mae", self.absolute.get()),
            ("r2", self.squared.get().and_then(explained)),
            ("medae", self.errors.median()),
            ("mape", self.relative.get().filter(|_| !self.zero)),
        ]
    }
}

/// Mean and spread of the targets in one pass (West 1979): the sum of squares about a mean that
/// moves along, which loses no digits where the mean is large and the spread small.
#[derive(Debug, Clone, Copy, Default)]
struct Spread {
    centre: f64,
    squares: f64,
    total: f64,
}

impl Spread {
    fn add(&mut self, value: f64, weight: f64) {
        if weight > 0.0 {
            if self.total == 0.0 {
                // The first value is the mean exactly, so that equal ones have no spread at all.
                self.centre = value;
            }
            self.total += weight;
            let before = value - self.centre;
            self.centre += before * (weight / self.total);
            self.squares += weight * before * (value - self.centre);
        }
    }

    /// `None` if the values do not vary.
    fn variance(&self) -> Option<f64> {
        (self.squares > 0.0).then(|| self.squares / self.total)
    }
}

/// Collects the metric that belongs to one objective alone.
#[derive(Debug, Clone)]
pub(super) struct ObjectiveMean {
    metric: ObjectiveMetric,
    parameter: f64,
    mean: Mean,
    /// Whether a row lay outside of what the metric is defined for.
    outside: bool,
}

impl ObjectiveMean {
    /// `None` for objectives whose metric every task of their kind has.
    pub(super) fn new(config: &ObjectiveConfig) -> Option<ObjectiveMean> {
        let metric = config.spec().metric?;
        let parameter = config.parameter();
        Some(ObjectiveMean { metric, parameter, mean: Mean::default(), outside: false })
    }

    pub(super) fn add(&mut self, prediction: f64, target: f64, weight: f64) {
        match (self.metric.of_row)(self.parameter, prediction, target) {
            Some(value) => self.mean.add(value, weight),
            None => self.outside = true,
        }
    }

    pub(super) fn finish(self) -> (&'static str, Option<f64>) {
        let mean = self.mean.get().filter(|_| !self.outside);
        let root = self.metric.root;
        (self.metric.name, if root { mean.map(f64::sqrt) } else { mean })
    }
}
