//! Choosing: candidates are cross-validated, the best is fitted to all rows.

use std::ops::Range;

use swarmwood_model::{Link, Member, Shape};
use swarmwood_search::Datum;

use super::ensemble::Ensemble;
use super::folds::{self, Fold, Judged};
use super::hand::Held;
use super::menu::{self, Candidate, Facts, Way};
use super::score::Unseen;
use super::state::{Flight, InHand, Past, Score};
use super::{
    Arm, Compared, Found, Frame, Progress, Report, SearchError, Settings, Stage, backfit, pairs,
};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::event::Flow;
use crate::greedy;
use crate::objective::{Curvature, Objective};
use crate::pool::Pool;
use crate::stats::{BackendError, BackendOptions, Client, TrainingSet};

/// A search arm must beat the best greedy fit by this share of its loss; for classes by nothing.
const MARGIN: f64 = 0.01;

/// Below this many rows nothing is compared.
const LEAST_ROWS: usize = 20;

/// Candidates between two looks at the budget and the listener. Fixed, so that neither depends on
/// the number of threads.
const BATCH: usize = 2;

pub(super) struct Choosing<'a> {
    pub(super) set: TrainingSet<'a>,
    pub(super) context: Context<'a>,
    pub(super) data: &'a Dataset,
    pub(super) objective: &'a dyn Objective,
    pub(super) settings: &'a Settings,
    pub(super) pool: &'a Pool,
    pub(super) halt: &'a (dyn Fn() -> bool + Sync),
    alone: Pool,
    pub(super) folds: Vec<Fold>,
    pub(super) facts: Facts,
    pub(super) tried: Vec<Tried>,
    /// What the first candidate says of unseen rows, until it is scored.
    unscored: Option<Unseen>,
    /// The best greedy candidate so far, fitted to all rows.
    boosted: Option<(Candidate, greedy::Fit)>,
    /// What there is to end with before the choice is made.
    pub(super) held: Option<Held>,
    /// What an earlier run found out.
    pub(super) past: Past,
    pub(super) work: usize,
    pub(super) stopped: bool,
    /// Whether some candidates were left out because the run came to its end.
    cut_short: bool,
}

/// A candidate with its score.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub candidate: Candidate,
    score: f64,
    factor: f64,
    /// Mean squared error of the prediction.
    squares: f64,
    work: usize,
}

/// A candidate fitted to all rows.
struct Fitted {
    base: Vec<f64>,
    members: Vec<Member>,
    train_scores: Vec<Vec<f32>>,
    valid_scores: Vec<Vec<f32>>,
    shift: f64,
}

impl Fitted {
    fn of(mut ensemble: Ensemble<'_>) -> Result<Self, BackendError> {
        Ok(Fitted {
            base: ensemble.base.clone(),
            members: ensemble.members(),
            train_scores: ensemble.training_scores()?,
            valid_scores: ensemble.valid_scores()?,
            shift: ensemble.shift,
        })
    }
}

impl Tried {
    /// A candidate that was never judged.
    fn unjudged(candidate: Candidate) -> Self {
        Tried { candidate, score: f64::NAN, factor: 1.0, squares: f64::NAN, work: 0 }
    }

    fn is_search(&self) -> bool {
        matches!(self.candidate.way, Way::Search(_))
    }
}

impl<'a> Choosing<'a> {
    pub(super) fn new(
        set: TrainingSet<'a>,
        settings: &'a Settings,
        context: Context<'a>,
        halt: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, SearchError> {
        let (TrainingSet { data, objective, .. }, pool) = (set, context.pool);
        let classes = matches!(objective.link(), Link::Sigmoid | Link::Softmax);
        let frame = &settings.frames[0];
        let options = BackendOptions { memory: frame.memory, keep_derivatives: false };
        let alone = TrainingSet { valid: None, ..set };
        let hessians = Client::open(alone, options, context)?.hessians()?;
        let hessian = hessians.first().copied().unwrap_or(0.0) / data.rows() as f64;
        // Too few rows to hold any out: one greedy fit is all there is to do.
        let few = data.rows() < LEAST_ROWS;
        let folds = if few { Vec::new() } else { folds::deal(data, classes, frame.seed, pool) };
        Ok(Choosing {
            set,
            context,
            data,
            objective,
            settings,
            pool,
            halt,
            alone: pool.alone().map_err(SearchError::Threads)?,
            facts: Facts { classes, rows: data.rows(), hessian, noise: 1.0, dispersion: 1.0 },
            tried: Vec::new(),
            unscored: None,
            boosted: None,
            held: None,
            past: Past::default(),
            work: 0,
            stopped: false,
            cut_short: folds.is_empty() && !few,
            folds,
        })
    }

    pub(super) fn run(
        mut self,
        past: Option<&Datum>,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Found, SearchError> {
        if let Some(past) = past {
            let unfit = |error: swarmwood_search::Error| SearchError::State(error.to_string());
            self.past = Past::load(past, self.data.layout.as_ref()).map_err(unfit)?;
        }
        let frame = self.settings.frames[0];
        let greedy = menu::greedy_menu(&frame, &self.facts);
        // The first candidate tells the noise roughly: enough to search with, should there be no
        // time for more.
        self.begin(&greedy[0])?;
        self.hold(false, watch)?;
        self.score_first(greedy.len(), watch);
        self.compare(&greedy, 1..greedy.len(), watch)?;
        self.estimate_noise()?;
        self.compare(&[menu::priced_greedy(&frame, &self.facts)], 0..1, watch)?;
        self.hold(true, watch)?;
        let mut arms = menu::search_menu(&frame, &self.facts);
        if self.settings.frames.len() > 1 {
            let first = |frame: &Frame| menu::search_menu(frame, &self.facts).swap_remove(0);
            let sizes: Vec<Candidate> = self.settings.frames.iter().map(first).collect();
            let from = self.tried.len();
            self.compare(&sizes, 0..sizes.len(), watch)?;
            let best = best_of(&self.tried[from..]).map_or(frame, |tried| tried.candidate.frame);
            arms = menu::search_menu(&best, &self.facts).split_off(1);
        }
        self.compare(&arms, 0..arms.len(), watch)?;
        self.finish(watch)
    }

    /// Whether the run has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.stopped || self.settings.budget > 0 && self.work >= self.settings.budget
    }

    /// Cross-validates the first candidate for the noise alone: its score can wait until there is a
    /// fit in hand.
    fn begin(&mut self, first: &Candidate) -> Result<(), BackendError> {
        if self.folds.is_empty() || self.is_over() {
            return Ok(());
        }
        if !self.past.scores.is_empty() {
            let Score { score, factor, squares, work } = self.past.scores.remove(0);
            self.work += work;
            self.tried.push(Tried { candidate: first.clone(), score, factor, squares, work });
        } else {
            let (unseen, work) = self.cross(std::slice::from_ref(first))?.swap_remove(0);
            if (self.halt)() {
                (self.stopped, self.cut_short) = (true, true);
                return Ok(());
            }
            self.work += work;
            let squares = unseen.squares / unseen.weights();
            self.tried.push(Tried { squares, work, ..Tried::unjudged(first.clone()) });
            self.unscored = Some(unseen);
        }
        self.estimate_noise()
    }

    /// Scores the first candidate and tells it, unless that was done before or there is no time
    /// left.
    fn score_first(&mut self, of: usize, watch: &mut dyn FnMut(&Progress<'_>) -> Flow) {
        if self.stopped {
            return;
        }
        let Some(unseen) = self.unscored.take() else { return };
        let (factor, score) = self.score(&unseen);
        if let Some(first) = self.tried.first_mut() {
            (first.factor, first.score) = (factor, score);
        }
        self.tell_compared(1, of, watch);
    }

    /// Tells how candidates stand.
    fn tell_compared(
        &mut self,
        done: usize,
        of: usize,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) {
        let state = || self.state(self.held.as_ref().map(Held::stored), None);
        let (stage, work) = (Stage::Compare, self.work);
        let best = best_of(&self.tried).map(|tried| tried.score);
        let progress =
            Progress { stage, done, of, loss: None, best, gain: None, work, state: &state };
        self.stopped = watch(&progress) == Flow::Stop;
    }

    /// Cross-validates a part of some candidates and remembers their scores.
    fn compare(
        &mut self,
        candidates: &[Candidate],
        part: Range<usize>,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<(), BackendError> {
        let folds = self.folds.len();
        if folds == 0 {
            return Ok(());
        }
        let (mut done, of) = (part.start, candidates.len());
        for batch in candidates[part].chunks(BATCH) {
            if self.is_over() {
                self.cut_short = true;
                return Ok(());
            }
            let known = self.past.scores.len() >= batch.len();
            let scores: Vec<Score> = if known {
                self.past.scores.drain(..batch.len()).collect()
            } else {
                self.judge(batch)?
            };
            if (self.halt)() {
                (self.stopped, self.cut_short) = (true, true);
                return Ok(());
            }
            for (candidate, Score { score, factor, squares, work }) in
                batch.iter().cloned().zip(scores)
            {
                self.work += work;
                self.tried.push(Tried { candidate, score, factor, squares, work });
            }
            done += batch.len();
            if !known {
                self.tell_compared(done, of, watch);
            }
        }
        Ok(())
    }

    /// What a run needs to go on.
    pub(super) fn state(&self, held: Option<InHand>, flight: Option<Flight>) -> Datum {
        let score = |tried: &Tried| {
            let &Tried { score, factor, squares, work, .. } = tried;
            Score { score, factor, squares, work }
        };
        let scored = if self.unscored.is_some() { &[] } else { &self.tried[..] };
        Past { scores: scored.iter().map(score).collect(), held, flight }.save()
    }

    /// Fits every candidate on every fold and scores it on the rows left out. Once the run is to
    /// end there are no scores: fits that were cut short say nothing.
    fn judge(&self, candidates: &[Candidate]) -> Result<Vec<Score>, BackendError> {
        let crossed = self.cross(candidates)?;
        if (self.halt)() {
            return Ok(Vec::new());
        }
        let scored = |(unseen, work): (Unseen, usize)| {
            let (factor, score) = self.score(&unseen);
            Score { score, factor, squares: unseen.squares / unseen.weights(), work }
        };
        Ok(crossed.into_iter().map(scored).collect())
    }

    /// What every candidate says of the rows that were left out, and the trees that it grew.
    fn cross(&self, candidates: &[Candidate]) -> Result<Vec<(Unseen, usize)>, BackendError> {
        let folds = self.folds.len();
        let judged = self.pool.map(candidates.len() * folds, |at| {
            folds::judge(
                &self.folds[at % folds],
                &candidates[at / folds],
                self.set,
                Context { pool: &self.alone, ..self.context },
                self.halt,
            )
        });
        let mut judged = judged.into_iter().collect::<Result<Vec<Judged>, _>>()?.into_iter();
        Ok(candidates
            .iter()
            .map(|_| {
                let parts: Vec<Judged> = judged.by_ref().take(folds).collect();
                let work = parts.iter().map(|part| part.work).sum();
                (merged(parts), work)
            })
            .collect())
    }

    fn score(&self, unseen: &Unseen) -> (f64, f64) {
        if self.facts.classes {
            return unseen.calibrated(self.objective.link(), self.pool);
        }
        (1.0, unseen.loss / unseen.weights())
    }

    /// Noise and dispersion from the best greedy fit against the best constant.
    fn estimate_noise(&mut self) -> Result<(), BackendError> {
        let Some(best) = best_of(&self.tried).filter(|_| !self.pool.hurried()) else {
            return Ok(());
        };
        let constant = Candidate { way: Way::Constant, ..best.candidate.clone() };
        let (constant, _) = self.cross(&[constant])?.swap_remove(0);
        let (left, all) = (best.squares, constant.squares / constant.weights());
        self.facts.noise = if all > 0.0 { (left / all).clamp(1e-4, 1.0) } else { 1.0 };
        let quadratic =
            self.objective.constant_hessian() && self.objective.curvature() == Curvature::Exact;
        self.facts.dispersion = if quadratic { left * self.facts.hessian } else { 1.0 };
        Ok(())
    }

    /// The best greedy fit so far; where nothing was compared, a plain one. In a hurry the one that
    /// was fitted to all rows.
    fn best_greedy(&self) -> Tried {
        let greedy = self.tried.iter().filter(|tried| !tried.is_search());
        if let Some((known, _)) = self.boosted.as_ref().filter(|_| self.pool.hurried()) {
            let judged = greedy.into_iter().find(|tried| tried.candidate == *known).cloned();
            return judged.unwrap_or_else(|| Tried::unjudged(known.clone()));
        }
        let best = greedy.min_by(|a, b| a.score.total_cmp(&b.score)).cloned();
        best.unwrap_or_else(|| Tried::unjudged(menu::plain_greedy(&self.settings.frames[0])))
    }

    /// Whether a search arm is better than the best greedy fit, on rows that neither has seen.
    fn beats(&self, search: &Tried, greedy: &Tried) -> bool {
        let margin = if self.facts.classes { 0.0 } else { MARGIN };
        search.score < greedy.score - margin * greedy.score.abs()
    }

    /// The winner: the best search arm if it beats the best greedy fit, else that.
    fn winner(&self, greedy: &Tried) -> Tried {
        let search = self.tried.iter().filter(|tried| tried.is_search());
        let search = search.min_by(|a, b| a.score.total_cmp(&b.score));
        search.filter(|search| self.beats(search, greedy)).unwrap_or(greedy).clone()
    }

    /// The fit in hand, for a run that has no time to fit the winner: if it is better than the best
    /// greedy fit on unseen rows or, where that is not known yet, on the training rows.
    fn in_hand(&self, greedy: &Tried, greedy_loss: f64) -> Option<Tried> {
        let held = self.held.as_ref().filter(|_| self.is_over())?;
        match self.tried.iter().find(|tried| tried.candidate == held.candidate) {
            Some(judged) => self.beats(judged, greedy).then(|| judged.clone()),
            None => (held.loss < greedy_loss).then(|| Tried::unjudged(held.candidate.clone())),
        }
    }

    fn finish(
        mut self,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Found, SearchError> {
        self.work += self.boost()?;
        let (greedy, greedy_loss) = (self.best_greedy(), self.greedy_loss());
        let best = self.winner(&greedy);
        self.stopped |= self.pool.hurried();
        let mut winner = self.in_hand(&greedy, greedy_loss).unwrap_or_else(|| best.clone());
        let (mut fitted, behind) = self.fit(&winner.candidate, greedy_loss, watch)?;
        if behind
            && let Some(held) =
                self.in_hand(&greedy, greedy_loss).or(self.pool.hurried().then_some(greedy.clone()))
        {
            (fitted, _) = self.fit(&held.candidate, greedy_loss, watch)?;
            winner = held;
        }
        let report = Report {
            chosen: winner.candidate.name.clone(),
            searched: winner.is_search(),
            frame: winner.candidate.frame,
            compared: self
                .tried
                .iter()
                .filter(|_| self.unscored.is_none())
                .map(|tried| Compared { name: tried.candidate.name.clone(), score: tried.score })
                .collect(),
            finished: !self.cut_short && winner.candidate == best.candidate,
            gain: 1.0 - winner.score / greedy.score,
            noise: self.facts.noise,
            factor: winner.factor,
            greedy_loss,
            loss: self.loss_of(&fitted.train_scores, fitted.shift),
            work: self.work,
        };
        let Fitted { base, members, train_scores, valid_scores, shift } = fitted;
        let mut found = Found { base, members, train_scores, valid_scores, shift, report };
        temper(&mut found, winner.factor);
        Ok(found)
    }

    /// Fits a candidate to all rows. Answers as well whether the run ended before the fit came as
    /// far as another one in hand.
    fn fit(
        &mut self,
        candidate: &Candidate,
        greedy_loss: f64,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<(Fitted, bool), BackendError> {
        if let Way::Search(arm) = &candidate.way {
            return self.search(candidate, arm, greedy_loss, watch);
        }
        self.boost()?;
        let (_, fit) = self.boosted.take().expect("boosting leaves its fit");
        let greedy::Fit { base, members, train_scores, valid_scores, shift, .. } = fit;
        Ok((Fitted { base, members, train_scores, valid_scores, shift }, false))
    }

    /// Trees of a candidate, those of all outputs counted.
    pub(super) fn trees_of(&self, candidate: &Candidate) -> usize {
        candidate.frame.trees * self.objective.outputs()
    }

    /// Fits the best greedy candidate so far to all rows, unless that was done; answers how many
    /// trees it took. A fit of some of its trees is of use only to who is in a hurry, so that it is
    /// finished otherwise.
    pub(super) fn boost(&mut self) -> Result<usize, BackendError> {
        let candidate = self.best_greedy().candidate;
        if self.boosted.as_ref().is_some_and(|(known, _)| *known == candidate) {
            return Ok(0);
        }
        let Way::Greedy { rate, penalties } = candidate.way else {
            unreachable!("greedy candidates are greedy")
        };
        let settings = candidate.frame.growing(rate, penalties);
        let fit = greedy::train(self.set, &settings, self.context, &mut |_| ())?;
        let trees = candidate.frame.trees;
        // A whole fit of another candidate is better than a part of this one.
        if self.boosted.is_none() || !self.pool.hurried() {
            self.boosted = Some((candidate, fit));
        }
        Ok(trees)
    }

    /// How many trees [`Choosing::boost`] will grow.
    pub(super) fn owed(&self) -> usize {
        let candidate = self.best_greedy().candidate;
        let known = self.boosted.as_ref().is_some_and(|(known, _)| *known == candidate);
        if known { 0 } else { candidate.frame.trees }
    }

    /// Mean training loss of the best greedy fit.
    pub(super) fn greedy_loss(&self) -> f64 {
        self.boosted
            .as_ref()
            .map_or(f64::NAN, |(_, fit)| self.loss_of(&fit.train_scores, fit.shift))
    }

    fn search(
        &mut self,
        candidate: &Candidate,
        arm: &Arm,
        greedy_loss: f64,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<(Fitted, bool), BackendError> {
        let held = self.held.as_ref().filter(|held| held.candidate == *candidate);
        // What the fit in hand has cost was counted when it was made.
        let before = self.work - held.map_or(0, |held| held.flight.work);
        let flight = self.past.flight.take().or(held.map(|held| held.flight.clone()));
        let (weight, budget) = (self.weight(), self.settings.budget);
        let (best, halt) = (best_of(&self.tried).map(|tried| tried.score), self.halt);
        let (this, stored) = (&*self, self.held.as_ref().map(Held::stored));
        let of_stage = |stage, done| if stage == Stage::Pairs { arm.sweeps } else { done };
        let mut reached = flight.as_ref().map_or(0, |flight| of_stage(flight.stage, flight.done));
        let mut tell = |stage, done, of, ensemble: &Ensemble<'_>| {
            reached = if stage == Stage::Start { 0 } else { of_stage(stage, done) };
            let work = before + ensemble.work;
            let flight = || (stage != Stage::Start).then(|| Flight::of(stage, done, ensemble));
            let state = || this.state(stored.clone(), flight());
            let loss = ensemble.loss() / weight;
            let gain = (greedy_loss > 0.0).then_some(1.0 - loss / greedy_loss);
            let flow = watch(&Progress {
                stage,
                done,
                of,
                loss: Some(loss),
                best,
                gain,
                work,
                state: &state,
            });
            if budget > 0 && work >= budget || halt() { Flow::Stop } else { flow }
        };
        let mut ensemble = Ensemble::new(self.set, &candidate.frame, arm, self.context)?;
        let (mut swept, mut paired, mut stopped) = (0, 0, self.stopped);
        match flight {
            Some(flight) if flight.stage == Stage::Pairs => {
                (swept, paired) = (arm.sweeps, flight.done);
                ensemble.resume(flight)?;
            }
            Some(flight) => {
                swept = flight.done;
                ensemble.resume(flight)?;
            }
            None => stopped |= backfit::start(&mut ensemble, &mut tell)? == Flow::Stop,
        }
        if stopped || budget > 0 && before + ensemble.work >= budget {
            (swept, paired) = (arm.sweeps, arm.pairs);
        }
        if backfit::sweeps(&mut ensemble, swept..arm.sweeps, &mut tell)? == Flow::Continue {
            pairs::search(&mut ensemble, candidate.frame.seed, paired..arm.pairs, &mut tell)?;
        }
        if arm.pairs > 0 {
            backfit::agree(&mut ensemble)?;
        }
        let others = self.held.as_ref().filter(|held| held.candidate != *candidate);
        let behind = others.is_some_and(|held| reached < held.flight.done.min(arm.sweeps))
            || !ensemble.is_whole();
        self.stopped |= behind;
        self.work = before + ensemble.work;
        Ok((Fitted::of(ensemble)?, behind))
    }

    /// The weight of all rows.
    pub(super) fn weight(&self) -> f64 {
        if self.data.weight.is_empty() {
            self.data.rows() as f64
        } else {
            self.data.weight.iter().sum()
        }
    }

    fn loss_of(&self, scores: &[Vec<f32>], shift: f64) -> f64 {
        let target: Vec<f32> = self
            .data
            .target
            .iter()
            .map(|y| (self.objective.transform_target(y) - shift) as f32)
            .collect();
        let weight: Vec<f32> = self.data.weight.iter().map(|weight| weight as f32).collect();
        self.objective.loss(&scores.concat(), &target, &weight) / self.weight()
    }
}

fn merged(parts: Vec<Judged>) -> Unseen {
    let mut all = Unseen::default();
    parts.into_iter().for_each(|part| all.append(part.unseen));
    all
}

fn best_of(tried: &[Tried]) -> Option<&Tried> {
    tried.iter().min_by(|a, b| a.score.total_cmp(&b.score))
}

/// Multiplies all raw scores by a factor.
fn temper(found: &mut Found, factor: f64) {
    if factor == 1.0 {
        return;
    }
    found.base.iter_mut().for_each(|base| *base *= factor);
    let scores = found.train_scores.iter_mut().chain(&mut found.valid_scores).flatten();
    scores.for_each(|score| *score *= factor as f32);
    for member in &mut found.members {
        let leaves = match &mut member.shape {
            Shape::Ordinary(tree) => &mut tree.leaves,
            Shape::Oblivious(tree) => &mut tree.leaves,
        };
        leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
    }
}
