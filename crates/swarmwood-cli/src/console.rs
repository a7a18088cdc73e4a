//! Console output: diagnostics on standard error, results on standard output.
//!
//! The printing macros panic when the pipe is closed; these functions do not. Names come from files
//! of others and may contain characters that control a terminal: diagnostics are printed without
//! them, and results if they go to a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
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
            let _ = writeln!(io::stderr(), "{}", printable(text));
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
    let _ = writeln!(io::stderr(), "error: {}", printable(&text));
}

/// Prints a panic in one line.
pub fn print_internal_error(panic: &str) {
    let message = panic.lines().collect::<Vec<_>>().join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        io::stderr(),
        "internal error in swarmwood {version}: {}; please report it",
        printable(&message)
    );
}

/// A text in which characters that control a terminal, or the direction of text, are escaped. Line
/// breaks and tabs stay.
fn printable(text: &str) -> Cow<'_, str> {
    let controls = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match controls(letter) {
            true => escaped.extend(letter.escape_unicode()),
            false => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}

/// Standard output for results that are written piece by piece.
pub fn stdout() -> Box<dyn Write> {
    if io::stdout().is_terminal() {
        Box::new(TerminalWriter(io::stdout().lock()))
    } else {
        Box::new(io::stdout().lock())
    }
}

/// Passes text on without characters that control the terminal.
struct TerminalWriter<W>(W);

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Writers pass whole lines; anything else that is cut in two is shown as such.
        self.0.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints a result.
pub fn print_result(text: &str) -> Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| Error::Write { path: PathBuf::from("standard output"), source })
}

/// Prints a result as one JSON object on one line.
pub fn print_json(object: &Value) -> Result<()> {
    print_result(&format!("{object}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_layout_is_not() {
        assert_eq!(printable("a\tb\nc ü"), "a\tb\nc ü");
        let hostile = "\u{1b}[2J\u{7}\r\u{9b}31m\u{202e}";
        let shown = "\\u{1b}[2J\\u{7}\\u{d}\\u{9b}31m\\u{202e}";
        assert_eq!(printable(hostile), shown);
        let mut terminal = TerminalWriter(Vec::new());
        terminal.write_all(hostile.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(terminal.0).unwrap(), shown);
    }
}
