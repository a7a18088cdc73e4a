//! Documents: links and paths in them must exist, and ARCHITECTURE.md has a maximum length.

use super::Fault;
use super::files::{SourceFile, SourceTree};

/// Maximum number of lines of ARCHITECTURE.md.
const MAX_LINES: usize = 300;

/// A code span that begins with one of these is a path of the workspace.
const TOPS: &[&str] = &["crates/", "docs/", "xtask/", "bench/", ".ci/", "python/", "examples/"];

/// Paths that exist only after a program was run.
const GENERATED: &[&str] = &["bench/runs/", "bench/.venv"];

/// The target of every relative link and every path in a code span must exist.
pub fn links_exist(tree: &SourceTree) -> Vec<Fault> {
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

/// ARCHITECTURE.md has a maximum length.
pub fn architecture_is_short(tree: &SourceTree) -> Vec<Fault> {
    let lines = tree.file("ARCHITECTURE.md").map_or(0, |file| file.text.lines().count());
    let message = || format!("{lines} lines, at most {MAX_LINES}; move details into the modules");
    (lines > MAX_LINES)
        .then(|| Fault::new("ARCHITECTURE.md", None, message()))
        .into_iter()
        .collect()
}

/// Lines outside of fenced blocks, where links and code spans are meant.
fn prose(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}

/// Targets of links within the workspace.
fn links(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (line, text) in prose(file) {
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap_or_default();
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                links.push((line, target));
            }
        }
    }
    links
}

/// Code spans that look like paths of the workspace; patterns and placeholders are left alone.
fn paths(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut paths = Vec::new();
    for (line, text) in prose(file) {
        for span in text.split('`').skip(1).step_by(2) {
            let plain = !span.contains(['*', '<', '{', ' ', '$']);
            let begins = |tops: &[&str]| tops.iter().any(|top| span.starts_with(top));
            if plain && begins(TOPS) && !begins(GENERATED) {
                paths.push((line, span));
            }
        }
    }
    paths
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
