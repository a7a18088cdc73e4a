//! A study: a sequence of trials, who evaluates them, and the journal that remembers them.

mod keep;
mod run;
#[cfg(test)]
mod tests;

use std::path::Path;

use swarmwood_learn::budget::Budget;
use swarmwood_search::Engine;

use super::engine;
use super::head::StudyHeader;
use super::objective::TrialObjective;
use super::schedule;
use super::sequence::{Sequence, StudyTally};
use super::trial::{TrialRecord, best};
use crate::{Error, Result};
use keep::JournalConnection;

/// A study. With a path it lives in a journal, which other processes may share and a later one can
/// go on with; without one it is in memory.
///
/// ```
/// use swarmwood::learn::budget::Budget;
/// use swarmwood::search::{Param, Space};
/// use swarmwood::tune::{StudyHeader, StudyLimits, StudyMetric, TrialObjective, FoldResult, Proposal, Study, StudyTask};
///
/// struct Parabola;
/// impl TrialObjective for Parabola {
///     fn pieces(&self) -> usize {
///         1
///     }
///     fn piece(&self, trial: &Proposal<'_>, _: usize, _: &Budget) -> Result<FoldResult, String> {
///         let x = trial.space.number(0, trial.point[0]).ok_or("no x")?;
///         Ok(FoldResult { loss: (x - 3.0).powi(2), rounds: None })
///     }
/// }
/// let measure = StudyMetric { name: "loss".into(), from: None };
/// let head = StudyHeader {
///     engine: "random".into(),
///     seed: 1,
///     space: Space::new(vec![Param::integer("x", -10, 10)]).unwrap(),
///     lag: 4,
///     pieces: 1,
///     race: false,
///     task: StudyTask { text: "a parabola".into(), fingerprint: 0, measure },
/// };
/// let mut study = Study::open(None, head)?;
/// let limits = StudyLimits { trials: 21, ..StudyLimits::default() };
/// let outcome = study.run(&Parabola, &limits, &mut |_| {})?;
/// assert_eq!(outcome.best().and_then(|best| best.whole()), Some(0.0));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub struct Study {
    head: StudyHeader,
    sequence: Sequence,
    notes: Vec<String>,
    keeper: Option<JournalConnection>,
    /// Whether a run could not be written down: what is in memory is not what is in the journal.
    spoilt: bool,
}

/// When to stop, and how many threads there are.
#[derive(Debug, Clone)]
pub struct StudyLimits {
    /// Trials of the whole study, those of earlier runs and of other processes included.
    pub trials: usize,
    /// Seconds of this run; trials under way are given up and stay open.
    pub seconds: Option<f64>,
    /// Threads of this process; 0 is one a core. They change nothing but how long it takes.
    pub threads: usize,
    /// Whoever keeps a clone can cancel the run; trials under way are given up and stay open.
    pub budget: Budget,
}

impl Default for StudyLimits {
    fn default() -> Self {
        StudyLimits { trials: 100, seconds: None, threads: 0, budget: Budget::unlimited() }
    }
}

/// Something that happened in a study.
#[derive(Debug, Clone, Copy)]
pub struct TuneEvent<'a> {
    /// What is new.
    pub news: StudyNews<'a>,
    /// How the study stands.
    pub standing: StudyProgress,
}

/// What is new.
#[derive(Debug, Clone, Copy)]
pub enum StudyNews<'a> {
    /// The run begins; the standing tells what was there already.
    Begin,
    /// A trial ended, here or in another process.
    Trial(&'a TrialRecord),
    /// Nothing, several times a second: fronts may draw how long it has taken.
    Nothing,
}

/// How a study stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyProgress {
    /// Trials and pieces.
    pub tally: StudyTally,
    /// Trials it shall have.
    pub trials: usize,
    /// Seconds since this run began.
    pub elapsed: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// All trials are done.
    Trials,
    /// The engine had nothing more to ask: all configurations were tried, or it reached an end of
    /// its own.
    Exhausted,
    /// The time is up.
    Time,
    /// The run was cancelled.
    Stopped,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyOutcome {
    /// All trials of the study, in order.
    pub trials: Vec<TrialRecord>,
    /// Trials and pieces.
    pub tally: StudyTally,
    /// Why it ended.
    pub ended: StopReason,
}

impl StudyOutcome {
    /// The best whole trial; `None` if all failed.
    pub fn best(&self) -> Option<&TrialRecord> {
        best(&self.trials)
    }
}

impl Study {
    /// Opens the study of a journal, or makes one. A journal with another head is refused; the
    /// journal's directory must be writable, for every process that works on a study has a lock
    /// file there.
    pub fn open(path: Option<&Path>, head: StudyHeader) -> Result<Study> {
        let made = engine::make(&head.engine, &head.space, head.seed)?;
        Study::with_engine(path, head, made)
    }

    /// The same with an engine of one's own, fresh and made from the head's space and seed.
    pub fn with_engine(
        path: Option<&Path>,
        head: StudyHeader,
        engine: Box<dyn Engine>,
    ) -> Result<Study> {
        let sequence = Sequence::new(&head, engine);
        let mut study = Study { head, sequence, notes: Vec::new(), keeper: None, spoilt: false };
        if let Some(path) = path {
            study.keeper = Some(JournalConnection::open(
                path,
                &study.head,
                &mut study.sequence,
                &mut study.notes,
            )?);
        }
        Ok(study)
    }

    /// What it is about.
    pub fn head(&self) -> &StudyHeader {
        &self.head
    }

    /// What was found out while it was opened, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// All trials so far, in order.
    pub fn trials(&self) -> impl Iterator<Item = &TrialRecord> {
        self.sequence.trials()
    }

    /// Evaluates trials until a limit is reached or the run is cancelled.
    pub fn run(
        &mut self,
        objective: &dyn TrialObjective,
        limits: &StudyLimits,
        observer: &mut dyn FnMut(&TuneEvent<'_>),
    ) -> Result<StudyOutcome> {
        if objective.pieces() != self.head.pieces {
            let (has, said) = (objective.pieces(), self.head.pieces);
            return Err(Error::Run(format!(
                "the objective has {has} pieces, but the study says {said}"
            )));
        }
        if self.spoilt {
            return Err(Error::Run(
                "the last run could not be written down; open the study again".to_string(),
            ));
        }
        let space = self.head.space.clone();
        let ended = schedule::with_workers(objective, &space, limits, |desk| {
            run::StudyRun::new(self, desk, limits).go(observer)
        });
        let ended = ended.inspect_err(|_| self.spoilt = true)?;
        let trials = self.sequence.trials().cloned().collect();
        Ok(StudyOutcome { trials, tally: self.sequence.tally(), ended })
    }
}
