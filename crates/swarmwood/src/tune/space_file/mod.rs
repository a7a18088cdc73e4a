//! Search spaces in files, TOML or JSON: one table a parameter.
//!
//! ```toml
//! [booster]
//! type = "choice"
//! values = ["gbtree", "gblinear"]
//!
//! [max_depth]
//! type = "integer"
//! low = 1
//! high = 12
//! when = { booster = ["gbtree"] }
//!
//! [learning_rate]
//! type = "real"
//! low = 0.01
//! high = 0.3
//! scale = "log"
//!
//! [bins]
//! type = "list"
//! values = [16, 64, 255]
//! ```
//!
//! Parameters keep the order of the file, but for those under a condition that stand before what
//! they depend on. Every fault is reported at once, with file, line (where the parser knows it),
//! parameter and key.

mod node;
mod order;
mod parameter;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::{Value, json};
use swarmwood_search::space::{Domain, Param, ParamScale};
use swarmwood_search::{Error as SpaceError, Space};

use crate::error::SpaceFault;
use crate::{Error, Result};
use node::Key;
use parameter::ParamEntry;

/// Reads a space from a file.
pub fn read(path: &Path) -> Result<Space> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    parse(&path.display().to_string(), &text)
}

/// Reads a space from text; `file` is what messages call it. Text that begins with a brace or a
/// bracket is JSON, all other TOML.
///
/// ```
/// use swarmwood::tune::space_file::parse;
/// let space = parse("s.toml", "depth = { type = 'integer', low = 1, high = 8 }")?;
/// assert_eq!(space.size(), Some(8));
/// let fault = parse("s.toml", "depth = { type = 'integer', low = 9, high = 8 }").unwrap_err();
/// assert_eq!(fault.to_string(), "s.toml:1: parameter 'depth': low bound 9 lies above high bound 8");
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn parse(file: &str, text: &str) -> Result<Space> {
    // An array of tables is how TOML could begin with a bracket, and so could a table; braces are
    // JSON's alone.
    let is_json =
        text.trim_start().starts_with('{') || serde_json::from_str::<Vec<Value>>(text).is_ok();
    let read = if is_json { node::from_json_text(file, text) } else { node::from_toml(file, text) };
    read.and_then(|keys| build(file, keys)).map_err(Error::Space)
}

/// Every parameter checked, brought into order, and checked together.
fn build(file: &str, keys: Vec<Key>) -> std::result::Result<Space, Vec<SpaceFault>> {
    let mut faults = Vec::new();
    let mut entries: Vec<ParamEntry> = Vec::new();
    for key in keys {
        if entries.iter().any(|entry| entry.param.name == key.name) {
            let message = "appears twice; names must differ";
            faults.push(SpaceFault::of_parameter(file, key.line, &key.name, message));
            continue;
        }
        match parameter::entry(file, key) {
            Ok(entry) => entries.push(entry),
            Err(mut found) => faults.append(&mut found),
        }
    }
    if faults.is_empty() && entries.is_empty() {
        let message = "has no parameters; give at least one table with a type";
        faults.push(SpaceFault::of_file(file, None, message));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let entries = order::parents_first(file, entries)?;
    let lines: Vec<(String, Option<usize>)> =
        entries.iter().map(|entry| (entry.param.name.clone(), entry.line)).collect();
    Space::new(entries.into_iter().map(|entry| entry.param).collect()).map_err(
        |error| match error {
            SpaceError::Space(faults) => faults
                .into_iter()
                .map(|fault| {
                    let line = lines
                        .iter()
                        .find(|(name, _)| *name == fault.parameter)
                        .and_then(|(_, line)| *line);
                    SpaceFault::of_parameter(file, line, &fault.parameter, fault.message)
                })
                .collect(),
            other => vec![SpaceFault::of_file(file, None, other.to_string())],
        },
    )
}

/// A space as JSON: a list of parameters with the keys of a file and a name.
pub fn to_json(space: &Space) -> Value {
    Value::Array(space.params().iter().map(parameter_json).collect())
}

fn parameter_json(param: &Param) -> Value {
    let scale = |scale: ParamScale| if scale == ParamScale::Log { "log" } else { "linear" };
    let mut value = match &param.domain {
        Domain::Integer { low, high, scale: s } => {
            json!({"type": "integer", "low": low, "high": high, "scale": scale(*s)})
        }
        Domain::Real { low, high, scale: s } => {
            json!({"type": "real", "low": low, "high": high, "scale": scale(*s)})
        }
        Domain::List(values) => json!({"type": "list", "values": values}),
        Domain::Choice(labels) => json!({"type": "choice", "values": labels}),
    };
    value["name"] = json!(param.name);
    if let Some(condition) = &param.condition {
        value["when"] = json!({condition.parent.clone(): condition.labels});
    }
    value
}

/// The space that [`to_json`] described; the error says what is wrong.
pub fn from_json(value: &Value) -> std::result::Result<Space, String> {
    let keys = node::from_json_value("space", value);
    keys.and_then(|keys| build("space", keys))
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
