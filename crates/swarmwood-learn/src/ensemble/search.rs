//! The plan of the search: candidates are cross-validated, the best one is fitted to all rows.
//!
//! Work is counted in trees grown. A work limit is kept by beginning a task only if the most that
//! it can cost is left, with enough in reserve for a greedy fit to all rows; what a limited run
//! does follows from counts alone, so that it is the same for any number of threads and after any
//! resumption.

use std::ops::Range;

use swarmwood_model::Link;
use swarmwood_search::Datum;

use super::candidates::{self, Candidate, DataProfile, FitMethod};
use super::cross_validation::{self, CvFold, FoldPlan};
use super::fallback::{Fallback, FallbackPhase};
use super::feature_budget::FeatureChoice;
use super::full_fit::Baseline;
use super::out_of_fold::FoldScore;
use super::plan_size::{PlanSize, REDUCED_STRATEGIES};
use super::scored::{self, ScoredCandidate};
use super::{
    CandidateScore, ChosenCandidate, EnsembleSearchConfig, EnsembleSearchError, EnsembleSearchFit,
    EnsembleSearchReport, EnsembleShape, ExpectedMetrics,
};
use crate::context::Context;
use crate::ensemble_fit::EnsembleFit;
use crate::event::{Event, SearchStatus, Stage};
use crate::objective::Curvature;
use crate::plan::{Task, TaskLog, TaskRows, run_tasks};
use crate::pool::Pool;
use crate::stats::{BackendError, BackendOptions, Client, TrainingSet};

/// A search must beat the best greedy fit by this share of its loss, for numbers and one shape. Among
/// several shapes, each greedy candidate has had its chance.
const MARGIN: f64 = 0.01;

/// Below this many rows nothing is cross-validated.
const LEAST_ROWS: usize = 20;

/// Fits of folds that run together, at least one candidate's. Fixed, so that the plan does not depend
/// on the number of threads.
pub(super) const TASKS_TOGETHER: usize = 10;

/// Greedy candidates that come to the second rung of successive halving, and candidates that come to
/// the last rung.
const GREEDY_KEPT: usize = 4;
const FINALISTS: usize = 1;

/// The name of cross-validated losses in events.
const SCORE: &str = "cross-validated loss";

pub(super) struct EnsembleSearch<'a> {
    pub(super) set: TrainingSet<'a>,
    /// The shapes to choose from, the default one first; they look ahead if that pays.
    pub(super) shapes: Vec<EnsembleShape>,
    pub(super) context: Context<'a>,
    pub(super) single_thread: Pool,
    pub(super) fold_plan: FoldPlan,
    pub(super) folds: Vec<CvFold>,
    pub(super) profile: DataProfile,
    size: PlanSize,
    /// The folds of each rung of successive halving.
    pub(super) rungs: Vec<Range<usize>>,
    scored: Vec<ScoredCandidate>,
    /// The scores of the best constant, fold by fold.
    constant: Vec<FoldScore>,
    /// Candidates that are to be cross-validated in all.
    pub(super) planned: usize,
    /// A greedy candidate fitted to all rows: the baseline of the search, and the first model there
    /// is.
    pub(super) baseline: Option<Baseline>,
    /// A search fitted to all rows before the choice is made.
    pub(super) fallback: Option<Fallback>,
    /// The choice of features, where a budget limits them.
    pub(super) features: Option<FeatureChoice<'a>>,
    pub(super) log: TaskLog<'a>,
    /// Whether a part of the plan was left out.
    cut_short: bool,
}

/// The scores of a candidate on some of the folds, and the trees that it took.
pub(super) type FoldScores = (Vec<FoldScore>, u64);

impl<'a> EnsembleSearch<'a> {
    pub(super) fn new(
        set: TrainingSet<'a>,
        config: &EnsembleSearchConfig,
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

        let size = PlanSize::new(set.objective.outputs(), classes);
        Ok(EnsembleSearch {
            set,
            shapes: size.shapes(&config.shapes),
            context,
            single_thread: Pool::new(1).map_err(EnsembleSearchError::Threads)?,
            fold_plan: FoldPlan {
                classes,
                seed: config.shapes[0].seed,
                most_rows: config.compared_rows,
            },
            folds: Vec::new(),
            profile: DataProfile { classes, rows, hessian, noise: 1.0, dispersion: 1.0 },
            size,
            rungs: Vec::new(),
            scored: Vec::new(),
            constant: Vec::new(),
            planned: 0,
            baseline: None,
            fallback: None,
            features: None,
            log,
            cut_short: false,
        })
    }

    /// The same search on rows that a budget has left only some features.
    pub(super) fn with_features(self, features: FeatureChoice<'a>) -> Self {
        EnsembleSearch { features: Some(features), ..self }
    }

    /// Carries out the plan.
    pub(super) fn run(mut self) -> Result<EnsembleSearchFit, EnsembleSearchError> {
        let shape = self.shapes[0];
        if self.set.data.rows() < LEAST_ROWS {
            // Too few rows to hold any out: one greedy fit is all there is to do.
            self.fit_baseline(&candidates::default_greedy(&shape))?;
            return self.finish();
        }

        // A greedy fit to all rows comes first: from then on the run has a model to end with.
        let greedy = self.greedy_candidates();
        self.fit_baseline(&greedy[0])?;
        self.rungs = self.size.rungs(self.set.data.rows());
        let folds = self.rungs.last().map_or(0, |rung| rung.end);
        self.folds = self.fold_plan.folds(self.whole_data(), folds, self.context);
        self.planned = self.count_candidates(greedy.len());

        // The first candidate tells the noise roughly: enough for a search, should there be no time
        // for more.
        self.cross_validate(&greedy[..1], self.rungs[0].clone())?;
        self.estimate_noise()?;
        let greedy = self.try_lookahead(greedy)?;
        self.estimate_noise()?;
        self.fit_fallback(FallbackPhase::Rough)?;

        self.halve(greedy, [GREEDY_KEPT, FINALISTS])?;
        let more = self.more_greedy();
        self.halve(more, [1, 1])?;
        self.estimate_noise()?;
        if let [shape] = self.shapes[..] {
            let priced = candidates::priced_greedy(&shape, &self.profile);
            self.halve(vec![priced], [1, 1])?;
        }
        self.fit_fallback(FallbackPhase::Exact)?;

        let strategies = self.strategies()?;
        let kept = self.size.searches_kept(self.shapes.len());
        self.halve(strategies, [kept, FINALISTS])?;
        self.score_all_features()?;
        self.finish()
    }

    /// The greedy candidates of all shapes.
    pub(super) fn greedy_candidates(&self) -> Vec<Candidate> {
        if let [shape] = &self.shapes[..] {
            return candidates::greedy_candidates(shape, &self.profile);
        }
        let of_shape = |shape| {
            let mut all = candidates::greedy_of_shape(shape, &self.profile);
            if self.size.is_reduced() {
                all = candidates::first_greedy(all);
            }
            all
        };
        let all = self.shapes.iter().flat_map(of_shape);
        all.map(Candidate::named_with_shape).collect()
    }

    /// Of a reduced plan, the other learning rates of the shape whose first candidate was best.
    fn more_greedy(&self) -> Vec<Candidate> {
        if self.shapes.len() < 2 || self.size.more_greedy() == 0 {
            return Vec::new();
        }
        let shape = self.best_greedy().candidate.shape;
        let mut all = candidates::greedy_of_shape(&shape, &self.profile);
        let first = candidates::first_greedy(all.clone());
        all.retain(|candidate| !first.contains(candidate));
        let next = candidates::first_greedy(all);
        next.into_iter().map(Candidate::named_with_shape).collect()
    }

    /// The search strategies of one of several shapes.
    fn searches_of(&self, shape: &EnsembleShape) -> Vec<Candidate> {
        let all = candidates::searches_of_shape(shape, &self.profile).into_iter();
        all.map(Candidate::named_with_shape).collect()
    }

    /// The search strategy of the first shape that wins most often. The fallback model is fitted
    /// with it.
    pub(super) fn most_promising(&self) -> Candidate {
        let shape = &self.shapes[0];
        let mut strategies = match self.shapes.len() {
            1 => self.searches_of_only(shape),
            _ => self.searches_of(shape),
        };
        strategies.swap_remove(usize::from(candidates::is_ample(shape, &self.profile)))
    }

    /// How many candidates the plan has.
    fn count_candidates(&self, greedy: usize) -> usize {
        if let [shape] = &self.shapes[..] {
            return greedy + 1 + self.searches_of_only(shape).len();
        }
        let searched = self.size.shapes_searched(self.shapes.len()) - 1;
        if self.size.is_reduced() {
            return greedy + self.size.more_greedy() + searched + REDUCED_STRATEGIES;
        }
        greedy + searched + self.searches_of(&self.shapes[0]).len()
    }

    /// The search strategies of the only shape.
    fn searches_of_only(&self, shape: &EnsembleShape) -> Vec<Candidate> {
        candidates::search_candidates(shape, &self.profile)
    }

    /// The search strategies to compare: all of the only shape, or those of the shape that looks
    /// best on the folds of the first rung.
    fn strategies(&mut self) -> Result<Vec<Candidate>, EnsembleSearchError> {
        if let [shape] = &self.shapes[..] {
            return Ok(self.searches_of_only(shape));
        }
        let rung = self.rungs[0].clone();
        let best_greedy = |shape: &EnsembleShape| {
            let of_shape = |scored: &&ScoredCandidate| {
                let candidate = &scored.candidate;
                let is_judge = !candidates::has_unit_rate(candidate, &self.profile);
                !scored.is_search() && is_judge && candidate.shape == *shape
            };
            let scores = self.scored.iter().filter(of_shape).map(|one| one.score_on(rung.end));
            scores.fold(f64::INFINITY, f64::min)
        };
        let mut shapes: Vec<(f64, EnsembleShape)> =
            self.shapes.iter().map(|shape| (best_greedy(shape), *shape)).collect();
        shapes.sort_by(|a, b| a.0.total_cmp(&b.0));
        shapes.truncate(self.size.shapes_searched(self.shapes.len()));

        let first = |(_, shape): &(f64, EnsembleShape)| self.searches_of(shape).swap_remove(0);
        let firsts: Vec<Candidate> = shapes.iter().map(first).collect();
        self.cross_validate(&firsts, rung.clone())?;

        // A shape is judged by its first strategy and by its best greedy candidate, half and half.
        let judged = |((greedy, shape), first): (&(f64, EnsembleShape), &Candidate)| {
            (greedy + self.scored(first).score_on(rung.end), *shape)
        };
        let best = shapes.iter().zip(&firsts).map(judged).min_by(|a, b| a.0.total_cmp(&b.0));
        let shape = best.map_or(self.shapes[0], |(_, shape)| shape);
        let mut strategies = self.searches_of(&shape);
        if self.size.is_reduced() {
            // Few strategies of the best shape, and the first one of the others.
            strategies.truncate(REDUCED_STRATEGIES);
            strategies.extend(firsts.into_iter().filter(|first| first.shape != shape));
        }
        Ok(strategies)
    }

    /// Successive halving: all candidates are cross-validated on the folds of the first rung, and on
    /// those of each next rung only as many of the best as `kept` says.
    fn halve(
        &mut self,
        mut candidates: Vec<Candidate>,
        kept: [usize; 2],
    ) -> Result<(), EnsembleSearchError> {
        let rungs = self.rungs.clone();
        for (rung, kept) in rungs.into_iter().zip(kept.into_iter().chain([1])) {
            self.cross_validate(&candidates, rung)?;
            if self.cut_short {
                break;
            }
            let mut ranked: Vec<(f64, Candidate)> = candidates
                .into_iter()
                .map(|candidate| (self.scored(&candidate).score(), candidate))
                .collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            candidates = ranked.into_iter().take(kept).map(|(_, candidate)| candidate).collect();
        }
        Ok(())
    }

    /// Trees of a whole fit of a candidate, those of all outputs.
    pub(super) fn trees_of(&self, candidate: &Candidate) -> u64 {
        candidate.trees(self.set.objective)
    }

    /// Work that may be begun now: what is left, less what a greedy fit to all rows takes; `None`
    /// without a limit.
    pub(super) fn disposable_work(&self) -> Option<u64> {
        let reserve = self.shapes[0].trees as u64 * self.set.objective.outputs() as u64;
        self.context.budget.remaining().map(|left| left.saturating_sub(reserve))
    }

    /// The most trees that the cross-validation of a candidate can grow on so many folds.
    fn most_work(&self, candidate: &Candidate, folds: usize) -> u64 {
        let fits = match &candidate.method {
            FitMethod::Constant => 0,
            FitMethod::Greedy { .. } => 1,
            FitMethod::Search(strategy) => 1 + strategy.sweeps as u64,
        };
        fits * folds as u64 * self.trees_of(candidate)
    }

    /// Cross-validates candidates on some of the folds, as many as the budget allows, and remembers
    /// their scores. Candidates that were scored on these folds before are left out.
    pub(super) fn cross_validate(
        &mut self,
        candidates: &[Candidate],
        folds: Range<usize>,
    ) -> Result<(), EnsembleSearchError> {
        let is_new = |candidate: &&Candidate| self.scored(candidate).folds.len() < folds.end;
        let todo: Vec<Candidate> = candidates.iter().filter(is_new).cloned().collect();
        if !todo.is_empty() && !self.choose_in_folds(folds.clone())? {
            self.cut_short = true;
            return Ok(());
        }
        let mut rest = &todo[..];
        while !rest.is_empty() {
            // A run that had no work left for this did not store it, and may have stored what came
            // after it.
            if !self.has_work_for(&rest[0], folds.len()) {
                self.cut_short = true;
                return Ok(());
            }
            if let Some((result, work)) = self.log.recall(&key_of(&rest[0], &folds))? {
                self.context.budget.spend(work);
                let scores = result.list()?.iter().map(FoldScore::from_datum);
                self.remember(&rest[0], scores.collect::<Result<_, _>>()?);
                rest = &rest[1..];
                continue;
            }

            let batch = &rest[..self.affordable(rest, folds.len())];
            let results = match batch {
                [] => None,
                _ => self.score_candidates(batch, folds.clone())?,
            };
            let Some(results) = results else {
                self.cut_short = true;
                return Ok(());
            };
            for (candidate, (scores, work)) in batch.iter().zip(results) {
                self.context.budget.spend(work);
                let stored = Datum::List(scores.iter().map(FoldScore::to_datum).collect());
                self.log.record(&key_of(candidate, &folds), work, stored);
                self.remember(candidate, scores);
                self.notify_compared();
            }
            rest = &rest[batch.len()..];
        }
        Ok(())
    }

    /// Adds the scores of further folds to those of a candidate.
    fn remember(&mut self, candidate: &Candidate, folds: Vec<FoldScore>) {
        match self.scored.iter_mut().find(|scored| scored.candidate == *candidate) {
            Some(scored) => scored.folds.extend(folds),
            None => self.scored.push(ScoredCandidate { candidate: candidate.clone(), folds }),
        }
    }

    /// Whether the work limit allows the cross-validation of a candidate. It follows from counts
    /// alone, so that a resumed run comes to the same answer.
    fn has_work_for(&self, candidate: &Candidate, folds: usize) -> bool {
        let cost = self.most_work(candidate, folds);
        !self.folds.is_empty() && self.disposable_work().is_none_or(|left| cost <= left)
    }

    /// How many of the next candidates can be cross-validated together on so many folds.
    pub(super) fn affordable(&self, candidates: &[Candidate], folds: usize) -> usize {
        if self.folds.is_empty() || self.context.budget.is_exhausted() {
            return 0;
        }
        let mut cost = 0;
        let fits = |candidate: &&Candidate| {
            cost += self.most_work(candidate, folds);
            self.disposable_work().is_none_or(|left| cost <= left)
        };
        candidates.iter().take(self.candidates_together(folds)).take_while(fits).count()
    }

    /// Tells how candidates compare.
    fn notify_compared(&mut self) {
        let search = SearchStatus {
            measure: SCORE,
            best: scored::best_of(&self.scored).map(|scored| scored.score()),
            evaluations: self.context.budget.spent(),
            ..SearchStatus::default()
        };
        let event = Event::new(Stage::COMPARING, self.scored.len(), self.planned);
        self.log.notify(&Event { search: Some(search), ..event });
    }

    /// The scores of candidates on some of the folds, and the trees that each took; `None` if the
    /// run is interrupted.
    fn score_candidates(
        &self,
        candidates: &[Candidate],
        folds: Range<usize>,
    ) -> Result<Option<Vec<FoldScores>>, EnsembleSearchError> {
        let is_fitted = |candidate: &Candidate| candidate.method != FitMethod::Constant;
        match self.set.runner.filter(|_| candidates.iter().any(is_fitted)) {
            Some(runner) => self.score_with(runner, candidates, folds),
            None => Ok(self.score_on(candidates, &self.folds[folds])?),
        }
    }

    /// The same on any folds, on the threads of this process.
    pub(super) fn score_on(
        &self,
        candidates: &[Candidate],
        folds: &[CvFold],
    ) -> Result<Option<Vec<FoldScores>>, BackendError> {
        let tasks = Task::cross_validation(candidates.len(), folds.len());
        let on_one_thread = Context { pool: &self.single_thread, ..self.context };
        let link = self.profile.classes.then(|| self.set.objective.link());
        let set = self.set;
        let results = run_tasks(self.context, &tasks, |task| {
            let TaskRows::Fold(fold) = task.rows else { unreachable!("all tasks have a fold") };
            let candidate = &candidates[task.candidate];
            let found = cross_validation::fit_fold(&folds[fold], candidate, set, on_one_thread)?;
            Ok::<_, BackendError>((found.held_out.score(link, on_one_thread), found.work))
        });
        let Some(results) = results else { return Ok(None) };

        let mut merged: Vec<FoldScores> = vec![Default::default(); candidates.len()];
        for (task, result) in tasks.iter().zip(results) {
            let (Some(score), work) = result? else { return Ok(None) };
            merged[task.candidate].0.push(score);
            merged[task.candidate].1 += work;
        }
        Ok(Some(merged))
    }

    /// Estimates noise and dispersion from the best greedy candidate and the best constant.
    fn estimate_noise(&mut self) -> Result<(), EnsembleSearchError> {
        let Some(best) = scored::best_of(&self.scored) else { return Ok(()) };
        let Some(sum) = FoldScore::sum(&best.folds) else { return Ok(()) };
        let constant = Candidate { method: FitMethod::Constant, ..best.candidate.clone() };
        let folds = 0..best.folds.len();
        let left = sum.squares / sum.weight;
        let Some(mut scores) = self.score_candidates(&[constant], folds)? else { return Ok(()) };

        self.constant = std::mem::take(&mut scores[0].0);
        let constant = FoldScore::sum(&self.constant);
        let all = constant.map_or(0.0, |constant| constant.squares / constant.weight);
        self.profile.noise = if all > 0.0 { (left / all).clamp(1e-4, 1.0) } else { 1.0 };
        let quadratic = self.set.objective.constant_hessian()
            && self.set.objective.curvature() == Curvature::Exact;
        self.profile.dispersion = if quadratic { left * self.profile.hessian } else { 1.0 };
        Ok(())
    }

    /// The best greedy candidate; the one fitted to all rows where none was scored.
    pub(super) fn best_greedy(&self) -> ScoredCandidate {
        let greedy = self.scored.iter().filter(|scored| !scored.is_search());
        let best = greedy.min_by(|a, b| scored::compare(a, b)).cloned();
        best.unwrap_or_else(|| {
            let default = || candidates::default_greedy(&self.shapes[0]);
            let fitted = self.baseline.as_ref().map(|baseline| baseline.candidate.clone());
            ScoredCandidate::unscored(fitted.unwrap_or_else(default))
        })
    }

    /// A candidate with its score, if it has one.
    pub(super) fn scored(&self, candidate: &Candidate) -> ScoredCandidate {
        let known = self.scored.iter().find(|scored| scored.candidate == *candidate);
        known.cloned().unwrap_or_else(|| ScoredCandidate::unscored(candidate.clone()))
    }

    /// Whether the cross-validated score of a search is better than that of a greedy candidate.
    fn beats(&self, search: &ScoredCandidate, greedy: &ScoredCandidate) -> bool {
        let is_lenient = self.profile.classes || self.shapes.len() > 1;
        let margin = if is_lenient { 0.0 } else { MARGIN };
        let folds = search.folds.len().min(greedy.folds.len());
        let (search, greedy) = (search.score_on(folds), greedy.score_on(folds));
        search < greedy - margin * greedy.abs()
    }

    /// The winner of the comparison: the best search if it beats the best greedy candidate, else
    /// that.
    fn winner(&self, greedy: &ScoredCandidate) -> ScoredCandidate {
        let search = self.scored.iter().filter(|scored| scored.is_search());
        let search = search.min_by(|a, b| scored::compare(a, b));
        search.filter(|search| self.beats(search, greedy)).unwrap_or(greedy).clone()
    }

    /// The best of the candidates that are fitted to all rows already, for a run that has no time
    /// to fit the winner.
    fn best_fitted(&self, greedy: &ScoredCandidate) -> ScoredCandidate {
        let baseline = self.baseline.as_ref();
        if let Some(fallback) = &self.fallback {
            let scored = self.scored(&fallback.candidate);
            let better = match self.greedy_loss() {
                Some(_) if !scored.folds.is_empty() => self.beats(&scored, greedy),
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
        // Nothing is compared any more, and the fit to all rows needs their memory.
        self.folds = Vec::new();
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

        let folds = chosen.folds.len().min(greedy.folds.len());
        let gain = Some(1.0 - chosen.score_on(folds) / greedy.score_on(folds));
        let gain = gain.filter(|gain| gain.is_finite());
        let score = |scored: &ScoredCandidate| CandidateScore {
            name: scored.candidate.name.clone(),
            score: scored.score(),
            deviation: FoldScore::deviation(&scored.folds),
            folds: scored.folds.len(),
        };
        let expected = ExpectedMetrics {
            chosen: FoldScore::metrics(&chosen.folds),
            greedy: FoldScore::metrics(&greedy.folds),
            constant: FoldScore::metrics(&self.constant),
            folds: chosen.folds.len(),
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
            expected,
            noise: self.profile.noise,
            factor: chosen.factor(),
            greedy_loss,
            loss: self.loss_of(&fit.ensemble.train_scores, fit.ensemble.shift),
            work: self.context.budget.spent(),
            compared_rows: self.fold_plan.rows(self.set.data.rows()),
        };

        let mut ensemble = fit.ensemble;
        scale_scores(&mut ensemble, chosen.factor());
        let features = self.features.as_ref().map(FeatureChoice::report);
        let chosen =
            ChosenCandidate { factor: chosen.factor(), candidate: chosen.candidate.clone() };
        Ok(EnsembleSearchFit { ensemble, report, features, chosen })
    }

    pub(super) fn interrupted(&self) -> bool {
        self.context.budget.is_interrupted()
    }

    /// Mean training loss of the greedy fit to all rows, if it is complete.
    pub(super) fn greedy_loss(&self) -> Option<f64> {
        self.baseline.as_ref().filter(|baseline| baseline.complete).map(|baseline| baseline.loss)
    }
}

/// The key of a candidate's cross-validation on some of the folds.
fn key_of(candidate: &Candidate, folds: &Range<usize>) -> String {
    format!("folds {} to {} of {}", folds.start, folds.end, candidate.name)
}

/// Multiplies all raw scores by a factor.
fn scale_scores(fit: &mut EnsembleFit, factor: f64) {
    if factor == 1.0 {
        return;
    }
    fit.base.iter_mut().for_each(|base| *base *= factor);
    let scores = fit.train_scores.iter_mut().chain(&mut fit.valid_scores).flatten();
    scores.for_each(|score| *score *= factor as f32);
    fit.members.iter_mut().for_each(|member| member.shape.scale_values(factor));
}
