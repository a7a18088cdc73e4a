//! A trial as a study remembers it.

use swarmwood_search::Point;

use super::objective::FoldResult;

/// A trial: what was asked, what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRecord {
    /// Its number; trials are numbered from 0 without gaps.
    pub id: u64,
    /// The configuration.
    pub point: Point,
    /// Which process has it, by the number of its lock file.
    pub worker: u64,
    /// The pieces evaluated so far, from the first on.
    pub pieces: Vec<FoldResult>,
    /// How it ended; `None` while it is open.
    pub ending: Option<Ending>,
    /// Seconds of work, all pieces together.
    pub seconds: f64,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// All pieces were evaluated.
    Whole {
        /// The mean of their losses.
        loss: f64,
    },
    /// It was clearly behind, so the rest was left out.
    Raced {
        /// An estimate: the loss of the trial it was compared with, and how far it was behind.
        loss: f64,
    },
    /// It could not be evaluated.
    Failed {
        /// Why, for people.
        reason: String,
    },
}

impl Ending {
    /// What an engine is told; `None` if the trial failed.
    pub fn loss(&self) -> Option<f64> {
        match self {
            Ending::Whole { loss } | Ending::Raced { loss } => Some(*loss),
            Ending::Failed { .. } => None,
        }
    }
}

impl TrialRecord {
    /// The loss if all pieces were evaluated: the only figure that may be compared between trials.
    pub fn whole(&self) -> Option<f64> {
        match &self.ending {
            Some(Ending::Whole { loss }) => Some(*loss),
            _ => None,
        }
    }
}

/// The best of the trials that were evaluated whole; of equals the first.
pub fn best<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Option<&'a TrialRecord> {
    let whole = trials.into_iter().filter_map(|trial| Some((trial.whole()?, trial)));
    whole
        .min_by(|(a, first), (b, second)| a.total_cmp(b).then(first.id.cmp(&second.id)))
        .map(|(_, trial)| trial)
}
