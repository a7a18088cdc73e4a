//! The fit in hand: the likeliest search arm is fitted to all rows while candidates are still being
//! compared, so that a run that is cut short ends with a searched model, not with a greedy one.
//!
//! It is begun twice at most. As soon as one greedy fit was cross-validated the noise is known
//! roughly; that fit is scored only when the search is in hand. Half of the sweeps bring most of
//! what sweeps bring. When all greedy fits were judged, the arm has its final penalties; if they
//! are others, the fit begins anew and does all sweeps. If that arm wins in the end, the final fit
//! goes on from here and nothing was lost: the choice and what comes out of a whole run are the
//! same as without a fit in hand.

use super::choose::Choosing;
use super::ensemble::Ensemble;
use super::folds::FOLDS;
use super::menu::{self, Candidate, Way};
use super::state::{Flight, InHand};
use super::{Progress, Stage, backfit};
use crate::event::Flow;
use crate::stats::{BackendError, TrainingSet};

/// Below this many rows all greedy trees are grown in some hundredths of a second.
const QUICK_ROWS: usize = 100_000;

/// A fit to all rows.
pub struct Held {
    /// What is fitted.
    pub candidate: Candidate,
    /// Its mean training loss.
    pub loss: f64,
    /// Its trees, and how far it has come.
    pub flight: Flight,
    /// Whether its penalties are the ones that the menu has in the end.
    exact: bool,
    /// Trees grown for what it took the place of, and to compare it with.
    spent: usize,
}

impl Held {
    /// What an interrupted run needs of it.
    pub fn stored(&self) -> InHand {
        InHand { exact: self.exact, spent: self.spent, flight: self.flight.clone() }
    }
}

/// Where a fit begins.
struct Begin {
    flight: Option<Flight>,
    spent: usize,
}

impl Choosing<'_> {
    /// Takes a fit in hand, or goes on with it. `exact` says whether all greedy candidates have
    /// told the noise.
    pub(super) fn hold(
        &mut self,
        exact: bool,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<(), BackendError> {
        let past = self.past.held.take_if(|past| past.exact == exact);
        // Where few folds are compared, a second fit to all rows would cost too large a share of
        // the run.
        let all_folds = self.folds.len() == FOLDS;
        let wanted = !self.folds.is_empty()
            && !self.is_over()
            && (all_folds || !exact)
            && self.past.held.is_none();
        if past.is_none() && !wanted {
            return Ok(());
        }
        let candidate = menu::likeliest(&self.settings.frames[0], &self.facts);
        let Way::Search(arm) = candidate.way else { return Ok(()) };
        let sweeps = match (exact, all_folds) {
            (true, _) => arm.sweeps,
            (false, true) => arm.sweeps.div_ceil(2),
            (false, false) => arm.sweeps.div_ceil(4),
        };
        let before = self.held.take();
        let others = self.work - before.as_ref().map_or(0, |held| held.spent + held.flight.work);
        // Of few rows the search comes first: what to measure it by is then grown as soon as it is
        // in hand.
        let later = !exact && self.data.rows() < QUICK_ROWS;
        let boosted = if later { self.owed() } else { self.boost()? };
        let begin = match (past, &before) {
            // The trees of the greedy fit were counted the first time.
            (Some(past), _) => Begin { flight: Some(past.flight), spent: past.spent },
            (None, Some(held)) if held.candidate == candidate => {
                Begin { flight: Some(held.flight.clone()), spent: held.spent + boosted }
            }
            (None, Some(held)) => {
                Begin { flight: None, spent: held.spent + held.flight.work + boosted }
            }
            (None, None) => Begin { flight: None, spent: boosted },
        };
        let anew = begin.flight.is_none();
        let mut held = Held {
            candidate,
            loss: f64::NAN,
            flight: Flight::nothing(),
            exact,
            spent: begin.spent,
        };
        let flow =
            self.sweep_on(&mut held, begin.flight, sweeps, before.as_ref(), others, watch)?;
        self.stopped |= flow == Flow::Stop;
        self.boost()?;
        self.work = others + held.spent + held.flight.work;
        let cut = self.pool.hurried() && held.flight.trees.len() < self.trees_of(&held.candidate);
        self.held = match before {
            // A part of a start is worth nothing.
            None if cut => None,
            // A start without a sweep is not better than the sweeps before.
            Some(before) if anew && held.flight.done == 0 => {
                Some(Held { spent: held.spent + held.flight.work - before.flight.work, ..before })
            }
            _ => Some(held),
        };
        Ok(())
    }

    /// Starts the fit, or takes it up where it was, and does sweeps until so many are done.
    fn sweep_on(
        &self,
        held: &mut Held,
        begin: Option<Flight>,
        sweeps: usize,
        before: Option<&Held>,
        others: usize,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Flow, BackendError> {
        let Way::Search(arm) = held.candidate.way else { return Ok(Flow::Continue) };
        let (weight, budget, greedy_loss) =
            (self.weight(), self.settings.budget, self.greedy_loss());
        let (exact, spent) = (held.exact, held.spent);
        let from = begin.as_ref().map_or(0, |flight| flight.done);
        let mut done = from;
        let mut tell = |stage, step, of, ensemble: &Ensemble<'_>| {
            let work = others + spent + ensemble.work;
            if stage == Stage::Sweeps {
                done = step;
            }
            let state = || {
                let now = || InHand { exact, spent, flight: Flight::of(stage, step, ensemble) };
                let stored =
                    if stage == Stage::Start { before.map(Held::stored) } else { Some(now()) };
                self.state(stored, None)
            };
            let loss = ensemble.loss() / weight;
            let gain = (greedy_loss > 0.0).then_some(1.0 - loss / greedy_loss);
            let loss = Some(loss);
            let flow = watch(&Progress {
                stage,
                done: step,
                of,
                loss,
                best: None,
                gain,
                work,
                state: &state,
            });
            if budget > 0 && work >= budget || (self.halt)() { Flow::Stop } else { flow }
        };
        let set = TrainingSet { valid: None, ..self.set };
        let mut ensemble = Ensemble::new(set, &held.candidate.frame, &arm, self.context)?;
        let mut flow = Flow::Continue;
        match begin {
            Some(flight) => ensemble.resume(flight)?,
            None => flow = backfit::start(&mut ensemble, &mut tell)?,
        }
        if flow == Flow::Continue {
            flow = backfit::sweeps(&mut ensemble, from..sweeps, &mut tell)?;
        }
        held.loss = ensemble.loss() / weight;
        held.flight = Flight::of(Stage::Sweeps, done, &ensemble);
        Ok(flow)
    }
}
