//! Where a program says how good a configuration is.

use std::fs;
use std::io::ErrorKind;

use serde_json::Value;

use super::process::last_line;

/// The place of the trial's number in the name of a file.
const TRIAL: &str = "{trial}";

/// Where the value is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ValueFrom {
    /// The last line on standard output that is not empty.
    #[default]
    LastLine,
    /// A JSON file that the program writes.
    File {
        /// Its name, where `{trial}` is the number of the trial.
        path: String,
        /// Where in it the number is: keys with dots between; the whole file if `None`.
        key: Option<String>,
    },
}

impl ValueFrom {
    /// What the value is called.
    pub fn name(&self) -> &str {
        match self {
            ValueFrom::File { key: Some(key), .. } => key,
            _ => "value",
        }
    }

    /// Whether all trials write the same file, so that two at a time would take each other's value.
    pub fn is_shared(&self) -> bool {
        matches!(self, ValueFrom::File { path, .. } if !path.contains(TRIAL))
    }

    /// Takes away what an earlier attempt may have written, or its value could be taken for this
    /// one's.
    pub(super) fn forget(&self, trial: u64) -> Result<(), String> {
        let ValueFrom::File { path, .. } = self else { return Ok(()) };
        let path = path.replace(TRIAL, &trial.to_string());
        match fs::remove_file(&path) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => {
                Err(format!("cannot take away {path}: {fault}"))
            }
            _ => Ok(()),
        }
    }

    /// The value of a program that said this.
    pub(super) fn read(&self, said: &str, trial: u64) -> Result<f64, String> {
        match self {
            ValueFrom::LastLine => {
                let line = last_line(said).ok_or("printed no value")?;
                let shown: String = line.chars().take(80).collect();
                line.parse()
                    .map_err(|_| format!("the last line of its output is '{shown}', not a number"))
            }
            ValueFrom::File { path, key } => {
                let path = path.replace(TRIAL, &trial.to_string());
                let text = fs::read_to_string(&path)
                    .map_err(|fault| format!("cannot read {path}: {fault}"))?;
                let json: Value =
                    serde_json::from_str(&text).map_err(|fault| format!("{path}: {fault}"))?;
                let mut keys = key.iter().flat_map(|key| key.split('.'));
                let found = keys.try_fold(&json, |value, key| value.get(key));
                let place = key.as_ref().map_or(String::new(), |key| format!(" at '{key}'"));
                found.and_then(Value::as_f64).ok_or_else(|| format!("{path}: no number{place}"))
            }
        }
    }
}
