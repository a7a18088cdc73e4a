//! The Python package compiles no crate with other features than the rest of the workspace.
//!
//! Cargo compiles a crate once for every set of features, and with it everything that depends on
//! it. A wheel is built for one package, which needs fewer features than the workspace: without this
//! rule half of the dependencies and three of our own crates would be compiled a second time by
//! `make test`.

use std::collections::BTreeSet;
use std::process::Command;

use super::Fault;

/// The manifest with the feature that enables the features of the workspace.
const MANIFEST: &str = "crates/swarmwood-python/Cargo.toml";

/// The crates that the wheel of `make test` would compile a second time.
pub fn wheel_is_as_workspace() -> Result<Vec<Fault>, String> {
    let workspace = cargo_tree(&["--workspace", "--all-features", "--edges", "normal,build,dev"])?;
    let wheel = [
        "--package",
        "swarmwood-python",
        "--features",
        "as-in-workspace",
        "--edges",
        "normal,build",
    ];
    Ok(compiled_twice(&cargo_tree(&wheel)?, &workspace))
}

/// The crates of the wheel that the workspace does not have with the same features.
pub fn compiled_twice(wheel: &str, workspace: &str) -> Vec<Fault> {
    let shared: BTreeSet<&str> = crates(workspace).collect();
    let extra: BTreeSet<&str> = crates(wheel).filter(|line| !shared.contains(line)).collect();
    let fault = |line: &str| {
        let message =
            format!("'{line}' is compiled for the wheel alone; fix the feature as-in-workspace");
        Fault::new(MANIFEST, None, message)
    };
    extra.into_iter().map(fault).collect()
}

/// The lines of a tree, without the mark of repeated ones.
fn crates(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty())
}

/// One crate per line: name, version and features.
fn cargo_tree(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--locked", "--prefix", "none", "--format", "{p}: {f}"]).args(arguments);
    let output = command.output().map_err(|error| format!("cannot run cargo tree: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)))
}
