//! Choosing: candidates are cross-validated, the best is fitted to all rows.

use swarmwood_model::{Link, Shape};
use swarmwood_search::Datum;

use super::ensemble::Ensemble;
use super::folds::{self, Fold, Judged};
use super::menu::{self, Candidate, Facts, Way};
use super::score::Unseen;
use super::state::{Flight, Past, Score};
use super::{Arm, Compared, Found, Frame, Progress, Report, SearchError, Settings, Stage, backfit, pairs};
use crate::dataset::Dataset;
use crate::event::Flow;
use crate::greedy;
use crate::objective::{Curvature, Objective};
use crate::pool::Pool;
use crate::workers::Begun;

/// A search arm must beat the best greedy fit by this share of its loss; for classes by nothing.
const MARGIN: f64 = 0.01;

/// Below this many rows nothing is compared.
const LEAST_ROWS: usize = 20;

/// Candidates between two looks at the budget and the listener. Fixed, so that neither depends on the number of threads.
const BATCH: usize = 2;

pub(super) struct Choosing<'a> {
    data: &'a Dataset,
    valid: Option<&'a Dataset>,
    objective: &'a dyn Objective,
    settings: &'a Settings,
    pool: &'a Pool,
    halt: &'a (dyn Fn() -> bool + Sync),
    alone: Pool,
    folds: Vec<Fold>,
    facts: Facts,
    tried: Vec<Tried>,
    /// What an earlier run found out.
    past: Past,
    work: usize,
    stopped: bool,
}

/// A candidate with its score.
#[derive(Debug, Clone)]
struct Tried {
    candidate: Candidate,
    score: f64,
    factor: f64,
    /// Mean squared error of the prediction.
    squares: f64,
    work: usize,
}

impl<'a> Choosing<'a> {
    pub(super) fn new(
        data: &'a Dataset,
        valid: Option<&'a Dataset>,
        objective: &'a dyn Objective,
        settings: &'a Settings,
        pool: &'a Pool,
        halt: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, SearchError> {
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
            halt,
            alone: Pool::new(1).map_err(SearchError::Threads)?,
            // Too few rows to hold any out: one greedy fit is all there is to do.
            folds: if data.rows() < LEAST_ROWS { Vec::new() } else { folds::deal(data, classes, frame.seed, pool) },
            facts: Facts { classes, rows: data.rows(), hessian, noise: 1.0, dispersion: 1.0 },
            tried: Vec::new(),
            past: Past::default(),
            work: 0,
            stopped: false,
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
    fn compare(&mut self, candidates: Vec<Candidate>, watch: &mut dyn FnMut(&Progress<'_>) -> Flow) {
        let folds = self.folds.len();
        if folds == 0 {
            return;
        }
        let of = candidates.len();
        let mut done = 0;
        for batch in candidates.chunks(BATCH) {
            let budget = self.settings.budget;
            if self.stopped || budget > 0 && self.work >= budget {
                return;
            }
            let known = self.past.scores.len() >= batch.len();
            let scores: Vec<Score> =
                if known { self.past.scores.drain(..batch.len()).collect() } else { self.judge(batch) };
            if (self.halt)() {
                // Fits that were cut short say nothing.
                self.stopped = true;
                return;
            }
            for (candidate, Score { score, factor, squares, work }) in batch.iter().cloned().zip(scores) {
                self.work += work;
                self.tried.push(Tried { candidate, score, factor, squares, work });
            }
            done += batch.len();
            if !known {
                let state = || state_of(&self.tried, None);
                let (stage, work) = (Stage::Compare, self.work);
                let best = best_of(&self.tried).map(|tried| tried.score);
                let progress = Progress { stage, done, of, loss: None, best, gain: None, work, state: &state };
                self.stopped = watch(&progress) == Flow::Stop;
            }
        }
    }

    /// Fits every candidate on every fold and scores it on the rows left out.
    fn judge(&self, candidates: &[Candidate]) -> Vec<Score> {
        let folds = self.folds.len();
        let judged = self.pool.map(candidates.len() * folds, |at| {
            folds::judge(&self.folds[at % folds], &candidates[at / folds], self.objective, &self.alone, self.halt)
        });
        let mut judged = judged.into_iter();
        candidates
            .iter()
            .map(|_| {
                let parts: Vec<Judged> = judged.by_ref().take(folds).collect();
                let work = parts.iter().map(|part| part.work).sum();
                let unseen = merged(parts);
                let (factor, score) = self.score(&unseen);
                Score { score, factor, squares: unseen.squares / unseen.weights(), work }
            })
            .collect()
    }

    fn score(&self, unseen: &Unseen) -> (f64, f64) {
        if self.facts.classes {
            return unseen.calibrated(self.objective.link());
        }
        (1.0, unseen.loss / unseen.weights())
    }

    /// Noise and dispersion from the best greedy fit against the best constant.
    fn estimate_noise(&mut self) {
        let Some(best) = best_of(&self.tried) else { return };
        let constant = Candidate { way: Way::Constant, ..best.candidate.clone() };
        let (left, all) = (best.squares, self.judge(&[constant])[0].squares);
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
                let candidate = menu::plain_greedy(&frame);
                Tried { candidate, score: f64::NAN, factor: 1.0, squares: f64::NAN, work: 0 }
            }
        }
    }

    fn finish(mut self, watch: &mut dyn FnMut(&Progress<'_>) -> Flow) -> Result<Found, SearchError> {
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
            Way::Search(arm) => self.search(&winner.candidate.frame, &arm, report.clone(), watch)?,
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
        let settings = candidate.frame.growing(rate, penalties);
        self.work += candidate.frame.trees;
        greedy::train(self.data, self.valid, self.objective, &settings, self.pool, &mut |_| folds::flow(self.halt))
    }

    fn search(
        &mut self,
        frame: &Frame,
        arm: &Arm,
        report: Report,
        watch: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Found, SearchError> {
        let (rows, before, budget) = (self.data.rows() as f64, self.work, self.settings.budget);
        let (tried, greedy_loss) = (&self.tried, report.greedy_loss);
        let (best, halt) = (best_of(tried).map(|tried| tried.score), self.halt);
        let mut tell = |stage, done, of, ensemble: &Ensemble<'_>| {
            let work = before + ensemble.work;
            let flight = || (stage != Stage::Start).then(|| Flight::of(stage, done, ensemble));
            let state = || state_of(tried, flight());
            let loss = ensemble.loss() / rows;
            let gain = (greedy_loss > 0.0).then_some(1.0 - loss / greedy_loss);
            let flow = watch(&Progress { stage, done, of, loss: Some(loss), best, gain, work, state: &state });
            if budget > 0 && work >= budget || halt() { Flow::Stop } else { flow }
        };
        let mut ensemble = Ensemble::new(self.data, self.valid, self.objective, frame, arm, self.pool);
        let (mut swept, mut paired) = (0, 0);
        match self.past.flight.take() {
            Some(flight) if flight.stage == Stage::Pairs => {
                (swept, paired) = (arm.sweeps, flight.done);
                ensemble.resume(flight);
            }
            Some(flight) => {
                swept = flight.done;
                ensemble.resume(flight);
            }
            None => self.stopped |= backfit::start(&mut ensemble, &mut tell) == Flow::Stop,
        }
        if self.stopped || budget > 0 && before + ensemble.work >= budget {
            (swept, paired) = (arm.sweeps, arm.pairs);
        }
        if backfit::sweeps(&mut ensemble, swept..arm.sweeps, &mut tell) == Flow::Continue {
            pairs::search(&mut ensemble, frame.seed, paired..arm.pairs, &mut tell);
        }
        if arm.pairs > 0 {
            backfit::agree(&mut ensemble);
        }
        self.work += ensemble.work;
        Ok(Found {
            base: ensemble.base.clone(),
            members: ensemble.members(),
            train_scores: ensemble.training_scores(),
            valid_scores: self.valid.map(|valid| ensemble.valid_scores(&valid.plan)).unwrap_or_default(),
            shift: ensemble.shift,
            report,
        })
    }

    fn loss_of(&self, scores: &[Vec<f32>], shift: f64) -> f64 {
        let target: Vec<f32> =
            self.data.target.iter().map(|y| (self.objective.transform_target(y) - shift) as f32).collect();
        let weight: Vec<f32> = self.data.weight.iter().map(|weight| weight as f32).collect();
        let all: f64 = if weight.is_empty() { target.len() as f64 } else { self.data.weight.iter().sum() };
        self.objective.loss(&scores.concat(), &target, &weight) / all
    }
}

/// What a run needs to go on.
fn state_of(tried: &[Tried], flight: Option<Flight>) -> Datum {
    let score = |tried: &Tried| {
        let &Tried { score, factor, squares, work, .. } = tried;
        Score { score, factor, squares, work }
    };
    Past { scores: tried.iter().map(score).collect(), flight }.save()
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
