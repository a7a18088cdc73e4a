//! Defaults that depend on the learner, and values that depend on the data.
//!
//! A parameter has one default in its line of the table, and every learner may have another one
//! (see [`LearnerSpec`](super::LearnerSpec)). What depends on the data is `auto` until
//! [`Params::resolve`] has seen the target, so that reports and models tell the value that was
//! used.

use swarmwood_model::TargetKind;

use super::learner_spec::Method;
use super::table::Params;

impl Default for Params {
    fn default() -> Self {
        Params::of(Params::of_table().method)
    }
}

impl Params {
    /// The defaults of a method.
    ///
    /// ```
    /// use swarmwood::params::{Method, Params};
    /// assert_eq!(Params::of(Method::GREEDY).trees, 100);
    /// assert_eq!(Params::of(Method::SGBDT).trees, 6);
    /// ```
    pub fn of(method: Method) -> Params {
        (method.spec().defaults)(Params { method, ..Params::of_table() })
    }

    /// Gives every `auto` that the method uses its value for this target.
    ///
    /// ```
    /// use swarmwood::model::TargetKind;
    /// use swarmwood::params::{Auto, FitnessChoice, Method, Params};
    /// let params = Params::of(Method::SGBDT).resolve(&TargetKind::Number);
    /// assert_eq!((params.population, params.fitness), (Auto::Is(200), FitnessChoice::Rmse));
    /// ```
    #[must_use]
    pub fn resolve(self, target: &TargetKind) -> Params {
        (self.method.spec().resolve)(self, target)
    }
}
