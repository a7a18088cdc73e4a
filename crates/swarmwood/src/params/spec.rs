//! What the table says of one parameter.

use std::fmt;

use super::learner_spec::Method;
use super::table::{Booster, Growth, Params};
use super::value::ParamChoice;
use crate::message::ParamValue;

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    /// The field of [`Params`], the flag (`_` becomes `-`) and the key in a configuration file.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    /// Where the help lists it.
    pub group: ParamGroup,
    /// The values it may have.
    pub allowed: AllowedValues,
    /// Beside which other choices it has an effect, if its learner uses it: all conditions must
    /// hold. None means always.
    pub only: &'static [ParamCondition],
    pub(super) assign: fn(&mut Params, &ParamValue) -> bool,
    pub(super) copy: fn(&Params, &mut Params),
    pub(super) show: fn(&Params) -> String,
    pub(super) number: fn(&Params) -> Option<f64>,
}

impl ParamSpec {
    /// The default, as text.
    pub fn default_text(&self) -> String {
        (self.show)(&Params::default())
    }

    /// The default and where a method has another one: `100 (6 for sgbdt, sgbdt-bins, psgbdt)`.
    pub fn defaults_text(&self) -> String {
        let default = self.default_text();
        let mut others: Vec<(String, Vec<&str>)> = Vec::new();
        for &method in Method::ALL {
            let params = Params::of(method);
            let own = (self.show)(&params);
            match others.iter_mut().find(|(value, _)| *value == own) {
                // A method is its own name, not a default of another method, and has no default of
                // what it does not use.
                _ if own == default || self.name == "method" || !self.applies(&params) => {}
                Some((_, methods)) => methods.push(method.name()),
                None => others.push((own, vec![method.name()])),
            }
        }
        let others =
            others.iter().map(|(value, methods)| format!("{value} for {}", methods.join(", ")));
        let others = others.collect::<Vec<_>>().join("; ");
        if others.is_empty() { default } else { format!("{default} ({others})") }
    }

    /// The value among others, as text.
    pub fn show(&self, params: &Params) -> String {
        (self.show)(params)
    }

    /// The command-line flag without its dashes.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Whether `name` is this parameter's name or one of its aliases; `-` and `_` are the same.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.replace('-', "_");
        self.name == name || self.aliases.contains(&name.as_str())
    }

    /// Whether the value belongs to the record of a model: the number of threads never changes one.
    pub fn recorded(&self) -> bool {
        self.group != ParamGroup::Machine
    }

    /// Whether the parameter has an effect beside the others.
    pub fn applies(&self, params: &Params) -> bool {
        self.applies_to(params.method) && self.only.iter().all(|condition| condition.holds(params))
    }

    /// Whether some choice of the other parameters gives it an effect with this method.
    pub fn applies_to(&self, method: Method) -> bool {
        method.spec().uses(self.name)
    }

    /// The methods that use it, if not all do: `method greedy or cart`.
    pub fn methods_text(&self) -> Option<String> {
        let names: Vec<&str> = Method::ALL
            .iter()
            .filter(|method| self.applies_to(**method))
            .map(|method| method.name())
            .collect();
        (names.len() < Method::ALL.len()).then(|| format!("method {}", names.join(" or ")))
    }

    /// What would have to hold for the parameter to have an effect; `None` if it has one.
    pub(super) fn missing(&self, params: &Params) -> Option<String> {
        if !self.applies_to(params.method) {
            return Some(self.methods_text().unwrap_or_else(|| "other methods".to_string()));
        }
        self.only.iter().find(|condition| !condition.holds(params)).map(ToString::to_string)
    }
}

/// Under which heading a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamGroup {
    /// Which algorithm.
    Method,
    /// How large the model gets.
    Size,
    /// What keeps the model from following noise.
    Shrinkage,
    /// A single tree.
    Tree,
    /// Rows, features, bins and chance.
    Sampling,
    /// What is minimised.
    Objective,
    /// How predictions become decisions; recorded only where it is asked for.
    Decision,
    /// Held-out rows and when to stop.
    Validation,
    /// What a model must satisfy.
    Constraints,
    /// The particle swarm.
    Swarm,
    /// The policy of reinforcement learning.
    Policy,
    /// The booster `dart`.
    Dart,
    /// The machine the run is on; not part of a model's record.
    Machine,
}

impl ParamGroup {
    /// Every group, in the order of the help.
    pub const ALL: &'static [ParamGroup] = &[
        ParamGroup::Method,
        ParamGroup::Size,
        ParamGroup::Tree,
        ParamGroup::Shrinkage,
        ParamGroup::Sampling,
        ParamGroup::Objective,
        ParamGroup::Validation,
        ParamGroup::Constraints,
        ParamGroup::Decision,
        ParamGroup::Swarm,
        ParamGroup::Policy,
        ParamGroup::Dart,
        ParamGroup::Machine,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            ParamGroup::Method => "Method",
            ParamGroup::Size => "Size",
            ParamGroup::Tree => "Single tree",
            ParamGroup::Shrinkage => "Shrinkage",
            ParamGroup::Sampling => "Sampling and bins",
            ParamGroup::Objective => "Objective",
            ParamGroup::Validation => "Validation and stopping",
            ParamGroup::Constraints => "Constraints",
            ParamGroup::Decision => "Decisions, intervals and points",
            ParamGroup::Swarm => "Particle swarm",
            ParamGroup::Policy => "Policy gradient",
            ParamGroup::Dart => "Booster dart",
            ParamGroup::Machine => "Machine",
        }
    }
}

/// The values a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AllowedValues {
    /// One of these words.
    Choices(&'static [ParamChoice]),
    /// `true` or `false`; a flag without a value says `true`.
    Switch,
    /// A square matrix of costs, or `none`.
    Matrix,
    /// `none`, or one value per feature, by name or position.
    ByFeature {
        /// A value as text.
        example: &'static str,
    },
    /// A text of the described form.
    Text(&'static str),
    /// `none`, or groups of features.
    FeatureGroups {
        /// A value as text.
        example: &'static str,
    },
    /// `none`, or splits at the top of trees.
    Splits(&'static str),
    /// A whole number in a closed range.
    Whole {
        /// Least.
        min: u64,
        /// Greatest.
        max: u64,
    },
    /// A finite number in a range.
    Number {
        /// Lower end.
        min: f64,
        /// Whether the lower end itself is allowed.
        with_min: bool,
        /// Upper end; infinite if there is none.
        max: f64,
        /// Whether the upper end itself is allowed.
        with_max: bool,
    },
}

impl AllowedValues {
    pub(super) const fn whole(min: u64, max: u64) -> Self {
        AllowedValues::Whole { min, max }
    }
    /// `[min, ∞)`
    pub(super) const fn from(min: f64) -> Self {
        AllowedValues::Number { min, with_min: true, max: f64::INFINITY, with_max: false }
    }
    /// `(min, max]`
    pub(super) const fn above(min: f64, max: f64) -> Self {
        AllowedValues::Number { min, with_min: false, max, with_max: true }
    }
    /// `[min, max)`
    pub(super) const fn below(min: f64, max: f64) -> Self {
        AllowedValues::Number { min, with_min: true, max, with_max: false }
    }
    /// `(min, max)`
    pub(super) const fn between(min: f64, max: f64) -> Self {
        AllowedValues::Number { min, with_min: false, max, with_max: false }
    }
    /// `[min, max]`
    pub(super) const fn within(min: f64, max: f64) -> Self {
        AllowedValues::Number { min, with_min: true, max, with_max: true }
    }

    /// Whether a number is in the range; words are checked when they are read.
    pub fn holds(&self, value: f64) -> bool {
        match *self {
            AllowedValues::Choices(_)
            | AllowedValues::Switch
            | AllowedValues::Matrix
            | AllowedValues::ByFeature { .. }
            | AllowedValues::FeatureGroups { .. }
            | AllowedValues::Splits(_)
            | AllowedValues::Text(_) => true,
            AllowedValues::Whole { min, max } => value >= min as f64 && value <= max as f64,
            AllowedValues::Number { min, with_min, max, with_max } => {
                value.is_finite()
                    && (value > min || with_min && value == min)
                    && (value < max || with_max && value == max)
            }
        }
    }

    /// The kind of value: `choice`, `switch`, `matrix`, `features`, `groups`, `splits`, `text`,
    /// `integer` or `number`.
    pub fn kind(&self) -> &'static str {
        match self {
            AllowedValues::Choices(_) => "choice",
            AllowedValues::Switch => "switch",
            AllowedValues::Matrix => "matrix",
            AllowedValues::ByFeature { .. } => "features",
            AllowedValues::Text(_) => "text",
            AllowedValues::FeatureGroups { .. } => "groups",
            AllowedValues::Splits(_) => "splits",
            AllowedValues::Whole { .. } => "integer",
            AllowedValues::Number { .. } => "number",
        }
    }
}

impl fmt::Display for AllowedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AllowedValues::Choices(choices) => {
                let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
                if names.len() > 1 {
                    write!(f, "one of ")?;
                }
                f.write_str(&names.join(", "))
            }
            AllowedValues::Switch => f.write_str("true or false"),
            AllowedValues::Text(form) | AllowedValues::Splits(form) => f.write_str(form),
            AllowedValues::Matrix => {
                f.write_str("none, or a square matrix of numbers from 0 such as '0,1;5,0'")
            }
            AllowedValues::ByFeature { example } => {
                write!(f, "none, or one value per feature such as '{example}'")
            }
            AllowedValues::FeatureGroups { example } => {
                write!(f, "none, pairwise, no_interactions, or groups such as '{example}'")
            }
            AllowedValues::Whole { min, max } => write!(f, "a whole number from {min} to {max}"),
            AllowedValues::Number { min, with_min, max, with_max } => {
                match with_min {
                    true => write!(f, "a number from {min}")?,
                    false => write!(f, "a number above {min}")?,
                }
                match with_max {
                    _ if max.is_infinite() => Ok(()),
                    true if with_min => write!(f, " to {max}"),
                    true => write!(f, ", at most {max}"),
                    false => write!(f, ", below {max}"),
                }
            }
        }
    }
}

/// A choice beside which a parameter has an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParamCondition {
    /// One of these boosters.
    Booster(&'static [Booster]),
    /// One of these growths.
    Growth(&'static [Growth]),
    /// One of these objectives.
    Objective(&'static [&'static str]),
}

impl ParamCondition {
    /// Whether the condition holds.
    pub fn holds(&self, params: &Params) -> bool {
        match self {
            ParamCondition::Booster(any) => any.contains(&params.booster),
            ParamCondition::Growth(any) => any.contains(&params.growth),
            ParamCondition::Objective(any) => any.contains(&params.objective.name()),
        }
    }
}

impl fmt::Display for ParamCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, names): (_, Vec<_>) = match self {
            ParamCondition::Booster(any) => ("booster", any.iter().map(|one| one.name()).collect()),
            ParamCondition::Growth(any) => ("growth", any.iter().map(|one| one.name()).collect()),
            ParamCondition::Objective(any) => ("objective", any.to_vec()),
        };
        write!(f, "{what} {}", names.join(" or "))
    }
}
