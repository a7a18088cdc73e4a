//! What the compiler does not check: the arrows between crates and modules, names, lengths, links.
//!
//! Each rule is a function from the tracked files to faults, so that its test can plant a fault in
//! a made-up tree; the one about features of crates is one from what cargo lists. The test
//! `the_workspace_is_tidy` runs all of them on the real one, so plain `cargo test` guards the
//! house.

mod border;
mod features;
mod files;
mod functions;
mod layers;
mod links;
mod source;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use files::Tree;

/// A broken rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    line: Option<usize>,
    message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

impl Fault {
    fn new(path: &str, line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Fault { path: path.to_owned(), line: line.into(), message: message.into() }
    }
}

type Rule = fn(&Tree) -> Vec<Fault>;

const RULES: &[Rule] = &[
    layers::between_crates,
    layers::between_modules,
    words::file_names,
    words::file_lengths,
    words::machine_traces,
    functions::function_lengths,
    border::python_calls_are_guarded,
    source::forbidden_words,
    links::links_exist,
    links::architecture_is_short,
];

fn faults(tree: &Tree) -> Result<Vec<Fault>, String> {
    let mut faults = features::wheel_is_as_workspace()?;
    faults.extend(RULES.iter().flat_map(|rule| rule(tree)));
    Ok(faults)
}

/// Checks the workspace and lists every fault.
pub fn tidy() -> Result<(), String> {
    let tree = Tree::of_workspace()?;
    let faults: Vec<String> = faults(&tree)?.iter().map(Fault::to_string).collect();
    if faults.is_empty() {
        println!("  ok  tidy: {} files, {} rules", tree.files.len(), RULES.len() + 1);
        return Ok(());
    }
    Err(format!("{}\nFAILED  tidy: {} faults", faults.join("\n"), faults.len()))
}
