//! The Python package compiles nothing that the rest of the workspace has compiled already.
//!
//! Cargo compiles a crate once for every set of features it is asked for, and with it everything
//! above. A wheel is made for one package alone, whose wishes are fewer than those of the
//! workspace: without care half of the dependencies and three of our own crates would be compiled a
//! second time by `make test`.

use std::collections::BTreeSet;
use std::process::Command;

use super::Fault;

/// The manifest that has to wish for more.
const MANIFEST: &str = "crates/swarmwood-python/Cargo.toml";

/// What the wheel that `make test` builds would compile anew.
pub fn wheel_is_as_workspace() -> Result<Vec<Fault>, String> {
    let workspace = listed(&["--workspace", "--all-features", "--edges", "normal,build,dev"])?;
    let wheel = [
        "--package",
        "swarmwood-python",
        "--features",
        "as-in-workspace",
        "--edges",
        "normal,build",
    ];
    Ok(anew(&listed(&wheel)?, &workspace))
}

/// Crates of the wheel, with their features, that the workspace does not have.
pub fn anew(wheel: &str, workspace: &str) -> Vec<Fault> {
    let known: BTreeSet<&str> = crates(workspace).collect();
    let strange: BTreeSet<&str> = crates(wheel).filter(|line| !known.contains(line)).collect();
    let fault = |line: &str| {
        let message =
            format!("'{line}' is compiled for the wheel alone; mend the feature as-in-workspace");
        Fault::new(MANIFEST, None, message)
    };
    strange.into_iter().map(fault).collect()
}

/// The lines of a tree; those that stand for one above are marked, and mean the same.
fn crates(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty())
}

/// One crate a line: name, version and the features that it is compiled with.
fn listed(of: &[&str]) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--prefix", "none", "--format", "{p}: {f}"]).args(of);
    let output = command.output().map_err(|error| format!("cannot run cargo tree: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)))
}
