//! Checks that the compiler does not make: layers of crates and modules, names, lengths, links.
//!
//! Each rule is a function from the tracked files to faults, so that its test can plant a fault in
//! an artificial tree; the rule about features of crates takes the output of `cargo tree`. The test
//! `the_workspace_is_tidy` runs all rules on the workspace, so plain `cargo test` checks them.

mod border;
mod dependencies;
mod features;
mod files;
mod functions;
mod layers;
mod links;
mod names;
mod source;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::fmt;

use files::SourceTree;

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

type TidyRule = fn(&SourceTree) -> Vec<Fault>;

const RULES: &[TidyRule] = &[
    layers::between_crates,
    layers::between_modules,
    names::file_names,
    names::file_lengths,
    names::machine_traces,
    functions::function_lengths,
    border::python_calls_are_guarded,
    dependencies::packages_are_budgeted,
    source::forbidden_words,
    vocabulary::no_dialect,
    vocabulary::type_names_are_unique,
    links::links_exist,
    links::architecture_is_short,
];

fn faults(tree: &SourceTree) -> Result<Vec<Fault>, String> {
    let mut faults = features::wheel_is_as_workspace()?;
    faults.extend(RULES.iter().flat_map(|rule| rule(tree)));
    Ok(faults)
}

/// Checks the workspace and lists every fault.
pub fn tidy() -> Result<(), String> {
    let tree = SourceTree::of_workspace()?;
    let faults: Vec<String> = faults(&tree)?.iter().map(Fault::to_string).collect();
    if faults.is_empty() {
        println!("  ok  tidy: {} files, {} rules", tree.files.len(), RULES.len() + 1);
        return Ok(());
    }
    Err(format!("{}\nFAILED  tidy: {} faults", faults.join("\n"), faults.len()))
}
