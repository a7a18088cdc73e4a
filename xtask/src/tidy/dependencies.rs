//! The dependency budget: how many packages of others the workspace may be built from.
//!
//! Every package is code that runs with the rights of the user, and compile time. `deny.toml` says
//! which licences and sources are allowed; this rule sees that their number does not grow
//! unnoticed.

use super::Fault;
use super::files::SourceTree;

/// Packages from registries, those of tests and of the benchmark data included.
const MAX_PACKAGES: usize = 161;

/// No more packages than the budget, and none from anywhere but a registry.
pub fn packages_are_budgeted(tree: &SourceTree) -> Vec<Fault> {
    let Some(lock) = tree.file("Cargo.lock") else { return Vec::new() };
    let mut faults = Vec::new();
    let mut count = 0;
    for (i, line) in lock.text.lines().enumerate() {
        let Some(source) = line.strip_prefix("source = ") else { continue };
        count += 1;
        if !source.starts_with("\"registry+") {
            let message = format!("a package comes from {source}; use a released version");
            faults.push(Fault::new(&lock.path, i + 1, message));
        }
    }
    if count > MAX_PACKAGES {
        let message = format!(
            "{count} packages, but the budget is {MAX_PACKAGES}; do without, or raise it in \
             xtask/src/tidy/dependencies.rs and say why in the commit"
        );
        faults.push(Fault::new(&lock.path, None, message));
    }
    faults
}
