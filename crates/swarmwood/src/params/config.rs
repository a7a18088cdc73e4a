//! Reads parameters from a TOML file: the names of the table, `-` as good as `_`.

use toml::de::{DeTable, DeValue};

use super::table::Params;
use crate::error::Violation;

/// Sets every key of `text`; what is wrong becomes a violation that names the file, the line and the key.
pub(super) fn apply(file: &str, text: &str, params: &mut Params, violations: &mut Vec<Violation>) {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            violations.push(Violation { name: format!("{file}:{line}"), message });
            return;
        }
    };
    // The parsed table is sorted by key; people read their file from the top.
    let mut entries: Vec<_> = table.into_inner().into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let line = line_of(text, key.span().start);
        let outcome = match scalar(value.get_ref()) {
            Some(word) => params.set(key.get_ref(), &word),
            None => super::find(key.get_ref()).and_then(|spec| {
                let message = format!("is {}, must be {}", value.get_ref().type_str(), spec.allowed);
                Err(Violation { name: spec.name.to_string(), message })
            }),
        };
        if let Err(violation) = outcome {
            violations.push(Violation { name: format!("{file}:{line}: {}", violation.name), ..violation });
        }
    }
}

/// The text of a value that could be a parameter's.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            // TOML has other bases; whatever the base, the table wants decimal digits.
            i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_string()),
        _ => None,
    }
}

/// The line, counted from 1, of a byte.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|&b| b == b'\n').count()
}
