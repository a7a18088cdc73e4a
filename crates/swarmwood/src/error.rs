//! Everything that can go wrong, with the place and the mend.

use std::fmt;
use std::path::PathBuf;

/// What went wrong. `Display` prints one clear message; [`Error::exit_code`] is what a command line
/// should end with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One or more parameters are out of range or contradict each other; all of them are listed.
    #[error("{}", list(.0))]
    Parameters(Vec<Violation>),
    /// The data cannot be used as asked.
    #[error("{0}")]
    Data(DataError),
    /// A model file cannot be used.
    #[error("{path}: {message}", path = .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and how to mend it.
        message: String,
    },
    /// A checkpoint cannot be resumed.
    #[error("{path}: {message}", path = .path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and how to mend it.
        message: String,
    },
    /// A journal of a study cannot be used.
    #[error("{path}: {message}", path = .path.display())]
    Study {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and how to mend it.
        message: String,
    },
    /// A search space makes no sense; every fault has its place.
    #[error("{}", .0.join("\n"))]
    Space(Vec<String>),
    /// A file could not be opened or read.
    #[error("{path}: cannot read: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file could not be written; nothing was left half-written.
    #[error("{path}: cannot write: {source}", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The rows could not be worked on.
    #[error("training cannot go on: {0}")]
    Backend(#[from] swarmwood_learn::stats::BackendError),
    /// Training could not go on.
    #[error("{0}")]
    Run(String),
}

/// A parameter that cannot be used as given.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The parameter's name in the table.
    pub name: String,
    /// What was given, what is allowed.
    pub message: String,
}

/// A fault in the data, with its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DataError {
    /// The file, or `standard input`.
    pub file: String,
    /// Line in the file, counted from 1, where there is one.
    pub line: Option<u64>,
    /// Column name, where there is one.
    pub column: Option<String>,
    /// What is wrong.
    pub message: String,
    /// How to mend it; may be empty.
    pub help: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ": column '{column}'")?;
        }
        write!(f, ": {}", self.message)?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}

fn list(violations: &[Violation]) -> String {
    let lines: Vec<String> =
        violations.iter().map(|v| format!("{}: {}", v.name, v.message)).collect();
    lines.join("\n")
}

impl Error {
    /// 2 where the caller must change parameters or data, 1 where the run itself failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Parameters(_)
            | Error::Data(_)
            | Error::Model { .. }
            | Error::Checkpoint { .. }
            | Error::Study { .. }
            | Error::Space(_)
            | Error::Read { .. } => 2,
            Error::Write { .. } | Error::Backend(_) | Error::Run(_) => 1,
        }
    }
}

/// The facade's result.
pub type Result<T> = std::result::Result<T, Error>;
