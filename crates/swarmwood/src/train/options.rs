//! What a training may have beside rows and parameters.

use std::path::PathBuf;
use std::sync::Arc;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::metric::CustomMetric;
use swarmwood_learn::objective::CustomLoss;
use swarmwood_learn::plan::TaskRunner;
use swarmwood_model::Model;

use crate::checkpoint::Keep;
use crate::error::Violation;
use crate::params::{CustomLossSupport, LearnerSpec, Method, Params};
use crate::read::Rows;
use crate::{Error, Result};

/// What a training may have beside rows and parameters.
#[derive(Clone, Default)]
pub struct TrainOptions {
    /// A model whose splits a search starts from: ours, XGBoost's, LightGBM's or CatBoost's.
    pub pretrained: Option<PathBuf>,
    /// A model that training continues: its trees stay, and new ones are added.
    pub init_model: Option<Arc<Model>>,
    /// Where the run stores its state.
    pub keep: Option<Keep>,
    /// The caller's limits: a clone of it cancels the run, which then ends with the best
    /// model so far. The time limit and the work limit of the parameters are added to them.
    pub budget: Option<Budget>,
    /// A loss that is minimised instead of the one that the parameters name.
    pub custom_loss: Option<Arc<dyn CustomLoss>>,
    /// A metric that early stopping watches instead of the one that the parameters name.
    pub custom_metric: Option<Arc<dyn CustomMetric>>,
    /// Rows that are evaluated beside the validation rows, and decide nothing.
    pub watched: Vec<Arc<Rows>>,
    /// Who runs the tasks of the search, with a [`FoldTaskRows`](super::FoldTaskRows) of the same rows
    /// and parameters; `None` for the threads of this process. It changes no result.
    pub task_runner: Option<Arc<dyn TaskRunner>>,
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
        let can_continue = method.spec().continues && !params.is_linear();
        if self.init_model.is_some() && !can_continue {
            let able = methods_that(|spec| spec.continues).join(", ");
            refuse("init_model", format!("that only add trees: {able} (not gblinear)"));
        }
        if self.keep.is_some() && !method.spec().checkpoints {
            let able = methods_that(|spec| spec.checkpoints).join(", ");
            refuse("checkpoint", format!("that search: {able}"));
        }
        if let Some(loss) = &self.custom_loss {
            violations.extend(self.custom_loss_violation(params, loss.has_losses()));
        }

        if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
    }

    /// Why a custom loss cannot be used, if it cannot.
    fn custom_loss_violation(&self, params: &Params, has_values: bool) -> Option<Violation> {
        let method = params.method;
        let message = match method.spec().custom_loss {
            CustomLossSupport::Never => {
                let able = methods_that(|spec| spec.custom_loss != CustomLossSupport::Never);
                let (able, name) = (able.join(", "), method.name());
                format!("is a custom loss, which is for methods {able}; the method is {name}")
            }
            _ if params.is_linear() => {
                "is a custom loss, which is for boosters of trees, not for gblinear".to_string()
            }
            _ if self.keep.is_some() => {
                "is a custom loss, with which a run cannot be stored and resumed".to_string()
            }
            CustomLossSupport::WithValues if !has_values => format!(
                "has derivatives alone, but the method {} compares fits by the loss; \
                 give a function for its values, too",
                method.name()
            ),
            _ => return None,
        };
        Some(Violation::new("objective", message))
    }
}

/// Names of the learners that can do something.
fn methods_that(can: impl Fn(&LearnerSpec) -> bool) -> Vec<&'static str> {
    let able = Method::ALL.iter().filter(|method| can(method.spec()));
    able.map(|method| method.name()).collect()
}
