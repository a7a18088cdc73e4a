//! Gathers parameters from several places and reports everything that is wrong at once.

use std::collections::BTreeSet;
use std::path::Path;

use super::check::ValidParams;
use super::table::{Params, TABLE};
use super::{config, find};
use crate::Result;
use crate::error::{Error, Violation};
use crate::message::{Message, ParamValue};

/// Collects values: a configuration file first, flags after it. Later values win; violations add
/// up. What nobody sets gets the default of the method, whenever the method is set.
///
/// ```
/// use swarmwood::params::Gather;
///
/// let mut gather = Gather::default();
/// gather.set("depth", "40");
/// gather.set("learning_rate", "fast");
/// let error = gather.finish().unwrap_err().to_string();
/// assert!(error.contains("depth: is 40") && error.contains("learning_rate: is 'fast'"));
/// ```
#[derive(Debug, Default)]
pub struct Gather {
    params: Params,
    /// Names of the parameters that were set.
    given: BTreeSet<&'static str>,
    violations: Vec<Violation>,
}

impl Gather {
    /// Takes every key of a TOML file. An unreadable file is an error now; bad keys and values are
    /// reported at the end.
    ///
    /// `others` are keys the front understands beside the table (names of columns and files); what
    /// the file says of them is handed back.
    pub fn config(&mut self, path: &Path, others: &[&str]) -> Result<Vec<(String, Vec<String>)>> {
        let bytes = std::fs::read(path)
            .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        let file = path.display().to_string();
        match String::from_utf8(bytes) {
            Ok(text) => {
                let Gather { params, given, violations } = self;
                Ok(config::apply(
                    &file,
                    &text,
                    others,
                    &mut |name, value| set(params, given, name, value),
                    violations,
                ))
            }
            Err(_) => {
                self.violate("config", format!("{file} is not UTF-8 text; save it as UTF-8"));
                Ok(Vec::new())
            }
        }
    }

    /// Sets one parameter from text.
    pub fn set(&mut self, name: &str, text: &str) {
        self.set_value(name, &ParamValue::Text(text.to_string()));
    }

    /// Sets one parameter from a typed value.
    pub fn set_value(&mut self, name: &str, value: &ParamValue) {
        if let Err(violation) = set(&mut self.params, &mut self.given, name, value) {
            self.violations.push(violation);
        }
    }

    /// Adds a violation that the table cannot see.
    pub fn violate(&mut self, name: &str, message: impl Into<Message>) {
        self.violations.push(Violation::new(name, message));
    }

    /// The values so far, not yet checked; what was not set has the default of the method.
    pub fn so_far(&self) -> Params {
        let mut params = Params::of(self.params.method);
        for spec in TABLE.iter().filter(|spec| self.given.contains(spec.name)) {
            (spec.copy)(&self.params, &mut params);
        }
        params
    }

    /// Checks everything; the error lists all violations.
    pub fn finish(mut self) -> Result<ValidParams> {
        let params = self.so_far();
        self.violations.extend(params.violations());
        if self.violations.is_empty() {
            params.check()
        } else {
            Err(Error::Parameters(self.violations))
        }
    }
}

/// Sets a parameter and records that it was set.
fn set(
    params: &mut Params,
    given: &mut BTreeSet<&'static str>,
    name: &str,
    value: &ParamValue,
) -> std::result::Result<(), Violation> {
    params.set_value(name, value)?;
    given.insert(find(name)?.name);
    Ok(())
}
