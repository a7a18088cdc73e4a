//! The parameters of training: one table, one check.
//!
//! [`TABLE`] declares every parameter once. The command line, configuration files, the record in a
//! model and `docs/parameters.md` are made from it. Learners accept only [`ValidParams`] parameters,
//! and [`Params::check`] is the only way to make them; it reports all violations together.

mod by_feature;
mod check;
mod config;
mod defaults;
mod feature_groups;
mod first_split;
mod gather;
mod learner_spec;
mod markdown;
mod method_checks;
mod methods;
mod objective_choice;
mod points_range;
mod spec;
mod table;
mod threshold_goal;
mod value;

#[cfg(test)]
mod tests;

pub use by_feature::{ByFeature, FeatureCost, FeatureSetting, MonotoneSetting};
pub(crate) use by_feature::{name_list, name_list_text};
pub use check::ValidParams;
pub use feature_groups::{FeatureGroups, GroupMember};
pub use first_split::FirstSplit;
pub use gather::Gather;
pub use learner_spec::{CustomLossSupport, LearnerOutput, LearnerSpec, Method, TargetSupport};
pub use markdown::markdown;
pub use objective_choice::ObjectiveChoice;
pub use points_range::PointsRange;
pub use spec::{AllowedValues, ParamCondition, ParamGroup, ParamSpec};
pub use table::{
    Booster, Criterion, EmptyCells, FitnessChoice, Growth, InitialDraw, IntervalKind, MetricChoice,
    Optimizer, Params, Prune, RuleTableChoice, SelectBy, TABLE, Variables,
};
pub use threshold_goal::ThresholdGoal;
pub use value::{Auto, Matrix, ParamChoice};

pub use crate::message::ParamValue;

use crate::error::Violation;
use crate::message::Message;
use crate::nearest::nearest;

/// The parameter called `name` (or that alias), or a violation that names the nearest one.
pub fn find(name: &str) -> Result<&'static ParamSpec, Violation> {
    find_beside(name, &[])
}

/// A violation of one parameter.
fn violation(name: &str, message: impl Into<Message>) -> Violation {
    Violation::new(name, message)
}

/// Like [`find`], where the user may also have meant one of `others`.
fn find_beside(name: &str, others: &[&str]) -> Result<&'static ParamSpec, Violation> {
    TABLE.iter().find(|spec| spec.is_called(name)).ok_or_else(|| {
        let table = TABLE.iter().flat_map(|spec| spec.aliases.iter().copied().chain([spec.name]));
        let known = table.chain(others.iter().copied());
        let message = match nearest(&name.replace('-', "_"), known) {
            Some(near) => format!("no such parameter; did you mean '{near}'?"),
            None => "no such parameter; docs/parameters.md lists them all".to_string(),
        };
        Violation::new(name, message)
    })
}

impl Params {
    /// Sets a parameter by its name or alias from text. Ranges are checked later, by
    /// [`Params::check`].
    ///
    /// ```
    /// use swarmwood::params::Params;
    ///
    /// let mut params = Params::default();
    /// params.set("learning-rate", "0.05").unwrap();
    /// params.set("rounds", "500").unwrap();
    /// assert_eq!((params.learning_rate, params.trees), (0.05, 500));
    /// assert!(params.set("dept", "4").unwrap_err().to_string().contains("'depth'"));
    /// ```
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Violation> {
        self.set_value(name, &ParamValue::Text(text.to_string()))
    }

    /// Sets a parameter by its name or alias from a typed value. The type is checked here, the
    /// range later, by [`Params::check`].
    pub fn set_value(&mut self, name: &str, value: &ParamValue) -> Result<(), Violation> {
        let spec = find(name)?;
        if (spec.assign)(self, value) {
            return Ok(());
        }

        let mut message =
            Message::from("is ").value(value).text(format!(", must be {}", spec.allowed));
        if let (AllowedValues::Choices(choices), ParamValue::Text(text)) = (spec.allowed, value)
            && let Some(near) = nearest(text, choices.iter().map(|choice| choice.name))
        {
            message = message.text(format!("; did you mean '{near}'?"));
        }
        Err(Violation::new(spec.name, message))
    }

    /// The value of a parameter as text, or a violation if there is none of that name.
    pub fn get(&self, name: &str) -> Result<String, Violation> {
        find(name).map(|spec| (spec.show)(self))
    }

    /// The value of a parameter that is a number; 0 if it is none, or there is none of that name.
    pub fn number(&self, name: &str) -> f64 {
        find(name).ok().and_then(|spec| (spec.number)(self)).unwrap_or(0.0)
    }

    /// Names and values for the record of a model: everything that may change it.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let default = Params::of(self.method);
        let matters = |spec: &&ParamSpec| {
            // What is added to a model only on request leaves no trace in those without it.
            let is_optional = matches!(spec.group, ParamGroup::Constraints | ParamGroup::Decision);
            let is_absent = is_optional && (spec.show)(self) == (spec.show)(&default);
            spec.recorded() && spec.applies(self) && !is_absent
        };
        TABLE.iter().filter(matters).map(|spec| (spec.name, (spec.show)(self))).collect()
    }

    /// Whether the model will be a linear function instead of trees.
    pub fn is_linear(&self) -> bool {
        self.method.spec().uses("booster") && self.booster == Booster::Gblinear
    }

    /// Whether a model may use only some features.
    pub fn has_feature_budget(&self) -> bool {
        self.max_features > 0 || self.max_feature_cost > 0.0
    }

    /// The greatest depth a tree may have; [`usize::MAX`] if there is no limit.
    pub fn depth_limit(&self) -> usize {
        if self.depth == 0 { usize::MAX } else { self.depth }
    }

    /// The greatest number of leaves a tree may have, the default of the growth resolved.
    pub fn leaf_limit(&self) -> usize {
        let by_depth =
            if self.depth == 0 || self.depth > 31 { usize::MAX } else { 1 << self.depth };
        match (self.growth, self.max_leaves) {
            (Growth::Oblivious, _) | (Growth::Auto | Growth::Depth, 0) => by_depth,
            (Growth::Leaf, 0) => by_depth.min(31),
            (_, given) => by_depth.min(given),
        }
    }
}
