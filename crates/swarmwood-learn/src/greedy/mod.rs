//! Gradient boosting by greedy growth: the baseline, the pre-trainer, and the start of every
//! search.
//!
//! One round adds one tree an output. [`grow`] grows ordinary trees, depth-wise or leaf-wise,
//! [`oblivious`] those whose levels share a rule; [`dart`] drops trees while a new one is fitted.
//! All of them ask [`Workers`] and see no row.

pub mod dart;
pub mod grow;
pub mod oblivious;

use swarmwood_model::Member;
use swarmwood_search::rng::Stream;

use crate::dataset::{Dataset, Plan};
use crate::event::{Event, Flow, Stage};
use crate::grown::Grown;
use crate::metric::{Partial, Watch};
use crate::objective::Objective;
use crate::objective::order::weighted_quantile;
use crate::pool::Pool;
use crate::shard::{Bag, Shard};
use crate::split::Penalties;
use crate::workers::{Begun, TreeSearch, Workers};

/// In which order nodes are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Level by level.
    Depth,
    /// Best leaf first.
    Leaf,
    /// Level by level with one rule a level.
    Oblivious,
}

/// What greedy boosting can be told. Ranges are the caller's to check.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Boosting rounds.
    pub trees: usize,
    /// Order of splits.
    pub growth: Growth,
    /// Most levels of splits; 0 for no limit (leaf-wise growth only).
    pub depth: usize,
    /// Most leaves; 0 for no limit.
    pub max_leaves: usize,
    /// Share of each leaf value that is added.
    pub learning_rate: f64,
    /// What makes a split worth its place.
    pub penalties: Penalties,
    /// Share of rows a tree sees.
    pub subsample: f64,
    /// Share of features a tree sees.
    pub colsample_bytree: f64,
    /// Drop trees while fitting.
    pub dart: Option<dart::Dart>,
    /// Stop when the validation metric has not improved for this many rounds; 0 for never.
    pub early_stopping_rounds: usize,
    /// The validation metric.
    pub metric: Watch,
    /// Seed of all draws.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows; less makes it slower, never
    /// different.
    pub memory: usize,
    /// Tell the training loss every so many rounds; 0 for never. It costs a pass over the rows.
    pub tell_every: usize,
}

/// What boosting ends with.
#[derive(Debug)]
pub struct Fit {
    /// Start value of each output.
    pub base: Vec<f64>,
    /// Trees, round after round.
    pub members: Vec<Member>,
    /// The same trees over bin codes, their leaves as in `members`.
    pub grown: Vec<Grown>,
    /// Rounds kept.
    pub rounds: usize,
    /// Rounds done, before the best one was chosen.
    pub rounds_done: usize,
    /// Raw scores of the training rows under the kept trees, in row order, output after output.
    pub train_scores: Vec<Vec<f32>>,
    /// The same for the validation rows; empty without any.
    pub valid_scores: Vec<Vec<f32>>,
    /// What to add to a score to get the raw score (see [`Objective::shift_invariant`]).
    pub shift: f64,
}

/// Purposes of random streams, so that no two draws share one.
const COLUMNS_STREAM: u64 = 1 << 32;
const ROWS_STREAM: u64 = 2 << 32;
const DROP_STREAM: u64 = 3 << 32;

/// Trains. `valid` must be binned with the same layout as `data`.
pub fn train(
    data: &Dataset,
    valid: Option<&Dataset>,
    objective: &dyn Objective,
    settings: &Settings,
    pool: &Pool,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Fit {
    Boosting::new(data, valid, objective, settings, pool).run(watch)
}

struct Boosting<'a> {
    workers: Workers<'a>,
    objective: &'a dyn Objective,
    settings: &'a Settings,
    base: Vec<f64>,
    /// Trees with leaf values as grown, round after round.
    grown: Vec<Grown>,
    /// What each round's leaf values count for now; below one only after drops.
    factors: Vec<f64>,
    shift: f64,
    valid_plan: Option<Plan>,
}

/// The best round so far by the validation metric.
struct Best {
    value: f64,
    round: usize,
    factors: Vec<f64>,
}

impl<'a> Boosting<'a> {
    fn new(
        data: &Dataset,
        valid: Option<&Dataset>,
        objective: &'a dyn Objective,
        settings: &'a Settings,
        pool: &'a Pool,
    ) -> Self {
        let Begun { workers, base, shift, .. } =
            Begun::new(data, valid, objective, pool, settings.memory);
        Boosting {
            workers,
            objective,
            settings,
            base,
            grown: Vec::new(),
            factors: Vec::new(),
            shift,
            valid_plan: valid.map(|valid| valid.plan),
        }
    }

    fn run(mut self, watch: &mut dyn FnMut(&Event) -> Flow) -> Fit {
        let rounds = self.settings.trees;
        let (mut best, mut stopped): (Option<Best>, bool) = (None, false);
        for round in 0..rounds {
            let dropped = self.drop_trees(round);
            self.workers.derive(0.0);
            for output in 0..self.objective.outputs() {
                self.add_tree(round, output);
            }
            self.factors.push(1.0);
            self.weigh_dropped(round, &dropped);
            let event = self.event(round + 1);
            if let Some(value) = event.valid
                && best.as_ref().is_none_or(|best| self.settings.metric.better(value, best.value))
            {
                best = Some(Best { value, round: round + 1, factors: self.factors.clone() });
            }
            let patience = self.settings.early_stopping_rounds;
            let stale = best
                .as_ref()
                .is_some_and(|best| patience > 0 && round + 1 - best.round >= patience);
            stopped = watch(&event) == Flow::Stop || self.workers.hurried();
            if stopped || stale {
                break;
            }
        }
        // Without early stopping the validation metric is told, not obeyed, unless the listener
        // ends the run.
        let obeyed = stopped || self.settings.early_stopping_rounds > 0;
        self.fit(best.filter(|_| obeyed))
    }

    fn event(&self, round: usize) -> Event {
        let (rounds, every) = (self.settings.trees, self.settings.tell_every);
        let told = every > 0 && (round.is_multiple_of(every) || round == rounds);
        let part = |watch: Watch| {
            let objective = self.objective;
            move |shard: &Shard| {
                watch.partial(shard.scores(), shard.targets(), shard.weights(), objective)
            }
        };
        let train =
            told.then(|| Watch::Loss.finish(self.workers.sum_training(part(Watch::Loss), merge)));
        let metric = self.settings.metric;
        let valid = self.workers.sum_valid(part(metric), merge).map(|all| metric.finish(all));
        Event { train, valid, ..Event::new(Stage::BOOSTING, round, rounds) }
    }

    fn add_tree(&mut self, round: usize, output: usize) {
        let settings = self.settings;
        let search =
            TreeSearch { allowed: self.columns(round, output), penalties: settings.penalties };
        let bag = (settings.subsample < 1.0).then(|| Bag {
            share: settings.subsample,
            seed: settings.seed,
            round: ROWS_STREAM + round as u64,
        });
        let (mut grown, slots) = match settings.growth {
            Growth::Oblivious => oblivious::grow(&mut self.workers, output, bag, search, settings),
            Growth::Depth | Growth::Leaf => {
                grow::grow(&mut self.workers, output, bag, search, settings)
            }
        };
        if let Some(alpha) = self.objective.leaf_quantile() {
            for &(slot, leaf) in &slots {
                let mut residuals = self.workers.residuals(slot);
                grown.leaves[leaf].value = weighted_quantile(&mut residuals, alpha).unwrap_or(0.0);
            }
        }
        grown.leaves.iter_mut().for_each(|leaf| leaf.value *= settings.learning_rate);
        self.workers.finish(output, &grown, &slots);
        self.grown.push(grown);
    }

    /// The features a tree may use: the same number in every round, at least one.
    fn columns(&self, round: usize, output: usize) -> Vec<bool> {
        let features = self.workers.layout().features().len();
        let share = self.settings.colsample_bytree;
        if share >= 1.0 {
            return vec![true; features];
        }
        let constant: Vec<usize> = self.workers.layout().constant_features().collect();
        let usable: Vec<usize> =
            (0..features).filter(|feature| !constant.contains(feature)).collect();
        let wanted = ((usable.len() as f64 * share).round() as usize).clamp(1, usable.len().max(1));
        let mut stream =
            Stream::new(self.settings.seed, COLUMNS_STREAM + round as u64, output as u64);
        let mut allowed = vec![false; features];
        if !usable.is_empty() {
            stream
                .sample_without(usable.len(), wanted)
                .into_iter()
                .for_each(|at| allowed[usable[at]] = true);
        }
        allowed
    }

    fn fit(mut self, best: Option<Best>) -> Fit {
        self.workers.rest();
        let outputs = self.objective.outputs();
        let rounds_done = self.factors.len();
        let (rounds, factors) = match best {
            Some(best) => (best.round, best.factors),
            None => (rounds_done, self.factors.clone()),
        };
        // Scores must tell of the kept trees alone, with the shares they are kept with.
        for round in 0..rounds_done {
            let change = factors.get(round).copied().unwrap_or(0.0) - self.factors[round];
            if change != 0.0 {
                self.add_round(round, change, true, true);
            }
        }
        let train_scores = self.workers.training_scores();
        let valid_scores =
            self.valid_plan.map(|plan| self.workers.valid_scores(&plan)).unwrap_or_default();
        let mut grown = self.grown;
        grown.truncate(rounds * outputs);
        for (at, tree) in grown.iter_mut().enumerate() {
            tree.leaves.iter_mut().for_each(|leaf| leaf.value *= factors[at / outputs]);
        }
        let layout = self.workers.layout();
        let member = |(at, tree): (usize, &Grown)| Member {
            output: (at % outputs) as u32,
            shape: tree.to_shape(layout),
        };
        let members = grown.iter().enumerate().map(member).collect();
        Fit {
            base: self.base,
            members,
            grown,
            rounds,
            rounds_done,
            train_scores,
            valid_scores,
            shift: self.shift,
        }
    }
}

fn merge(mut all: Partial, part: Partial) -> Partial {
    all.merge(part);
    all
}

#[cfg(test)]
mod tests;
