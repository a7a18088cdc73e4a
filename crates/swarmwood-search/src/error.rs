//! What can be wrong with a space, an engine's name or settings, or a snapshot.

use std::fmt;

/// What went wrong, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The space makes no sense; all faults are listed.
    Space(Vec<Fault>),
    /// The engine cannot search this space.
    Unsupported {
        /// The engine's name.
        engine: &'static str,
        /// The parameter it cannot handle.
        parameter: String,
        /// The missing ability.
        ability: &'static str,
    },
    /// The engine's settings make no sense; all faults are listed, each under the name of its
    /// setting.
    Settings {
        /// The engine's name.
        engine: &'static str,
        /// What is wrong.
        faults: Vec<Fault>,
    },
    /// No engine has this name.
    Unknown {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
        /// The one that was probably meant.
        near: Option<&'static str>,
    },
    /// The snapshot does not fit.
    Snapshot(String),
}

/// A fault of one parameter of a space, or of one setting of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The name of the parameter or setting.
    pub parameter: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Space(faults) => {
                let lines: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("parameter '{}': {}", fault.parameter, fault.message))
                    .collect();
                write!(f, "{}", lines.join("\n"))
            }
            Error::Unsupported { engine, parameter, ability } => {
                write!(
                    f,
                    "engine '{engine}' cannot search {ability} parameters such as '{parameter}'; choose another"
                )
            }
            Error::Settings { engine, faults } => {
                let line = |fault: &Fault| {
                    format!("setting '{}' of engine '{engine}': {}", fault.parameter, fault.message)
                };
                write!(f, "{}", faults.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
            Error::Unknown { name, known, near } => {
                let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                write!(f, "no engine '{name}', must be one of {}{hint}", known.join(", "))
            }
            Error::Snapshot(message) => write!(f, "snapshot: {message}"),
        }
    }
}

impl std::error::Error for Error {}
