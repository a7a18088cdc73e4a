//! A study: a sequence of trials, the workers that evaluate them, and the journal that stores them.

mod connection;
mod run;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::plan::{Task, TaskQueue, TaskRows};
use swarmwood_search::{Engine, Point};

use super::engine;
use super::header::StudyHeader;
use super::objective::{Proposal, TrialObjective};
use super::sequence::{Sequence, StudyTally};
use super::trial::{TrialRecord, best};
use crate::{Error, Result};
use connection::JournalConnection;
use run::StudyRun;

/// A study. With a path it is stored in a journal, which other processes may share and a later one
/// can resume; without one it is in memory.
///
/// ```
/// use swarmwood::learn::budget::Budget;
/// use swarmwood::search::options::EngineOptions;
/// use swarmwood::search::{Param, Space};
/// use swarmwood::tune::{StudyHeader, StudyLimits, StudyMetric, TrialObjective, FoldResult, Proposal, Study, StudyTask};
///
/// struct Parabola;
/// impl TrialObjective for Parabola {
///     fn folds(&self) -> usize {
///         1
///     }
///     fn evaluate_fold(&self, trial: &Proposal<'_>, _: usize, _: &Budget) -> Result<FoldResult, String> {
///         let x = trial.space.number(0, trial.point[0]).ok_or("no x")?;
///         Ok(FoldResult { loss: (x - 3.0).powi(2), rounds: None })
///     }
/// }
/// let metric = StudyMetric { name: "loss".into(), from: None };
/// let header = StudyHeader {
///     engine: "random".into(),
///     engine_options: EngineOptions::DEFAULTS,
///     seed: 1,
///     space: Space::new(vec![Param::integer("x", -10, 10)]).unwrap(),
///     parallel_trials: 4,
///     folds: 1,
///     prune: false,
///     task: StudyTask { text: "a parabola".into(), fingerprint: 0, metric, fixed: Vec::new() },
/// };
/// let mut study = Study::open(None, header)?;
/// let limits = StudyLimits { trials: 21, ..StudyLimits::default() };
/// let outcome = study.run(&Parabola, &limits, &mut |_| {})?;
/// assert_eq!(outcome.best().and_then(|best| best.complete_loss()), Some(0.0));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub struct Study {
    header: StudyHeader,
    sequence: Sequence,
    notes: Vec<String>,
    connection: Option<JournalConnection>,
    /// Whether a write failed: the trials in memory are not those in the journal.
    out_of_sync: bool,
}

/// When to stop, and the number of threads.
#[derive(Debug, Clone)]
pub struct StudyLimits {
    /// Trials of the whole study, those of earlier runs and of other processes included.
    pub trials: usize,
    /// Seconds of this run; running trials are interrupted and can be resumed.
    pub seconds: Option<f64>,
    /// Threads of this process; 0 is one per core. They change the duration and nothing else.
    pub threads: usize,
    /// Without a sign of life of another process for so long, its trials are taken over.
    pub lease: Duration,
    /// A clone of it cancels the run; running trials are interrupted and can be resumed.
    pub budget: Budget,
}

impl Default for StudyLimits {
    fn default() -> Self {
        let lease = Duration::from_secs(60);
        StudyLimits { trials: 100, seconds: None, threads: 0, lease, budget: Budget::unlimited() }
    }
}

/// An event of a running study.
#[derive(Debug, Clone, Copy)]
pub struct TuneEvent<'a> {
    /// What happened.
    pub update: StudyUpdate<'a>,
    /// The progress of the study.
    pub progress: StudyProgress,
}

/// What happened in a study.
#[derive(Debug, Clone, Copy)]
pub enum StudyUpdate<'a> {
    /// The run begins; the progress has the trials of earlier runs.
    Started,
    /// A trial is finished, in this or another process.
    TrialFinished(&'a TrialRecord),
    /// Nothing new, several times a second, for progress displays.
    Tick,
}

/// The progress of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudyProgress {
    /// Trials and folds.
    pub tally: StudyTally,
    /// The limit on its trials.
    pub trials: usize,
    /// Seconds since this run began.
    pub elapsed: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// All trials are done.
    Trials,
    /// The engine had nothing more to propose: all configurations were tried, or it converged.
    Exhausted,
    /// The time is up.
    Time,
    /// The run was cancelled.
    Stopped,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyOutcome {
    /// All trials of the study, in order.
    pub trials: Vec<TrialRecord>,
    /// Trials and folds.
    pub tally: StudyTally,
    /// Why it ended.
    pub stop_reason: StopReason,
}

impl StudyOutcome {
    /// The best complete trial; `None` if there is none.
    pub fn best(&self) -> Option<&TrialRecord> {
        best(&self.trials)
    }
}

impl Study {
    /// Opens the study of a journal, or makes one. A journal with another header is refused; the
    /// journal's directory must be writable, for every process that works on a study has a lock
    /// file there.
    pub fn open(path: Option<&Path>, header: StudyHeader) -> Result<Study> {
        let engine_options = engine::check_options(&header.engine, &header.engine_options)?;
        let header = StudyHeader { engine_options, ..header };
        let made =
            engine::make(&header.engine, &header.engine_options, &header.space, header.seed)?;
        Study::with_engine(path, header, made)
    }

    /// The same with an engine of one's own, fresh and made from the header's space, seed and options.
    pub fn with_engine(
        path: Option<&Path>,
        header: StudyHeader,
        engine: Box<dyn Engine>,
    ) -> Result<Study> {
        let sequence = Sequence::new(&header, engine);
        let mut study =
            Study { header, sequence, notes: Vec::new(), connection: None, out_of_sync: false };
        if let Some(path) = path {
            study.connection = Some(JournalConnection::open(
                path,
                &study.header,
                &mut study.sequence,
                &mut study.notes,
            )?);
        }
        Ok(study)
    }

    /// Its header.
    pub fn header(&self) -> &StudyHeader {
        &self.header
    }

    /// Remarks for the user, from opening the journal.
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
        if objective.folds() != self.header.folds {
            let (has, expected) = (objective.folds(), self.header.folds);
            return Err(Error::Run(format!(
                "the objective has {has} folds, but the study has {expected}"
            )));
        }
        if self.out_of_sync {
            return Err(Error::Run(
                "the last run could not be written to the journal; open the study again"
                    .to_string(),
            ));
        }
        let space = self.header.space.clone();
        let evaluate = |task: &Task, point: &Point, budget: &Budget| match task.rows {
            TaskRows::Fold(fold) => {
                let proposal = Proposal { id: task.candidate as u64, space: &space, point };
                objective.evaluate_fold(&proposal, fold, budget)
            }
            TaskRows::All => Err("a trial has no task for all rows".to_string()),
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = if limits.threads == 0 { cores } else { limits.threads };

        let stop_reason = TaskQueue::run(threads, &limits.budget, evaluate, |queue| {
            StudyRun::new(self, queue, limits).run(observer)
        });
        let stop_reason = stop_reason.map_err(Error::Run).flatten();
        let stop_reason = stop_reason.inspect_err(|_| self.out_of_sync = true)?;
        let trials = self.sequence.trials().cloned().collect();
        Ok(StudyOutcome { trials, tally: self.sequence.tally(), stop_reason })
    }
}
