//! Everything the program says: talk on standard error, results on standard output.
//!
//! The printing macros panic when nobody listens; these functions do not.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Map, Value};
use swarmwood::{Error, Result};

/// Talk that `--quiet` silences.
#[derive(Clone, Copy)]
pub struct Talk {
    /// Whether only errors are told.
    pub quiet: bool,
}

impl Talk {
    /// Says what is going on.
    pub fn note(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Says how things went.
    pub fn tell<'a>(self, notes: impl IntoIterator<Item = &'a String>) {
        notes.into_iter().for_each(|text| self.note(&format!("note: {text}")));
    }

    /// Says what may be wrong.
    pub fn warn<'a>(self, warnings: impl IntoIterator<Item = &'a String>) {
        warnings.into_iter().for_each(|text| self.note(&format!("warning: {text}")));
    }
}

/// Tells an error; each violation of a parameter and each fault of a space stands on its own line.
pub fn error(error: &Error) {
    let text = match error {
        Error::Parameters(_) | Error::Space(_) => error.to_string().replace('\n', "\nerror: "),
        _ => error.to_string(),
    };
    let _ = writeln!(io::stderr(), "error: {text}");
}

/// Tells a panic in one line.
pub fn internal_error(panic: &str) {
    let what = panic.lines().collect::<Vec<_>>().join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let _ =
        writeln!(io::stderr(), "internal error in swarmwood {version}: {what}; please report it");
}

/// Prints a result.
pub fn result(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(stdout_fault)
}

/// Prints a result as one JSON object on one line.
pub fn json(object: &Value) -> Result<()> {
    result(&format!("{object}\n"))
}

/// A fault of standard output.
pub fn stdout_fault(source: io::Error) -> Error {
    Error::Write { path: PathBuf::from("standard output"), source }
}

/// Metrics as a JSON object; what is not finite becomes null.
pub fn metrics_json(metrics: &[(&'static str, f64)]) -> Value {
    let pairs = metrics.iter().map(|&(name, value)| (name.to_string(), Value::from(value)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// A number of things, in words.
pub fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A metric for people: six digits, no more than needed.
pub fn short(value: f64) -> String {
    if value != 0.0 && value.is_finite() && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.5e}");
    }
    let whole_digits = if value.abs() < 1.0 { 1 } else { value.abs().log10() as usize + 1 };
    let text = format!("{value:.*}", 7_usize.saturating_sub(whole_digits));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(0.123456789), "0.123457");
        assert_eq!(short(123456.789), "123456.8");
        assert_eq!(short(12345678.9), "12345679");
        assert_eq!(short(1e-7), "1.00000e-7");
        assert_eq!(short(0.0), "0");
        assert_eq!(short(-2.0), "-2");
        assert_eq!(short(f64::NAN), "NaN");
    }
}
