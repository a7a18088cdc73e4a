//! Messages that name parameters and values without a front's spelling of them.
//!
//! The same message is read on a command line, where a parameter is a flag, and in Python, where it
//! has scikit-learn's name. A [`Message`] keeps names and values apart from its text; every front
//! renders them in its own [`Notation`]. `Display` uses [`FlagNotation`].

use std::fmt;

/// A value that a front passes for a parameter, before it is checked: text from a command line, or
/// a typed value where the front has one.
///
/// ```
/// use swarmwood::params::{ParamValue, Params};
///
/// let mut params = Params::default();
/// params.set_value("depth", &ParamValue::Integer(4)).unwrap();
/// let violation = params.set_value("depth", &ParamValue::Real(4.0)).unwrap_err();
/// assert_eq!(violation.to_string(), "depth: is 4.0, must be a whole number from 0 to 32");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum ParamValue {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A floating-point number.
    Real(f64),
    /// Text, which is parsed as on a command line.
    Text(String),
    /// Several values: a row of a matrix, or its rows.
    List(Vec<ParamValue>),
    /// Values by name.
    Map(Vec<(String, ParamValue)>),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(value) => write!(f, "{value}"),
            ParamValue::Integer(value) => write!(f, "{value}"),
            // With a decimal point, so that it differs from a whole number.
            ParamValue::Real(value) => write!(f, "{value:?}"),
            ParamValue::Text(text) => write!(f, "'{text}'"),
            ParamValue::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            ParamValue::Map(entries) => {
                let entry = |(name, value): &(String, ParamValue)| format!("'{name}': {value}");
                let entries: Vec<String> = entries.iter().map(entry).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

impl From<&str> for ParamValue {
    fn from(text: &str) -> Self {
        ParamValue::Text(text.to_string())
    }
}

impl From<usize> for ParamValue {
    fn from(number: usize) -> Self {
        ParamValue::Integer(number as i128)
    }
}

/// How a front writes parameters and values in messages. Names are those of the parameter table.
pub trait Notation {
    /// The name of a parameter.
    fn parameter(&self, name: &str) -> String;

    /// A setting that the user may want to choose: a parameter, and its value if one is proposed.
    fn setting(&self, name: &str, value: Option<&ParamValue>) -> String;

    /// How the user leaves a column of the data out.
    fn ignore_column(&self, column: &str) -> String;

    /// A value that was given.
    fn value(&self, value: &ParamValue) -> String {
        value.to_string()
    }
}

/// The notation of the command line: names of the table, settings as flags.
#[derive(Debug, Clone, Copy)]
pub struct FlagNotation;

impl Notation for FlagNotation {
    fn parameter(&self, name: &str) -> String {
        name.to_string()
    }

    fn setting(&self, name: &str, value: Option<&ParamValue>) -> String {
        let flag = name.replace('_', "-");
        match value {
            None => format!("--{flag}"),
            Some(ParamValue::Text(word)) => format!("--{flag} {word}"),
            Some(value) => format!("--{flag} {value}"),
        }
    }

    fn ignore_column(&self, column: &str) -> String {
        format!("--ignore '{column}'")
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
enum Fragment {
    Text(String),
    Parameter(String),
    Setting(String, Option<ParamValue>),
    IgnoreColumn(String),
    Value(ParamValue),
}

/// A message whose names of parameters and values are rendered by the front.
///
/// ```
/// use swarmwood::message::Message;
///
/// let message = Message::from("is too deep; lower it or use ").setting("method", "split-tree");
/// assert_eq!(message.to_string(), "is too deep; lower it or use --method split-tree");
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message(Vec<Fragment>);

impl Message {
    /// Appends text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Message {
        self.0.push(Fragment::Text(text.into()));
        self
    }

    /// Appends the name of a parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str) -> Message {
        self.0.push(Fragment::Parameter(name.to_string()));
        self
    }

    /// Appends a setting that the user may want to choose.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Into<ParamValue>) -> Message {
        self.0.push(Fragment::Setting(name.to_string(), Some(value.into())));
        self
    }

    /// Appends a parameter that the user may want to set, to a value of their choice.
    #[must_use]
    pub fn option(mut self, name: &str) -> Message {
        self.0.push(Fragment::Setting(name.to_string(), None));
        self
    }

    /// Appends how the user leaves a column of the data out.
    #[must_use]
    pub fn ignore_column(mut self, column: &str) -> Message {
        self.0.push(Fragment::IgnoreColumn(column.to_string()));
        self
    }

    /// Appends a value that was given.
    #[must_use]
    pub fn value(mut self, value: &ParamValue) -> Message {
        self.0.push(Fragment::Value(value.clone()));
        self
    }

    /// Appends another message.
    #[must_use]
    pub fn join(mut self, other: Message) -> Message {
        self.0.extend(other.0);
        self
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Fragment::Text(text) if text.is_empty()))
    }

    /// The text in a front's notation.
    pub fn render(&self, notation: &dyn Notation) -> String {
        let part = |fragment: &Fragment| match fragment {
            Fragment::Text(text) => text.clone(),
            Fragment::Parameter(name) => notation.parameter(name),
            Fragment::Setting(name, value) => notation.setting(name, value.as_ref()),
            Fragment::IgnoreColumn(column) => notation.ignore_column(column),
            Fragment::Value(value) => notation.value(value),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&FlagNotation))
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, text: &&str) -> bool {
        self.render(&FlagNotation) == *text
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message(vec![Fragment::Text(text)])
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Message::from(text.to_string())
    }
}
