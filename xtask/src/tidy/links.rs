//! The documents: their links and the paths they name must exist, and the map must stay short.

use super::Fault;
use super::files::{File, Tree};

/// Lines of ARCHITECTURE.md a newcomer reads in a quarter of an hour.
const MAP_LINES: usize = 300;

/// Tops of paths: a code span that begins with one of them is taken for a path of the workspace.
const TOPS: &[&str] = &["crates/", "docs/", "xtask/", "bench/", ".ci/", "python/", "examples/"];

/// Tops of paths that appear only when something was run.
const MADE_LATER: &[&str] = &["bench/runs/", "bench/.venv"];

/// Every relative link and every path in a code span must lead somewhere.
pub fn links_exist(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in links(file) {
            if !tree.exists(&resolve(&file.path, target)) {
                faults.push(Fault::new(
                    &file.path,
                    line,
                    format!("link to '{target}', which does not exist"),
                ));
            }
        }
        for (line, path) in paths(file) {
            if !tree.exists(path) {
                faults.push(Fault::new(
                    &file.path,
                    line,
                    format!("names '{path}', which does not exist"),
                ));
            }
        }
    }
    faults
}

/// The map has an upper limit.
pub fn architecture_is_short(tree: &Tree) -> Vec<Fault> {
    let lines = tree.file("ARCHITECTURE.md").map_or(0, |file| file.text.lines().count());
    let message = || format!("{lines} lines, at most {MAP_LINES}; move details into the modules");
    (lines > MAP_LINES)
        .then(|| Fault::new("ARCHITECTURE.md", None, message()))
        .into_iter()
        .collect()
}

/// Lines outside of fenced blocks, where links and code spans are meant.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}

/// Targets of links within the workspace.
fn links(file: &File) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(file) {
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                found.push((line, target));
            }
        }
    }
    found
}

/// Code spans that look like paths of the workspace; patterns and placeholders are left alone.
fn paths(file: &File) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, text) in prose(file) {
        for span in text.split('`').skip(1).step_by(2) {
            let plain = !span.contains(['*', '<', '{', ' ', '$']);
            let begins = |tops: &[&str]| tops.iter().any(|top| span.starts_with(top));
            if plain && begins(TOPS) && !begins(MADE_LATER) {
                found.push((line, span));
            }
        }
    }
    found
}

/// A link's target as a path from the root.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}
