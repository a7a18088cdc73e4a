//! What there is to know about an objective, and an objective with its parameters as plain data.

use std::fmt;

use super::{Objective, ThresholdedLoss, thresholded};

/// What one objective is: everything but its derivatives. One constant per objective, in its own
/// file; help, documents, checks, metrics and the fronts follow from it.
#[derive(Debug, Clone, Copy)]
pub struct ObjectiveSpec {
    /// The name users say; that of [`Objective::name`].
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Which targets it is for.
    pub targets: ObjectiveTargets,
    /// The parameter of the table that it depends on, if it does on one.
    pub parameter: Option<&'static str>,
    /// The metric that belongs to this objective alone, if its task does not have it already.
    pub metric: Option<ObjectiveMetric>,
    /// Whether the parameter and the number of classes are in range; the message says what is
    /// allowed.
    pub check: fn(&ObjectiveConfig) -> Result<(), &'static str>,
    /// The objective with its parameter and for that number of classes.
    pub make: fn(&ObjectiveConfig) -> Box<dyn Objective>,
}

/// Which targets an objective is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectiveTargets {
    /// Numbers.
    Numbers,
    /// Two classes.
    TwoClasses,
    /// Three or more classes.
    ManyClasses,
}

impl ObjectiveTargets {
    /// Whether a target with so many classes, 0 for numbers, is one of them.
    pub fn fits(self, classes: usize) -> bool {
        match self {
            ObjectiveTargets::Numbers => classes == 0,
            ObjectiveTargets::TwoClasses => classes == 2,
            ObjectiveTargets::ManyClasses => classes > 2,
        }
    }
}

impl fmt::Display for ObjectiveTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectiveTargets::Numbers => "numbers",
            ObjectiveTargets::TwoClasses => "two classes",
            ObjectiveTargets::ManyClasses => "three or more classes",
        })
    }
}

/// A metric of predicted numbers that belongs to one objective.
#[derive(Debug, Clone, Copy)]
pub struct ObjectiveMetric {
    /// Its name in reports.
    pub name: &'static str,
    /// The value of one row, given the objective's parameter, the prediction and the target;
    /// `None` where the metric is not defined.
    pub of_row: fn(f64, f64, f64) -> Option<f64>,
    /// Whether the metric is the root of the mean of the rows.
    pub root: bool,
}

/// What most objectives have in common; every constant says what differs.
pub(super) const REGRESSION: ObjectiveSpec = ObjectiveSpec {
    name: "",
    help: "",
    targets: ObjectiveTargets::Numbers,
    parameter: None,
    metric: None,
    check: |_| Ok(()),
    make: |_| Box::new(super::Squared),
};

/// An objective with its parameter, as plain data.
///
/// ```
/// use swarmwood_learn::objective::ObjectiveConfig;
/// let huber = ObjectiveConfig::named("huber", 0, |_| 1.5);
/// assert_eq!(huber, Some(ObjectiveConfig::huber(1.5)));
/// assert_eq!(ObjectiveConfig::named("cosine", 0, |_| 1.5), None);
/// ```
#[derive(Clone, Copy)]
pub struct ObjectiveConfig {
    spec: &'static ObjectiveSpec,
    parameter: f64,
    classes: usize,
}

impl ObjectiveConfig {
    /// An objective for a target with so many classes, 0 for numbers; `parameter` is asked for the
    /// value of the objective's parameter, if it has one.
    pub fn new(
        spec: &'static ObjectiveSpec,
        classes: usize,
        parameter: impl FnOnce(&str) -> f64,
    ) -> ObjectiveConfig {
        // What does not depend on the number of classes is the same for all.
        let classes = if spec.targets == ObjectiveTargets::ManyClasses { classes } else { 0 };
        ObjectiveConfig { spec, parameter: spec.parameter.map_or(0.0, parameter), classes }
    }

    /// The objective of that name; `None` if there is none.
    pub fn named(
        name: &str,
        classes: usize,
        parameter: impl FnOnce(&str) -> f64,
    ) -> Option<ObjectiveConfig> {
        let spec = super::OBJECTIVES.iter().find(|spec| spec.name == name)?;
        Some(ObjectiveConfig::new(spec, classes, parameter))
    }

    /// Huber's loss.
    pub const fn huber(delta: f64) -> Self {
        ObjectiveConfig { spec: &super::huber::SPEC, parameter: delta, classes: 0 }
    }

    /// The pinball loss.
    pub const fn quantile(alpha: f64) -> Self {
        ObjectiveConfig { spec: &super::quantile::SPEC, parameter: alpha, classes: 0 }
    }

    /// The Tweedie deviance.
    pub const fn tweedie(power: f64) -> Self {
        ObjectiveConfig { spec: &super::tweedie::SPEC, parameter: power, classes: 0 }
    }

    /// The softmax loss.
    pub const fn softmax(classes: usize) -> Self {
        ObjectiveConfig { spec: &super::softmax::SPEC, parameter: 0.0, classes }
    }

    /// A regression loss on two classes, which no name leads to: a tuning alone asks for it.
    pub const fn thresholded(loss: ThresholdedLoss) -> Self {
        let spec = match loss {
            ThresholdedLoss::Squared => &thresholded::SQUARED,
            ThresholdedLoss::SquaredLog => &thresholded::SQUARED_LOG,
            ThresholdedLoss::SquaredLogError => &thresholded::SQUARED_LOG_ERROR,
        };
        Self::plain(spec)
    }

    /// What the objective is.
    pub fn spec(&self) -> &'static ObjectiveSpec {
        self.spec
    }

    /// The name users say.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The value of the objective's parameter; 0 if it has none.
    pub fn parameter(&self) -> f64 {
        self.parameter
    }

    /// The number of classes, for objectives that depend on it.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whether the target is a class.
    pub fn is_classification(&self) -> bool {
        self.spec.targets != ObjectiveTargets::Numbers
    }

    /// Whether this is a regression loss on two classes.
    pub fn is_thresholded(&self) -> bool {
        ThresholdedLoss::ALL.iter().any(|&loss| *self == Self::thresholded(loss))
    }

    /// Whether the parameter is in range; the message says what is allowed.
    pub fn check(&self) -> Result<(), &'static str> {
        (self.spec.check)(self)
    }
}

/// Objectives without a parameter.
impl ObjectiveConfig {
    const fn plain(spec: &'static ObjectiveSpec) -> Self {
        ObjectiveConfig { spec, parameter: 0.0, classes: 0 }
    }

    /// The squared loss.
    pub const SQUARED: Self = Self::plain(&super::squared::SPEC);
    /// The squared loss of `ln(1 + y)`.
    pub const SQUARED_LOG: Self = Self::plain(&super::squared_log::SPEC);
    /// The squared loss of `ln(1 + y)` with scores on the scale of `y`.
    pub const SQUARED_LOG_ERROR: Self = Self::plain(&super::squared_log_error::SPEC);
    /// The absolute loss.
    pub const ABSOLUTE: Self = Self::plain(&super::absolute::SPEC);
    /// The Poisson deviance.
    pub const POISSON: Self = Self::plain(&super::poisson::SPEC);
    /// The gamma deviance.
    pub const GAMMA: Self = Self::plain(&super::gamma::SPEC);
    /// The logistic loss.
    pub const LOGISTIC: Self = Self::plain(&super::logistic::SPEC);
}

impl PartialEq for ObjectiveConfig {
    fn eq(&self, other: &Self) -> bool {
        let values = |config: &Self| (config.name(), config.parameter, config.classes);
        values(self) == values(other)
    }
}

impl fmt::Debug for ObjectiveConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectiveConfig")
            .field("name", &self.name())
            .field("parameter", &self.parameter)
            .field("classes", &self.classes)
            .finish()
    }
}

/// The objective of a configuration, which should have passed [`ObjectiveConfig::check`].
///
/// ```
/// use swarmwood_learn::objective::{ObjectiveConfig, make};
/// let objective = make(&ObjectiveConfig::LOGISTIC);
/// // One row of the second class at a probability of one half.
/// let (mut g, mut h) = ([0.0], [0.0]);
/// objective.derivatives(&[0.0], &[1.0], &[], &mut g, &mut h);
/// assert_eq!((g, h), ([-0.5], [0.25]));
/// assert!((objective.loss(&[0.0], &[1.0], &[]) - 2f64.ln()).abs() < 1e-7);
/// ```
pub fn make(config: &ObjectiveConfig) -> Box<dyn Objective> {
    (config.spec.make)(config)
}
