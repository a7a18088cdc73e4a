//! The header of a study: everything that determines its trials.

use swarmwood_search::Space;
use swarmwood_search::options::EngineOptions;

/// The header of a study. Two studies with equal headers have the same trials.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyHeader {
    /// The engine's name.
    pub engine: String,
    /// Its options; those that are not here have their defaults.
    pub engine_options: EngineOptions,
    /// The seed of all randomness.
    pub seed: u64,
    /// The search space.
    pub space: Space,
    /// Trials that may run in parallel: trial `t` is asked for knowing the outcomes of trials
    /// `0..=t - parallel_trials` exactly, however many are known by then. At least 1.
    pub parallel_trials: usize,
    /// The number of folds of a trial: that of the objective.
    pub folds: usize,
    /// Whether trials are pruned.
    pub prune: bool,
    /// What is optimised.
    pub task: StudyTask,
}

/// What is optimised: a study cannot be resumed with another task.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyTask {
    /// A description: the command, or the data and the method.
    pub text: String,
    /// Changes with everything that changes a loss: the rows, fixed parameters, the text of a
    /// command.
    pub fingerprint: u128,
    /// The metric that is reported for a loss.
    pub metric: StudyMetric,
    /// What a training run with the best configuration needs beside it: the method, the parameters
    /// that were fixed, and how the rows are read, each with one or more values. Empty for commands
    /// and in older journals.
    pub fixed: Vec<(String, Vec<String>)>,
}

/// The metric that is reported for a loss.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyMetric {
    /// Its name: `rmse`, `accuracy`, `value`.
    pub name: String,
    /// If larger is better: the metric is this number minus the loss. `None` if the metric is the
    /// loss.
    pub from: Option<f64>,
}

impl StudyMetric {
    /// The value of the metric for a loss.
    ///
    /// ```
    /// use swarmwood::tune::StudyMetric;
    /// let accuracy = StudyMetric { name: "accuracy".into(), from: Some(1.0) };
    /// assert_eq!(accuracy.value(0.25), 0.75);
    /// ```
    pub fn value(&self, loss: f64) -> f64 {
        // Adding zero turns minus zero into zero.
        self.from.map_or(loss, |from| from - loss) + 0.0
    }
}
