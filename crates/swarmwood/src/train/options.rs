//! What a training may have beside rows and parameters.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::checkpoint::Keep;
use crate::error::Violation;
use crate::params::{LearnerOutput, LearnerSpec, Method, Params};
use crate::{Error, Result};

/// Asked inside of long work whether to stop, beside the listener, who is only asked between two
/// steps.
#[derive(Clone)]
pub struct Halt(Arc<dyn Fn() -> bool + Send + Sync>);

/// How long after the wish to stop work may still be brought to a good end: a greedy fit of all
/// trees, while a single tree is of use wherever its growing ends.
pub(super) fn patience(method: Method) -> Duration {
    match method.spec().output {
        LearnerOutput::Ensemble => Duration::from_millis(250),
        LearnerOutput::SingleTree => Duration::from_millis(50),
    }
}

impl Halt {
    /// Stops the run as soon as the answer is yes, which must stay one; any thread may ask. For a
    /// moment work is still brought to a good end, such as a greedy fit of all trees; then it is
    /// cut short where it is.
    pub fn new(ask: impl Fn() -> bool + Send + Sync + 'static) -> Halt {
        Halt(Arc::new(ask))
    }

    /// Whether to stop.
    pub(super) fn is_asked(&self) -> bool {
        (self.0)()
    }

    /// Whether the moment is over.
    pub(super) fn hurry(&self, patience: Duration) -> impl Fn() -> bool + Send + Sync + 'static {
        let (ask, since) = (Arc::clone(&self.0), OnceLock::new());
        move || ask() && since.get_or_init(Instant::now).elapsed() >= patience
    }
}

impl std::fmt::Debug for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halt")
    }
}

/// What a training may have beside rows and parameters.
#[derive(Debug, Clone, Default)]
pub struct Aids {
    /// A model whose splits a search starts from: ours, XGBoost's, LightGBM's or CatBoost's.
    pub pretrained: Option<PathBuf>,
    /// Where the run stores its state.
    pub keep: Option<Keep>,
    /// Who else may end the run.
    pub halt: Option<Halt>,
    /// Whether losses of numbers may be used on two classes (see [`objective_or_cut`](crate::registry::objective_or_cut)).
    pub cut: bool,
}

impl Aids {
    /// Refuses what the method of the parameters cannot use.
    pub fn check(&self, params: &Params) -> Result<()> {
        let method = params.method;
        let mut violations = Vec::new();
        let mut refuse = |name: &str, able: String| {
            let message = format!("is for methods {able}; the method is {}", method.name());
            violations.push(Violation::new(name, message));
        };
        if self.pretrained.is_some() && !method.spec().takes_pretrained {
            refuse("pretrained", methods_that(|spec| spec.takes_pretrained).join(" and "));
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
