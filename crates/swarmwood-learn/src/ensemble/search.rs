//! The plan of the search: candidates are cross-validated, the best one is fitted to all rows.
//!
//! Work is counted in trees grown. A work limit is kept by beginning a task only if the most that
//! it can cost is left, with enough in reserve for a greedy fit to all rows; what a limited run
//! does follows from counts alone, so that it is the same for any number of threads and after any
//! resumption.

use swarmwood_model::{Link, Shape};
use swarmwood_search::Datum;

use super::candidates::{self, Candidate, DataProfile, FitMethod};
use super::cross_validation::{self, CvFold};
use super::fallback::{Fallback, FallbackPhase};
use super::full_fit::Baseline;
use super::out_of_fold::OutOfFold;
use super::{
    CandidateScore, EnsembleSearchConfig, EnsembleSearchError, EnsembleSearchFit,
    EnsembleSearchReport, EnsembleShape,
};
use crate::context::Context;
use crate::ensemble_fit::EnsembleFit;
use crate::event::{Event, SearchStatus, Stage};
use crate::objective::Curvature;
use crate::plan::{Task, TaskLog, TaskRows, run_tasks};
use crate::pool::Pool;
use crate::stats::{BackendError, BackendOptions, Client, TrainingSet};

/// A search must beat the best greedy fit by this share of its loss; for classes by nothing.
const MARGIN: f64 = 0.01;

/// Below this many rows nothing is cross-validated.
const LEAST_ROWS: usize = 20;

/// Candidates that are cross-validated together. Fixed, so that the plan does not depend on the
/// number of threads.
const BATCH: usize = 2;

/// The name of cross-validated scores in events.
const SCORE: &str = "cross-validated score";

pub(super) struct EnsembleSearch<'a> {
    pub(super) set: TrainingSet<'a>,
    pub(super) config: &'a EnsembleSearchConfig,
    pub(super) context: Context<'a>,
    single_thread: Pool,
    pub(super) folds: Vec<CvFold>,
    pub(super) profile: DataProfile,
    scored: Vec<ScoredCandidate>,
    /// Candidates that are to be cross-validated in all.
    planned: usize,
    /// A greedy candidate fitted to all rows: the baseline of the search, and the first model there
    /// is.
    pub(super) baseline: Option<Baseline>,
    /// A search fitted to all rows before the choice is made.
    pub(super) fallback: Option<Fallback>,
    pub(super) log: TaskLog<'a>,
    /// Whether a part of the plan was left out.
    cut_short: bool,
}

/// A candidate with the result of its cross-validation; not a number where there is none.
#[derive(Debug, Clone)]
struct ScoredCandidate {
    candidate: Candidate,
    score: f64,
    factor: f64,
    /// Mean squared error of the prediction.
    squares: f64,
}

impl ScoredCandidate {
    fn unscored(candidate: Candidate) -> Self {
        ScoredCandidate { candidate, score: f64::NAN, factor: 1.0, squares: f64::NAN }
    }

    fn is_search(&self) -> bool {
        matches!(self.candidate.method, FitMethod::Search(_))
    }

    fn save(&self) -> Datum {
        Datum::List([self.score, self.factor, self.squares].map(Datum::Real).to_vec())
    }

    fn load(candidate: Candidate, datum: &Datum) -> Result<Self, EnsembleSearchError> {
        let [score, factor, squares] = datum.tuple()?;
        Ok(ScoredCandidate {
            candidate,
            score: score.real()?,
            factor: factor.real()?,
            squares: squares.real()?,
        })
    }
}

impl<'a> EnsembleSearch<'a> {
    pub(super) fn new(
        set: TrainingSet<'a>,
        config: &'a EnsembleSearchConfig,
        context: Context<'a>,
        log: TaskLog<'a>,
    ) -> Result<Self, EnsembleSearchError> {
        let classes = matches!(set.objective.link(), Link::Sigmoid | Link::Softmax);
        let rows = set.data.rows();
        let memory = config.shapes[0].memory;
        let options = BackendOptions { memory, keep_derivatives: false };
        let training_rows = TrainingSet { valid: None, ..set };
        let hessians = Client::open(training_rows, options, context)?.hessians()?;
        let hessian = hessians.first().copied().unwrap_or(0.0) / rows as f64;

        Ok(EnsembleSearch {
            set,
            config,
            context,
            single_thread: Pool::new(1).map_err(EnsembleSearchError::Threads)?,
            folds: Vec::new(),
            profile: DataProfile { classes, rows, hessian, noise: 1.0, dispersion: 1.0 },
            scored: Vec::new(),
            planned: 0,
            baseline: None,
            fallback: None,
            log,
            cut_short: false,
        })
    }

    /// Carries out the plan.
    pub(super) fn run(mut self) -> Result<EnsembleSearchFit, EnsembleSearchError> {
        let shape = self.config.shapes[0];
        if self.set.data.rows() < LEAST_ROWS {
            // Too few rows to hold any out: one greedy fit is all there is to do.
            self.fit_baseline(&candidates::default_greedy(&shape))?;
            return self.finish();
        }

        // A greedy fit to all rows comes first: from then on the run has a model to end with.
        let greedy = candidates::greedy_candidates(&shape, &self.profile);
        self.fit_baseline(&greedy[0])?;
        self.folds =
            cross_validation::split(self.set.data, self.profile.classes, shape.seed, self.context);
        self.planned = self.count_candidates(greedy.len());

        // The first candidate tells the noise roughly: enough for a search, should there be no time
        // for more.
        self.cross_validate(&greedy[..1])?;
        self.estimate_noise()?;
        self.fit_fallback(FallbackPhase::Rough)?;

        self.cross_validate(&greedy[1..])?;
        self.estimate_noise()?;
        self.cross_validate(&[candidates::priced_greedy(&shape, &self.profile)])?;
        self.fit_fallback(FallbackPhase::Exact)?;

        let strategies = self.strategies_of_best_shape()?;
        self.cross_validate(&strategies)?;
        self.finish()
    }

    /// How many candidates the plan has.
    fn count_candidates(&self, greedy: usize) -> usize {
        let strategies = candidates::search_candidates(&self.config.shapes[0], &self.profile).len();
        // Of several shapes, each has its first strategy compared; the others follow for the best
        // shape.
        greedy + 1 + strategies + self.config.shapes.len() - 1
    }

    /// The search strategies that are still to be compared, for the shape whose first strategy does
    /// best.
    fn strategies_of_best_shape(&mut self) -> Result<Vec<Candidate>, EnsembleSearchError> {
        let shape = self.config.shapes[0];
        if self.config.shapes.len() == 1 {
            return Ok(candidates::search_candidates(&shape, &self.profile));
        }

        let first = |shape: &EnsembleShape| {
            candidates::search_candidates(shape, &self.profile).swap_remove(0)
        };
        let first_of_each: Vec<Candidate> = self.config.shapes.iter().map(first).collect();
        let from = self.scored.len();
        self.cross_validate(&first_of_each)?;

        let best = best_of(&self.scored[from..]).map_or(shape, |scored| scored.candidate.shape);
        let rest = candidates::search_candidates(&best, &self.profile).split_off(1);
        self.planned = self.scored.len().max(from + first_of_each.len()) + rest.len();
        Ok(rest)
    }

    /// Trees of a whole fit of a candidate, those of all outputs.
    pub(super) fn trees_of(&self, candidate: &Candidate) -> u64 {
        candidate.trees(self.set.objective)
    }

    /// Work that may be begun now: what is left, less what a greedy fit to all rows takes; `None`
    /// without a limit.
    pub(super) fn disposable_work(&self) -> Option<u64> {
        let reserve = self.config.shapes[0].trees as u64 * self.set.objective.outputs() as u64;
        self.context.budget.remaining().map(|left| left.saturating_sub(reserve))
    }

    /// The most trees that the cross-validation of a candidate can grow.
    fn most_work(&self, candidate: &Candidate) -> u64 {
        let fits = match &candidate.method {
            FitMethod::Constant => 0,
            FitMethod::Greedy { .. } => 1,
            FitMethod::Search(strategy) => 1 + strategy.sweeps as u64,
        };
        fits * self.folds.len() as u64 * self.trees_of(candidate)
    }

    /// Cross-validates candidates, as many as the budget allows, and remembers their scores.
    fn cross_validate(&mut self, candidates: &[Candidate]) -> Result<(), EnsembleSearchError> {
        let mut rest = candidates;
        while !rest.is_empty() {
            let key = self.key_of(&rest[0]);
            if let Some((result, work)) = self.log.recall(&key)? {
                self.context.budget.spend(work);
                self.scored.push(ScoredCandidate::load(rest[0].clone(), &result)?);
                rest = &rest[1..];
                continue;
            }

            let batch = &rest[..self.affordable(rest)];
            let results = if batch.is_empty() { None } else { self.score_candidates(batch)? };
            let Some(results) = results else {
                self.cut_short = true;
                return Ok(());
            };
            for (scored, work) in results {
                self.context.budget.spend(work);
                let key = self.key_of(&scored.candidate);
                self.log.record(&key, work, scored.save());
                self.scored.push(scored);
                self.notify_compared();
            }
            rest = &rest[batch.len()..];
        }
        Ok(())
    }

    /// The key of the next candidate's cross-validation.
    fn key_of(&self, candidate: &Candidate) -> String {
        format!("cross-validation {}: {}", self.scored.len(), candidate.name)
    }

    /// How many of the next candidates can be cross-validated together.
    fn affordable(&self, candidates: &[Candidate]) -> usize {
        if self.folds.is_empty() || self.context.budget.is_exhausted() {
            return 0;
        }
        let mut cost = 0;
        let fits = |candidate: &&Candidate| {
            cost += self.most_work(candidate);
            self.disposable_work().is_none_or(|left| cost <= left)
        };
        candidates.iter().take(BATCH).take_while(fits).count()
    }

    /// Tells how candidates compare.
    fn notify_compared(&mut self) {
        let search = SearchStatus {
            measure: SCORE,
            best: best_of(&self.scored).map(|scored| scored.score),
            evaluations: self.context.budget.spent(),
            ..SearchStatus::default()
        };
        let event = Event::new(Stage::COMPARING, self.scored.len(), self.planned);
        self.log.notify(&Event { search: Some(search), ..event });
    }

    /// The cross-validated scores of candidates and the trees that they took; `None` if the run is
    /// interrupted.
    fn score_candidates(
        &self,
        candidates: &[Candidate],
    ) -> Result<Option<Vec<(ScoredCandidate, u64)>>, BackendError> {
        let Some(predictions) = self.predict_held_out(candidates)? else { return Ok(None) };
        let score = |(candidate, (held_out, work)): (&Candidate, (OutOfFold, u64))| {
            let (factor, score) = self.score(&held_out)?;
            let squares = held_out.squares / held_out.weights();
            let scored = ScoredCandidate { candidate: candidate.clone(), score, factor, squares };
            Some((scored, work))
        };
        Ok(candidates.iter().zip(predictions).map(score).collect())
    }

    /// Out-of-fold predictions of candidates, and the trees that each grew; `None` if the run is
    /// interrupted.
    fn predict_held_out(
        &self,
        candidates: &[Candidate],
    ) -> Result<Option<Vec<(OutOfFold, u64)>>, BackendError> {
        let tasks = Task::cross_validation(candidates.len(), self.folds.len());
        let on_one_thread = Context { pool: &self.single_thread, ..self.context };
        let (folds, set) = (&self.folds, self.set);
        let predictions = run_tasks(self.context, &tasks, |task| {
            let TaskRows::Fold(fold) = task.rows else { unreachable!("all tasks have a fold") };
            let candidate = &candidates[task.candidate];
            cross_validation::fit_fold(&folds[fold], candidate, set, on_one_thread)
        });
        let Some(predictions) = predictions else { return Ok(None) };

        let mut merged: Vec<(OutOfFold, u64)> = vec![Default::default(); candidates.len()];
        for (task, prediction) in tasks.iter().zip(predictions) {
            let prediction = prediction?;
            let (held_out, work) = &mut merged[task.candidate];
            held_out.append(prediction.held_out);
            *work += prediction.work;
        }
        Ok(Some(merged))
    }

    /// The calibrating factor and the score; `None` if the run is interrupted.
    fn score(&self, held_out: &OutOfFold) -> Option<(f64, f64)> {
        if self.profile.classes {
            return held_out.calibrated(self.set.objective.link(), self.context);
        }
        Some((1.0, held_out.loss / held_out.weights()))
    }

    /// Estimates noise and dispersion from the best greedy candidate and the best constant.
    fn estimate_noise(&mut self) -> Result<(), BackendError> {
        let Some(best) = best_of(&self.scored) else { return Ok(()) };
        let constant = Candidate { method: FitMethod::Constant, ..best.candidate.clone() };
        let left = best.squares;
        let Some(mut predictions) = self.predict_held_out(&[constant])? else { return Ok(()) };

        let (constant, _) = predictions.swap_remove(0);
        let all = constant.squares / constant.weights();
        self.profile.noise = if all > 0.0 { (left / all).clamp(1e-4, 1.0) } else { 1.0 };
        let quadratic = self.set.objective.constant_hessian()
            && self.set.objective.curvature() == Curvature::Exact;
        self.profile.dispersion = if quadratic { left * self.profile.hessian } else { 1.0 };
        Ok(())
    }

    /// The best greedy candidate; the one fitted to all rows where none was scored.
    fn best_greedy(&self) -> ScoredCandidate {
        let greedy = self.scored.iter().filter(|scored| !scored.is_search());
        let best = greedy.min_by(|a, b| a.score.total_cmp(&b.score)).cloned();
        best.unwrap_or_else(|| {
            let default = || candidates::default_greedy(&self.config.shapes[0]);
            let fitted = self.baseline.as_ref().map(|baseline| baseline.candidate.clone());
            ScoredCandidate::unscored(fitted.unwrap_or_else(default))
        })
    }

    /// A candidate with its score, if it has one.
    fn scored(&self, candidate: &Candidate) -> ScoredCandidate {
        let known = self.scored.iter().find(|scored| scored.candidate == *candidate);
        known.cloned().unwrap_or_else(|| ScoredCandidate::unscored(candidate.clone()))
    }

    /// Whether the cross-validated score of a search is better than that of a greedy candidate.
    fn beats(&self, search: &ScoredCandidate, greedy: &ScoredCandidate) -> bool {
        let margin = if self.profile.classes { 0.0 } else { MARGIN };
        search.score < greedy.score - margin * greedy.score.abs()
    }

    /// The winner of the comparison: the best search if it beats the best greedy candidate, else
    /// that.
    fn winner(&self, greedy: &ScoredCandidate) -> ScoredCandidate {
        let search = self.scored.iter().filter(|scored| scored.is_search());
        let search = search.min_by(|a, b| a.score.total_cmp(&b.score));
        search.filter(|search| self.beats(search, greedy)).unwrap_or(greedy).clone()
    }

    /// The best of the candidates that are fitted to all rows already, for a run that has no time
    /// to fit the winner.
    fn best_fitted(&self, greedy: &ScoredCandidate) -> ScoredCandidate {
        let baseline = self.baseline.as_ref();
        if let Some(fallback) = &self.fallback {
            let scored = self.scored(&fallback.candidate);
            let better = match self.greedy_loss() {
                Some(_) if !scored.score.is_nan() => self.beats(&scored, greedy),
                // Without a score, the training loss is all there is to compare.
                Some(loss) => fallback.loss < loss,
                None => true,
            };
            if better {
                return scored;
            }
        }
        baseline.map_or_else(|| greedy.clone(), |baseline| self.scored(&baseline.candidate))
    }

    /// Fits the winner to all rows and reports.
    fn finish(mut self) -> Result<EnsembleSearchFit, EnsembleSearchError> {
        let greedy = self.best_greedy();
        self.fit_baseline(&greedy.candidate)?;
        let greedy_loss = self
            .baseline
            .as_ref()
            .filter(|baseline| baseline.complete && baseline.candidate == greedy.candidate)
            .map(|baseline| baseline.loss);

        let best = self.winner(&greedy);
        // An incomplete comparison does not rule out the fallback, which it may not have come to.
        let undecided = self.cut_short && !best.is_search();
        let ended = self.context.budget.is_exhausted();
        let mut chosen = if ended || undecided { self.best_fitted(&greedy) } else { best.clone() };
        let mut fit = self.fit_to_all_rows(&chosen.candidate)?;
        if fit.behind {
            let instead = self.best_fitted(&greedy);
            if instead.candidate != chosen.candidate {
                fit = self.fit_to_all_rows(&instead.candidate)?;
                chosen = instead;
            }
        }

        let gain = Some(1.0 - chosen.score / greedy.score).filter(|gain| gain.is_finite());
        let score = |scored: &ScoredCandidate| CandidateScore {
            name: scored.candidate.name.clone(),
            score: scored.score,
        };
        let report = EnsembleSearchReport {
            chosen: chosen.candidate.name.clone(),
            searched: chosen.is_search(),
            shape: chosen.candidate.shape,
            candidates: self.scored.iter().map(score).collect(),
            planned: self.planned,
            progress: fit.progress,
            finished: !self.cut_short
                && chosen.candidate == best.candidate
                && fit.progress.done == fit.progress.planned,
            gain,
            noise: self.profile.noise,
            factor: chosen.factor,
            greedy_loss,
            loss: self.loss_of(&fit.ensemble.train_scores, fit.ensemble.shift),
            work: self.context.budget.spent(),
        };

        let mut ensemble = fit.ensemble;
        scale_scores(&mut ensemble, chosen.factor);
        Ok(EnsembleSearchFit { ensemble, report })
    }

    pub(super) fn interrupted(&self) -> bool {
        self.context.budget.is_interrupted()
    }

    /// Mean training loss of the greedy fit to all rows, if it is complete.
    pub(super) fn greedy_loss(&self) -> Option<f64> {
        self.baseline.as_ref().filter(|baseline| baseline.complete).map(|baseline| baseline.loss)
    }
}

fn best_of(scored: &[ScoredCandidate]) -> Option<&ScoredCandidate> {
    scored.iter().min_by(|a, b| a.score.total_cmp(&b.score))
}

/// Multiplies all raw scores by a factor.
fn scale_scores(fit: &mut EnsembleFit, factor: f64) {
    if factor == 1.0 {
        return;
    }
    fit.base.iter_mut().for_each(|base| *base *= factor);
    let scores = fit.train_scores.iter_mut().chain(&mut fit.valid_scores).flatten();
    scores.for_each(|score| *score *= factor as f32);
    for member in &mut fit.members {
        let leaves = match &mut member.shape {
            Shape::Ordinary(tree) => &mut tree.leaves,
            Shape::Oblivious(tree) => &mut tree.leaves,
        };
        leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
    }
}
