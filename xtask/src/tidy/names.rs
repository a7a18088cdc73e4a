//! Names and lengths of files, and traces of the machine they were written on.

use super::Fault;
use super::files::Tree;

/// Names that say nothing about the step of the algorithm inside.
const EMPTY_NAMES: &[&str] = &["core", "utils", "util", "common", "misc", "helpers", "helper"];

/// Lines of code a file may have, tests not counted.
const LONGEST: usize = 700;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// No file or folder may have a name that says nothing.
pub fn file_names(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in &tree.files {
        let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
        for part in parts.filter(|part| EMPTY_NAMES.contains(part)) {
            faults.push(Fault::new(
                &file.path,
                None,
                format!("'{part}' says nothing; name the file after its job"),
            ));
        }
    }
    faults
}

/// A file longer than the limit is more than one step.
pub fn file_lengths(tree: &Tree) -> Vec<Fault> {
    let listed = |path: &str| LONG_FILES.iter().any(|(long, _)| *long == path);
    let mut faults = Vec::new();
    for file in tree.sources().filter(|file| !listed(&file.path)) {
        let lines = file.code().count();
        if lines > LONGEST {
            let message =
                format!("{lines} lines without tests, at most {LONGEST}; split it by steps");
            faults.push(Fault::new(&file.path, None, message));
        }
    }
    faults
}

/// Paths and hosts of somebody's machine have no place in the repository.
pub fn machine_traces(tree: &Tree) -> Vec<Fault> {
    // Put together here so that this file does not trip over itself.
    let folders = ["work", "root", "home", "tmp", "Users"].map(|folder| format!("/{folder}/"));
    let hosts = ["localhost:", "127.0.0.1", "192.168.", ".internal/"];
    let mut faults = Vec::new();
    let checked = |path: &str| {
        path != "Cargo.lock"
            && path != "xtask/src/tidy/words.rs"
            && path != "xtask/src/tidy/tests.rs"
    };
    for file in tree.files.iter().filter(|file| checked(&file.path)) {
        for (i, line) in file.text.lines().enumerate() {
            let folder =
                folders.iter().find(|folder| starts_path(line, folder)).map(String::as_str);
            let host = hosts.iter().find(|host| line.contains(**host)).copied();
            if let Some(trace) = folder.or(host) {
                faults.push(Fault::new(
                    &file.path,
                    i + 1,
                    format!("'{trace}' belongs to a machine, not to the project"),
                ));
            }
        }
    }
    faults
}

/// Whether an absolute path under the folder begins in the line, rather than a relative one going
/// through it.
fn starts_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-/*}~)".contains(c))
    })
}
