//! Options of export formats, by name.

use std::collections::BTreeMap;

use super::ExportError;

/// An option that a format takes.
#[derive(Debug, Clone, Copy)]
pub struct ExportOption {
    /// The name.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// The allowed values.
    pub values: OptionValues,
}

/// The allowed values of an option.
#[derive(Debug, Clone, Copy)]
pub enum OptionValues {
    /// A whole number from 0.
    Count {
        /// The value if none is set.
        default: usize,
    },
    /// One of some names, each with a description; the first one is the default.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any text; the format checks it.
    Text {
        /// The value if none is set.
        default: &'static str,
    },
}

/// What the exported model computes, for formats that lack some links.
pub(super) const RESULT: ExportOption = ExportOption {
    name: "result",
    help: "what the exported model computes",
    values: OptionValues::Choice(&[
        ("prediction", "numbers or probabilities"),
        ("raw", "raw scores, before the link"),
    ]),
};

/// Values of options, by name.
///
/// ```
/// use swarmwood_model::export::ExportOptions;
/// let options = ExportOptions::default().with("trees", "2").with("lines", "50");
/// # let _ = options;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportOptions {
    values: BTreeMap<String, String>,
}

impl ExportOptions {
    /// Sets an option.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Checks names and values against the options of a format.
    pub(super) fn check(&self, allowed: &[ExportOption]) -> Result<(), ExportError> {
        for (name, value) in &self.values {
            let error = |message: String| ExportError::Option { name: name.clone(), message };
            let Some(option) = allowed.iter().find(|option| option.name == name) else {
                let names: Vec<&str> = allowed.iter().map(|option| option.name).collect();
                return Err(error(match names.is_empty() {
                    true => "the format takes no options".to_string(),
                    false => format!("the format takes: {}", names.join(", ")),
                }));
            };

            match option.values {
                OptionValues::Count { .. } if value.parse::<usize>().is_err() => {
                    return Err(error(format!("is '{value}', must be a whole number from 0")));
                }
                OptionValues::Choice(choices) if !choices.iter().any(|(name, _)| name == value) => {
                    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                    return Err(error(format!(
                        "is '{value}', must be one of {}",
                        names.join(", ")
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The value of an option, or its default.
    pub fn get(&self, option: &ExportOption) -> String {
        match (self.values.get(option.name), option.values) {
            (Some(value), _) => value.clone(),
            (None, OptionValues::Count { default }) => default.to_string(),
            (None, OptionValues::Text { default }) => default.to_string(),
            (None, OptionValues::Choice(choices)) => {
                choices.first().map_or_else(String::new, |(name, _)| (*name).to_string())
            }
        }
    }

    /// The value of an option that is a count.
    pub fn count(&self, option: &ExportOption) -> usize {
        self.get(option).parse().unwrap_or(0)
    }
}
