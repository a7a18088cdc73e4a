//! Everything that can go wrong, with the place and the mend.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::message::{FlagNotation, Message, Notation};

/// What went wrong. `Display` prints one clear message; [`Error::exit_code`] is what a command line
/// should end with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One or more parameters are out of range or contradict each other; all of them are listed.
    #[error("{}", lines(.0))]
    Parameters(Vec<Violation>),
    /// The data cannot be used as asked.
    #[error("{0}")]
    Data(Box<DataError>),
    /// A model file cannot be used.
    #[error("{path}: {message}", path = .path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and how to mend it.
        message: Message,
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
    /// An invalid search space; every fault has its position.
    #[error("{}", lines(.0))]
    Space(Vec<SpaceFault>),
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
    /// The parameter's name in the table; none where a configuration file cannot be parsed.
    pub parameter: Option<String>,
    /// What was given, what is allowed.
    pub message: Message,
    /// The configuration file that gave it and the line, counted from 1.
    pub source: Option<(String, usize)>,
}

impl Violation {
    /// A violation by a parameter that stands in no file.
    pub fn new(parameter: impl Into<String>, message: impl Into<Message>) -> Violation {
        Violation { parameter: Some(parameter.into()), message: message.into(), source: None }
    }

    /// The name of the parameter; empty if there is none.
    pub fn name(&self) -> &str {
        self.parameter.as_deref().unwrap_or_default()
    }

    /// The same violation, found in a line of a configuration file.
    #[must_use]
    pub(crate) fn in_file(self, file: &str, line: usize) -> Violation {
        Violation { source: Some((file.to_string(), line)), ..self }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.source {
            write!(f, "{file}:{line}: ")?;
        }
        if let Some(parameter) = &self.parameter {
            write!(f, "{parameter}: ")?;
        }
        write!(f, "{}", self.message)
    }
}

/// A fault in the description of a search space, with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceFault {
    /// The file, or what the description is called.
    pub file: String,
    /// Line in the file, counted from 1, where the parser knows it.
    pub line: Option<usize>,
    /// The parameter, where it concerns one.
    pub parameter: Option<String>,
    /// The key of the parameter's table, where it concerns one.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl SpaceFault {
    /// A fault of the whole file, or of one line.
    pub(crate) fn of_file(file: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        let (file, message) = (file.to_string(), message.into());
        SpaceFault { file, line, parameter: None, key: None, message }
    }

    /// A fault of one parameter.
    pub(crate) fn of_parameter(
        file: &str,
        line: Option<usize>,
        parameter: &str,
        message: impl Into<String>,
    ) -> Self {
        let fault = SpaceFault::of_file(file, line, message);
        SpaceFault { parameter: Some(parameter.to_string()), ..fault }
    }

    /// The same fault, of one key of the parameter.
    #[must_use]
    pub(crate) fn with_key(self, key: &str) -> Self {
        SpaceFault { key: Some(key.to_string()), ..self }
    }
}

impl fmt::Display for SpaceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(parameter) = &self.parameter {
            write!(f, ": parameter '{parameter}'")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", key '{key}'")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A fault in the data, with its place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DataError {
    /// The file, or `standard input`.
    pub file: String,
    /// Line in the file, counted from 1, where there is one.
    pub line: Option<u64>,
    /// Row, counted from 1, where rows have no lines.
    pub row: Option<u64>,
    /// Column name, where there is one.
    pub column: Option<String>,
    /// What is wrong.
    pub message: Message,
    /// How to mend it; may be empty.
    pub help: Message,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&FlagNotation))
    }
}

impl DataError {
    /// The text in a front's notation.
    pub fn render(&self, notation: &dyn Notation) -> String {
        let mut text = one_line(&self.file).into_owned();
        if let Some(line) = self.line {
            text.push_str(&format!(":{line}"));
        }
        if let Some(column) = &self.column {
            text.push_str(&format!(": column '{}'", one_line(column)));
        }
        if let Some(row) = self.row {
            text.push_str(&format!(": row {row}"));
        }

        text.push_str(&format!(": {}", self.message.render(notation)));
        if !self.help.is_empty() {
            text.push_str(&format!("\n  help: {}", self.help.render(notation)));
        }
        text
    }
}

/// A name without line breaks, which could pass for another message.
fn one_line(name: &str) -> Cow<'_, str> {
    if name.contains(['\n', '\r']) {
        Cow::Owned(name.replace('\n', "\\n").replace('\r', "\\r"))
    } else {
        Cow::Borrowed(name)
    }
}

fn lines<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
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
