//! The words of the repository: type names that are unique in their crate, and no dialect.
//!
//! Code and prose use the words of scikit-learn, XGBoost, rayon and the textbooks. The list has
//! expressions that were once used here instead of such a word, and that have no other use.

use std::collections::BTreeMap;

use super::Fault;
use super::files::{SourceFile, SourceTree};

/// Expressions that must not be used, each with its replacement.
const DIALECT: &[(&str, &str)] = &[
    ("hurry", "cancel, deadline or budget"),
    ("hurried", "cancelled, or cut short by the budget"),
    ("by greed", "greedily"),
    ("manners", "conventions"),
    ("people say", "the name or unit of the value"),
    ("made small", "minimised"),
    ("come true", "calibration"),
    ("comes true", "calibration"),
    ("came true", "calibration"),
    ("came to rest", "converged"),
    ("held fast", "fixed"),
    ("an honest", "held-out or unbiased"),
    ("its own luck", "selection bias"),
    ("as dear", "costs as much"),
    ("a tree a round", "one tree per round"),
    ("one a core", "one per core"),
    ("desk", "queue"),
    ("crew", "worker threads"),
    ("twig", "subtree"),
];

/// Paths (prefixes) that are not checked: records of the past, and the list itself with its test.
const UNCHECKED: &[&str] = &[
    "bench/runs/",
    "docs/results/",
    "Cargo.lock",
    "xtask/src/tidy/vocabulary.rs",
    "xtask/src/tidy/tests.rs",
];

/// No expression of the list in code or prose.
pub fn no_dialect(tree: &SourceTree) -> Vec<Fault> {
    let is_checked = |path: &str| !UNCHECKED.iter().any(|prefix| path.starts_with(prefix));
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| is_checked(&file.path)) {
        for (i, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for (expression, replacement) in DIALECT.iter().filter(|(one, _)| has(&line, one)) {
                let message = format!("'{expression}' is dialect; say '{replacement}'");
                faults.push(Fault::new(&file.path, i + 1, message));
            }
        }
    }
    faults
}

/// Whether a line in lower case has an expression as whole words; an underscore ends a word.
fn has(line: &str, expression: &str) -> bool {
    line.match_indices(expression).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + expression.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

/// No type name twice in the sources of a crate: a reader who searches for it finds one definition.
pub fn type_names_are_unique(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for file in tree.sources() {
        let Some((package, _)) = file.path.split_once("/src/") else { continue };
        for (line, name) in type_definitions(file) {
            if let Some(other) = first.insert((package, name), &file.path) {
                let message = format!("type '{name}' is defined in {other}, too; rename one");
                faults.push(Fault::new(&file.path, line, message));
            }
        }
    }
    faults
}

/// The names of structures, enumerations and traits that a file defines at its top level.
fn type_definitions(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.code().filter_map(|(line, code)| {
        let mut words = code.split(' ');
        let is_visibility = |word: &str| word == "pub" || word.starts_with("pub(");
        let keyword = words.find(|word| !is_visibility(word) && *word != "unsafe")?;
        let name = words.next().filter(|_| ["struct", "enum", "trait"].contains(&keyword))?;
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        Some((line, &name[..end]))
    })
}
