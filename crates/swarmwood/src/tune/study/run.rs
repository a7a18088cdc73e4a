//! One run of a study: asks, hands out, judges, writes down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::keep::PeerProcesses;
use super::{StopReason, Study, StudyLimits, StudyNews, StudyProgress, TuneEvent};
use crate::Result;
use crate::tune::journal::record::Record;
use crate::tune::objective::FoldResult;
use crate::tune::schedule::{FoldOutcome, FoldQueue};
use crate::tune::sequence::{NextTrial, Sequence};
use crate::tune::trial::Ending;

/// How long to wait for results before looking whether the run was cancelled.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long to wait before looking for what other processes wrote, where that is waited for.
const GLANCE: Duration = Duration::from_millis(5);
/// How long to wait before looking whether other processes live, where they have open trials.
const CHECK: Duration = Duration::from_millis(200);

/// What came of a piece, or why nothing came of it.
type FoldOutcomeOf<T> = std::result::Result<T, String>;

/// A run under way.
pub(super) struct StudyRun<'a> {
    study: &'a mut Study,
    desk: &'a FoldQueue,
    limits: &'a StudyLimits,
    /// This process's number in the journal.
    own: u64,
    started: Instant,
    checked: Instant,
    /// Pieces that came before an earlier one of their trial.
    early: BTreeMap<(u64, usize), (FoldOutcomeOf<FoldResult>, f64)>,
    /// What happened and is not written down yet.
    pending: Vec<Record>,
    /// Trials that ended and the observer has not heard of yet.
    news: Vec<u64>,
    /// Whether asking is in vain until another trial ends.
    stuck: bool,
    over: bool,
}

impl<'a> StudyRun<'a> {
    pub fn new(study: &'a mut Study, desk: &'a FoldQueue, limits: &'a StudyLimits) -> Self {
        let own = study.keeper.as_ref().map_or(0, |keeper| keeper.number());
        let started = Instant::now();
        StudyRun {
            study,
            desk,
            limits,
            own,
            started,
            checked: started,
            early: BTreeMap::new(),
            pending: Vec::new(),
            news: Vec::new(),
            stuck: false,
            over: false,
        }
    }

    /// Runs to an end.
    pub fn go(mut self, observer: &mut dyn FnMut(&TuneEvent<'_>)) -> Result<StopReason> {
        observer(&self.event(StudyNews::Begin));
        let left: Vec<u64> = self.open(|worker, own| worker == own);
        left.into_iter().for_each(|id| self.take_up(id));
        loop {
            let late = self
                .limits
                .seconds
                .is_some_and(|limit| self.started.elapsed().as_secs_f64() >= limit);
            let cancelled = self.limits.budget.is_interrupted();
            if cancelled || late {
                self.desk.halt();
                self.exchange(false)?;
                return Ok(if cancelled { StopReason::Stopped } else { StopReason::Time });
            }
            self.exchange(true)?;
            self.tell(observer);
            if self.study.sequence.open_trials().next().is_none()
                && self.pending.is_empty()
                && !self.may_ask()
            {
                return Ok(if self.over { StopReason::Exhausted } else { StopReason::Trials });
            }
            for finished in self.desk.results(self.patience()) {
                self.take_in(finished);
            }
        }
    }

    /// How long to wait for results.
    fn patience(&self) -> Duration {
        match (self.pending.is_empty(), self.open(|worker, own| worker != own).is_empty()) {
            (false, _) => Duration::ZERO,
            (true, false) => GLANCE,
            (true, true) => PATIENCE,
        }
    }

    /// Open trials by who has them.
    fn open(&self, whose: impl Fn(u64, u64) -> bool) -> Vec<u64> {
        let trials = self.study.sequence.open_trials();
        trials.filter(|trial| whose(trial.worker, self.own)).map(|trial| trial.id).collect()
    }

    /// Whether there are trials to ask and asking may help.
    fn may_ask(&self) -> bool {
        !self.over && !self.stuck && self.study.sequence.len() < self.limits.trials
    }

    /// Writes down what happened, reads what others wrote, and asks for trials.
    fn exchange(&mut self, asking: bool) -> Result<()> {
        let check = asking
            && self.checked.elapsed() >= CHECK
            && !self.open(|worker, own| worker != own).is_empty();
        let first = asking && self.checked == self.started;
        let grown = self.study.keeper.as_ref().is_some_and(|keeper| keeper.has_grown());
        let due = !self.pending.is_empty() || (asking && self.may_ask()) || grown || check || first;
        if !due {
            return Ok(());
        }
        if check || first {
            self.checked = Instant::now();
        }
        let mut pending = std::mem::take(&mut self.pending);
        let mut asked = TrialRequests {
            limits: self.limits,
            own: self.own,
            trials: Vec::new(),
            stuck: false,
            over: false,
        };
        let Study { head, sequence, notes, keeper, .. } = &mut *self.study;
        match keeper {
            None if asking => drop(asked.ask(sequence, usize::MAX)),
            None => (),
            Some(keeper) => {
                let ended = keeper.exchange(head, sequence, notes, |sequence, company| {
                    if asking {
                        pending.extend(asked.take_over(sequence, company, check || first));
                        let most =
                            if company.is_alone() { usize::MAX } else { self.desk.threads() };
                        pending.extend(asked.ask(sequence, most));
                    }
                    pending
                })?;
                self.news.extend(ended);
            }
        }
        (self.stuck, self.over) = (asked.stuck, asked.over);
        asked.trials.into_iter().for_each(|id| self.take_up(id));
        Ok(())
    }

    /// Puts a trial on the desk.
    fn take_up(&mut self, id: u64) {
        let sequence = &self.study.sequence;
        let Some(trial) = sequence.trial(id) else { return };
        // The last piece of a trial may have been written and its end not.
        match sequence.verdict(id).filter(|_| !trial.pieces.is_empty()) {
            Some(ending) => self.end(id, ending, 0.0),
            None => self.desk.put(id, &trial.point, trial.pieces.len(), sequence.certain(id)),
        }
    }

    /// Takes a result in, and every result that waited for it.
    fn take_in(&mut self, finished: FoldOutcome) {
        let FoldOutcome { id, at, result, seconds } = finished;
        self.early.insert((id, at), (result, seconds));
        while let Some(trial) = self.study.sequence.trial(id).filter(|trial| trial.ending.is_none())
        {
            let at = trial.pieces.len();
            let Some((result, seconds)) = self.early.remove(&(id, at)) else { return };
            self.judge(id, at, result, seconds);
        }
        // What came of pieces that nobody needs any more.
        self.early.retain(|&(other, _), _| other != id);
    }

    /// Adds the next piece of a trial and ends the trial if that settles it.
    fn judge(&mut self, id: u64, at: usize, result: FoldOutcomeOf<FoldResult>, seconds: f64) {
        let result = result.and_then(|piece| match piece.loss.is_finite() {
            true => Ok(piece),
            false => Err(format!("the loss is {}", piece.loss)),
        });
        let piece = match result {
            Ok(piece) => piece,
            Err(reason) => return self.end(id, Ending::Failed { reason }, seconds),
        };
        self.study.sequence.add(id, at, piece.clone(), seconds);
        self.pending.push(Record::FoldResult { id, at, piece, seconds });
        match self.study.sequence.verdict(id) {
            Some(ending) => self.end(id, ending, 0.0),
            None => self.desk.go_on(id, at + 1),
        }
    }

    /// Ends a trial after so many seconds that belong to none of its pieces.
    fn end(&mut self, id: u64, ending: Ending, more: f64) {
        let seconds = self.study.sequence.trial(id).map_or(0.0, |trial| trial.seconds) + more;
        self.study.sequence.end(id, ending.clone(), seconds);
        self.desk.drop(id);
        self.pending.push(Record::Tell { id, ending, seconds });
        self.news.push(id);
        self.stuck = false;
    }

    /// Tells the observer what is new.
    fn tell(&mut self, observer: &mut dyn FnMut(&TuneEvent<'_>)) {
        let news = std::mem::take(&mut self.news);
        if news.is_empty() {
            observer(&self.event(StudyNews::Nothing));
        }
        for trial in news.iter().filter_map(|&id| self.study.sequence.trial(id)) {
            observer(&self.event(StudyNews::Trial(trial)));
        }
        // What others ended may be what asking waited for.
        self.stuck &= news.is_empty();
    }

    fn event<'n>(&self, news: StudyNews<'n>) -> TuneEvent<'n> {
        let (tally, elapsed) = (self.study.sequence.tally(), self.started.elapsed().as_secs_f64());
        TuneEvent { news, standing: StudyProgress { tally, trials: self.limits.trials, elapsed } }
    }
}

/// What one exchange asks for.
struct TrialRequests<'a> {
    limits: &'a StudyLimits,
    own: u64,
    /// Trials that are this process's from now on.
    trials: Vec<u64>,
    stuck: bool,
    over: bool,
}

impl TrialRequests<'_> {
    /// Takes open trials of processes that died.
    fn take_over(
        &mut self,
        sequence: &mut Sequence,
        company: &PeerProcesses<'_>,
        check: bool,
    ) -> Vec<Record> {
        if !check {
            return Vec::new();
        }
        let dead = sequence.open_trials().filter(|trial| !company.is_alive(trial.worker));
        let ids: Vec<u64> = dead.map(|trial| trial.id).collect();
        for &id in &ids {
            sequence.hand_over(id, self.own);
        }
        self.trials.extend(&ids);
        ids.into_iter().map(|id| Record::Take { id, worker: self.own }).collect()
    }

    /// Asks for trials as far as the limits and the outcomes allow, but for no more than `most`
    /// open ones.
    fn ask(&mut self, sequence: &mut Sequence, most: usize) -> Vec<Record> {
        let mut records = Vec::new();
        while sequence.len() < self.limits.trials {
            let open = sequence.open_trials().filter(|trial| trial.worker == self.own).count();
            let next = if open < most { sequence.ask(self.own) } else { NextTrial::Wait };
            match next {
                NextTrial::Trial(id) => {
                    self.trials.push(id);
                    let point =
                        sequence.trial(id).map(|trial| trial.point.clone()).unwrap_or_default();
                    records.push(Record::Ask { id, point, worker: self.own });
                }
                NextTrial::Wait => {
                    self.stuck = true;
                    break;
                }
                NextTrial::Over => {
                    self.over = true;
                    break;
                }
            }
        }
        records
    }
}
