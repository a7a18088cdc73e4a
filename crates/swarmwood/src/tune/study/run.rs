//! One run of a study: asks, hands out, judges, writes down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use swarmwood_learn::event::Flow;

use super::{Ended, Limits, News, Standing, Study, TuneEvent};
use crate::Result;
use crate::tune::objective::Piece;
use crate::tune::schedule::{Desk, Finished};
use crate::tune::sequence::Next;
use crate::tune::trial::Ending;

/// How long to wait for results before the listener is asked whether to go on.
const PATIENCE: Duration = Duration::from_millis(100);

/// A run under way.
pub(super) struct Run<'a> {
    study: &'a mut Study,
    desk: &'a Desk,
    limits: &'a Limits,
    started: Instant,
    /// Pieces that came before an earlier one of their trial.
    early: BTreeMap<(u64, usize), (std::result::Result<Piece, String>, f64)>,
    /// Trials that ended and were not told to the listener yet.
    news: Vec<u64>,
    over: bool,
}

impl<'a> Run<'a> {
    pub fn new(study: &'a mut Study, desk: &'a Desk, limits: &'a Limits) -> Self {
        let (early, news) = (BTreeMap::new(), Vec::new());
        Run { study, desk, limits, started: Instant::now(), early, news, over: false }
    }

    /// Runs to an end.
    pub fn go(mut self, listen: &mut dyn FnMut(&TuneEvent<'_>) -> Flow) -> Result<Ended> {
        let mut stop = listen(&self.event(News::Begin)) == Flow::Stop;
        self.take_up();
        loop {
            if stop || self.is_late() {
                self.desk.halt();
                return Ok(if stop { Ended::Stopped } else { Ended::Time });
            }
            self.ask();
            stop = self.tell(listen);
            if !stop && self.study.sequence.open_trials().next().is_none() && self.news.is_empty() {
                return Ok(if self.over { Ended::Exhausted } else { Ended::Trials });
            }
            for finished in self.desk.results(PATIENCE) {
                self.take_in(finished);
            }
        }
    }

    fn is_late(&self) -> bool {
        self.limits.seconds.is_some_and(|limit| self.started.elapsed().as_secs_f64() >= limit)
    }

    /// Puts open trials on the desk that an earlier run left behind.
    fn take_up(&mut self) {
        let open: Vec<u64> = self.study.sequence.open_trials().map(|trial| trial.id).collect();
        for id in open {
            // Its last piece may have been written and its end not.
            match self.study.sequence.verdict(id) {
                Some(ending) => self.end(id, ending),
                None => self.put(id),
            }
        }
    }

    fn end(&mut self, id: u64, ending: Ending) {
        self.study.sequence.end(id, ending);
        self.desk.drop(id);
        self.news.push(id);
    }

    fn put(&mut self, id: u64) {
        let sequence = &self.study.sequence;
        if let Some(trial) = sequence.trial(id) {
            self.desk.put(id, &trial.point, trial.pieces.len(), sequence.certain(id));
        }
    }

    /// Asks for trials as far as the limits and the outcomes allow.
    fn ask(&mut self) {
        while self.study.sequence.len() < self.limits.trials && !self.over {
            match self.study.sequence.ask(0) {
                Next::Trial(id) => self.put(id),
                Next::Wait => return,
                Next::Over => self.over = true,
            }
        }
    }

    /// Takes a result in, and every result that waited for it.
    fn take_in(&mut self, finished: Finished) {
        let Finished { id, at, result, seconds } = finished;
        self.early.insert((id, at), (result, seconds));
        while let Some(trial) = self.study.sequence.trial(id).filter(|trial| trial.ending.is_none()) {
            let at = trial.pieces.len();
            let Some((result, seconds)) = self.early.remove(&(id, at)) else { return };
            self.judge(id, at, result, seconds);
        }
        // What came of pieces that nobody needs any more.
        self.early.retain(|&(other, _), _| other != id);
    }

    /// Adds the next piece of a trial and ends the trial if that settles it.
    fn judge(&mut self, id: u64, at: usize, result: std::result::Result<Piece, String>, seconds: f64) {
        let result = result.and_then(|piece| match piece.loss.is_finite() {
            true => Ok(piece),
            false => Err(format!("the loss is {}", piece.loss)),
        });
        let sequence = &mut self.study.sequence;
        let ending = match result {
            Ok(piece) => {
                sequence.add(id, at, piece, seconds);
                sequence.verdict(id)
            }
            Err(reason) => Some(Ending::Failed { reason }),
        };
        match ending {
            Some(ending) => self.end(id, ending),
            None => self.desk.go_on(id, at + 1),
        }
    }

    /// Tells the listener what is new; whether it wants to stop.
    fn tell(&mut self, listen: &mut dyn FnMut(&TuneEvent<'_>) -> Flow) -> bool {
        let news = std::mem::take(&mut self.news);
        let mut stop = news.is_empty() && listen(&self.event(News::Nothing)) == Flow::Stop;
        for trial in news.iter().filter_map(|&id| self.study.sequence.trial(id)) {
            stop |= listen(&self.event(News::Trial(trial))) == Flow::Stop;
        }
        stop
    }

    fn event<'n>(&self, news: News<'n>) -> TuneEvent<'n> {
        let (tally, elapsed) = (self.study.sequence.tally(), self.started.elapsed().as_secs_f64());
        TuneEvent { news, standing: Standing { tally, trials: self.limits.trials, elapsed } }
    }
}
