//! The rules of [`Engine`](crate::Engine), as a test suite for any engine.
//!
//! The tests of an engine call [`check`] (or [`check_spec`]) for everything that all engines share:
//!
//! ```
//! use swarmwood_search::contract::{EngineUnderTest, check};
//! use swarmwood_search::{Engine, RandomSearch};
//! let subject = EngineUnderTest {
//!     start: &|space, seed| Ok(Box::new(RandomSearch::new(space, seed)?)),
//!     resume: &|space, snapshot| Ok(Box::new(RandomSearch::resume(space, snapshot)?)),
//! };
//! check(&subject).unwrap();
//! ```
//!
//! Each rule runs on every test space the engine accepts, with a loss that depends on the point
//! alone. The result lists every violation with the rule, the space and what was observed.

mod external_trials;
#[cfg(test)]
mod generations;
mod playback;
mod random_options;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;

pub use random_options::check_options;

use crate::engine::{BuildResult, EngineSpec};
use crate::error::Error;
use crate::options::OptionValues;
use crate::snapshot::Snapshot;
use crate::space::{Param, Space};

/// Starts an engine on a space with a seed.
pub type StartFn<'a> = &'a dyn Fn(&Space, u64) -> BuildResult;
/// Resumes an engine on a space from a snapshot.
pub type ResumeFn<'a> = &'a dyn Fn(&Space, &Snapshot) -> BuildResult;

/// The engine under test.
#[derive(Clone, Copy)]
pub struct EngineUnderTest<'a> {
    /// Starts the engine.
    pub start: StartFn<'a>,
    /// Resumes the engine.
    pub resume: ResumeFn<'a>,
}

/// A violated rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractViolation {
    /// The rule.
    pub rule: &'static str,
    /// The test space.
    pub space: &'static str,
    /// What was observed.
    pub observed: String,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (space '{}'): {}", self.rule, self.space, self.observed)
    }
}

/// Runs every rule on every test space the engine accepts.
///
/// An engine that accepts none of the spaces, or one that its capabilities exclude, violates the
/// contract too.
pub fn check(subject: &EngineUnderTest<'_>) -> Result<(), Vec<ContractViolation>> {
    let mut violations = Vec::new();
    let mut accepted = 0;
    for (name, space) in spaces() {
        let mut violation = |rule, observed| {
            violations.push(ContractViolation { rule, space: name, observed });
        };
        let engine = match (subject.start)(&space, 1) {
            Ok(engine) => engine,
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => {
                violation(
                    "starts on a valid space or names what it does not support",
                    error.to_string(),
                );
                continue;
            }
        };
        accepted += 1;
        if let Err(error) = engine.capabilities().check("subject", &space) {
            violation("accepts only what its capabilities include", error.to_string());
        }
        for (rule, test) in rules::RULES {
            if let Err(observed) = test(subject, &space) {
                violation(rule, observed);
            }
        }
    }
    if accepted == 0 {
        let observed = "refused every one of them".to_owned();
        let rule = "accepts at least one test space";
        violations.push(ContractViolation { rule, space: "all", observed });
    }
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// Runs every rule on a registered engine with its default options; the error is a report with one line per violation.
pub fn check_spec(spec: &EngineSpec) -> Result<(), String> {
    let options = OptionValues::defaults(spec.options);
    let start = |space: &Space, seed: u64| (spec.build)(space, seed, &options);
    let subject = EngineUnderTest { start: &start, resume: &spec.resume };
    check(&subject).map_err(|violations| {
        violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
    })
}

/// Spaces of every kind, so that an engine with few capabilities supports at least one.
pub fn spaces() -> Vec<(&'static str, Space)> {
    let build = |params| Space::new(params).expect("the test spaces are valid");
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
