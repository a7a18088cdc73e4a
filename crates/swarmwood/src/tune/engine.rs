//! From the name of a search engine to the engine.

use swarmwood_search::{Engine, Random, Space};

use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// Every engine by name, with a line of help.
pub const ENGINES: &[(&str, &str)] = &[("random", "random search without repeats")];

/// Who proposes configurations unless somebody else is named.
pub const DEFAULT: &str = "random";

/// Every engine by name, with a line of help.
pub fn names() -> Vec<(&'static str, &'static str)> {
    ENGINES.to_vec()
}

/// The engine of a name. A name that is not known and a space that the engine cannot search are told apart.
///
/// ```
/// use swarmwood::search::{Engine, Param, Space};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)]).unwrap();
/// assert_eq!(swarmwood::tune::engine::make("random", &space, 1)?.ask(3).len(), 3);
/// assert!(swarmwood::tune::engine::make("randon", &space, 1).is_err_and(|e| e.to_string().contains("random")));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn make(name: &str, space: &Space, seed: u64) -> Result<Box<dyn Engine>> {
    let made = match name {
        Random::NAME => Random::new(space, seed).map(|engine| Box::new(engine) as Box<dyn Engine>),
        _ => return Err(fault(unknown(name))),
    };
    made.map_err(|error| fault(error.to_string()))
}

fn unknown(name: &str) -> String {
    let names = ENGINES.iter().map(|&(name, _)| name);
    let meant = nearest(name, names.clone()).map_or(String::new(), |near| format!(", perhaps {near}"));
    format!("is '{name}'{meant}; must be one of {}", names.collect::<Vec<_>>().join(", "))
}

fn fault(message: String) -> Error {
    Error::Parameters(vec![Violation { name: "engine".to_string(), message }])
}
