//! The sequence of trials: which configuration comes next, and from which outcomes that is known.
//!
//! Trial `t` is asked when the outcomes of trials `0..=t - lag` are known, and the engine has been
//! told these and no others, in order. If it waits for more, it is told the next one, and so on. So
//! a trial's configuration follows from the outcomes of certain trials before it and not from who
//! was faster: any number of threads and processes, and a run that goes on after a kill, walk
//! through the same sequence. Every process that works on a study keeps the whole sequence and asks
//! its own engine for every trial, its own or not.

use swarmwood_search::{Engine, Point, TrialResult};

use super::head::StudyHeader;
use super::objective::FoldResult;
use super::race::{self, Rival, Verdict};
use super::trial::{Ending, TrialRecord};

/// The trials of a study and the engine that proposes them.
pub struct Sequence {
    engine: Box<dyn Engine>,
    lag: usize,
    pieces: usize,
    race: bool,
    trials: Vec<TrialEntry>,
    /// How many trials the engine knows the outcomes of: the first ones.
    told: usize,
    /// What it had been told when it had nothing to ask.
    vain: Option<usize>,
    /// The best whole trial among those told.
    best: Option<(u64, f64)>,
    tally: StudyTally,
}

/// Counts over a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StudyTally {
    /// Trials that ended.
    pub ended: usize,
    /// Trials of these that failed.
    pub failed: usize,
    /// Trials of these that racing cut short.
    pub raced: usize,
    /// Pieces that were evaluated.
    pub pieces: usize,
    /// Pieces that racing spared.
    pub spared: usize,
    /// The best whole trial and its loss.
    pub best: Option<(u64, f64)>,
}

struct TrialEntry {
    record: TrialRecord,
    /// The engine's own number for it.
    known_as: u64,
    /// The trial it races against, the best whole one when it was asked, and how much differences
    /// to it scatter.
    rival: Option<(u64, f64)>,
}

/// What comes of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTrial {
    /// A new open trial.
    Trial(u64),
    /// More outcomes are needed first.
    Wait,
    /// The engine has nothing more to ask.
    Over,
}

impl Sequence {
    /// An empty sequence.
    pub fn new(head: &StudyHeader, engine: Box<dyn Engine>) -> Self {
        Sequence {
            engine,
            lag: head.lag.max(1),
            pieces: head.pieces.max(1),
            race: head.race,
            trials: Vec::new(),
            told: 0,
            vain: None,
            best: None,
            tally: StudyTally::default(),
        }
    }

    /// The next trial, if the outcomes it follows from are known.
    pub fn ask(&mut self, worker: u64) -> NextTrial {
        let id = self.trials.len();
        let mut due = (id + 1).saturating_sub(self.lag);
        loop {
            while self.told < due {
                if !self.tell_next() {
                    return NextTrial::Wait;
                }
            }
            // An engine is asked once for each state of knowledge.
            if self.vain != Some(self.told) {
                if let Some(trial) = self.engine.ask(1).pop() {
                    self.push(trial.point, trial.id, worker);
                    return NextTrial::Trial(id as u64);
                }
                self.vain = Some(self.told);
            }
            if self.told == id {
                return NextTrial::Over;
            }
            due = self.told + 1;
        }
    }

    fn push(&mut self, point: Point, known_as: u64, worker: u64) {
        let id = self.trials.len() as u64;
        let record =
            TrialRecord { id, point, worker, pieces: Vec::new(), ending: None, seconds: 0.0 };
        let rival =
            self.best.filter(|_| self.race).and_then(|(best, _)| Some((best, self.noise(best)?)));
        self.trials.push(TrialEntry { record, known_as, rival });
    }

    /// How much differences to a trial scatter from piece to piece, as far as the engine knows
    /// outcomes: not by who was faster.
    fn noise(&self, rival: u64) -> Option<f64> {
        let known = self.trials[..self.told].iter().map(|entry| &entry.record);
        let others = known.filter(|trial| {
            trial.id != rival && trial.ending.as_ref().is_some_and(|end| end.loss().is_some())
        });
        let others: Vec<Vec<f64>> = others.map(losses).collect();
        race::noise(&losses(self.trial(rival)?), others.iter().map(Vec::as_slice))
    }

    /// Tells the engine the outcome of the first trial it does not know; false if it is open.
    fn tell_next(&mut self) -> bool {
        let Some(entry) = self.trials.get(self.told) else { return false };
        let Some(ending) = &entry.record.ending else { return false };
        let id = entry.known_as;
        self.engine.tell(&[ending
            .loss()
            .map_or(TrialResult::Failed { id }, |loss| TrialResult::Complete { id, loss })]);
        if let Some(loss) = entry.record.whole()
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

    /// The open trials, in order. All trials before those that the engine knows have ended.
    pub fn open_trials(&self) -> impl Iterator<Item = &TrialRecord> {
        self.trials[self.told..]
            .iter()
            .map(|entry| &entry.record)
            .filter(|trial| trial.ending.is_none())
    }

    /// A trial.
    pub fn trial(&self, id: u64) -> Option<&TrialRecord> {
        self.trials.get(usize::try_from(id).ok()?).map(|entry| &entry.record)
    }

    /// An open trial, to write down what came of it.
    fn open(&mut self, id: u64) -> Option<&mut TrialRecord> {
        let entry = self.trials.get_mut(usize::try_from(id).ok()?)?;
        entry.record.ending.is_none().then_some(&mut entry.record)
    }

    /// Gives an open trial to another process; false if there is no such trial.
    pub fn hand_over(&mut self, id: u64, worker: u64) -> bool {
        self.open(id).map(|trial| trial.worker = worker).is_some()
    }

    /// Adds the next piece of an open trial; false if it is not the next.
    pub fn add(&mut self, id: u64, at: usize, piece: FoldResult, seconds: f64) -> bool {
        let most = self.pieces;
        let Some(trial) = self.open(id).filter(|trial| trial.pieces.len() == at && at < most)
        else {
            return false;
        };
        trial.pieces.push(piece);
        trial.seconds += seconds;
        self.tally.pieces += 1;
        true
    }

    /// Ends an open trial that took so many seconds in all; false if there is no such trial.
    pub fn end(&mut self, id: u64, ending: Ending, seconds: f64) -> bool {
        let most = self.pieces;
        let Some(trial) = self.open(id) else { return false };
        trial.ending = Some(ending);
        trial.seconds = seconds;
        let (whole, left) = (trial.whole(), most - trial.pieces.len());
        let (failed, raced) = match &trial.ending {
            Some(Ending::Failed { .. }) => (1, 0),
            Some(Ending::Raced { .. }) => (0, 1),
            _ => (0, 0),
        };
        let tally = &mut self.tally;
        tally.ended += 1;
        tally.failed += failed;
        tally.raced += raced;
        tally.spared += raced * left;
        if let Some(loss) = whole
            && tally.best.is_none_or(|(best, least)| (loss, id) < (least, best))
        {
            tally.best = Some((id, loss));
        }
        true
    }

    /// How the sequence stands.
    pub fn tally(&self) -> StudyTally {
        self.tally
    }

    /// How an open trial ends by its pieces so far; `None` if more pieces are needed.
    pub fn verdict(&self, id: u64) -> Option<Ending> {
        let entry = self.trials.get(usize::try_from(id).ok()?)?;
        let rival =
            entry.rival.and_then(|(rival, noise)| Some((losses(self.trial(rival)?), noise)));
        let rival = rival.as_ref().map(|(losses, noise)| Rival { losses, noise: *noise });
        match race::judge(&losses(&entry.record), rival, self.pieces) {
            Verdict::GoOn => None,
            Verdict::Behind { loss } => Some(Ending::Raced { loss }),
            Verdict::Whole { loss } => Some(Ending::Whole { loss }),
        }
    }

    /// Pieces of a trial that are needed whatever their losses are.
    pub fn certain(&self, id: u64) -> usize {
        let races = usize::try_from(id)
            .ok()
            .and_then(|id| self.trials.get(id))
            .is_some_and(|e| e.rival.is_some());
        if races { 1 } else { self.pieces }
    }
}

/// The losses of a trial's pieces.
fn losses(trial: &TrialRecord) -> Vec<f64> {
    trial.pieces.iter().map(|piece| piece.loss).collect()
}
