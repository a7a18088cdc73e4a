//! The fallback: the most promising search is fitted to all rows while candidates are still being
//! compared, so that a run that is cut short ends with a searched model rather than a greedy one.
//!
//! It is fitted in two phases. As soon as one greedy candidate was cross-validated the noise is
//! known roughly, and half of the sweeps bring most of what sweeps bring. When all greedy
//! candidates were scored, the strategy has its final penalties; if they differ, the fit starts
//! anew, and all sweeps are done. If that candidate wins in the end, the final fit continues from
//! here and no work is lost: the model of an uninterrupted run is the same as without a fallback.

use swarmwood_search::Datum;

use super::candidates::{Candidate, FitMethod};
use super::cross_validation::FOLDS;
use super::fit_state::EnsembleState;
use super::full_fit::{FitPlan, FitRun, weight_of};
use super::search::EnsembleSearch;
use super::{EnsembleSearchError, SearchStrategy};

/// A search fitted to all rows before the candidates are compared.
pub struct Fallback {
    pub candidate: Candidate,
    /// Mean training loss.
    pub loss: f64,
    /// Its trees, and how far it came.
    pub state: EnsembleState,
}

impl Fallback {
    /// Sweeps that are done.
    pub fn sweeps_done(&self) -> usize {
        let FitMethod::Search(SearchStrategy { sweeps, .. }) = self.candidate.method else {
            return 0;
        };
        self.state.sweeps_done(sweeps)
    }
}

/// When the fallback is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackPhase {
    /// After one greedy candidate: the noise is known roughly.
    Rough,
    /// After all greedy candidates: the penalties are final.
    Exact,
}

impl FallbackPhase {
    /// The key in the task log.
    fn key(self) -> &'static str {
        match self {
            FallbackPhase::Rough => "rough fallback",
            FallbackPhase::Exact => "exact fallback",
        }
    }
}

impl EnsembleSearch<'_> {
    /// Fits the fallback, or goes on with it.
    pub(super) fn fit_fallback(&mut self, phase: FallbackPhase) -> Result<(), EnsembleSearchError> {
        // Where few folds are compared, a second fit to all rows would be too large a share of the
        // run.
        let all_folds = self.folds.len() >= FOLDS;
        if self.folds.is_empty() || !all_folds && phase == FallbackPhase::Exact {
            return Ok(());
        }
        let candidate = self.most_promising();
        let FitMethod::Search(strategy) = candidate.method else { return Ok(()) };
        let earlier = self.fallback.as_ref().filter(|fallback| fallback.candidate == candidate);
        let earlier = earlier.map(|fallback| fallback.state.clone());
        let disposable = self.disposable_work().unwrap_or(u64::MAX);
        let needed = if earlier.is_some() { 1 } else { self.trees_of(&candidate) };
        // A run that had too little work left did not store the fallback, and may have stored what
        // came after it.
        if disposable < needed {
            return Ok(());
        }
        if let Some((result, work)) = self.log.recall(phase.key())? {
            self.context.budget.spend(work);
            return self.load_fallback(candidate, &result);
        }
        if self.interrupted() {
            return Ok(());
        }

        let earlier_work = earlier.as_ref().map_or(0, |state| state.work);
        let stored = self.take_partial(phase.key())?;
        let budget = self.context.budget.clone().with_work_limit(disposable);
        let done = stored.as_ref().map_or(Ok(0), |state| state.work_since(earlier_work))?;
        budget.spend(done as u64);
        let sweeps = match (phase, all_folds) {
            (FallbackPhase::Exact, _) => strategy.sweeps,
            (FallbackPhase::Rough, true) => strategy.sweeps.div_ceil(2),
            (FallbackPhase::Rough, false) => strategy.sweeps.div_ceil(4),
        };
        let sample = self.sample();
        let rows = self.searched_rows(sample.as_ref());
        let plan = FitPlan {
            key: phase.key(),
            rows,
            candidate: &candidate,
            strategy,
            sweeps,
            pairs: 0,
            budget: &budget,
            earlier_work,
        };
        let anew = earlier.is_none();
        let FitRun { ensemble, state } = self.run_fit(&plan, stored.or(earlier))?;
        let work = (ensemble.work - earlier_work) as u64;
        self.context.budget.spend(work);

        // A start without a sweep is no better than the sweeps before.
        let better = self.fallback.is_none() || !anew || state.done > 0;
        let loss = ensemble.loss() / weight_of(rows.data);
        let usable = ensemble.is_whole() && better;
        drop(ensemble);
        let fallback = usable.then_some(Fallback { candidate, loss, state });
        if !self.interrupted() {
            self.log.record(phase.key(), work, save(fallback.as_ref()));
        }
        if fallback.is_some() {
            self.fallback = fallback;
        }
        Ok(())
    }

    /// Takes over the fallback of an earlier run.
    fn load_fallback(
        &mut self,
        candidate: Candidate,
        stored: &Datum,
    ) -> Result<(), EnsembleSearchError> {
        if let [loss, state] = stored.list()? {
            let loss = loss.real()?;
            let state = self.load_state(state)?;
            self.fallback = Some(Fallback { candidate, loss, state });
        }
        Ok(())
    }
}

/// A fallback as plain data; nothing if the one before it stays.
fn save(fallback: Option<&Fallback>) -> Datum {
    let fields = |fallback: &Fallback| vec![Datum::Real(fallback.loss), fallback.state.save()];
    Datum::List(fallback.map(fields).unwrap_or_default())
}
