//! Gradient boosting by greedy growth: the baseline, the pre-trainer, and the start of every
//! search.
//!
//! One round adds one tree per output. `grow` grows ordinary trees, depth-wise or leaf-wise,
//! [`oblivious`] those whose levels share a rule; [`dart`] drops trees while a new one is fitted.
//! All of them are clients of [`crate::stats`] and see no row.

pub mod dart;
pub(crate) mod grow;
pub mod lookahead;
pub mod oblivious;

use swarmwood_model::Member;
use swarmwood_search::rng::Stream;

use crate::binned_tree::BinnedTree;
use crate::context::Context;
use crate::ensemble_fit::EnsembleFit;
use crate::event::{Event, Stage};
use crate::isotonic::PartialOrder;
use crate::metric::EvalMetric;
use crate::ridge;
use crate::split::Penalties;
use crate::stats::{
    BackendError, BackendOptions, Client, LeafRows, LeafSlot, Reply, RowSample, RowSet,
    TrainingSet, Work,
};
use grow::{TreeGrowth, TreeTask};
use lookahead::Lookahead;

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

/// Configuration of greedy boosting; the caller checks the ranges.
#[derive(Debug, Clone, PartialEq)]
pub struct GreedyConfig {
    /// Boosting rounds.
    pub trees: usize,
    /// Order of splits.
    pub growth: Growth,
    /// Most levels of splits; 0 for no limit (leaf-wise growth only).
    pub depth: usize,
    /// Most leaves; 0 for no limit.
    pub max_leaves: usize,
    /// How growth looks ahead; oblivious trees do not.
    pub lookahead: Lookahead,
    /// Share of each leaf value that is added.
    pub learning_rate: f64,
    /// What makes a split worth its place.
    pub penalties: Penalties,
    /// Share of rows a tree sees.
    pub subsample: f64,
    /// Share of features a tree sees.
    pub colsample_bytree: f64,
    /// Drop trees while fitting.
    pub dart: Option<dart::DartConfig>,
    /// Stop when the validation metric has not improved for this many rounds; 0 for never.
    pub early_stopping_rounds: usize,
    /// The validation metric.
    pub metric: EvalMetric,
    /// Seed of all draws.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows; less makes it slower, never
    /// different.
    pub memory: usize,
    /// Report the training loss every so many rounds; 0 for never. It costs a pass over the rows.
    pub report_every: usize,
}

/// The result of boosting.
#[derive(Debug)]
pub struct BoostingFit {
    /// The kept trees, and the scores under them.
    pub ensemble: EnsembleFit,
    /// The same trees over bin codes, their leaves as in the ensemble.
    pub trees: Vec<BinnedTree>,
    /// Rounds kept.
    pub rounds: usize,
    /// Rounds done, before the best one was chosen.
    pub rounds_done: usize,
}

/// Purposes of random streams, so that no two draws share one.
const COLUMNS_STREAM: u64 = 1 << 32;
const ROWS_STREAM: u64 = 2 << 32;
const DROP_STREAM: u64 = 3 << 32;

/// Trains. The observer hears of every round. A run whose budget is interrupted or exhausted ends
/// with the whole rounds it has.
pub fn train(
    set: TrainingSet<'_>,
    settings: &GreedyConfig,
    context: Context<'_>,
    observer: &mut dyn FnMut(&Event),
) -> Result<BoostingFit, BackendError> {
    Boosting::new(set, settings, context)?.run(observer)
}

struct Boosting<'a> {
    client: Client<'a>,
    set: TrainingSet<'a>,
    settings: &'a GreedyConfig,
    context: Context<'a>,
    /// Trees with leaf values as grown, round after round.
    grown: Vec<BinnedTree>,
    /// What each round's leaf values count for now; below one only after drops.
    factors: Vec<f64>,
}

/// The best round so far by the validation metric.
struct BestRound {
    value: f64,
    round: usize,
    factors: Vec<f64>,
}

impl<'a> Boosting<'a> {
    fn new(
        set: TrainingSet<'a>,
        settings: &'a GreedyConfig,
        context: Context<'a>,
    ) -> Result<Self, BackendError> {
        let options = BackendOptions { memory: settings.memory, keep_derivatives: false };
        let client = Client::open(set, options, context)?;
        Ok(Boosting { client, set, settings, context, grown: Vec::new(), factors: Vec::new() })
    }

    fn outputs(&self) -> usize {
        self.set.objective.outputs()
    }

    fn run(mut self, observer: &mut dyn FnMut(&Event)) -> Result<BoostingFit, BackendError> {
        let budget = self.context.budget;
        let mut best: Option<BestRound> = None;
        for round in 0..self.settings.trees {
            if !self.may_begin(round) || !self.add_round(round)? {
                break;
            }

            let event = self.event(round + 1)?;
            if let Some(value) = event.valid
                && best.as_ref().is_none_or(|best| self.settings.metric.better(value, best.value))
            {
                best = Some(BestRound { value, round: round + 1, factors: self.factors.clone() });
            }
            observer(&event);

            let patience = self.settings.early_stopping_rounds;
            let stale = best
                .as_ref()
                .is_some_and(|best| patience > 0 && round + 1 - best.round >= patience);
            if stale {
                break;
            }
        }

        // Without early stopping the validation metric is reported, not obeyed, unless the run was
        // interrupted.
        let obeyed = self.settings.early_stopping_rounds > 0 || budget.is_interrupted();
        self.fit(best.filter(|_| obeyed))
    }

    /// Whether there is time, and budget for all trees of a round. The first round is begun even
    /// in an interrupted run, so that there is a model.
    fn may_begin(&self, round: usize) -> bool {
        let budget = self.context.budget;
        let affordable = budget.remaining().is_none_or(|left| left >= self.outputs() as u64);
        affordable && (round == 0 || !budget.is_interrupted())
    }

    /// Adds a tree per output; false if the run was interrupted between two outputs, and the round
    /// was taken back.
    fn add_round(&mut self, round: usize) -> Result<bool, BackendError> {
        let dropped = self.drop_trees(round);
        self.client.push(Work::Derive { output: None, extra_hessian: 0.0 });
        for output in 0..self.outputs() {
            if output > 0 && self.context.budget.is_interrupted() {
                self.take_back(round, &dropped);
                return Ok(false);
            }
            self.add_tree(round, output)?;
        }
        self.factors.push(1.0);
        self.weigh_dropped(round, &dropped);
        Ok(true)
    }

    /// Undoes a round that has only some of its trees.
    fn take_back(&mut self, round: usize, dropped: &[usize]) {
        let whole = round * self.outputs();
        for (output, tree) in self.grown.split_off(whole).into_iter().enumerate() {
            let (training, validation) = (true, true);
            self.client.push(Work::AddTree { output, tree, factor: -1.0, training, validation });
        }
        for &round in dropped {
            self.scale_round(round, self.factors[round], true, false);
        }
    }

    fn event(&mut self, round: usize) -> Result<Event, BackendError> {
        let (rounds, every) = (self.settings.trees, self.settings.report_every);
        let is_due = every > 0 && (round.is_multiple_of(every) || round == rounds);
        let train = Work::Metric { metric: EvalMetric::Loss, rows: RowSet::Training };
        let valid = Work::Metric { metric: self.settings.metric, rows: RowSet::Validation };
        let work = [is_due.then_some(train), self.set.valid.is_some().then_some(valid)];
        let watched = (0..self.set.watched.len()).map(|set| {
            let rows = RowSet::Watched { set };
            Work::Metric { metric: self.settings.metric, rows }
        });
        let asked: Vec<Work> = work.into_iter().flatten().chain(watched).collect();

        let mut event = Event::new(Stage::BOOSTING, round, rounds);
        if asked.is_empty() {
            return Ok(event);
        }
        let mut values = self.client.ask_all(asked)?.into_iter().map(|reply| match reply {
            Reply::Value { value } => Ok(value),
            _ => Err(BackendError::Reply { work: "Metric" }),
        });
        if is_due {
            event.train = values.next().transpose()?.flatten();
        }
        if self.set.valid.is_some() {
            event.valid = values.next().transpose()?.flatten();
        }
        let watched: Result<Vec<Option<f64>>, BackendError> = values.collect();
        event.watched = watched?.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        Ok(event)
    }

    fn add_tree(&mut self, round: usize, output: usize) -> Result<(), BackendError> {
        let settings = self.settings;
        // A continued training draws what an uninterrupted one would have drawn.
        let first = self.set.initial.map_or(0, |initial| initial.rounds);
        let allowed = self.columns(first + round, output);
        let search = self.client.split_constraints(allowed, settings.penalties);
        let sample = (settings.subsample < 1.0).then(|| RowSample {
            share: settings.subsample,
            seed: settings.seed,
            round: ROWS_STREAM + (first + round) as u64,
        });
        let quantile = self.set.objective.leaf_quantile();
        let leaf_work = |leaves: &[LeafSlot], _: usize| {
            let slots = || leaves.iter().map(|leaf| leaf.slot).collect();
            let ask =
                |alpha| Work::LeafQuantiles { rows: LeafRows::Slots { slots: slots() }, alpha };
            quantile.map(ask).into_iter().collect()
        };
        let task = TreeTask { output, sample, search, leaf_work: &leaf_work };
        let TreeGrowth { mut tree, sums, order, leaves, asked, mut replies } =
            grow_tree(&mut self.client, task, settings, self.context)?;
        ridge::set_values(&mut tree, &sums, &settings.penalties, &order);

        if quantile.is_some() {
            let quantiles = crate::stats::quantiles_of(replies.pop())?;
            let mut weights = vec![0.0; tree.leaves.len()];
            for (leaf, quantile) in asked.iter().zip(quantiles) {
                if leaves.contains(leaf) {
                    tree.leaves[leaf.leaf].value = quantile.value;
                    weights[leaf.leaf] = quantile.weight;
                }
            }
            order_leaves(&mut tree, &weights, &order);
        }
        tree.leaves.iter_mut().for_each(|leaf| leaf.value *= settings.learning_rate);
        self.client.push(Work::FinishTree { output, tree: tree.clone(), leaves });
        self.grown.push(tree);
        Ok(())
    }

    /// The features a tree may use: the same number in every round, at least one.
    fn columns(&self, round: usize, output: usize) -> Vec<bool> {
        let layout = self.client.layout();
        let sources = layout.sources();
        let share = self.settings.colsample_bytree;
        if share >= 1.0 {
            return vec![true; sources.len()];
        }
        // Features of the schema are drawn; those that several of the layout stand for come whole.
        let features = sources.last().map_or(0, |&last| last as usize + 1);
        let constant: Vec<usize> = layout.constant_features().collect();
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
        sources.iter().map(|&source| allowed[source as usize]).collect()
    }

    fn fit(mut self, best: Option<BestRound>) -> Result<BoostingFit, BackendError> {
        self.client.push(Work::ReleaseBuffers {});
        let outputs = self.outputs();
        let rounds_done = self.factors.len();
        let (rounds, factors) = match best {
            Some(best) => (best.round, best.factors),
            None => (rounds_done, self.factors.clone()),
        };

        // Scores must be those of the kept trees alone, with the factors they are kept with.
        for round in 0..rounds_done {
            let change = factors.get(round).copied().unwrap_or(0.0) - self.factors[round];
            if change != 0.0 {
                self.scale_round(round, change, true, true);
            }
        }
        let train_scores = self.client.scores(RowSet::Training)?;
        let valid_scores = self.client.scores(RowSet::Validation)?;

        let mut grown = self.grown;
        grown.truncate(rounds * outputs);
        for (at, tree) in grown.iter_mut().enumerate() {
            tree.leaves.iter_mut().for_each(|leaf| leaf.value *= factors[at / outputs]);
        }
        let layout = self.client.layout();
        let member = |(at, tree): (usize, &BinnedTree)| Member {
            output: (at % outputs) as u32,
            shape: tree.to_shape(layout),
        };
        let members = grown.iter().enumerate().map(member).collect();
        let data = self.client.data();
        let (base, shift) = (data.base.clone(), data.shift);
        let ensemble = EnsembleFit { base, members, train_scores, valid_scores, shift };
        Ok(BoostingFit { ensemble, trees: grown, rounds, rounds_done })
    }
}

/// Moves leaf values as little as an order of them asks for.
fn order_leaves(tree: &mut BinnedTree, weights: &[f64], order: &PartialOrder) {
    let values: Vec<f64> = tree.leaves.iter().map(|leaf| leaf.value).collect();
    let ordered = order.project(&values, weights);
    tree.leaves.iter_mut().zip(ordered).for_each(|(leaf, value)| leaf.value = value);
}

/// Grows one tree in the order of splits that the settings name.
pub(crate) fn grow_tree(
    client: &mut Client<'_>,
    task: TreeTask<'_>,
    settings: &GreedyConfig,
    context: Context<'_>,
) -> Result<TreeGrowth, BackendError> {
    match settings.growth {
        Growth::Oblivious => oblivious::grow(client, task, settings, context.budget),
        Growth::Depth | Growth::Leaf => grow::grow(client, task, settings, context.budget),
    }
}

#[cfg(test)]
mod tests;
