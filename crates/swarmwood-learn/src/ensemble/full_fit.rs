//! Fits to all rows: the greedy baseline, and searches that start, stop and resume.

use swarmwood_search::Datum;

use super::candidates::{Candidate, FitMethod};
use super::fit::Ensemble;
use super::fit_state::EnsembleState;
use super::search::EnsembleSearch;
use super::{EnsembleSearchError, FitPhase, FitProgress, SearchStrategy, backfit, pairs};
use crate::budget::Budget;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::ensemble_fit::EnsembleFit;
use crate::event::{Event, SearchStatus, Stage};
use crate::greedy::{self, GreedyConfig};
use crate::stats::{BackendError, TrainingSet};

/// The key of the final fit in the task log.
const FINAL_FIT: &str = "final fit";

/// A greedy fit to all rows.
pub(super) struct Baseline {
    pub candidate: Candidate,
    pub fit: greedy::BoostingFit,
    /// Mean training loss.
    pub loss: f64,
    /// Whether all its rounds were done.
    pub complete: bool,
}

/// A candidate fitted to all rows.
pub(super) struct FullFit {
    pub ensemble: EnsembleFit,
    pub progress: FitProgress,
    /// Whether the run ended before the fit was as good as what there was before it.
    pub behind: bool,
}

/// What [`EnsembleSearch::run_fit`] is to do.
pub(super) struct FitPlan<'p> {
    /// The key of the task.
    pub key: &'static str,
    /// What it is fitted to.
    pub rows: TrainingSet<'p>,
    pub candidate: &'p Candidate,
    pub strategy: SearchStrategy,
    /// Sweeps after which the fit ends, those before a resumption included.
    pub sweeps: usize,
    /// Iterations of pair search after them.
    pub pairs: usize,
    /// The limits of this fit; its work is counted there.
    pub budget: &'p Budget,
    /// Trees that the ensemble had grown before this task.
    pub earlier_work: usize,
}

/// An ensemble after its fit, and how far it came.
pub(super) struct FitRun<'a> {
    pub ensemble: Ensemble<'a>,
    pub state: EnsembleState,
}

impl<'a> EnsembleSearch<'a> {
    /// Fits a candidate to all rows, or takes the fit that there is.
    pub(super) fn fit_to_all_rows(
        &mut self,
        candidate: &Candidate,
    ) -> Result<FullFit, EnsembleSearchError> {
        if let FitMethod::Search(strategy) = &candidate.method {
            return self.fit_search(candidate, *strategy);
        }
        self.fit_baseline(candidate)?;
        let baseline = self.baseline.take().expect("a baseline was fitted");
        let rounds = baseline.fit.rounds;
        let progress =
            FitProgress { steps: "rounds", done: rounds, planned: candidate.shape.trees };
        let behind = !baseline.complete;
        Ok(FullFit { ensemble: baseline.fit.ensemble, progress, behind })
    }

    /// Fits a greedy candidate to all rows, unless it is there already. An incomplete fit does not
    /// replace another one.
    ///
    /// The fit is not part of the task log: it takes no longer than one fold of a cross-validation.
    pub(super) fn fit_baseline(&mut self, candidate: &Candidate) -> Result<(), BackendError> {
        let known = self.baseline.as_ref();
        if known.is_some_and(|baseline| baseline.candidate == *candidate) {
            return Ok(());
        }
        let FitMethod::Greedy { rate, penalties, columns } = candidate.method else {
            unreachable!("the baseline is greedy")
        };
        let remaining = self.context.budget.remaining().unwrap_or(u64::MAX);
        let affordable = remaining >= self.trees_of(candidate);
        if known.is_some() && (!affordable || self.interrupted()) {
            return Ok(());
        }

        let budget = self.context.budget.clone().with_work_limit(remaining);
        let context = Context { budget: &budget, ..self.context };
        let config = candidate.shape.greedy_config(rate, penalties);
        let config = GreedyConfig { colsample_bytree: columns, ..config };
        let fit = greedy::train(self.set, &config, context, &mut |_| ())?;
        self.context.budget.spend(budget.spent());

        let complete = fit.rounds == candidate.shape.trees;
        if complete || known.is_none() {
            let loss = self.loss_of(&fit.ensemble.train_scores, fit.ensemble.shift);
            self.baseline = Some(Baseline { candidate: candidate.clone(), fit, loss, complete });
        }
        Ok(())
    }

    /// Fits a search to all rows, from the fallback if that is the same candidate.
    fn fit_search(
        &mut self,
        candidate: &Candidate,
        strategy: SearchStrategy,
    ) -> Result<FullFit, EnsembleSearchError> {
        let same = self.fallback.as_ref().filter(|fallback| fallback.candidate == *candidate);
        let earlier = same.map(|fallback| fallback.state.clone());
        let earlier_work = earlier.as_ref().map_or(0, |state| state.work);
        let stored = self.take_partial(FINAL_FIT)?;

        let sample = self.sample();
        let left = self.context.budget.remaining().unwrap_or(u64::MAX);
        let budget = self.context.budget.clone().with_work_limit(left);
        let done = stored.as_ref().map_or(Ok(0), |state| state.work_since(earlier_work))?;
        budget.spend(done as u64);
        let plan = FitPlan {
            key: FINAL_FIT,
            rows: self.searched_rows(sample.as_ref()),
            candidate,
            strategy,
            sweeps: strategy.sweeps,
            pairs: strategy.pairs,
            budget: &budget,
            earlier_work,
        };
        let FitRun { mut ensemble, state } = self.run_fit(&plan, stored.or(earlier))?;
        self.context.budget.spend((ensemble.work - earlier_work) as u64);
        if let Some(sample) = &sample {
            drop(ensemble);
            ensemble = self.fit_sampled_trees(candidate, &strategy, (state.clone(), sample))?;
        }
        if strategy.pairs > 0 {
            backfit::refit_jointly(&mut ensemble)?;
        }

        // A fit that was interrupted early is worth less than a fallback that came further.
        let other = self.fallback.as_ref().filter(|fallback| fallback.candidate != *candidate);
        let sweeps = state.sweeps_done(strategy.sweeps);
        let overtaken =
            other.is_some_and(|other| sweeps < other.sweeps_done().min(strategy.sweeps));
        let behind = overtaken || !ensemble.is_whole();
        let progress = if strategy.sweeps == 0 {
            let grown = ensemble.trees.len() / self.set.objective.outputs();
            FitProgress { steps: "rounds", done: grown, planned: candidate.shape.trees }
        } else if sweeps < strategy.sweeps || strategy.pairs == 0 {
            FitProgress { steps: "sweeps", done: sweeps, planned: strategy.sweeps }
        } else {
            let done = if state.phase == FitPhase::Pairs { state.done } else { 0 };
            FitProgress { steps: "pairs", done, planned: strategy.pairs }
        };
        let ensemble = EnsembleFit {
            base: ensemble.base.clone(),
            members: ensemble.members(),
            train_scores: ensemble.training_scores()?,
            valid_scores: ensemble.valid_scores()?,
            shift: ensemble.shift,
        };
        Ok(FullFit { ensemble, progress, behind })
    }

    /// The state that an earlier run stored of a task under way.
    pub(super) fn take_partial(
        &mut self,
        key: &str,
    ) -> Result<Option<EnsembleState>, EnsembleSearchError> {
        let state = self.log.take_partial(key);
        state.map(|state| self.load_state(&state)).transpose()
    }

    /// A stored state, if it fits this run.
    pub(super) fn load_state(&self, stored: &Datum) -> Result<EnsembleState, EnsembleSearchError> {
        let outputs = self.set.objective.outputs();
        let state = EnsembleState::load(stored, &self.set.data.layout, outputs)?;
        let most = self.shapes.iter().map(|shape| shape.trees).max().unwrap_or(0);
        if state.trees.len() > most.saturating_mul(outputs) {
            let message = "holds more trees than the run grows; it is damaged";
            return Err(EnsembleSearchError::State(message.to_string()));
        }
        Ok(state)
    }

    /// Starts an ensemble, or resumes it, and carries on until its sweeps and pairs are done or the
    /// budget is exhausted.
    pub(super) fn run_fit<'p>(
        &mut self,
        plan: &FitPlan<'p>,
        resumed: Option<EnsembleState>,
    ) -> Result<FitRun<'p>, BackendError>
    where
        'a: 'p,
    {
        let (weight, greedy_loss) = (weight_of(plan.rows.data), self.greedy_loss());
        let (budget, spent) = (plan.budget, self.context.budget.spent());
        let (phase, done) =
            resumed.as_ref().map_or((FitPhase::Start, 0), |state| (state.phase, state.done));
        let mut reached = (phase, done);
        let log = &mut self.log;
        let mut observer =
            |phase: FitPhase, done: usize, planned: usize, ensemble: &Ensemble<'_>| {
                let loss = ensemble.loss() / weight;
                let work = spent + (ensemble.work - plan.earlier_work) as u64;
                let event = fit_event(phase, (done, planned), loss, greedy_loss, work);
                if phase == FitPhase::Start {
                    log.notify(&event);
                } else {
                    reached = (phase, done);
                    let state = || EnsembleState::of(phase, done, ensemble).save();
                    log.notify_partial(&event, plan.key, &state);
                }
            };

        let shape = &plan.candidate.shape;
        let context = Context { budget, ..self.context };
        let mut ensemble = Ensemble::new(plan.rows, shape, &plan.strategy, context)?;
        match resumed {
            Some(state) => ensemble.resume(state)?,
            None => backfit::start(&mut ensemble, &mut observer)?,
        }

        let first_sweep = if phase == FitPhase::Pairs { plan.sweeps } else { done };
        let first_pair = if phase == FitPhase::Pairs { done } else { 0 };
        backfit::sweeps(&mut ensemble, first_sweep..plan.sweeps, &mut observer)?;
        pairs::search(&mut ensemble, shape.seed, first_pair..plan.pairs, &mut observer)?;
        let (phase, done) = match reached {
            (FitPhase::Start, _) => (FitPhase::Sweeps, 0),
            reached => reached,
        };
        let state = EnsembleState::of(phase, done, &ensemble);
        Ok(FitRun { ensemble, state })
    }

    pub(super) fn loss_of(&self, scores: &[Vec<f32>], shift: f64) -> f64 {
        let transform = |y| (self.set.objective.transform_target(y) - shift) as f32;
        let target: Vec<f32> = self.set.data.target.iter().map(transform).collect();
        let weight: Vec<f32> = self.set.data.weight.iter().map(|weight| weight as f32).collect();
        self.set.objective.loss(&scores.concat(), &target, &weight) / weight_of(self.set.data)
    }
}

/// The weight of rows.
pub(super) fn weight_of(data: &Dataset) -> f64 {
    if data.weight.is_empty() { data.rows() as f64 } else { data.weight.iter().sum() }
}

/// The event of a step of a fit to all rows.
fn fit_event(
    phase: FitPhase,
    (done, planned): (usize, usize),
    loss: f64,
    greedy_loss: Option<f64>,
    work: u64,
) -> Event {
    let stage = match phase {
        FitPhase::Start => Stage::BOOSTING,
        FitPhase::Sweeps => Stage::SWEEPS,
        FitPhase::Pairs => Stage::PAIRS,
    };
    // The start has only some of its trees: its loss is not to be compared with that of a whole
    // fit.
    let compared = greedy_loss.filter(|&greedy| greedy > 0.0 && phase != FitPhase::Start);
    let search = SearchStatus {
        measure: "loss",
        best: Some(loss),
        gain: compared.map(|greedy| 1.0 - loss / greedy),
        evaluations: work,
        ..SearchStatus::default()
    };
    Event { train: Some(loss), search: Some(search), ..Event::new(stage, done, planned) }
}
