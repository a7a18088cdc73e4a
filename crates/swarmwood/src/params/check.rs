//! The one check: ranges, then what parameters ask of each other.

use std::ops::Deref;

use super::table::{Booster, Growth, Params, TABLE};
use crate::error::{Error, Violation};

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
        let mut violate = |name: &str, message: String| violations.push(Violation { name: name.to_string(), message });
        if self.booster != Booster::Gblinear {
            if self.depth == 0 && self.growth != Growth::Leaf {
                violate("depth", format!("is 0 (no limit), must be at least 1 with growth {}", self.growth.name()));
            }
            if self.depth > 16 && self.depth <= 32 && self.growth == Growth::Oblivious {
                violate("depth", format!("is {}, must be at most 16 with growth oblivious", self.depth));
            }
            if self.max_leaves == 1 {
                violate("max_leaves", "is 1, must be 0 (the default of the growth) or at least 2".to_string());
            }
        }
    }

    /// Names of parameters that were changed from their default but have no effect beside the others, with the reason.
    pub fn idle(&self) -> Vec<String> {
        let default = Params::default();
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
