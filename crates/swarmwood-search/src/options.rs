//! The options of engines: each engine declares its own as data, and they are checked here.
//!
//! A front passes [`EngineOptions`], values by name that nobody has checked yet. The registry
//! checks them against the [`OptionSpec`]s of the engine, and the engine is built from
//! [`OptionValues`], in which every declared option has a valid value.

#[cfg(test)]
mod tests;

use std::fmt;

use crate::error::ParamError;
use crate::nearest::nearest;

/// The declaration of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptionSpec {
    /// The name.
    pub name: &'static str,
    /// The kind of its values, with the default.
    pub kind: OptionKind,
    /// The word for no value, such as `unlimited`, if the option need not have one. It is the
    /// default of a number without a default.
    pub unset: Option<&'static str>,
    /// Where the option has an effect; everywhere if `None`.
    pub condition: Option<OptionCondition>,
    /// One line of help, without a full stop.
    pub help: &'static str,
}

/// The kind of an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// A whole number.
    Integer {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
        /// The default; no value if `None`.
        default: Option<i64>,
    },
    /// A number.
    Real {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
        /// The default; no value if `None`.
        default: Option<f64>,
    },
    /// One of some names, the first by default, each with a few words of help.
    Choice(&'static [(&'static str, &'static str)]),
    /// On or off.
    Flag {
        /// The default.
        default: bool,
    },
}

/// Where an option has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionCondition {
    /// If the first option has this value.
    Is(&'static str, &'static str),
    /// If the option has a value.
    IsSet(&'static str),
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// On or off.
    Flag(bool),
    /// A choice, the word for no value, or text that is still to be parsed.
    Text(String),
}

impl OptionSpec {
    /// A whole number.
    pub const fn integer(
        name: &'static str,
        (low, high): (i64, i64),
        default: i64,
        help: &'static str,
    ) -> Self {
        let kind = OptionKind::Integer { low, high, default: Some(default) };
        OptionSpec { name, kind, unset: None, condition: None, help }
    }

    /// A number.
    pub const fn real(
        name: &'static str,
        (low, high): (f64, f64),
        default: f64,
        help: &'static str,
    ) -> Self {
        let kind = OptionKind::Real { low, high, default: Some(default) };
        OptionSpec { name, kind, unset: None, condition: None, help }
    }

    /// One of some names, the first by default.
    pub const fn choice(
        name: &'static str,
        choices: &'static [(&'static str, &'static str)],
        help: &'static str,
    ) -> Self {
        OptionSpec { name, kind: OptionKind::Choice(choices), unset: None, condition: None, help }
    }

    /// On or off.
    pub const fn flag(name: &'static str, default: bool, help: &'static str) -> Self {
        OptionSpec { name, kind: OptionKind::Flag { default }, unset: None, condition: None, help }
    }

    /// The same number, which need not have a value: `word` says so.
    #[must_use]
    pub const fn or(self, word: &'static str) -> Self {
        OptionSpec { unset: Some(word), ..self }
    }

    /// The same number, which has no value by default.
    #[must_use]
    pub const fn unless_given(self, word: &'static str) -> Self {
        let kind = match self.kind {
            OptionKind::Integer { low, high, .. } => {
                OptionKind::Integer { low, high, default: None }
            }
            OptionKind::Real { low, high, .. } => OptionKind::Real { low, high, default: None },
            kind => kind,
        };
        OptionSpec { kind, unset: Some(word), ..self }
    }

    /// The same option, which has an effect only under a condition.
    #[must_use]
    pub const fn when(self, condition: OptionCondition) -> Self {
        OptionSpec { condition: Some(condition), ..self }
    }

    /// The default.
    pub fn default_value(&self) -> OptionValue {
        let word = || OptionValue::Text(self.unset.unwrap_or_default().to_owned());
        match self.kind {
            OptionKind::Integer { default, .. } => default.map_or_else(word, OptionValue::Integer),
            OptionKind::Real { default, .. } => default.map_or_else(word, OptionValue::Real),
            OptionKind::Choice(choices) => {
                let first = choices.first().map_or("", |(name, _)| name);
                OptionValue::Text(first.to_owned())
            }
            OptionKind::Flag { default } => OptionValue::Flag(default),
        }
    }

    /// What is allowed, in words.
    pub fn range(&self) -> String {
        let range = match self.kind {
            OptionKind::Integer { low, high, .. } => {
                format!("a whole number from {low} to {high}")
            }
            OptionKind::Real { low, high, .. } => {
                format!("a number from {} to {}", short(low), short(high))
            }
            OptionKind::Choice(choices) => {
                choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ")
            }
            OptionKind::Flag { .. } => "true or false".to_owned(),
        };
        self.unset.map_or(range.clone(), |word| format!("{range}, or {word}"))
    }

    /// The value in its kind; the error says what is allowed.
    fn parse(&self, value: &OptionValue) -> Result<OptionValue, String> {
        if let OptionValue::Text(text) = value {
            if self.unset == Some(text.as_str()) {
                return Ok(value.clone());
            }
            if text.is_empty() {
                return Err(format!("has no value; must be {}", self.range()));
            }
        }

        let parsed = match self.kind {
            OptionKind::Integer { low, high, .. } => {
                value.as_integer().filter(|n| (low..=high).contains(n)).map(OptionValue::Integer)
            }
            OptionKind::Real { low, high, .. } => {
                value.as_real().filter(|x| (low..=high).contains(x)).map(OptionValue::Real)
            }
            OptionKind::Choice(choices) => {
                let known = |text: &str| choices.iter().any(|(name, _)| *name == text);
                matches!(value, OptionValue::Text(text) if known(text)).then(|| value.clone())
            }
            OptionKind::Flag { .. } => value.as_flag().map(OptionValue::Flag),
        };
        parsed.ok_or_else(|| match value {
            OptionValue::Text(text) => format!("is '{text}', must be {}", self.range()),
            value => format!("is {value}, must be {}", self.range()),
        })
    }
}

/// A number with few digits: `1e9`, not `1000000000`.
fn short(number: f64) -> String {
    let (plain, scientific) = (number.to_string(), format!("{number:e}"));
    if plain.len() > scientific.len() + 3 { scientific } else { plain }
}

impl OptionValue {
    fn as_integer(&self) -> Option<i64> {
        match self {
            OptionValue::Integer(number) => Some(*number),
            OptionValue::Real(number) => {
                (number.fract() == 0.0 && number.abs() < 1e15).then_some(*number as i64)
            }
            OptionValue::Text(text) => text.parse().ok(),
            OptionValue::Flag(_) => None,
        }
    }

    fn as_real(&self) -> Option<f64> {
        match self {
            OptionValue::Integer(number) => Some(*number as f64),
            OptionValue::Real(number) => Some(*number),
            OptionValue::Text(text) => text.parse().ok(),
            OptionValue::Flag(_) => None,
        }
    }

    fn as_flag(&self) -> Option<bool> {
        match self {
            OptionValue::Flag(flag) => Some(*flag),
            OptionValue::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Integer(number) => write!(f, "{number}"),
            OptionValue::Real(number) => write!(f, "{}", short(*number)),
            OptionValue::Flag(flag) => write!(f, "{flag}"),
            OptionValue::Text(text) => write!(f, "{text}"),
        }
    }
}

/// Options by name, as a user gave them. Those that a check returns have values in their kinds,
/// are in the order of the declarations and leave out defaults, so that two equal sets of options
/// compare equal.
///
/// ```
/// use swarmwood_search::options::EngineOptions;
/// let options = EngineOptions::parse("mutation=rank, rate=0.2");
/// assert_eq!(options.to_string(), "mutation=rank, rate=0.2");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineOptions(Vec<(String, OptionValue)>);

impl EngineOptions {
    /// No options: all defaults.
    pub const DEFAULTS: EngineOptions = EngineOptions(Vec::new());

    /// Options from text: `name=value` pairs with commas between them. Nothing is checked: an
    /// option without a value, or given twice, is reported together with all other errors.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.trim().to_owned(), OptionValue::Text(value.trim().to_owned()))
        });
        EngineOptions(pairs.collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, OptionValue)> for EngineOptions {
    fn from_iter<T: IntoIterator<Item = (String, OptionValue)>>(pairs: T) -> Self {
        EngineOptions(pairs.into_iter().collect())
    }
}

impl fmt::Display for EngineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        write!(f, "{}", pairs.join(", "))
    }
}

/// A valid value for every option that an engine declares.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionValues {
    specs: &'static [OptionSpec],
    values: Vec<OptionValue>,
}

impl OptionValues {
    /// The defaults.
    pub fn defaults(specs: &'static [OptionSpec]) -> Self {
        OptionValues { specs, values: specs.iter().map(OptionSpec::default_value).collect() }
    }

    /// Checks options against the declarations of an engine; all errors are collected. `owners`
    /// are the engines that have an option of some name.
    pub(crate) fn check(
        engine: &str,
        specs: &'static [OptionSpec],
        given: &EngineOptions,
        owners: impl Fn(&str) -> Vec<&'static str>,
    ) -> Result<Self, Vec<ParamError>> {
        let mut checked = OptionValues::defaults(specs);
        let mut errors = Vec::new();
        let mut error = |name: &str, message: String| {
            errors.push(ParamError { parameter: name.to_owned(), message });
        };

        let mut known: Vec<usize> = Vec::new();
        for (name, value) in given.iter() {
            let Some(at) = specs.iter().position(|spec| spec.name == name) else {
                error(name, unknown(engine, specs, name, &owners(name)));
                continue;
            };
            if known.contains(&at) {
                error(name, "is given twice; give it once".to_owned());
                continue;
            }
            known.push(at);
            match specs[at].parse(value) {
                Ok(value) => checked.values[at] = value,
                Err(message) => error(name, message),
            }
        }

        for &at in &known {
            if let Some(condition) = specs[at].condition.filter(|one| !checked.holds(*one)) {
                let needed = match condition {
                    OptionCondition::Is(option, value) => format!("{option}={value}"),
                    OptionCondition::IsSet(option) => format!("a value of {option}"),
                };
                error(specs[at].name, format!("has no effect without {needed}"));
            }
        }
        if errors.is_empty() { Ok(checked) } else { Err(errors) }
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&self, condition: OptionCondition) -> bool {
        match condition {
            OptionCondition::Is(option, value) => self.choice(option) == value,
            OptionCondition::IsSet(option) => !matches!(self.value(option), OptionValue::Text(_)),
        }
    }

    /// The values that are not the defaults.
    pub fn given(&self) -> EngineOptions {
        let pairs = self.specs.iter().zip(&self.values);
        let changed = pairs.filter(|(spec, value)| **value != spec.default_value());
        changed.map(|(spec, value)| (spec.name.to_owned(), value.clone())).collect()
    }

    /// The value of an option.
    ///
    /// # Panics
    ///
    /// If the engine asks for an option that it does not declare, or that has another kind; the
    /// test of the registry builds every engine.
    fn value(&self, name: &str) -> &OptionValue {
        let at = self.specs.iter().position(|spec| spec.name == name);
        &self.values[at.expect("an engine reads only options that it declares")]
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> usize {
        self.optional_count(name).expect("the option always has a whole number")
    }

    /// A whole number that need not have a value.
    pub fn optional_count(&self, name: &str) -> Option<usize> {
        self.optional_natural(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// A whole number that need not have a value, as 64 bits.
    pub fn optional_natural(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            OptionValue::Integer(number) => Some(u64::try_from(*number).unwrap_or(0)),
            _ => None,
        }
    }

    /// A number.
    pub fn real(&self, name: &str) -> f64 {
        self.optional_real(name).expect("the option always has a number")
    }

    /// A number that need not have a value.
    pub fn optional_real(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            OptionValue::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// A choice.
    pub fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            OptionValue::Text(name) => name,
            _ => "",
        }
    }

    /// On or off.
    pub fn flag(&self, name: &str) -> bool {
        *self.value(name) == OptionValue::Flag(true)
    }
}

/// The message about a name that the engine does not declare.
fn unknown(engine: &str, specs: &[OptionSpec], name: &str, owners: &[&'static str]) -> String {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    let all = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    match (owners, nearest(name, names)) {
        (_, Some(near)) => {
            format!("is no option of engine '{engine}', which has {all}; did you mean '{near}'?")
        }
        ([], None) => format!("is no option of engine '{engine}', which has {all}"),
        ([owner], None) => {
            format!("belongs to engine '{owner}'; engine '{engine}' has {all}")
        }
        (owners, None) => {
            format!("belongs to engines {}; engine '{engine}' has {all}", owners.join(", "))
        }
    }
}
