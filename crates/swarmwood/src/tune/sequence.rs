//! The sequence of trials: which configuration comes next, and which outcomes it follows from.
//!
//! Trial `t` is asked for when the outcomes of trials `0..=t - parallel_trials` are known, and the
//! engine has been told these and no others, in order. If it needs more, it is told the next one,
//! and so on. So a trial's configuration follows from the outcomes of certain trials before it and
//! not from who was faster: any number of threads and processes, and a resumed study, go through
//! the same sequence. Every process that works on a study keeps the whole sequence and asks its own
//! engine for every trial, its own or not.

use swarmwood_search::{Engine, Point, TrialResult};

use super::header::StudyHeader;
use super::objective::FoldResult;
use super::pruning::{Incumbent, PruningDecision, decide, difference_deviation};
use super::trial::{TrialOutcome, TrialRecord};

/// The trials of a study and the engine that proposes them.
pub struct Sequence {
    engine: Box<dyn Engine>,
    parallel_trials: usize,
    folds: usize,
    prune: bool,
    trials: Vec<TrialEntry>,
    /// The engine has been told the outcomes of this many trials: the first ones.
    told: usize,
    /// The value of `told` at which the engine had nothing to propose.
    no_proposal_at: Option<usize>,
    /// The best complete trial among those told.
    best: Option<(u64, f64)>,
    tally: StudyTally,
}

/// Counts over a study.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StudyTally {
    /// Finished trials: complete, pruned or failed.
    pub finished: usize,
    /// Failed trials.
    pub failed: usize,
    /// Pruned trials.
    pub pruned: usize,
    /// Evaluated folds.
    pub folds: usize,
    /// Folds that pruning made unnecessary.
    pub folds_skipped: usize,
    /// The best complete trial and its loss.
    pub best: Option<(u64, f64)>,
}

struct TrialEntry {
    record: TrialRecord,
    /// The engine's id of the trial.
    engine_id: u64,
    /// The trial it is compared with, the best complete one when it was asked for, and the
    /// deviation of differences to it.
    incumbent: Option<(u64, f64)>,
}

/// The answer to a request for a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTrial {
    /// A new running trial.
    Trial(u64),
    /// More outcomes are needed first.
    Wait,
    /// The engine has nothing more to propose.
    Exhausted,
}

impl Sequence {
    /// An empty sequence.
    pub fn new(header: &StudyHeader, engine: Box<dyn Engine>) -> Self {
        Sequence {
            engine,
            parallel_trials: header.parallel_trials.max(1),
            folds: header.folds.max(1),
            prune: header.prune,
            trials: Vec::new(),
            told: 0,
            no_proposal_at: None,
            best: None,
            tally: StudyTally::default(),
        }
    }

    /// The next trial, if the outcomes it follows from are known.
    pub fn ask(&mut self, worker: u64) -> NextTrial {
        let id = self.trials.len();
        let mut due = (id + 1).saturating_sub(self.parallel_trials);

        loop {
            while self.told < due {
                if !self.tell_next() {
                    return NextTrial::Wait;
                }
            }

            // An engine is asked once for each number of known outcomes.
            if self.no_proposal_at != Some(self.told) {
                if let Some(trial) = self.engine.ask(1).pop() {
                    self.push(trial.point, trial.id, worker);
                    return NextTrial::Trial(id as u64);
                }
                self.no_proposal_at = Some(self.told);
            }

            if self.told == id {
                return NextTrial::Exhausted;
            }
            due = self.told + 1;
        }
    }

    fn push(&mut self, point: Point, engine_id: u64, worker: u64) {
        let id = self.trials.len() as u64;
        let record =
            TrialRecord { id, point, worker, folds: Vec::new(), outcome: None, seconds: 0.0 };
        let best = self.best.filter(|_| self.prune);
        let incumbent = best.and_then(|(best, _)| Some((best, self.deviation(best)?)));
        self.trials.push(TrialEntry { record, engine_id, incumbent });
    }

    /// The deviation of differences to a trial, from the outcomes that the engine knows: these do
    /// not depend on who was faster.
    fn deviation(&self, incumbent: u64) -> Option<f64> {
        let known = self.trials[..self.told].iter().map(|entry| &entry.record);
        let others = known.filter(|trial| {
            let loss = trial.outcome.as_ref().and_then(TrialOutcome::loss);
            trial.id != incumbent && loss.is_some()
        });
        let others: Vec<Vec<f64>> = others.map(TrialRecord::fold_losses).collect();

        let incumbent = self.trial(incumbent)?.fold_losses();
        difference_deviation(&incumbent, others.iter().map(Vec::as_slice))
    }

    /// Tells the engine the first outcome that it does not know; false if that trial is running.
    fn tell_next(&mut self) -> bool {
        let Some(entry) = self.trials.get(self.told) else { return false };
        let Some(outcome) = &entry.record.outcome else { return false };

        let id = entry.engine_id;
        let failed = TrialResult::Failed { id };
        let result = outcome.loss().map_or(failed, |loss| TrialResult::Complete { id, loss });
        self.engine.tell(&[result]);

        if let Some(loss) = entry.record.complete_loss()
            && self.best.is_none_or(|(_, least)| loss < least)
        {
            self.best = Some((entry.record.id, loss));
        }
        self.told += 1;
        true
    }

    /// The number of trials.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there is no trial yet.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// All trials, in order.
    pub fn trials(&self) -> impl Iterator<Item = &TrialRecord> {
        self.trials.iter().map(|entry| &entry.record)
    }

    /// The running trials, in order. All trials whose outcomes the engine knows are finished.
    pub fn running_trials(&self) -> impl Iterator<Item = &TrialRecord> {
        let records = self.trials[self.told..].iter().map(|entry| &entry.record);
        records.filter(|trial| trial.outcome.is_none())
    }

    /// A trial.
    pub fn trial(&self, id: u64) -> Option<&TrialRecord> {
        self.trials.get(usize::try_from(id).ok()?).map(|entry| &entry.record)
    }

    fn running_trial_mut(&mut self, id: u64) -> Option<&mut TrialRecord> {
        let entry = self.trials.get_mut(usize::try_from(id).ok()?)?;
        entry.record.outcome.is_none().then_some(&mut entry.record)
    }

    /// Assigns a running trial to another process; false if there is no such trial.
    pub fn reassign(&mut self, id: u64, worker: u64) -> bool {
        self.running_trial_mut(id).map(|trial| trial.worker = worker).is_some()
    }

    /// Adds the result of the next fold of a running trial; false if it is not the next.
    pub fn add_fold(&mut self, id: u64, fold: usize, result: FoldResult, seconds: f64) -> bool {
        let folds = self.folds;
        let trial = self.running_trial_mut(id);
        let Some(trial) = trial.filter(|trial| trial.folds.len() == fold && fold < folds) else {
            return false;
        };
        trial.folds.push(result);
        trial.seconds += seconds;
        self.tally.folds += 1;
        true
    }

    /// Finishes a running trial that took so many seconds in all; false if there is no such trial,
    /// or if the outcome does not follow from its folds.
    pub fn finish(&mut self, id: u64, outcome: TrialOutcome, seconds: f64) -> bool {
        let (folds, prune) = (self.folds, self.prune);
        let trial = self.running_trial_mut(id);
        let Some(trial) = trial.filter(|trial| trial.allows(&outcome, folds, prune)) else {
            return false;
        };
        let (failed, pruned) = match &outcome {
            TrialOutcome::Complete { .. } => (0, 0),
            TrialOutcome::Pruned { .. } => (0, 1),
            TrialOutcome::Failed { .. } => (1, 0),
        };
        trial.outcome = Some(outcome);
        trial.seconds = seconds;
        let (complete, remaining) = (trial.complete_loss(), folds - trial.folds.len());

        let tally = &mut self.tally;
        tally.finished += 1;
        tally.failed += failed;
        tally.pruned += pruned;
        tally.folds_skipped += pruned * remaining;
        if let Some(loss) = complete
            && tally.best.is_none_or(|(best, least)| (loss, id) < (least, best))
        {
            tally.best = Some((id, loss));
        }
        true
    }

    /// Counts over the trials so far.
    pub fn tally(&self) -> StudyTally {
        self.tally
    }

    /// The outcome of a running trial by its folds so far; `None` if more folds are needed.
    pub fn decision(&self, id: u64) -> Option<TrialOutcome> {
        let entry = self.trials.get(usize::try_from(id).ok()?)?;
        let incumbent = entry
            .incumbent
            .and_then(|(best, deviation)| Some((self.trial(best)?.fold_losses(), deviation)));
        let incumbent = incumbent
            .as_ref()
            .map(|(fold_losses, deviation)| Incumbent { fold_losses, deviation: *deviation });

        match decide(&entry.record.fold_losses(), incumbent, self.folds) {
            PruningDecision::Continue => None,
            PruningDecision::Prune { loss } => Some(TrialOutcome::Pruned { loss }),
            PruningDecision::Complete { loss } => Some(TrialOutcome::Complete { loss }),
        }
    }

    /// The number of first folds of a trial that are evaluated whatever their losses are.
    pub fn required_folds(&self, id: u64) -> usize {
        let entry = usize::try_from(id).ok().and_then(|id| self.trials.get(id));
        let can_be_pruned = entry.is_some_and(|entry| entry.incumbent.is_some());
        if can_be_pruned { 1 } else { self.folds }
    }
}
