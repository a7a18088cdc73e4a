//! Names and lengths of files, and paths and hosts of particular machines.

use super::Fault;
use super::files::SourceTree;

/// Names that do not describe the content.
const GENERIC_NAMES: &[&str] = &["core", "utils", "util", "common", "misc", "helpers", "helper"];

/// Maximum number of lines of code of a file, without tests.
const MAX_LINES: usize = 700;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// No file or folder may have a generic name.
pub fn file_names(tree: &SourceTree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in &tree.files {
        let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
        for part in parts.filter(|part| GENERIC_NAMES.contains(part)) {
            faults.push(Fault::new(
                &file.path,
                None,
                format!("'{part}' is a generic name; name the file after its content"),
            ));
        }
    }
    faults
}

/// A file longer than the limit is more than one step.
pub fn file_lengths(tree: &SourceTree) -> Vec<Fault> {
    let is_exempt = |path: &str| LONG_FILES.iter().any(|(long, _)| *long == path);
    let mut faults = Vec::new();
    for file in tree.sources().filter(|file| !is_exempt(&file.path)) {
        let lines = file.code().count();
        if lines > MAX_LINES {
            let message =
                format!("{lines} lines without tests, at most {MAX_LINES}; split it by steps");
            faults.push(Fault::new(&file.path, None, message));
        }
    }
    faults
}

/// No paths or hosts of particular machines.
pub fn machine_traces(tree: &SourceTree) -> Vec<Fault> {
    // Composed here, so that this file does not violate its own rule.
    let folders = ["work", "root", "home", "tmp", "Users"].map(|folder| format!("/{folder}/"));
    let hosts = ["localhost:", "127.0.0.1", "192.168.", ".internal/"];
    let mut faults = Vec::new();
    let is_checked = |path: &str| {
        path != "Cargo.lock"
            && path != "xtask/src/tidy/names.rs"
            && path != "xtask/src/tidy/tests.rs"
    };

    for file in tree.files.iter().filter(|file| is_checked(&file.path)) {
        for (i, line) in file.text.lines().enumerate() {
            let folder =
                folders.iter().find(|folder| starts_path(line, folder)).map(String::as_str);
            let host = hosts.iter().find(|host| line.contains(**host)).copied();
            if let Some(trace) = folder.or(host) {
                faults.push(Fault::new(
                    &file.path,
                    i + 1,
                    format!("'{trace}' is specific to a machine"),
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
