//! Names of types.

use std::collections::BTreeMap;

use super::Fault;
use super::files::{SourceFile, SourceTree};

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
