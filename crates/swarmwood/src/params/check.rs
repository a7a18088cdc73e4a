//! The one check: ranges, then what parameters ask of each other.

use std::ops::Deref;

use super::table::{Booster, Criterion, FitnessChoice, Growth, Method, Params, TABLE};
use crate::error::{Error, Violation};

/// Levels of a tree that is a sequence of rules.
const DEEPEST: usize = 8;

/// Trees that are searched: every row is kept with its leaf in each.
const MOST_TREES: usize = 10_000;

/// Leaves of a tree that is searched.
const MOST_LEAVES: usize = 1 << 16;

/// Rules of all trees of one output: longer positions are beyond what a swarm can search.
const LONGEST: usize = 1 << 16;

/// A value that passed its check. There is no other way to make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked<T>(T);

impl<T> Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Checked<T> {
    /// Gives the value back, to be changed and checked again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Params {
    /// Checks every parameter and reports all violations together.
    pub fn check(self) -> Result<Checked<Params>, Error> {
        let violations = self.violations();
        if violations.is_empty() { Ok(Checked(self)) } else { Err(Error::Parameters(violations)) }
    }

    /// Everything that is wrong, in the order of the table.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for spec in TABLE {
            if let Some(value) = (spec.number)(self)
                && !spec.allowed.holds(value)
            {
                let message = format!("is {}, must be {}", (spec.show)(self), spec.allowed);
                violations.push(Violation { name: spec.name.to_string(), message });
            }
        }
        self.check_together(&mut violations);
        violations
    }

    /// What one parameter asks of another.
    fn check_together(&self, violations: &mut Vec<Violation>) {
        let mut violate = |name: &str, message: String| {
            violations.push(Violation { name: name.to_string(), message })
        };
        if matches!(self.method, Method::SwarmTree | Method::Cart) {
            self.check_single(&mut violate);
        } else if matches!(self.method, Method::ApsoTree | Method::TsoTree | Method::SplitTree) {
            self.check_single(&mut violate);
            self.check_flown(&mut violate);
        } else if self.method == Method::Swarm {
            self.check_search(&mut violate);
        } else if self.method != Method::Greedy {
            self.check_sequences(&mut violate);
        } else if self.booster != Booster::Gblinear {
            if self.depth == 0 && self.growth != Growth::Leaf {
                violate(
                    "depth",
                    format!(
                        "is 0 (no limit), must be at least 1 with growth {}",
                        self.growth.name()
                    ),
                );
            }
            if self.depth > 16 && self.depth <= 32 && self.growth == Growth::Oblivious {
                violate(
                    "depth",
                    format!("is {}, must be at most 16 with growth oblivious", self.depth),
                );
            }
            if self.max_leaves == 1 {
                violate(
                    "max_leaves",
                    "is 1, must be 0 (the default of the growth) or at least 2".to_string(),
                );
            }
        }
    }

    /// What the search asks: a leaf number in two bytes, and leaves enough for at least one tree.
    fn check_search(&self, violate: &mut dyn FnMut(&str, String)) {
        let method = self.method.name();
        if self.max_leaves == 1 || self.max_leaves > MOST_LEAVES {
            violate(
                "max_leaves",
                format!(
                    "is {}, must be 0 or from 2 to {MOST_LEAVES} with method {method}",
                    self.max_leaves
                ),
            );
        }
        if self.trees > MOST_TREES {
            let message = format!(
                "is {}, must be at most {MOST_TREES} with method {method}; greedy has no such limit",
                self.trees
            );
            violate("trees", message);
        }
        if self.depth > 16 && matches!(self.growth, Growth::Depth | Growth::Oblivious) {
            violate(
                "depth",
                format!("is {}, must be at most 16 with growth {}", self.depth, self.growth.name()),
            );
        }
        if (1..4).contains(&self.total_leaves) {
            violate("total_leaves", format!("is {}, must be 0 or at least 4", self.total_leaves));
        }
    }

    /// What one tree asks.
    fn check_single(&self, violate: &mut dyn FnMut(&str, String)) {
        if self.max_leaves == 1 || self.max_leaves > MOST_LEAVES {
            violate(
                "max_leaves",
                format!("is {}, must be 0 or from 2 to {MOST_LEAVES}", self.max_leaves),
            );
        }
        if self.thresholds == 1 {
            violate("thresholds", "is 1, must be 0 (all) or at least 2".to_string());
        }
        if !self.costs.rows().is_empty() && self.balanced {
            violate(
                "balanced",
                "cannot be used with costs, which say what classes weigh".to_string(),
            );
        }
        if self.method == Method::Cart && self.criterion == Criterion::Accuracy {
            violate(
                "criterion",
                "is accuracy, by which no greedy tree can be grown; use gini".to_string(),
            );
        }
    }

    /// What particle swarms over one tree ask.
    fn check_flown(&self, violate: &mut dyn FnMut(&str, String)) {
        let method = self.method.name();
        if self.method != Method::ApsoTree && !(1..=DEEPEST).contains(&self.depth) {
            violate(
                "depth",
                format!("is {}, must be from 1 to {DEEPEST} with method {method}", self.depth),
            );
        }
        if matches!(self.fitness, FitnessChoice::Rmse | FitnessChoice::Loss) {
            let fitness = self.fitness.name();
            violate(
                "fitness",
                format!("is {fitness}, must be auto, accuracy or recall with method {method}"),
            );
        }
    }

    /// What the encoding of the swarm methods asks: trees as sequences of rules, a leaf number in a
    /// byte.
    fn check_sequences(&self, violate: &mut dyn FnMut(&str, String)) {
        let method = self.method.name();
        if self.fitness == FitnessChoice::Recall {
            violate(
                "fitness",
                format!("is recall, must be auto, accuracy, rmse or loss with method {method}"),
            );
        }
        if self.growth == Growth::Leaf {
            violate(
                "growth",
                format!(
                    "is {}, must be oblivious or depth with method {method}",
                    self.growth.name()
                ),
            );
        }
        if !(1..=DEEPEST).contains(&self.depth) {
            violate(
                "depth",
                format!("is {}, must be from 1 to {DEEPEST} with method {method}", self.depth),
            );
            return;
        }
        let each = if self.growth == Growth::Depth { (1 << self.depth) - 1 } else { self.depth };
        if self.trees.saturating_mul(each) > LONGEST {
            let most = LONGEST / each;
            violate(
                "trees",
                format!("is {}, must be at most {most} with depth {}", self.trees, self.depth),
            );
        }
    }

    /// Names of parameters that were changed from their default but have no effect beside the
    /// others, with the reason.
    pub fn idle(&self) -> Vec<String> {
        let default = Params::of(self.method);
        TABLE
            .iter()
            .filter(|spec| (spec.show)(self) != (spec.show)(&default))
            .filter_map(|spec| {
                let missing = spec.only.iter().find(|condition| !condition.holds(self))?;
                Some(format!("{} has no effect: it is for {missing}", spec.name))
            })
            .collect()
    }
}
