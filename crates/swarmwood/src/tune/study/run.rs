//! One run of a study: asks for trials, evaluates their folds, decides on pruning, records it all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use swarmwood_learn::plan::{TaskQueue, TaskResult, TaskRows};
use swarmwood_search::Point;

use super::connection::{PeerProcesses, PeerProgress};
use super::{StopReason, Study, StudyLimits, StudyProgress, StudyUpdate, TuneEvent};
use crate::Result;
use crate::tune::journal::record::Record;
use crate::tune::objective::FoldResult;
use crate::tune::sequence::{NextTrial, Sequence};
use crate::tune::trial::TrialOutcome;

/// The queue of a study: candidates are trials, tasks are their folds.
pub(super) type FoldQueue = TaskQueue<Point, FoldResult>;

/// Longest wait for results before the limits are checked again.
const LIMITS_INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for results while other processes have running trials.
const JOURNAL_INTERVAL: Duration = Duration::from_millis(5);
/// Time between two checks whether the processes of running trials are alive.
const LIVENESS_INTERVAL: Duration = Duration::from_millis(200);

/// A running study.
pub(super) struct StudyRun<'a> {
    study: &'a mut Study,
    queue: &'a FoldQueue,
    limits: &'a StudyLimits,
    /// This process's number in the journal.
    worker: u64,
    started: Instant,
    liveness_checked: Instant,
    /// Results that arrived before those of an earlier fold of their trial.
    early_results: BTreeMap<(u64, usize), TaskResult<FoldResult>>,
    /// Events that are not in the journal yet.
    pending: Vec<Record>,
    /// Finished trials that the observer has not been told of.
    finished: Vec<u64>,
    /// Whether the engine needs another outcome before it can propose.
    waiting: bool,
    exhausted: bool,
}

impl<'a> StudyRun<'a> {
    pub fn new(study: &'a mut Study, queue: &'a FoldQueue, limits: &'a StudyLimits) -> Self {
        let worker = study.connection.as_ref().map_or(0, |connection| connection.number());
        let started = Instant::now();
        StudyRun {
            study,
            queue,
            limits,
            worker,
            started,
            liveness_checked: started,
            early_results: BTreeMap::new(),
            pending: Vec::new(),
            finished: Vec::new(),
            waiting: false,
            exhausted: false,
        }
    }

    /// Runs until a limit is reached.
    pub fn run(mut self, observer: &mut dyn FnMut(&TuneEvent<'_>)) -> Result<StopReason> {
        observer(&self.event(StudyUpdate::Started));
        for id in self.running_trials(|worker, own| worker == own) {
            self.enqueue(id);
        }

        loop {
            if let Some(reason) = self.interrupted() {
                self.queue.cancel_all();
                self.exchange(false)?;
                return Ok(reason);
            }

            self.exchange(true)?;
            self.notify(observer);
            let idle = self.study.sequence.running_trials().next().is_none();
            if idle && self.pending.is_empty() && !self.may_ask() {
                return Ok(match self.exhausted {
                    true => StopReason::Exhausted,
                    false => StopReason::Trials,
                });
            }

            let results = self.queue.wait(self.wait_time());
            let connection = self.study.connection.as_mut();
            if connection.is_some_and(|connection| connection.beat() > self.limits.lease / 2) {
                // This process was stopped: its trials may be others' by now.
                self.exchange(false)?;
            }
            for result in results {
                self.add_result(result);
            }
        }
    }

    /// Why the run must stop now, if it must.
    fn interrupted(&self) -> Option<StopReason> {
        let elapsed = self.started.elapsed().as_secs_f64();
        match self.limits.budget.is_interrupted() {
            true => Some(StopReason::Stopped),
            false => self.limits.seconds.filter(|&s| elapsed >= s).map(|_| StopReason::Time),
        }
    }

    /// How long to wait for results.
    fn wait_time(&self) -> Duration {
        let others = self.running_trials(|worker, own| worker != own);
        match (self.pending.is_empty(), others.is_empty()) {
            (false, _) => Duration::ZERO,
            (true, false) => JOURNAL_INTERVAL,
            (true, true) => LIMITS_INTERVAL,
        }
    }

    /// Running trials by the process that evaluates them.
    fn running_trials(&self, of: impl Fn(u64, u64) -> bool) -> Vec<u64> {
        let trials = self.study.sequence.running_trials();
        trials.filter(|trial| of(trial.worker, self.worker)).map(|trial| trial.id).collect()
    }

    /// Whether there are trials to ask for and asking may succeed.
    fn may_ask(&self) -> bool {
        !self.exhausted && !self.waiting && self.study.sequence.len() < self.limits.trials
    }

    /// Appends to the journal, reads what other processes appended, and asks for trials.
    fn exchange(&mut self, asking: bool) -> Result<()> {
        let first = asking && self.liveness_checked == self.started;
        let check = asking
            && self.liveness_checked.elapsed() >= LIVENESS_INTERVAL
            && !self.running_trials(|worker, own| worker != own).is_empty();
        let connection = self.study.connection.as_ref();
        let grown = connection.is_some_and(|connection| connection.has_grown());
        let ask = asking && self.may_ask();
        if self.pending.is_empty() && !(ask || grown || check || first) {
            return Ok(());
        }
        if check || first {
            self.liveness_checked = Instant::now();
        }

        let pending = std::mem::take(&mut self.pending);
        let mut progress = PeerProgress::default();
        let mut requests = TrialRequests {
            limits: self.limits,
            worker: self.worker,
            trials: Vec::new(),
            waiting: false,
            exhausted: false,
        };
        let Study { header, sequence, notes, connection, .. } = &mut *self.study;
        match connection {
            None if asking => drop(requests.ask(sequence, usize::MAX)),
            None => (),
            Some(connection) => {
                let threads = self.queue.threads();
                let study = (&*header, self.limits.lease);
                progress =
                    connection.exchange(study, sequence, notes, pending, |sequence, peers| {
                        let mut records = Vec::new();
                        if asking && (check || first) {
                            records.extend(requests.take_over(sequence, peers));
                        }
                        if asking {
                            let most = if peers.is_alone() { usize::MAX } else { threads };
                            records.extend(requests.ask(sequence, most));
                        }
                        records
                    })?;
            }
        }

        self.finished.extend(progress.ended);
        for id in progress.lost {
            self.queue.cancel(id as usize);
            self.early_results.retain(|&(other, _), _| other != id);
        }

        (self.waiting, self.exhausted) = (requests.waiting, requests.exhausted);
        for id in requests.trials {
            self.enqueue(id);
        }
        Ok(())
    }

    /// Adds the remaining folds of a trial to the queue.
    fn enqueue(&mut self, id: u64) {
        let sequence = &self.study.sequence;
        let Some(trial) = sequence.trial(id) else { return };

        // A run may have been killed between the last fold of a trial and its outcome.
        let evaluated = trial.folds.len();
        match sequence.decision(id).filter(|_| evaluated > 0) {
            Some(outcome) => self.finish(id, outcome, 0.0),
            None => {
                let (folds, confirmed) = (self.study.header.folds, sequence.required_folds(id));
                let confirmed = confirmed.max(evaluated + 1);
                self.queue.push(id as usize, trial.point.clone(), evaluated..folds, confirmed);
            }
        }
    }

    /// Adds a result, and every result that waited for it.
    fn add_result(&mut self, result: TaskResult<FoldResult>) {
        let TaskRows::Fold(fold) = result.task.rows else { return };
        let id = result.task.candidate as u64;
        if self.study.sequence.trial(id).is_some_and(|trial| trial.worker != self.worker) {
            return;
        }
        self.early_results.insert((id, fold), result);

        let running = |study: &Study| {
            let trial = study.sequence.trial(id).filter(|trial| trial.outcome.is_none());
            trial.map(|trial| trial.folds.len())
        };
        while let Some(next) = running(self.study) {
            let Some(result) = self.early_results.remove(&(id, next)) else { return };
            self.add_fold(id, next, result);
        }
        // Folds that are not needed any more.
        self.early_results.retain(|&(other, _), _| other != id);
    }

    /// Adds the next fold of a trial and finishes the trial if that decides it.
    fn add_fold(&mut self, id: u64, fold: usize, result: TaskResult<FoldResult>) {
        let seconds = result.seconds;
        let result = result.value.and_then(|result| match result.loss.is_finite() {
            true => Ok(result),
            false => Err(format!("the loss is {}", result.loss)),
        });
        let result = match result {
            Ok(result) => result,
            Err(reason) => return self.finish(id, TrialOutcome::Failed { reason }, seconds),
        };

        self.study.sequence.add_fold(id, fold, result.clone(), seconds);
        self.pending.push(Record::Fold { id, fold, result, seconds });
        match self.study.sequence.decision(id) {
            Some(outcome) if outcome.loss().is_some_and(|loss| !loss.is_finite()) => {
                let reason = "the mean of the losses is too large a number".to_string();
                self.finish(id, TrialOutcome::Failed { reason }, 0.0);
            }
            Some(outcome) => self.finish(id, outcome, 0.0),
            None => self.queue.confirm(id as usize, fold + 2),
        }
    }

    /// Finishes a trial; `more` seconds belong to none of its evaluated folds.
    fn finish(&mut self, id: u64, outcome: TrialOutcome, more: f64) {
        let seconds = self.study.sequence.trial(id).map_or(0.0, |trial| trial.seconds) + more;
        self.study.sequence.finish(id, outcome.clone(), seconds);
        self.queue.cancel(id as usize);
        self.pending.push(Record::Tell { id, outcome, seconds });
        self.finished.push(id);
        self.waiting = false;
    }

    /// Tells the observer of finished trials.
    fn notify(&mut self, observer: &mut dyn FnMut(&TuneEvent<'_>)) {
        let finished = std::mem::take(&mut self.finished);
        if finished.is_empty() {
            observer(&self.event(StudyUpdate::Tick));
        }
        for trial in finished.iter().filter_map(|&id| self.study.sequence.trial(id)) {
            observer(&self.event(StudyUpdate::TrialFinished(trial)));
        }
        // The engine may have waited for a trial of another process.
        self.waiting &= finished.is_empty();
    }

    fn event<'n>(&self, update: StudyUpdate<'n>) -> TuneEvent<'n> {
        let (tally, elapsed) = (self.study.sequence.tally(), self.started.elapsed().as_secs_f64());
        TuneEvent { update, progress: StudyProgress { tally, trials: self.limits.trials, elapsed } }
    }
}

/// The trials that one exchange with the journal gives to this process.
struct TrialRequests<'a> {
    limits: &'a StudyLimits,
    worker: u64,
    /// Trials that this process evaluates from now on.
    trials: Vec<u64>,
    waiting: bool,
    exhausted: bool,
}

impl TrialRequests<'_> {
    /// Takes over running trials of processes that died.
    fn take_over(&mut self, sequence: &mut Sequence, peers: &mut PeerProcesses<'_>) -> Vec<Record> {
        let dead = sequence.running_trials().filter(|trial| !peers.is_alive(trial.worker));
        let ids: Vec<u64> = dead.map(|trial| trial.id).collect();
        for &id in &ids {
            sequence.reassign(id, self.worker);
        }
        self.trials.extend(&ids);
        ids.into_iter().map(|id| Record::Take { id, worker: self.worker }).collect()
    }

    /// Asks for trials as far as the limits and the outcomes allow, but for no more than `most`
    /// running ones.
    fn ask(&mut self, sequence: &mut Sequence, most: usize) -> Vec<Record> {
        let mut records = Vec::new();
        while sequence.len() < self.limits.trials {
            let own = sequence.running_trials().filter(|trial| trial.worker == self.worker);
            let next = match own.count() < most {
                true => sequence.ask(self.worker),
                false => NextTrial::Wait,
            };
            match next {
                NextTrial::Trial(id) => {
                    self.trials.push(id);
                    let point = sequence.trial(id).map(|trial| trial.point.clone());
                    let point = point.unwrap_or_default();
                    records.push(Record::Ask { id, point, worker: self.worker });
                }
                NextTrial::Wait => {
                    self.waiting = true;
                    break;
                }
                NextTrial::Exhausted => {
                    self.exhausted = true;
                    break;
                }
            }
        }
        records
    }
}
