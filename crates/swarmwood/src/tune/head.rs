//! What a study is about: everything that decides which trials it has.

use swarmwood_search::Space;

/// What a study is about. Two studies with equal heads have the same trials.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyHeader {
    /// The engine's name.
    pub engine: String,
    /// Where all randomness comes from.
    pub seed: u64,
    /// What is searched.
    pub space: Space,
    /// Trials that may be under way at a time: trial `t` is asked knowing the outcomes of trials
    /// `0..=t - lag` exactly, however many are known by then. At least 1.
    pub lag: usize,
    /// Pieces of a trial, as the objective has them.
    pub pieces: usize,
    /// Whether a trial that is clearly behind is given up early.
    pub race: bool,
    /// What is optimised.
    pub task: StudyTask,
}

/// What is optimised: a study refuses to go on with another task.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyTask {
    /// For people: the command, or the data and the method.
    pub text: String,
    /// Changes with everything that changes a loss: the rows, fixed parameters, the text of a
    /// command.
    pub fingerprint: u128,
    /// What people call the loss.
    pub measure: StudyMetric,
}

/// The figure that people see for a loss.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyMetric {
    /// Its name: `rmse`, `accuracy`, `value`.
    pub name: String,
    /// If larger is better: the figure is this number less the loss. `None` if the loss is the
    /// figure.
    pub from: Option<f64>,
}

impl StudyMetric {
    /// The figure for a loss.
    ///
    /// ```
    /// use swarmwood::tune::StudyMetric;
    /// let accuracy = StudyMetric { name: "accuracy".into(), from: Some(1.0) };
    /// assert_eq!(accuracy.figure(0.25), 0.75);
    /// ```
    pub fn figure(&self, loss: f64) -> f64 {
        // Adding zero turns minus zero into zero.
        self.from.map_or(loss, |from| from - loss) + 0.0
    }
}
