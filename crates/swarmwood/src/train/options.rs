//! What a training may have beside rows and parameters.

use std::path::PathBuf;

use swarmwood_learn::budget::Budget;

use crate::checkpoint::Keep;
use crate::error::Violation;
use crate::params::{LearnerSpec, Method, Params};
use crate::{Error, Result};

/// What a training may have beside rows and parameters.
#[derive(Debug, Clone, Default)]
pub struct TrainOptions {
    /// A model whose splits a search starts from: ours, XGBoost's, LightGBM's or CatBoost's.
    pub pretrained: Option<PathBuf>,
    /// Where the run stores its state.
    pub keep: Option<Keep>,
    /// The caller's limits: a clone of it cancels the run, which then ends with the best
    /// model so far. The time limit and the work limit of the parameters are added to them.
    pub budget: Option<Budget>,
    /// Whether regression losses may be used on two classes, the prediction thresholded at one half
    /// (see [`objective_or_thresholded`](crate::registry::objective_or_thresholded)).
    pub thresholded: bool,
}

impl TrainOptions {
    /// Refuses what the method of the parameters cannot use.
    pub fn check(&self, params: &Params) -> Result<()> {
        let method = params.method;
        let mut violations = Vec::new();
        let mut refuse = |name: &str, able: String| {
            let message = format!("is for methods {able}; the method is {}", method.name());
            violations.push(Violation::new(name, message));
        };
        if self.pretrained.is_some() && !method.spec().takes_pretrained {
            refuse("pretrained", methods_that(|spec| spec.takes_pretrained).join(", "));
        }
        if self.keep.is_some() && !method.spec().checkpoints {
            let able = methods_that(|spec| spec.checkpoints).join(", ");
            refuse("checkpoint", format!("that search: {able}"));
        }

        if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
    }
}

/// Names of the learners that can do something.
fn methods_that(can: impl Fn(&LearnerSpec) -> bool) -> Vec<&'static str> {
    let able = Method::ALL.iter().filter(|method| can(method.spec()));
    able.map(|method| method.name()).collect()
}
