//! Parameters with one value per feature, by name or by position.

use std::fmt;

use serde_json::Value;
use swarmwood_model::monotone::Direction;
use swarmwood_model::{Feature, Schema};

use super::value::ParamType;
use crate::error::Violation;
use crate::message::ParamValue;
use crate::nearest::nearest;

/// Values of features: `none`, text such as `income:+,debt:-`, where names may be in double quotes, a
/// JSON object of names, or a JSON array of positions.
///
/// ```
/// use swarmwood::params::Params;
///
/// let mut params = Params::default();
/// params.set("monotone", r#"income:+,"debt, total":-"#).unwrap();
/// assert_eq!(params.get("monotone").unwrap(), r#"income:+,"debt, total":-"#);
/// params.set("monotone", r#"{"income": 1}"#).unwrap();
/// assert_eq!(params.get("monotone").unwrap(), "income:+");
/// params.set("monotone", "[1, 0, -1]").unwrap();
/// assert_eq!(params.get("monotone").unwrap(), "[1,0,-1]");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum ByFeature<T> {
    /// By name; features that are not named have no value.
    Named(Vec<(String, T)>),
    /// One value per feature, in the order of the columns.
    Positions(Vec<T>),
}

impl<T> Default for ByFeature<T> {
    fn default() -> Self {
        ByFeature::Named(Vec::new())
    }
}

/// A value that a feature may have.
pub trait FeatureSetting: Sized + Copy {
    /// Reads a word.
    fn read(word: &str) -> Option<Self>;
    /// Converts a whole number.
    fn of_integer(number: i128) -> Option<Self>;
    /// Converts a finite number.
    fn of_real(_: f64) -> Option<Self> {
        None
    }
    /// The word beside a name.
    fn word(&self) -> String;
    /// The number in a list of positions.
    fn digits(&self) -> String;
}

/// The direction of a feature, or `0` for none.
pub type MonotoneSetting = Option<Direction>;

impl FeatureSetting for MonotoneSetting {
    fn read(word: &str) -> Option<Self> {
        match word {
            "+" | "+1" | "1" => Some(Some(Direction::Increasing)),
            "-" | "-1" => Some(Some(Direction::Decreasing)),
            "0" => Some(None),
            _ => None,
        }
    }

    fn of_integer(number: i128) -> Option<Self> {
        match number {
            1 => Some(Some(Direction::Increasing)),
            -1 => Some(Some(Direction::Decreasing)),
            0 => Some(None),
            _ => None,
        }
    }

    fn word(&self) -> String {
        match self {
            Some(Direction::Increasing) => "+",
            Some(Direction::Decreasing) => "-",
            None => "0",
        }
        .to_string()
    }

    fn digits(&self) -> String {
        match self {
            Some(Direction::Increasing) => "1",
            Some(Direction::Decreasing) => "-1",
            None => "0",
        }
        .to_string()
    }
}

/// What a feature costs, from 0 up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureCost(f64);

impl FeatureCost {
    /// The cost of a feature without one.
    pub const DEFAULT: FeatureCost = FeatureCost(1.0);

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl FeatureSetting for FeatureCost {
    fn read(word: &str) -> Option<Self> {
        word.parse().ok().and_then(Self::of_real)
    }

    fn of_integer(number: i128) -> Option<Self> {
        Self::of_real(number as f64)
    }

    fn of_real(number: f64) -> Option<Self> {
        (number.is_finite() && number >= 0.0).then_some(FeatureCost(number))
    }

    fn word(&self) -> String {
        self.0.to_string()
    }

    fn digits(&self) -> String {
        self.0.to_string()
    }
}

impl<T: Copy> ByFeature<T> {
    /// Whether no feature has a value.
    pub fn is_empty(&self) -> bool {
        match self {
            ByFeature::Named(entries) => entries.is_empty(),
            ByFeature::Positions(values) => values.is_empty(),
        }
    }

    /// The value of each feature of a schema, `default` where none is given; a violation of
    /// `parameter` for each name that the schema does not have.
    pub fn resolve(
        &self,
        schema: &Schema,
        default: T,
        parameter: &str,
    ) -> Result<Vec<T>, Vec<Violation>> {
        let features = &schema.features;
        match self {
            ByFeature::Positions(values) if values.is_empty() => Ok(vec![default; features.len()]),
            ByFeature::Positions(values) if values.len() == features.len() => Ok(values.clone()),
            ByFeature::Positions(values) => {
                let (given, expected) = (values.len(), features.len());
                let message =
                    format!("has {given} values, must have one for each of {expected} features");
                Err(vec![Violation::new(parameter, message)])
            }
            ByFeature::Named(entries) => {
                let mut of_feature = vec![default; features.len()];
                let mut violations = Vec::new();
                for (name, value) in entries {
                    match features.iter().position(|feature| feature.name == *name) {
                        Some(at) => of_feature[at] = *value,
                        None => violations.push(unknown_feature(name, features, parameter)),
                    }
                }
                if violations.is_empty() { Ok(of_feature) } else { Err(violations) }
            }
        }
    }
}

/// The violation about a name that no feature has, with the nearest one.
pub(super) fn unknown_feature(name: &str, features: &[Feature], parameter: &str) -> Violation {
    let known = features.iter().map(|feature| feature.name.as_str());
    let message = match nearest(name, known) {
        Some(near) => format!("has '{name}', which is no feature; did you mean '{near}'?"),
        None => format!("has '{name}', which is no feature"),
    };
    Violation::new(parameter, message)
}

impl<T: FeatureSetting + fmt::Debug + PartialEq> ParamType for ByFeature<T> {
    fn read(text: &str) -> Option<Self> {
        match text {
            "none" | "" => Some(ByFeature::default()),
            json if json.starts_with(['{', '[']) => {
                ByFeature::convert(&json_value(&serde_json::from_str(json).ok()?)?)
            }
            _ => named(read_entries(text)?),
        }
    }

    fn convert(value: &ParamValue) -> Option<Self> {
        match value {
            ParamValue::List(values) => {
                values.iter().map(setting).collect::<Option<_>>().map(ByFeature::Positions)
            }
            ParamValue::Map(entries) => named(
                entries
                    .iter()
                    .map(|(name, value)| Some((name.clone(), setting(value)?)))
                    .collect::<Option<_>>()?,
            ),
            _ => None,
        }
    }

    fn show(&self) -> String {
        let joined = |items: Vec<String>| items.join(",");
        match self {
            _ if self.is_empty() => "none".to_string(),
            ByFeature::Named(entries) => joined(
                entries
                    .iter()
                    .map(|(name, value)| format!("{}:{}", quoted(name), value.word()))
                    .collect(),
            ),
            ByFeature::Positions(values) => {
                format!("[{}]", joined(values.iter().map(T::digits).collect()))
            }
        }
    }
}

/// Entries by name, unless a name comes twice.
fn named<T>(entries: Vec<(String, T)>) -> Option<ByFeature<T>> {
    let twice = |at: usize| entries[..at].iter().any(|(name, _)| *name == entries[at].0);
    (0..entries.len()).all(|at| !twice(at)).then_some(ByFeature::Named(entries))
}

/// One typed value.
fn setting<T: FeatureSetting>(value: &ParamValue) -> Option<T> {
    match value {
        ParamValue::Integer(number) => T::of_integer(*number),
        ParamValue::Real(number) if number.is_finite() => T::of_real(*number),
        ParamValue::Text(word) => T::read(word.trim()),
        _ => None,
    }
}

/// A JSON value as a typed value.
pub(super) fn json_value(value: &Value) -> Option<ParamValue> {
    match value {
        Value::Bool(value) => Some(ParamValue::Bool(*value)),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Some(ParamValue::Integer(number.into())),
            None => number.as_f64().map(ParamValue::Real),
        },
        Value::String(text) => Some(ParamValue::Text(text.clone())),
        Value::Array(items) => {
            items.iter().map(json_value).collect::<Option<_>>().map(ParamValue::List)
        }
        Value::Object(entries) => entries
            .iter()
            .map(|(name, value)| Some((name.clone(), json_value(value)?)))
            .collect::<Option<_>>()
            .map(ParamValue::Map),
        Value::Null => None,
    }
}

/// The entries of `name:value,"name":value`.
fn read_entries<T: FeatureSetting>(text: &str) -> Option<Vec<(String, T)>> {
    let mut rest = text.trim();
    let mut entries = Vec::new();
    loop {
        let (name, after) = read_name(rest)?;
        let (word, next) = match after.split_once(',') {
            Some((word, next)) => (word, Some(next)),
            None => (after, None),
        };
        entries.push((name, T::read(word.trim())?));
        match next {
            Some(next) => rest = next.trim_start(),
            None => return Some(entries),
        }
    }
}

/// A name, in quotes or up to the colon, and what is behind the colon.
fn read_name(text: &str) -> Option<(String, &str)> {
    let Some(rest) = text.strip_prefix('"') else {
        let (name, after) = text.split_once(':')?;
        let name = name.trim();
        return (!name.is_empty() && !name.contains(',')).then(|| (name.to_string(), after));
    };
    let (name, after) = read_quoted(rest)?;
    Some((name, after.strip_prefix(':')?))
}

/// The name before a closing quote, and what follows after blanks.
pub(super) fn read_quoted(mut rest: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        // A doubled quote is one in the name, as in CSV.
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, after.trim_start())),
        }
    }
}

/// Names with commas between them, each of which may be in double quotes; `None` if a quote is not
/// closed, or if a name is empty or there twice.
pub(crate) fn name_list(text: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(inner) => read_quoted(inner)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim_end().to_string(), &rest[end..])
            }
        };
        if name.is_empty() || names.contains(&name) {
            return None;
        }
        names.push(name);
        match after.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => return after.is_empty().then_some(names),
        }
    }
}

/// Names as [`name_list`] reads them.
pub(crate) fn name_list_text(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",")
}

/// A name as [`read_name`] reads it.
fn quoted(name: &str) -> String {
    let plain = !name.is_empty()
        && name.trim() == name
        && !name.starts_with(['{', '['])
        && !name.contains([',', ':', '"']);
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use swarmwood_model::{Kind, Target, TargetKind};

    use super::*;

    type Directions = ByFeature<MonotoneSetting>;

    fn schema(names: &[&str]) -> Schema {
        let feature = |name: &&str| Feature { name: name.to_string(), kind: Kind::Number };
        Schema {
            features: names.iter().map(feature).collect(),
            target: Target { name: "y".to_string(), kind: TargetKind::Number },
            dates: Vec::new(),
        }
    }

    #[test]
    fn text_json_lists_and_maps_say_the_same() {
        let text = Directions::read("income:+, debt:-,age:0").unwrap();
        let json = Directions::read(r#"{"income": 1, "debt": "-", "age": 0}"#).unwrap();
        assert_eq!(text.show(), "income:+,debt:-,age:0");
        let names = schema(&["age", "debt", "income"]);
        let expected = vec![None, Some(Direction::Decreasing), Some(Direction::Increasing)];
        for value in [text, json, Directions::read("[0,-1,1]").unwrap()] {
            assert_eq!(value.resolve(&names, None, "monotone").unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_direction_is_refused() {
        for text in ["income", "income:up", ":+", "a:+,a:-", "a:+,", "\"a:+", "[2]", "{\"a\":null}"]
        {
            assert_eq!(Directions::read(text), None, "{text}");
        }
    }

    #[test]
    fn names_and_counts_that_the_schema_does_not_have_are_said() {
        let features = schema(&["income", "debt"]);
        let said = |text: &str| {
            let value = Directions::read(text).unwrap();
            value.resolve(&features, None, "monotone").unwrap_err()[0].to_string()
        };
        assert!(said("incom:+").ends_with("did you mean 'income'?"), "{}", said("incom:+"));
        assert!(said("[1]").contains("has 1 values"), "{}", said("[1]"));
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(names in prop::collection::btree_set(".{0,8}", 1..5)) {
            let entry = |name: String| (name, Some(Direction::Increasing));
            let value = Directions::Named(names.into_iter().map(entry).collect());
            prop_assert_eq!(Directions::read(value.show().trim()), Some(value));
        }
    }
}
