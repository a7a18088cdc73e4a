//! The tracked text files of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file.
pub struct SourceFile {
    /// Path from the root of the workspace, with forward slashes.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// All text files, in the order of their paths.
pub struct SourceTree {
    /// The files.
    pub files: Vec<SourceFile>,
}

impl SourceTree {
    /// The files of this workspace: those that git tracks or would add, or, without git, all files
    /// except build results.
    pub fn of_workspace() -> Result<SourceTree, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
        let mut paths = git_files(root).unwrap_or_else(|| walk(root));
        paths.sort();
        let read = |path: String| std::fs::read(root.join(&path)).ok().map(|bytes| (path, bytes));
        let text = |(path, bytes): (String, Vec<u8>)| {
            String::from_utf8(bytes).ok().map(|text| SourceFile { path, text })
        };
        let files: Vec<SourceFile> = paths.into_iter().filter_map(read).filter_map(text).collect();
        if files.is_empty() {
            Err(format!("{}: no files found", root.display()))
        } else {
            Ok(SourceTree { files })
        }
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file, or a directory with files, at the path.
    pub fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = |file: &str| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        path.is_empty() || self.files.iter().any(|file| file.path == path || inside(&file.path))
    }

    /// Rust sources that are not tests.
    pub fn sources(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs") && !file.is_test())
    }
}

impl SourceFile {
    /// Whether the whole file is test code.
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        self.path.ends_with("/tests.rs")
            || parts.any(|part| ["tests", "benches", "examples"].contains(&part))
    }

    /// The numbered lines of code: comments blanked, and nothing from the inline test module on.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let opens_tests = |i: usize| {
            lines[i].trim() == "#[cfg(test)]"
                && lines.get(i + 1).is_some_and(|next| next.trim_end().ends_with("tests {"))
        };
        let end = (0..lines.len()).find(|&i| opens_tests(i)).unwrap_or(lines.len());
        lines.into_iter().take(end).enumerate().map(|(i, line)| (i + 1, without_comment(line)))
    }
}

/// A line up to its comment; `//` after a colon is taken for an address in a text.
fn without_comment(line: &str) -> &str {
    let starts = |(at, _): &(usize, &str)| !line[..*at].ends_with(':');
    line.match_indices("//").find(starts).map_or(line, |(at, _)| &line[..at])
}

fn git_files(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> =
        text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut open: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                let skipped = [".git", "target", ".venv", "__pycache__", "runs"];
                if !skipped.iter().any(|skip| name == *skip) {
                    open.push(path);
                }
            } else if let Ok(inside) = path.strip_prefix(root) {
                paths.push(inside.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    paths
}
