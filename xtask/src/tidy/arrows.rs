//! The direction of imports: between the crates, and between the modules of `learn`.

use super::Fault;
use super::files::{File, Tree};

/// What each crate of the workspace may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("swarmwood-search", &[]),
    ("swarmwood-model", &[]),
    ("swarmwood-learn", &["swarmwood-search", "swarmwood-model"]),
    ("swarmwood", &["swarmwood-search", "swarmwood-model", "swarmwood-learn"]),
    ("swarmwood-cli", &["swarmwood"]),
    ("swarmwood-python", &["swarmwood"]),
    ("xtask", &[]),
];

/// The modules of `learn`, lowest first. A module may import from lower rows only, never from its
/// own row.
const LAYERS: &[&[&str]] = &[
    &["budget", "data", "event", "pool", "dealing"],
    &["context"],
    &["bins"],
    &["dataset", "ranked"],
    &["leaf_loss"],
    &["kernels"],
    &["objective"],
    &["metric"],
    &["split", "grown", "sketch", "sweep", "merit", "iterate"],
    &["ridge", "shard", "rule_table"],
    &["workers"],
    &["greedy", "linear", "particle", "cart"],
    &["published", "swarm", "tree_search", "grid", "full_tree"],
];

const LEARN: &str = "crates/swarmwood-learn/src/";

/// Dependencies between the workspace's crates, development dependencies included, must be in the
/// table.
pub fn between_crates(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let Some(package) = package_name(&file.text) else { continue };
        let Some((_, allowed)) = CRATES.iter().find(|(name, _)| *name == package) else {
            faults.push(Fault::new(
                &file.path,
                None,
                format!("crate '{package}' is not in the table CRATES; add it"),
            ));
            continue;
        };
        for (line, dependency) in dependencies(&file.text) {
            let ours = CRATES.iter().any(|(name, _)| *name == dependency);
            if ours && !allowed.contains(&dependency) {
                faults.push(Fault::new(
                    &file.path,
                    line,
                    format!("forbidden arrow {package} → {dependency}"),
                ));
            }
        }
    }
    faults
}

fn package_name(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[package]")?;
    let line = package.lines().find(|line| line.trim_start().starts_with("name"))?;
    line.split('"').nth(1)
}

/// The names in every section whose title ends in `dependencies`, and titles such as
/// `[dependencies.name]`.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (i, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(title) = line.strip_prefix('[') {
            let title = title.trim_end_matches(']');
            inside = title.ends_with("dependencies");
            if let Some((_, name)) = title.rsplit_once("dependencies.") {
                found.push((i + 1, name.trim_matches('"')));
            }
        } else if inside && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !name.is_empty() {
                found.push((i + 1, name.trim_matches('"')));
            }
        }
    }
    found
}

/// Every path `crate::module` or `super::module` in the code of `learn` must point down the table.
pub fn inside_learn(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut unknown: Vec<&str> = Vec::new();
    for file in tree
        .sources()
        .filter(|file| file.path.starts_with(LEARN) && !file.path.ends_with("/lib.rs"))
    {
        let from = module_of(file);
        let Some(height) = layer(from) else {
            if !unknown.contains(&from) {
                unknown.push(from);
                let message =
                    format!("module '{from}' is not in the table LAYERS; add it where it belongs");
                faults.push(Fault::new(&file.path, None, message));
            }
            continue;
        };
        for (line, to) in imports(file) {
            let downwards = layer(to).is_none_or(|other| other < height);
            if to != from && !downwards {
                faults.push(Fault::new(
                    &file.path,
                    line,
                    format!("forbidden arrow learn::{from} → learn::{to}"),
                ));
            }
        }
    }
    faults
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// The top module a file of `learn` belongs to.
fn module_of(file: &File) -> &str {
    let inside = &file.path[LEARN.len()..];
    inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// The top modules a file names. `super` leaves the top module only from the module's own file.
fn imports(file: &File) -> Vec<(usize, &str)> {
    let inside = &file.path[LEARN.len()..];
    let own_file =
        !inside.contains('/') || (inside.ends_with("/mod.rs") && inside.matches('/').count() == 1);
    let below = inside.matches('/').count() == 1 && !own_file;
    let mut found = Vec::new();
    let mut group = false;
    for (line, code) in file.code() {
        // The rest of a `use crate::{` that goes over several lines: every item at its top level
        // starts a line.
        if group {
            found.extend(first_name(code.trim_start()).map(|name| (line, name)));
            group = !code.contains("};");
        }
        let mut roots = vec!["crate::"];
        if own_file {
            roots.push("super::");
        } else if below {
            roots.push("super::super::");
        }
        for (at, root) in roots.iter().flat_map(|root| code.match_indices(root)) {
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(list) => {
                    let items = top_level_items(list.split("};").next().unwrap_or_default());
                    found.extend(items.into_iter().filter_map(first_name).map(|name| (line, name)));
                    group = !list.contains("};");
                }
                None => found.extend(first_name(rest).map(|name| (line, name))),
            }
        }
    }
    found
}

fn first_name(path: &str) -> Option<&str> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| &path[..end])
}

/// Splits `a::{b, c}, d` at the commas outside of braces.
fn top_level_items(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut start = 0;
    let mut items = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => (),
        }
    }
    items.push(list[start..].trim());
    items
}
