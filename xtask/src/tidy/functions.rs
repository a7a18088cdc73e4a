//! Lengths of functions.

use super::Fault;
use super::files::{File, Tree};

/// Lines a function may have, signature and closing brace included.
const LONGEST: usize = 80;

/// Functions that may be longer, each with the reason: path, name, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// A function longer than the limit does more than one thing. Tests are free.
pub fn function_lengths(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.sources() {
        let listed = |name: &str| {
            LONG_FUNCTIONS.iter().any(|(path, long, _)| *path == file.path && *long == name)
        };
        for Function { line, name, length } in functions(file) {
            if length > LONGEST && !listed(name) {
                let message = format!(
                    "function '{name}' has {length} lines, at most {LONGEST}; take a step out of it"
                );
                faults.push(Fault::new(&file.path, line, message));
            }
        }
    }
    faults
}

/// A function with a body.
pub struct Function<'a> {
    /// Its first line, counted from one.
    pub line: usize,
    /// Its name.
    pub name: &'a str,
    /// Its lines.
    pub length: usize,
}

/// Every function with a body. Relies on the format check: the closing brace stands alone, as deep
/// as the signature begins.
pub fn functions(file: &File) -> Vec<Function<'_>> {
    let lines: Vec<(usize, &str)> = file.code().collect();
    let mut found = Vec::new();
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
            found.push(Function { line: number, name, length: end + 1 });
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    let before = ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern"];
    let first = words.find(|word| !before.contains(word))?;
    let name = words.next().filter(|_| first == "fn")?;
    name.split(['(', '<']).next()
}
