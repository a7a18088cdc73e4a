//! The search engines by name: those of the search crate, and the surrogate engines of this one.

use swarmwood_search::engine::EngineSpec;
use swarmwood_search::{Engine, Snapshot, Space, registry};

use super::surrogate;
use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// The default engine: on a par with the best over real fits of eight tasks
/// (`docs/results/tuning`), at a twentieth of the forest's cost per trial.
pub const DEFAULT: &str = "tpe";

/// Every engine.
fn specs() -> impl Iterator<Item = &'static EngineSpec> {
    registry::ENGINES.iter().chain(surrogate::ENGINES)
}

/// Every engine by name, with a one-line summary.
pub fn names() -> Vec<(&'static str, &'static str)> {
    specs().map(|spec| (spec.name, spec.summary)).collect()
}

/// A new engine by name.
///
/// ```
/// use swarmwood::search::{Engine, Param, Space};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)]).unwrap();
/// for name in [swarmwood::tune::engine::DEFAULT, "forest"] {
///     assert_eq!(swarmwood::tune::engine::make(name, &space, 1)?.ask(3).len(), 3);
/// }
/// let error = swarmwood::tune::engine::make("forrest", &space, 1).err().unwrap().to_string();
/// assert!(error.contains("perhaps forest"), "{error}");
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn make(name: &str, space: &Space, seed: u64) -> Result<Box<dyn Engine>> {
    if specs().all(|spec| spec.name != name) {
        return Err(fault(unknown(name)));
    }
    registry::create(specs(), name, space, seed).map_err(|error| fault(error.to_string()))
}

/// Resumes the engine that wrote a snapshot.
///
/// ```
/// use swarmwood::search::{Engine, Param, Space};
/// use swarmwood::tune::engine::{make, resume};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)]).unwrap();
/// let mut engine = make("forest", &space, 1)?;
/// engine.ask(3);
/// assert_eq!(resume(&space, &engine.snapshot())?.ask(2), engine.ask(2));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Box<dyn Engine>> {
    registry::resume(specs(), space, snapshot).map_err(|error| fault(error.to_string()))
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = specs().map(|spec| spec.name).collect();
    let meant = nearest(name, names.iter().copied())
        .map_or(String::new(), |near| format!(", perhaps {near}"));
    format!("is '{name}'{meant}; must be one of {}", names.join(", "))
}

fn fault(message: String) -> Error {
    Error::Parameters(vec![Violation::new("engine", message)])
}
