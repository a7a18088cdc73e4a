//! From the name of a search engine to the engine: those of the search crate, and those that need
//! our learners.

use swarmwood_search::{Engine, Snapshot, Space, engines};

use super::surrogate::{Forest, Gbrt, Settings};
use crate::error::Violation;
use crate::nearest::nearest;
use crate::{Error, Result};

/// Who proposes configurations unless somebody else is named: level with the best over real fits of
/// eight tasks (`docs/results/tuning`), and a trial costs it a twentieth of what the forest takes.
pub const DEFAULT: &str = "tpe";

/// The engines that live here, with a line of help.
const OWN: &[(&str, &str)] = &[
    (Forest::NAME, "a random forest over the losses so far, and where it expects to improve most"),
    (Gbrt::NAME, "the same with three quantiles by gradient boosting"),
];

/// Every engine by name, with a line of help.
pub fn names() -> Vec<(&'static str, &'static str)> {
    engines::NAMES.iter().map(|named| (named.name, named.help)).chain(OWN.iter().copied()).collect()
}

/// The engine of a name.
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
    let made = match name {
        Forest::NAME => Forest::new(space, Settings::default(), seed)
            .map(|engine| Box::new(engine) as Box<dyn Engine>),
        Gbrt::NAME => Gbrt::new(space, Settings::default(), seed)
            .map(|engine| Box::new(engine) as Box<dyn Engine>),
        _ if engines::NAMES.iter().all(|named| named.name != name) => {
            return Err(fault(unknown(name)));
        }
        _ => engines::create(name, space, seed),
    };
    made.map_err(|error| fault(error.to_string()))
}

/// The engine that wrote a snapshot, at the point where it wrote it.
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
    let resumed = match snapshot.engine.as_str() {
        Forest::NAME => {
            Forest::resume(space, snapshot).map(|engine| Box::new(engine) as Box<dyn Engine>)
        }
        Gbrt::NAME => {
            Gbrt::resume(space, snapshot).map(|engine| Box::new(engine) as Box<dyn Engine>)
        }
        _ => engines::resume(space, snapshot),
    };
    resumed.map_err(|error| fault(error.to_string()))
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = names().into_iter().map(|(name, _)| name).collect();
    let meant = nearest(name, names.iter().copied())
        .map_or(String::new(), |near| format!(", perhaps {near}"));
    format!("is '{name}'{meant}; must be one of {}", names.join(", "))
}

fn fault(message: String) -> Error {
    Error::Parameters(vec![Violation::new("engine", message)])
}
