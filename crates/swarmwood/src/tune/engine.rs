//! From the name of a search engine to the engine.

use swarmwood_search::{Engine, Space, engines};

use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// Who proposes configurations unless somebody else is named.
pub const DEFAULT: &str = "tpe";

/// Every engine by name, with a line of help.
pub fn names() -> Vec<(&'static str, &'static str)> {
    engines::NAMES.iter().map(|named| (named.name, named.help)).collect()
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
    if !names().iter().any(|(known, _)| *known == name) {
        return Err(fault(unknown(name)));
    }
    engines::create(name, space, seed).map_err(|error| fault(error.to_string()))
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = names().into_iter().map(|(name, _)| name).collect();
    let meant = nearest(name, names.iter().copied()).map_or(String::new(), |near| format!(", perhaps {near}"));
    format!("is '{name}'{meant}; must be one of {}", names.join(", "))
}

fn fault(message: String) -> Error {
    Error::Parameters(vec![Violation { name: "engine".to_string(), message }])
}
