//! Errors of search spaces, engine names, configurations and snapshots.

use std::fmt;

/// An error of this crate; its message is meant for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The space is invalid; all errors are listed.
    Space(Vec<ParamError>),
    /// The engine cannot search this space.
    Unsupported {
        /// The engine's name.
        engine: &'static str,
        /// The parameter it cannot handle.
        parameter: String,
        /// The kind of parameter.
        kind: &'static str,
    },
    /// The engine's configuration is invalid; all errors are listed.
    Config {
        /// The engine's name.
        engine: &'static str,
        /// The errors.
        errors: Vec<ParamError>,
    },
    /// No engine has this name.
    Unknown {
        /// The name that was given.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
        /// The known name that is most similar, if one is similar enough.
        nearest: Option<&'static str>,
    },
    /// The snapshot does not fit.
    Snapshot(String),
}

/// An error of one parameter of a space, or of one field of an engine's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamError {
    /// The name of the parameter or field.
    pub parameter: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Space(errors) => {
                let lines: Vec<String> = errors
                    .iter()
                    .map(|error| format!("parameter '{}': {}", error.parameter, error.message))
                    .collect();
                write!(f, "{}", lines.join("\n"))
            }
            Error::Unsupported { engine, parameter, kind } => {
                write!(
                    f,
                    "engine '{engine}' cannot search {kind} parameters such as '{parameter}'; choose another"
                )
            }
            Error::Config { engine, errors } => {
                let line = |error: &ParamError| {
                    format!("setting '{}' of engine '{engine}': {}", error.parameter, error.message)
                };
                write!(f, "{}", errors.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
            Error::Unknown { name, known, nearest } => {
                let hint =
                    nearest.map_or(String::new(), |nearest| format!("; did you mean '{nearest}'?"));
                write!(f, "no engine '{name}', must be one of {}{hint}", known.join(", "))
            }
            Error::Snapshot(message) => write!(f, "snapshot: {message}"),
        }
    }
}

impl std::error::Error for Error {}
