//! The default method: the structure of the whole ensemble is searched, and the search is believed only where it wins on
//! rows it has not seen.
//!
//! 1. Greedy boosting with several learning rates is cross-validated; what the best leaves unexplained is the noise.
//! 2. Search arms, whose penalties follow from the noise, are cross-validated on the same folds ([`menu`], [`folds`]).
//! 3. The winner is fitted to all rows. A search arm starts greedily, fits all leaves together, grows each tree again on
//!    what the others leave ([`backfit`]), then ruins and recreates pairs of trees ([`pairs`]).
//! 4. Scores of classes are multiplied by the factor that calibrates them out of fold ([`score`]).

mod backfit;
mod ensemble;
mod folds;
mod menu;
mod pairs;
mod score;
#[cfg(test)]
mod tests;

use swarmwood_model::{Link, Member, Shape};

use crate::dataset::Dataset;
use crate::event::Flow;
use crate::greedy::{self, Growth};
use crate::objective::{Curvature, Objective};
use crate::pool::Pool;
use crate::split::Ridge;
use crate::workers::Begun;
use ensemble::Ensemble;
use folds::{Fold, Judged};
use menu::{Candidate, Facts, Way};
use score::Unseen;

/// The size and growth of an ensemble.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Trees an output.
    pub trees: usize,
    /// Order of splits.
    pub growth: Growth,
    /// Most levels of splits; 0 for no limit.
    pub depth: usize,
    /// Most leaves of a tree.
    pub max_leaves: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows.
    pub memory: usize,
}

/// A way of searching.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    /// Penalty on deviations of nodes from their parents, in units of the hessian.
    pub lambda: f64,
    /// Which kind of penalty.
    pub ridge: Ridge,
    /// Penalty on the values of rows, added to every hessian.
    pub kappa: f64,
    /// Price of a split.
    pub gamma: f64,
    /// Least sum of hessians in a leaf.
    pub min_child_weight: f64,
    /// Share of the leaf values that the greedy start takes.
    pub start_rate: f64,
    /// Most sweeps.
    pub sweeps: usize,
    /// Iterations of pair search after the sweeps.
    pub pairs: usize,
}

/// Parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Cross-validation of candidates.
    Compare,
    /// Greedy start of the final fit.
    Start,
    /// Growing every tree again.
    Sweeps,
    /// Ruining and recreating pairs.
    Pairs,
}

/// What the ensemble tells after every step: stage, steps done, steps in all, itself.
type Tell<'t> = dyn FnMut(Stage, usize, usize, &Ensemble<'_>) -> Flow + 't;

/// The news of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Steps of the stage done.
    pub done: usize,
    /// Steps of the stage in all.
    pub of: usize,
    /// Mean training loss of the final fit, once there is one.
    pub loss: Option<f64>,
    /// Trees grown so far.
    pub work: usize,
}

/// What the search may be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Sizes to choose from, all of which the user accepts; the first is the plainest.
    pub frames: Vec<Frame>,
    /// Trees that may be grown in all; 0 for as many as the recipe wants.
    pub budget: usize,
}

/// How one candidate did on rows it had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// What it is.
    pub name: String,
    /// Its score: mean loss, or calibrated Brier score for classes; less is better.
    pub score: f64,
}

/// What was chosen, why, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The winner.
    pub chosen: String,
    /// Whether the winner is a search.
    pub searched: bool,
    /// Size of the winner.
    pub frame: Frame,
    /// Every candidate with its score, in the order of the menu.
    pub compared: Vec<Compared>,
    /// Score of the best greedy candidate less the winner's, as a share of it.
    pub gain: f64,
    /// Share of the variance that greedy boosting leaves unexplained on unseen rows.
    pub noise: f64,
    /// The factor on raw scores that calibrates them; 1 for numbers.
    pub factor: f64,
    /// Mean training loss of the best greedy candidate, fitted to all rows.
    pub greedy_loss: f64,
    /// The same of the winner.
    pub loss: f64,
    /// Trees grown in all.
    pub work: usize,
}

/// What the search ends with.
#[derive(Debug)]
pub struct Found {
    /// Start value of each output.
    pub base: Vec<f64>,
    /// Trees.
    pub members: Vec<Member>,
    /// Raw scores of the training rows, in row order, output after output.
    pub train_scores: Vec<Vec<f32>>,
    /// The same for the validation rows; empty without any.
    pub valid_scores: Vec<Vec<f32>>,
    /// What to add to a score to get the raw score.
    pub shift: f64,
    /// What there is to tell.
    pub report: Report,
}

/// A search arm must beat the best greedy fit by this share of its loss; for classes by nothing.
const MARGIN: f64 = 0.01;

/// Fits between two looks at the budget and the listener. Fixed, so that neither depends on the number of threads.
const BATCH: usize = 8;

/// Searches. The rows of `valid` are scored, never learnt from.
pub fn train(
    data: &Dataset,
    valid: Option<&Dataset>,
    objective: &dyn Objective,
    settings: &Settings,
    pool: &Pool,
    watch: &mut dyn FnMut(&Progress) -> Flow,
) -> Result<Found, String> {
    Choosing::new(data, valid, objective, settings, pool)?.run(watch)
}

struct Choosing<'a> {
    data: &'a Dataset,
    valid: Option<&'a Dataset>,
    objective: &'a dyn Objective,
    settings: &'a Settings,
    pool: &'a Pool,
    alone: Pool,
    folds: Vec<Fold>,
    facts: Facts,
    tried: Vec<Tried>,
    work: usize,
    stopped: bool,
}

/// A candidate with its score.
struct Tried {
    candidate: Candidate,
    score: f64,
    factor: f64,
}

impl<'a> Choosing<'a> {
    fn new(
        data: &'a Dataset,
        valid: Option<&'a Dataset>,
        objective: &'a dyn Objective,
        settings: &'a Settings,
        pool: &'a Pool,
    ) -> Result<Self, String> {
        let classes = matches!(objective.link(), Link::Sigmoid | Link::Softmax);
        let frame = &settings.frames[0];
        let mut begun = Begun::new(data, None, objective, pool, frame.memory);
        begun.workers.derive(0.0);
        let hessian = begun.workers.hessian(0) / data.rows() as f64;
        Ok(Choosing {
            data,
            valid,
            objective,
            settings,
            pool,
            alone: Pool::new(1)?,
            folds: folds::deal(data, classes, frame.seed, pool),
            facts: Facts { classes, rows: data.rows(), hessian, noise: 1.0, dispersion: 1.0 },
            tried: Vec::new(),
            work: 0,
            stopped: false,
        })
    }

    fn run(mut self, watch: &mut dyn FnMut(&Progress) -> Flow) -> Result<Found, String> {
        let frame = self.settings.frames[0];
        self.compare(menu::greedy_menu(&frame, &self.facts), watch);
        self.estimate_noise();
        self.compare(vec![menu::priced_greedy(&frame, &self.facts)], watch);
        let mut arms = menu::search_menu(&frame, &self.facts);
        if self.settings.frames.len() > 1 {
            let first = |frame: &Frame| menu::search_menu(frame, &self.facts).swap_remove(0);
            let sizes: Vec<Candidate> = self.settings.frames.iter().map(first).collect();
            let from = self.tried.len();
            self.compare(sizes, watch);
            let best = best_of(&self.tried[from..]).map_or(frame, |tried| tried.candidate.frame);
            arms = menu::search_menu(&best, &self.facts).split_off(1);
        }
        self.compare(arms, watch);
        self.finish(watch)
    }

    /// Cross-validates candidates and remembers their scores.
    fn compare(&mut self, candidates: Vec<Candidate>, watch: &mut dyn FnMut(&Progress) -> Flow) {
        let folds = self.folds.len();
        let jobs: Vec<(usize, usize)> =
            (0..candidates.len()).flat_map(|candidate| (0..folds).map(move |fold| (candidate, fold))).collect();
        let mut judged: Vec<Judged> = Vec::new();
        for batch in jobs.chunks(BATCH) {
            let budget = self.settings.budget;
            if self.stopped || budget > 0 && self.work >= budget {
                break;
            }
            let (all, objective, alone) = (&self.folds, self.objective, &self.alone);
            let new = self.pool.map(batch.len(), |at| {
                let (candidate, fold) = batch[at];
                folds::judge(&all[fold], &candidates[candidate], objective, alone)
            });
            self.work += new.iter().map(|judged| judged.work).sum::<usize>();
            judged.extend(new);
            let progress =
                Progress { stage: Stage::Compare, done: judged.len(), of: jobs.len(), loss: None, work: self.work };
            self.stopped = watch(&progress) == Flow::Stop;
        }
        let mut judged = judged.into_iter();
        for candidate in candidates {
            let parts: Vec<Judged> = judged.by_ref().take(folds).collect();
            if parts.len() == folds {
                let unseen = merged(parts);
                let (factor, score) = self.score(&unseen);
                self.tried.push(Tried { candidate, score, factor });
            }
        }
    }

    fn score(&self, unseen: &Unseen) -> (f64, f64) {
        if self.facts.classes {
            return unseen.calibrated(self.objective.link());
        }
        (1.0, unseen.loss / unseen.weights())
    }

    /// Noise and dispersion from the best greedy fit against the best constant.
    fn estimate_noise(&mut self) {
        let Some(best) = best_of(&self.tried).map(|tried| tried.candidate.clone()) else { return };
        let constant = Candidate { way: Way::Constant, ..best.clone() };
        let squares = |candidate: &Candidate| {
            let jobs = self
                .pool
                .map(self.folds.len(), |fold| folds::judge(&self.folds[fold], candidate, self.objective, &self.alone));
            let unseen = merged(jobs);
            unseen.squares / unseen.weights()
        };
        let (left, all) = (squares(&best), squares(&constant));
        self.facts.noise = if all > 0.0 { (left / all).clamp(1e-4, 1.0) } else { 1.0 };
        let quadratic = self.objective.constant_hessian() && self.objective.curvature() == Curvature::Exact;
        self.facts.dispersion = if quadratic { left * self.facts.hessian } else { 1.0 };
    }

    /// The winner: the best search arm if it beats the best greedy fit, else that.
    fn winner(&self) -> Tried {
        let frame = self.settings.frames[0];
        let of = |search: bool| {
            self.tried.iter().filter(move |tried| matches!(tried.candidate.way, Way::Search(_)) == search)
        };
        let margin = if self.facts.classes { 0.0 } else { MARGIN };
        let greedy = of(false).min_by(|a, b| a.score.total_cmp(&b.score));
        let search = of(true).min_by(|a, b| a.score.total_cmp(&b.score));
        match (greedy, search) {
            (Some(greedy), Some(search)) if search.score < greedy.score - margin * greedy.score.abs() => search.clone(),
            (Some(greedy), _) => greedy.clone(),
            (None, _) => {
                let candidate = menu::greedy_menu(&frame, &self.facts).swap_remove(1);
                Tried { candidate, score: f64::NAN, factor: 1.0 }
            }
        }
    }

    fn finish(mut self, watch: &mut dyn FnMut(&Progress) -> Flow) -> Result<Found, String> {
        let winner = self.winner();
        let greedy = self.tried.iter().filter(|tried| !matches!(tried.candidate.way, Way::Search(_)));
        let greedy = greedy.min_by(|a, b| a.score.total_cmp(&b.score)).cloned().unwrap_or_else(|| winner.clone());
        let fitted = self.fit_greedy(&greedy.candidate);
        let mut report = Report {
            chosen: winner.candidate.name.clone(),
            searched: matches!(winner.candidate.way, Way::Search(_)),
            frame: winner.candidate.frame,
            compared: self
                .tried
                .iter()
                .map(|tried| Compared { name: tried.candidate.name.clone(), score: tried.score })
                .collect(),
            gain: 1.0 - winner.score / greedy.score,
            noise: self.facts.noise,
            factor: winner.factor,
            greedy_loss: self.loss_of(&fitted.train_scores, fitted.shift),
            loss: 0.0,
            work: 0,
        };
        let mut found = match winner.candidate.way {
            Way::Search(arm) => self.search(&winner.candidate.frame, &arm, report.clone(), watch),
            _ => Found {
                base: fitted.base,
                members: fitted.members,
                train_scores: fitted.train_scores,
                valid_scores: fitted.valid_scores,
                shift: fitted.shift,
                report: report.clone(),
            },
        };
        report.loss = self.loss_of(&found.train_scores, found.shift);
        report.work = self.work;
        found.report = report;
        temper(&mut found, winner.factor);
        Ok(found)
    }

    fn fit_greedy(&mut self, candidate: &Candidate) -> greedy::Fit {
        let Way::Greedy { rate, penalties } = candidate.way else { unreachable!("greedy candidates are greedy") };
        let settings = folds::greedy_settings(&candidate.frame, rate, penalties);
        self.work += candidate.frame.trees;
        greedy::train(self.data, self.valid, self.objective, &settings, self.pool, &mut |_| Flow::Continue)
    }

    fn search(&mut self, frame: &Frame, arm: &Arm, report: Report, watch: &mut dyn FnMut(&Progress) -> Flow) -> Found {
        let (rows, before, budget) = (self.data.rows() as f64, self.work, self.settings.budget);
        let mut tell = |stage, done, of, ensemble: &Ensemble<'_>| {
            let work = before + ensemble.work;
            let flow = watch(&Progress { stage, done, of, loss: Some(ensemble.loss() / rows), work });
            if budget > 0 && work >= budget { Flow::Stop } else { flow }
        };
        let (mut ensemble, flow) =
            backfit::backfit(self.data, self.valid, self.objective, (frame, arm), self.pool, &mut tell);
        if flow == Flow::Continue {
            pairs::search(&mut ensemble, frame.seed, 0..arm.pairs, &mut tell);
        }
        self.work += ensemble.work;
        Found {
            base: ensemble.base.clone(),
            members: ensemble.members(),
            train_scores: ensemble.training_scores(),
            valid_scores: self.valid.map(|valid| ensemble.valid_scores(&valid.plan)).unwrap_or_default(),
            shift: ensemble.shift,
            report,
        }
    }

    fn loss_of(&self, scores: &[Vec<f32>], shift: f64) -> f64 {
        let target: Vec<f32> =
            self.data.target.iter().map(|&y| (self.objective.transform_target(y) - shift) as f32).collect();
        let weight: Vec<f32> = self.data.weight.iter().map(|&weight| weight as f32).collect();
        let all: f64 = if weight.is_empty() { target.len() as f64 } else { self.data.weight.iter().sum() };
        self.objective.loss(&scores.concat(), &target, &weight) / all
    }
}

impl Clone for Tried {
    fn clone(&self) -> Self {
        Tried { candidate: self.candidate.clone(), score: self.score, factor: self.factor }
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
