//! Reads parameters from a TOML file: the names of the table, `-` as good as `_`.

use toml::de::{DeTable, DeValue};

use super::find_beside;
use super::spec::AllowedValues;
use crate::error::Violation;
use crate::message::ParamValue;

/// A key of the front and its words.
pub(super) type Other = (String, Vec<String>);

/// Sets one parameter by its name.
pub(super) type Setter<'a> = dyn FnMut(&str, &ParamValue) -> Result<(), Violation> + 'a;

/// Sets every key of `text`; what is wrong becomes a violation that names the file, the line and
/// the key. Keys in `others` belong to the front (names of columns and files) and are handed back.
pub(super) fn apply(
    file: &str,
    text: &str,
    others: &[&str],
    setter: &mut Setter<'_>,
    violations: &mut Vec<Violation>,
) -> Vec<Other> {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            let violation = Violation { parameter: None, ..Violation::new("", message) };
            violations.push(violation.in_file(file, line));
            return Vec::new();
        }
    };
    // The parsed table is sorted by key; people read their file from the top.
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut found = Vec::new();
    for (key, value) in entries {
        let (name, value) = (key.get_ref(), value.get_ref());
        let outcome = match others.iter().find(|other| **other == name.replace('_', "-")) {
            Some(other) => words(other, value).map(|words| found.push((other.to_string(), words))),
            None => set(name, value, others, setter),
        };
        if let Err(violation) = outcome {
            let line = line_of(text, key.span().start);
            violations.push(violation.in_file(file, line));
        }
    }
    found
}

/// Sets one parameter of the table.
fn set(
    name: &str,
    value: &DeValue<'_>,
    others: &[&str],
    setter: &mut Setter<'_>,
) -> Result<(), Violation> {
    let spec = find_beside(name, others)?;
    // What is no switch is not set by a truth value; its text would otherwise be reported as a wrong
    // word.
    let scalar = scalar(value)
        .filter(|_| !matches!(value, DeValue::Boolean(_)) || spec.allowed == AllowedValues::Switch);
    match scalar {
        Some(text) => setter(name, &ParamValue::Text(text)),
        None if matches!(
            spec.allowed,
            AllowedValues::ByFeature { .. }
                | AllowedValues::FeatureGroups { .. }
                | AllowedValues::Splits(_)
        ) && matches!(value, DeValue::Array(_) | DeValue::Table(_)) =>
        {
            setter(name, &typed(value))
        }
        None => {
            let message = format!("is {}, must be {}", value.type_str(), spec.allowed);
            Err(Violation::new(spec.name, message))
        }
    }
}

/// The words of a key that belongs to the front.
fn words(name: &str, value: &DeValue<'_>) -> Result<Vec<String>, Violation> {
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    let words = match value {
        DeValue::Array(items) => items.iter().map(|item| text(item.get_ref())).collect(),
        value => text(value).map(|word| vec![word]),
    };
    words.ok_or_else(|| {
        let found = value.type_str();
        Violation::new(name, format!("is {found}, must be a string or an array of strings"))
    })
}

/// The text of a value that could be a parameter's.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            // TOML has other bases; whatever the base, the table wants decimal digits.
            i128::from_str_radix(number.as_str(), number.radix())
                .ok()
                .map(|number| number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_string()),
        DeValue::Boolean(on) => Some(on.to_string()),
        _ => None,
    }
}

/// A value with its structure.
fn typed(value: &DeValue<'_>) -> ParamValue {
    match value {
        DeValue::Array(items) => {
            ParamValue::List(items.iter().map(|item| typed(item.get_ref())).collect())
        }
        DeValue::Table(entries) => {
            let entries = entries.iter();
            let entry =
                entries.map(|(name, value)| (name.get_ref().to_string(), typed(value.get_ref())));
            ParamValue::Map(entry.collect())
        }
        DeValue::Boolean(on) => ParamValue::Bool(*on),
        DeValue::Integer(_) => match scalar(value).and_then(|digits| digits.parse().ok()) {
            Some(number) => ParamValue::Integer(number),
            None => ParamValue::Text(String::new()),
        },
        value => ParamValue::Text(scalar(value).unwrap_or_default()),
    }
}

/// The line, counted from 1, of a byte.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|&b| b == b'\n').count()
}
