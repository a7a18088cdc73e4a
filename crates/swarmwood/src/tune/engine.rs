//! The search engines by name: those of the search crate, and the surrogate engines of this one.

use swarmwood_search::engine::EngineSpec;
use swarmwood_search::error::ParamError;
use swarmwood_search::options::EngineOptions;
use swarmwood_search::{Engine, Error as SearchError, Snapshot, Space, registry};

use super::surrogate;
use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// The default engine: on a par with the best over real fits of eight tasks
/// (`docs/results/tuning`), at a twentieth of the forest's cost per trial.
pub const DEFAULT: &str = "tpe";

/// Every engine.
pub fn specs() -> impl Iterator<Item = &'static EngineSpec> {
    registry::ENGINES.iter().chain(surrogate::ENGINES)
}

/// Every engine by name, with a one-line summary.
pub fn names() -> Vec<(&'static str, &'static str)> {
    specs().map(|spec| (spec.name, spec.summary)).collect()
}

/// A new engine by name, with options.
///
/// ```
/// use swarmwood::search::options::EngineOptions;
/// use swarmwood::search::{Engine, Param, Space};
/// use swarmwood::tune::engine::{DEFAULT, make};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)]).unwrap();
/// for (name, options) in [(DEFAULT, ""), ("forest", "trees=10"), ("sse", "mutation=rank")] {
///     let options = EngineOptions::parse(options);
///     assert_eq!(make(name, &options, &space, 1)?.ask(3).len(), 3);
/// }
/// let error = make("forrest", &EngineOptions::DEFAULTS, &space, 1).err().unwrap().to_string();
/// assert!(error.contains("perhaps forest"), "{error}");
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn make(
    name: &str,
    options: &EngineOptions,
    space: &Space,
    seed: u64,
) -> Result<Box<dyn Engine>> {
    registry::create(specs(), name, options, space, seed).map_err(|error| fault(&error))
}

/// Checks an engine and its options, and brings the options into the form in which equal ones
/// compare equal; everything that is wrong is reported together.
///
/// ```
/// use swarmwood::search::options::EngineOptions;
/// use swarmwood::tune::engine::check_options;
/// let error = check_options("sse", &EngineOptions::parse("rate=7,mutation=much")).unwrap_err();
/// let text = "engine_options: 'rate' is '7', must be a number from 0 to 1\n\
///             engine_options: 'mutation' is 'much', must be normal or rank";
/// assert_eq!(error.to_string(), text);
/// ```
pub fn check_options(name: &str, options: &EngineOptions) -> Result<EngineOptions> {
    registry::check_options(specs(), name, options).map_err(|error| fault(&error))
}

/// Resumes the engine that wrote a snapshot.
///
/// ```
/// use swarmwood::search::options::EngineOptions;
/// use swarmwood::search::{Engine, Param, Space};
/// use swarmwood::tune::engine::{make, resume};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)]).unwrap();
/// let mut engine = make("forest", &EngineOptions::DEFAULTS, &space, 1)?;
/// engine.ask(3);
/// assert_eq!(resume(&space, &engine.snapshot())?.ask(2), engine.ask(2));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Box<dyn Engine>> {
    registry::resume(specs(), space, snapshot).map_err(|error| fault(&error))
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = specs().map(|spec| spec.name).collect();
    let meant = nearest(name, names.iter().copied())
        .map_or(String::new(), |near| format!(", perhaps {near}"));
    format!("is '{name}'{meant}; must be one of {}", names.join(", "))
}

/// An error of the search crate by the parameters that a user knows.
fn fault(error: &SearchError) -> Error {
    let violations = match error {
        SearchError::Config { errors, .. } => {
            let about = |one: &ParamError| format!("'{}' {}", one.parameter, one.message);
            errors.iter().map(|one| Violation::new("engine_options", about(one))).collect()
        }
        SearchError::Unknown { name, .. } => vec![Violation::new("engine", unknown(name))],
        other => vec![Violation::new("engine", other.to_string())],
    };
    Error::Parameters(violations)
}
