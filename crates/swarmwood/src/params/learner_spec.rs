//! What there is to know about a learner before it trains: its name, its parameters and their
//! defaults, what it can be used for.

use std::fmt;
use std::hash::{Hash, Hasher};

use swarmwood_model::TargetKind;

use super::methods;
use super::table::Params;
use super::value::{ParamChoice, ParamType};
use crate::error::Violation;

/// Parameters that every learner has: they concern the data, the run or the objective.
const COMMON_PARAMETERS: &[&str] = &[
    "method",
    "seed",
    "huber_delta",
    "quantile",
    "tweedie_power",
    "valid_fraction",
    "threshold",
    "threshold_for",
    "interval",
    "interval_kind",
    "points",
    "integer_leaves",
    "time_limit",
    "threads",
];

/// What one learner is: everything but its code. One constant per learner; help, documents,
/// checks, defaults and the fronts follow from it.
#[derive(Debug, Clone, Copy)]
pub struct LearnerSpec {
    /// The value of the parameter `method`.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Names of the parameters that have an effect, beside those that every learner has.
    pub parameters: &'static [&'static str],
    /// Which targets it can predict.
    pub targets: TargetSupport,
    /// What a model of it consists of.
    pub output: LearnerOutput,
    /// Whether it can start from the splits of another model.
    pub takes_pretrained: bool,
    /// Whether it can store its state and resume.
    pub checkpoints: bool,
    /// Whether it can continue a model: add trees to it.
    pub continues: bool,
    /// Whether it can minimise a loss that is computed outside of the library.
    pub custom_loss: CustomLossSupport,
    /// Whether regression losses may be used on two classes, the prediction thresholded at one
    /// half (for tuning alone).
    pub thresholds_regression: bool,
    /// The parameters of size that a tuning tries by default, with their range. One limit of size
    /// is enough: depth where trees are full, leaves where they are not.
    pub tuned_sizes: &'static [(&'static str, i64, i64)],
    /// The defaults of the table with those of this learner.
    pub defaults: fn(Params) -> Params,
    /// Replaces every `auto` that follows from the target.
    pub resolve: fn(Params, &TargetKind) -> Params,
    /// Adds what is wrong with parameters beside each other; ranges are checked before.
    pub check: fn(&Params, &mut Vec<Violation>),
}

/// Which targets a learner can predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetSupport {
    /// Numbers and classes.
    Any,
    /// Classes alone.
    Classes,
}

/// Whether a learner can minimise a custom loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomLossSupport {
    /// It cannot.
    Never,
    /// It needs derivatives alone.
    Derivatives,
    /// It needs the values of the loss, too: it compares fits by them.
    WithValues,
}

/// What a model of a learner consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearnerOutput {
    /// A sum of trees, or a linear function.
    Ensemble,
    /// One tree.
    SingleTree,
}

impl LearnerSpec {
    /// Whether a parameter of that name has an effect with this learner.
    pub fn uses(&self, parameter: &str) -> bool {
        COMMON_PARAMETERS.contains(&parameter) || self.parameters.contains(&parameter)
    }
}

/// The value of the parameter `method`: a learner by its description.
///
/// ```
/// use swarmwood::params::Method;
/// assert_eq!(Method::named("greedy"), Some(Method::GREEDY));
/// assert!(Method::GREEDY.spec().uses("booster"));
/// ```
#[derive(Clone, Copy)]
pub struct Method(&'static LearnerSpec);

impl Method {
    /// Every learner of the library, in the order of the help; the first is the default.
    pub const ALL: &'static [Method] = &{
        let mut all = [Method(methods::SPECS[0]); methods::SPECS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = Method(methods::SPECS[at]);
            at += 1;
        }
        all
    };

    /// Names and meanings, in the same order.
    pub const CHOICES: &'static [ParamChoice] = &{
        let mut all = [ParamChoice { name: "", help: "" }; methods::SPECS.len()];
        let mut at = 0;
        while at < all.len() {
            let LearnerSpec { name, help, .. } = *methods::SPECS[at];
            all[at] = ParamChoice { name, help };
            at += 1;
        }
        all
    };

    /// The method of a description, which need not be one of the library's.
    pub const fn of(spec: &'static LearnerSpec) -> Method {
        Method(spec)
    }

    /// The learner of that name; `-` and `_` are the same.
    pub fn named(name: &str) -> Option<Method> {
        let same = |known: &str| known == name || known == name.replace('_', "-");
        Method::ALL.iter().copied().find(|method| same(method.name()))
    }

    /// What the learner is.
    pub fn spec(self) -> &'static LearnerSpec {
        self.0
    }

    /// The name users say.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Method {}

impl Hash for Method {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Method({})", self.name())
    }
}

impl ParamType for Method {
    fn read(text: &str) -> Option<Self> {
        Method::named(text)
    }
    fn show(&self) -> String {
        self.name().to_string()
    }
}
