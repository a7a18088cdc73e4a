//! The one check: ranges, then what parameters ask of each other, which the learner says.

use std::ops::Deref;

use super::learner_spec::Method;
use super::spec::ParamGroup;
use super::table::{IntervalKind, Params, TABLE};
use super::threshold_goal::ThresholdGoal;
use crate::error::{Error, Violation};
use crate::message::Message;

/// Parameters that passed [`Params::check`]. There is no other way to make them.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidParams(Params);

impl Deref for ValidParams {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

impl ValidParams {
    /// Gives the parameters back, to be changed and checked again.
    pub fn into_inner(self) -> Params {
        self.0
    }
}

impl Params {
    /// Checks every parameter and reports all violations together.
    pub fn check(self) -> Result<ValidParams, Error> {
        let violations = self.violations();
        if violations.is_empty() {
            Ok(ValidParams(self))
        } else {
            Err(Error::Parameters(violations))
        }
    }

    /// Everything that is wrong, in the order of the table.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.trees == 0 && self.method != Method::SWARM {
            let message = format!("is 0, must be at least 1 with method {}", self.method.name());
            violations.push(Violation::new("trees", message));
        }
        for spec in TABLE {
            if let Some(value) = (spec.number)(self)
                && !spec.allowed.holds(value)
            {
                let message = format!("is {}, must be {}", (spec.show)(self), spec.allowed);
                violations.push(Violation::new(spec.name, message));
            }
        }
        violations.extend(self.broken_constraints());
        if self.threshold_for != ThresholdGoal::None && self.threshold != 0.5 {
            let message =
                "cannot be used with threshold, which is then chosen; give only one of the two";
            violations.push(Violation::new("threshold_for", message));
        }
        if self.interval_kind != IntervalKind::Constant && self.interval == 0.0 {
            let kind = self.interval_kind.name();
            let message =
                format!("is {kind}, but there is no interval; give its coverage, such as 0.9");
            violations.push(Violation::new("interval_kind", message));
        }
        let asks =
            [("points", self.points.most().is_some()), ("integer_leaves", self.integer_leaves > 0)];
        for (name, _) in asks.into_iter().filter(|(_, asked)| *asked && self.is_linear()) {
            let message = "is for trees, but the booster is gblinear";
            violations.push(Violation::new(name, message));
        }
        if self.integer_leaves == 1 {
            let message = "is 1, must be 0 (any number) or from 2 to 16";
            violations.push(Violation::new("integer_leaves", message));
        }
        if asks.iter().all(|(_, asked)| *asked) {
            let message = "cannot be used with points; give only one of the two";
            violations.push(Violation::new("integer_leaves", message));
        }
        (self.method.spec().check)(self, &mut violations);
        violations
    }

    /// Constraints that were given but that the method cannot satisfy: what a model is relied on for must
    /// not be left out with a warning.
    fn broken_constraints(&self) -> Vec<Violation> {
        let default = Params::of(self.method);
        TABLE
            .iter()
            .filter(|spec| spec.group == ParamGroup::Constraints)
            .filter(|spec| (spec.show)(self) != (spec.show)(&default))
            .filter_map(|spec| {
                let missing = spec.missing(self)?;
                let method = self.method.name();
                let message =
                    format!("cannot be satisfied by method {method}: it is for {missing}");
                let message = if spec.applies_to(self.method) {
                    format!("is only for {missing}")
                } else {
                    message
                };
                Some(Violation::new(spec.name, message))
            })
            .collect()
    }

    /// Names of parameters that were changed from their default but have no effect beside the
    /// others, with the reason.
    pub fn idle(&self) -> Vec<Message> {
        let default = Params::of(self.method);
        TABLE
            .iter()
            .filter(|spec| (spec.show)(self) != (spec.show)(&default))
            .filter_map(|spec| {
                let missing = spec.missing(self)?;
                let reason = format!(" has no effect: it is for {missing}");
                Some(Message::default().parameter(spec.name).text(reason))
            })
            .collect()
    }
}
