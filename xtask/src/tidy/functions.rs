//! Lengths of functions.

use super::Fault;
use super::files::{SourceFile, SourceTree};

/// Maximum number of lines of a function, signature and closing brace included.
const MAX_LINES: usize = 80;

/// Functions that may be longer, each with the reason: path, name, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// A function longer than the limit does more than one thing. Tests are exempt.
pub fn function_lengths(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.sources() {
        let is_exempt = |name: &str| {
            LONG_FUNCTIONS.iter().any(|(path, long, _)| *path == file.path && *long == name)
        };
        for FunctionSpan { line, name, length } in functions(file) {
            if length > MAX_LINES && !is_exempt(name) {
                let message = format!(
                    "function '{name}' has {length} lines, at most {MAX_LINES}; extract a step"
                );
                faults.push(Fault::new(&file.path, line, message));
            }
        }
    }
    faults
}

/// A function with a body.
pub struct FunctionSpan<'a> {
    /// Its first line, counted from one.
    pub line: usize,
    /// Its name.
    pub name: &'a str,
    /// Its lines.
    pub length: usize,
}

/// Every function with a body. Relies on the format check: the closing brace is alone on its line,
/// with the indentation of the signature.
pub fn functions(file: &SourceFile) -> Vec<FunctionSpan<'_>> {
    let lines: Vec<(usize, &str)> = file.code().collect();
    let mut functions = Vec::new();
    for (start, &(number, line)) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = function_name(line.trim_start()) else { continue };
        let ends = |code: &str| {
            let depth = code.len() - code.trim_start().len();
            depth == indent
                && (code.trim() == "}"
                    || code.trim_end().ends_with(';')
                    || code.trim_end().ends_with(" }"))
        };
        if let Some(end) = lines[start..].iter().position(|(_, code)| ends(code)) {
            functions.push(FunctionSpan { line: number, name, length: end + 1 });
        }
    }
    functions
}

fn function_name(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    let before = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern"];
    let first = words.find(|word| !before.contains(word))?;
    let name = words.next().filter(|_| first == "fn")?;
    name.split(['(', '<']).next()
}
