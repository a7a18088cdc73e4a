//! Console output: diagnostics on standard error, results on standard output.
//!
//! The printing macros panic when the pipe is closed; these functions do not.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;
use swarmwood::{Error, Result};

/// Standard error for diagnostics, which `--quiet` silences.
#[derive(Clone, Copy)]
pub struct Console {
    /// Whether only errors are printed.
    pub quiet: bool,
}

impl Console {
    /// Prints a line.
    pub fn line(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Prints notes, one per line.
    pub fn notes<'a>(self, notes: impl IntoIterator<Item = &'a String>) {
        notes.into_iter().for_each(|text| self.line(&format!("note: {text}")));
    }

    /// Prints warnings, one per line.
    pub fn warnings<'a>(self, warnings: impl IntoIterator<Item = &'a String>) {
        warnings.into_iter().for_each(|text| self.line(&format!("warning: {text}")));
    }
}

/// Prints an error; each invalid parameter and each error of a search space has its own line.
pub fn print_error(error: &Error) {
    let text = match error {
        Error::Parameters(_) | Error::Space(_) => error.to_string().replace('\n', "\nerror: "),
        _ => error.to_string(),
    };
    let _ = writeln!(io::stderr(), "error: {text}");
}

/// Prints a panic in one line.
pub fn print_internal_error(panic: &str) {
    let message = panic.lines().collect::<Vec<_>>().join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        io::stderr(),
        "internal error in swarmwood {version}: {message}; please report it"
    );
}

/// Prints a result.
pub fn print_result(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| Error::Write { path: PathBuf::from("standard output"), source })
}

/// Prints a result as one JSON object on one line.
pub fn print_json(object: &Value) -> Result<()> {
    print_result(&format!("{object}\n"))
}
