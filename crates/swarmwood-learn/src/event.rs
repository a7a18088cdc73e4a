//! Progress events of learners. Fronts render them; learners never print.
//!
//! A run is one [`Stage`] after another, and a stage is a row of steps: rounds of boosting,
//! iterations of a swarm. One [`Event`] tells the state after a step. A learner that searches adds
//! a [`SearchStatus`]; a new kind of stage needs a new constant and nothing in any front.

/// What a learner is doing, in words for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// The name of the stage.
    pub name: &'static str,
    /// What one of its steps is called.
    pub step: &'static str,
}

impl Stage {
    /// Rounds of boosting.
    pub const BOOSTING: Stage = Stage { name: "boosting", step: "round" };
    /// Rounds of boosting whose splits a search will start from.
    pub const PRETRAINING: Stage = Stage { name: "pre-training", step: "round" };
    /// Fits that cross-validation compares.
    pub const COMPARING: Stage = Stage { name: "comparing", step: "fit" };
    /// Trees of an ensemble, each grown again beside the others.
    pub const SWEEPS: Stage = Stage { name: "sweeps", step: "sweep" };
    /// Pairs of trees, ruined and grown again.
    pub const PAIRS: Stage = Stage { name: "pairs", step: "pair" };
    /// Descents of trees that were kicked, all trees of a swarm at a time.
    pub const DESCENTS: Stage = Stage { name: "descents", step: "descent" };
    /// Iterations of a particle swarm.
    pub const SWARM: Stage = Stage { name: "swarm", step: "iteration" };
    /// Visits to the trees of the best particle, whose rules are replaced one at a time.
    pub const LOCAL_SEARCH: Stage = Stage { name: "local search", step: "visit" };
    /// Sets of features that are compared, where a model may use only some.
    pub const FEATURES: Stage = Stage { name: "features", step: "set" };

    /// Every stage, for whoever reads their names again.
    pub const ALL: [Stage; 9] = [
        Stage::BOOSTING,
        Stage::PRETRAINING,
        Stage::COMPARING,
        Stage::SWEEPS,
        Stage::PAIRS,
        Stage::DESCENTS,
        Stage::SWARM,
        Stage::LOCAL_SEARCH,
        Stage::FEATURES,
    ];

    /// The stage with a name.
    ///
    /// ```
    /// use swarmwood_learn::event::Stage;
    /// assert_eq!(Stage::named("swarm"), Some(Stage::SWARM));
    /// ```
    pub fn named(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name == name)
    }
}

/// The state after one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What is being done.
    pub stage: Stage,
    /// Steps of the stage that are done.
    pub step: usize,
    /// Steps asked for; there may be fewer.
    pub steps: usize,
    /// Mean training loss, in the steps that tell it.
    pub train: Option<f64>,
    /// Value of the watched metric on the validation rows.
    pub valid: Option<f64>,
    /// Its values on the sets of rows that are watched beside them.
    pub watched: Vec<f64>,
    /// How a search stands.
    pub search: Option<SearchStatus>,
    /// Seconds since training began. Learners know no clock: whoever runs them fills it in.
    pub elapsed: f64,
    /// Whether the event is of an earlier run, which a resumed run replays.
    pub replayed: bool,
    /// Which of several columns is being learned.
    pub column: usize,
}

impl Event {
    /// A step of which nothing else is known.
    ///
    /// ```
    /// use swarmwood_learn::event::{Event, Stage};
    /// let event = Event { train: Some(0.5), ..Event::new(Stage::BOOSTING, 3, 100) };
    /// assert_eq!((event.stage.step, event.step, event.search), ("round", 3, None));
    /// ```
    pub fn new(stage: Stage, step: usize, steps: usize) -> Self {
        Event {
            stage,
            step,
            steps,
            train: None,
            valid: None,
            watched: Vec::new(),
            search: None,
            elapsed: 0.0,
            replayed: false,
            column: 0,
        }
    }
}

/// How a search stands after a step. What a search does not have is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SearchStatus {
    /// What is searched for, by the name users say: `accuracy`, `rmse`, `loss`.
    pub measure: &'static str,
    /// The best value so far.
    pub best: Option<f64>,
    /// The share of the best greedy fit's value that the best saves.
    pub gain: Option<f64>,
    /// The mean over the candidates of this step.
    pub mean: Option<f64>,
    /// How far candidates differ: the mean number of places where two of them do.
    pub diversity: Option<f64>,
    /// The evolutionary factor: 0 where the best stands amid the candidates, 1 where it stands
    /// apart.
    pub factor: Option<f64>,
    /// The pull of a particle's own best in the move that led here.
    pub alpha: Option<f64>,
    /// The pull of the global best in the move that led here.
    pub beta: Option<f64>,
    /// Candidates evaluated so far.
    pub evaluations: u64,
    /// Candidates so far that were known already, and cost nothing.
    pub repeats: u64,
}
