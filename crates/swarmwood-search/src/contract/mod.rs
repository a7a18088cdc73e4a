//! The rules of [`Engine`], as a test suite for any engine.
//!
//! An engine's own tests call [`check`] and are done with the common part:
//!
//! ```
//! use swarmwood_search::contract::{Subject, check};
//! use swarmwood_search::{Engine, Random};
//! let subject = Subject {
//!     start: &|space, seed| Ok(Box::new(Random::new(space, seed)?)),
//!     resume: &|space, snapshot| Ok(Box::new(Random::resume(space, snapshot)?)),
//! };
//! check(&subject).unwrap();
//! ```
//!
//! Each rule runs on every test space the engine accepts, with a loss that depends on the point
//! alone. The result lists every breach with the rule, the space and what was seen.

mod adoption;
#[cfg(test)]
mod generations;
mod rules;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::engine::Engine;
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::space::{Param, Space};

/// Starts an engine on a space with a seed.
pub type Start<'a> = &'a dyn Fn(&Space, u64) -> Result<Box<dyn Engine>, Error>;
/// Resumes an engine on a space from a snapshot.
pub type Resume<'a> = &'a dyn Fn(&Space, &Snapshot) -> Result<Box<dyn Engine>, Error>;

/// The engine under test.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Starts it.
    pub start: Start<'a>,
    /// Resumes it.
    pub resume: Resume<'a>,
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub rule: &'static str,
    /// The test space.
    pub space: &'static str,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (space '{}'): {}", self.rule, self.space, self.seen)
    }
}

/// Runs every rule on every test space the engine accepts.
///
/// An engine that accepts none of the spaces, or a space its capabilities exclude, is a breach too.
pub fn check(subject: &Subject<'_>) -> Result<(), Vec<Breach>> {
    let mut breaches = Vec::new();
    let mut accepted = 0;
    for (name, space) in spaces() {
        let mut breach = |rule, seen| breaches.push(Breach { rule, space: name, seen });
        let engine = match (subject.start)(&space, 1) {
            Ok(engine) => engine,
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => {
                breach("starts on a sound space or says what it cannot do", error.to_string());
                continue;
            }
        };
        accepted += 1;
        if let Err(error) = engine.capabilities().check("subject", &space) {
            breach("accepts only what its capabilities name", error.to_string());
        }
        for (rule, test) in rules::RULES {
            if let Err(seen) = test(subject, &space) {
                breach(rule, seen);
            }
        }
    }
    if accepted == 0 {
        let seen = "refused every one of them".to_owned();
        breaches.push(Breach { rule: "accepts at least one test space", space: "all", seen });
    }
    if breaches.is_empty() { Ok(()) } else { Err(breaches) }
}

/// Spaces of every kind: an engine with few capabilities still finds one of its own.
pub fn spaces() -> Vec<(&'static str, Space)> {
    let build = |params| Space::new(params).expect("the test spaces are sound");
    let many = |n: usize, high| (0..n).map(|i| Param::integer(&format!("i{i}"), 0, high)).collect();
    vec![
        ("one point", build(vec![Param::integer("only", 3, 3)])),
        ("few integers", build(many(2, 3))),
        ("many integers", build(many(24, 999))),
        ("reals", build(vec![Param::real("x", -5.0, 5.0), Param::real("y", 0.0, 1.0)])),
        (
            "a fixed real",
            build(vec![Param::real("fixed", 2.0, 2.0), Param::real("free", -1.0, 1.0)]),
        ),
        (
            "log reals",
            build(vec![
                Param::real("rate", 1e-3, 1.0).log(),
                Param::real("penalty", 1e-6, 1e3).log(),
            ]),
        ),
        (
            "lists",
            build(vec![
                Param::list("a", &[0.0, 0.5, 1.0]),
                Param::list("b", &[1.0, 2.0, 4.0, 8.0]),
            ]),
        ),
        (
            "choices",
            build(vec![
                Param::choice("c", &["x", "y", "z"]),
                Param::choice("d", &["u", "v", "w", "t"]),
            ]),
        ),
        (
            "conditional",
            build(vec![
                Param::choice("booster", &["tree", "dart", "linear"]),
                Param::integer("depth", 1, 4).when("booster", &["tree", "dart"]),
                Param::list("skip", &[0.0, 0.5]).when("booster", &["dart"]),
            ]),
        ),
        (
            "mixed",
            build(vec![
                Param::integer("trees", 10, 1000).log(),
                Param::choice("growth", &["depth", "leaf"]),
                Param::integer("leaves", 2, 64).when("growth", &["leaf"]),
                Param::real("rate", 0.01, 1.0).log(),
                Param::list("bins", &[15.0, 63.0, 255.0]),
                Param::real("subsample", 0.5, 1.0),
            ]),
        ),
    ]
}
