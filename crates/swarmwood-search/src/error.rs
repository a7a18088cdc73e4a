//! What can be wrong with a space, an engine's settings or a snapshot.

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
    /// The snapshot does not fit.
    Snapshot(String),
}

/// A fault of one parameter of a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The parameter's name.
    pub parameter: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Space(faults) => {
                let lines: Vec<String> =
                    faults.iter().map(|fault| format!("parameter '{}': {}", fault.parameter, fault.message)).collect();
                write!(f, "{}", lines.join("\n"))
            }
            Error::Unsupported { engine, parameter, ability } => {
                write!(f, "engine '{engine}' cannot search {ability} parameters such as '{parameter}'; choose another")
            }
            Error::Snapshot(message) => write!(f, "snapshot: {message}"),
        }
    }
}

impl std::error::Error for Error {}
