//! What sets of features are worth: the loss on held-out rows of small ensembles that use no other
//! feature.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use swarmwood_model::Link;
use swarmwood_search::rng::Stream;

use super::SelectionConfig;
use crate::budget::Budget;
use crate::context::Context;
use crate::dataset::Dataset;
use crate::ensemble_fit::EnsembleFit;
use crate::fold_split::FoldSplit;
use crate::greedy::{self, GreedyConfig, Growth, lookahead::Lookahead};
use crate::metric::EvalMetric;
use crate::objective::Objective;
use crate::pool::{Pool, even_ranges};
use crate::split::{Penalties, Ridge};
use crate::stats::{BackendError, BackendOptions, Client, TrainingSet};

/// Rows that sets are compared on, at most.
const MOST_ROWS: usize = 8_192;

/// Below this many rows there are more folds.
const FEW_ROWS: usize = 2_000;

/// Folds, where rows are few and otherwise.
const FOLDS_OF_FEW: usize = 5;
const FOLDS: usize = 3;

/// Blocks of the held-out rows of a fold, over which losses are summed.
const BLOCKS: usize = 10;

/// By how many standard errors of the difference a set must be better than another: of many sets
/// that are as good as each other, the best looks better than it is.
const CAUTION: f64 = 1.0;

/// The ensembles: as many leaves as the default of the search has.
const TREES: usize = 24;
const LEAVES: usize = 8;
const LEARNING_RATE: f64 = 0.2;

/// The least weight of a leaf, in rows.
const LEAST_ROWS: f64 = 5.0;

/// Random streams of the assignment of rows to folds.
const FOLD_STREAM: u64 = 9 << 32;

/// The losses of a set of features on held-out rows, summed over blocks of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SubsetScore {
    losses: Vec<f64>,
    weight: f64,
}

impl SubsetScore {
    /// The mean loss of a row.
    pub fn mean(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.weight
    }

    /// Whether the set is better than another by more than chance.
    pub fn is_better(&self, other: &SubsetScore) -> bool {
        let count = self.losses.len() as f64;
        let gains: Vec<f64> =
            self.losses.iter().zip(&other.losses).map(|(own, other)| other - own).collect();
        let mean = gains.iter().sum::<f64>() / count;
        let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
        let standard_error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        mean > CAUTION * standard_error
    }
}

/// The result of one fit: the losses and the weight of its held-out rows, the gain of each feature
/// of the schema, and the trees that it grew.
struct SubsetFit {
    losses: Vec<f64>,
    weight: f64,
    gains: Vec<f64>,
    work: u64,
}

/// Scores sets of features, each once.
pub struct SubsetScorer<'a> {
    set: TrainingSet<'a>,
    /// Training and test rows.
    folds: Vec<(Dataset, Dataset)>,
    config: GreedyConfig,
    context: Context<'a>,
    single_thread: Pool,
    features: usize,
    known: BTreeMap<Vec<usize>, SubsetScore>,
    /// Trees grown.
    pub work: u64,
    most_work: u64,
}

impl<'a> SubsetScorer<'a> {
    pub fn new(
        set: TrainingSet<'a>,
        config: SelectionConfig,
        context: Context<'a>,
    ) -> Result<Self, BackendError> {
        let training = TrainingSet { valid: None, ..set };
        let options = BackendOptions { memory: config.memory, keep_derivatives: false };
        let hessians = Client::open(training, options, context)?.hessians()?;
        let hessian = hessians.first().copied().unwrap_or(0.0) / set.data.rows().max(1) as f64;
        let is_class = matches!(set.objective.link(), Link::Sigmoid | Link::Softmax);
        let (lambda, least) = match is_class {
            true => (1.0, 0.25 * LEAST_ROWS),
            false => (hessian, LEAST_ROWS * hessian),
        };

        Ok(SubsetScorer {
            set,
            folds: folds(set.data, is_class, config.seed, context),
            config: GreedyConfig {
                trees: TREES,
                growth: Growth::Leaf,
                depth: 0,
                max_leaves: LEAVES,
                lookahead: Lookahead::Off,
                learning_rate: LEARNING_RATE,
                penalties: Penalties {
                    lambda,
                    ridge: Ridge::Flat,
                    gamma: 0.0,
                    min_child_weight: least,
                },
                subsample: 1.0,
                colsample_bytree: 1.0,
                dart: None,
                early_stopping_rounds: 0,
                metric: EvalMetric::Loss,
                seed: config.seed,
                memory: config.memory,
                report_every: 0,
            },
            context,
            single_thread: Pool::new(1).expect("the calling thread is enough"),
            features: set.layout().sources().last().map_or(0, |&last| last as usize + 1),
            known: BTreeMap::new(),
            work: 0,
            most_work: config.most_work,
        })
    }

    /// Sets that were scored.
    pub fn evaluations(&self) -> usize {
        self.known.len()
    }

    /// Whether rows are so few that only clear differences can be told from chance.
    pub fn has_few_rows(&self) -> bool {
        self.set.data.rows() < FEW_ROWS
    }

    /// Whether the run was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.context.budget.is_interrupted()
    }

    /// Scores of sets of features, less is better; `None` if there is no time or work left for all
    /// of them.
    pub fn scores(
        &mut self,
        sets: &[Vec<usize>],
    ) -> Result<Option<Vec<SubsetScore>>, BackendError> {
        let mut new: Vec<&Vec<usize>> =
            sets.iter().filter(|set| !self.known.contains_key(*set)).collect();
        new.sort_unstable();
        new.dedup();
        let outputs = self.set.objective.outputs() as u64;
        let cost = (new.len() * self.folds.len()) as u64 * TREES as u64 * outputs;
        if self.work.saturating_add(cost) > self.most_work {
            return Ok(None);
        }

        let count = self.folds.len();
        let fits = self
            .context
            .pool
            .map(new.len() * count, |at| self.fit(new[at / count], at % count, &self.config));
        let fits = fits.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.work += fits.iter().map(|fit| fit.work).sum::<u64>();
        if self.is_interrupted() {
            return Ok(None);
        }
        let score = |fits: &[SubsetFit]| SubsetScore {
            losses: fits.iter().flat_map(|fit| fit.losses.iter().copied()).collect(),
            weight: fits.iter().map(|fit| fit.weight).sum(),
        };
        let scored: Vec<(Vec<usize>, SubsetScore)> =
            new.into_iter().cloned().zip(fits.chunks(count.max(1)).map(score)).collect();
        self.known.extend(scored);
        Ok(Some(sets.iter().map(|set| self.known[set].clone()).collect()))
    }

    /// The gain of the splits of each feature of the schema, in ensembles of these features; with
    /// as many trees as there is work left for.
    pub fn gains(&mut self, features: &[usize]) -> Result<Option<Vec<f64>>, BackendError> {
        let outputs = self.set.objective.outputs() as u64;
        let left = self.most_work.saturating_sub(self.work);
        let count = if left < self.folds.len() as u64 * outputs { 1 } else { self.folds.len() };
        let trees = (left / (count as u64 * outputs).max(1)).min(TREES as u64);
        if trees == 0 || self.is_interrupted() || self.folds.is_empty() {
            return Ok(None);
        }

        let config = GreedyConfig { trees: trees as usize, ..self.config.clone() };
        let fits = self.context.pool.map(count, |fold| self.fit(features, fold, &config));
        let mut gains = vec![0.0; self.features];
        for fit in fits {
            let fit = fit?;
            self.work += fit.work;
            gains.iter_mut().zip(&fit.gains).for_each(|(sum, gain)| *sum += gain);
        }
        Ok(Some(gains))
    }

    fn fit(
        &self,
        features: &[usize],
        fold: usize,
        config: &GreedyConfig,
    ) -> Result<SubsetFit, BackendError> {
        let mut kept = vec![false; self.features];
        let given = self.set.constraints.given_splits().features();
        features.iter().chain(&given).for_each(|&feature| kept[feature] = true);
        let (train, test) = &self.folds[fold];
        let train = train.with_features(&kept, &self.single_thread);
        let test = test.with_features(&kept, &self.single_thread);

        let set = TrainingSet { data: &train, valid: Some(&test), ..self.set };
        let budget: Budget = self.context.budget.clone().with_work_limit(u64::MAX);
        let context = Context { pool: &self.single_thread, budget: &budget };
        let fit = greedy::train(set, config, context, &mut |_| ())?;

        let sources = train.layout.sources();
        let mut gains = vec![0.0; self.features];
        for node in fit.trees.iter().flat_map(|tree| &tree.nodes) {
            gains[sources[node.rule.feature as usize] as usize] += node.gain;
        }
        let losses = block_losses(&test, &fit.ensemble, self.set.objective);
        let weight = match test.weight.is_empty() {
            true => test.rows() as f64,
            false => test.weight.iter().sum(),
        };
        Ok(SubsetFit { losses, weight, gains, work: budget.spent() })
    }
}

/// The losses of test rows, summed over blocks.
fn block_losses(test: &Dataset, fit: &EnsembleFit, objective: &dyn Objective) -> Vec<f64> {
    let transform = |y: f64| (objective.transform_target(y) - fit.shift) as f32;
    let target: Vec<f32> = test.target.iter().map(transform).collect();
    let weight: Vec<f32> = test.weight.iter().map(|weight| weight as f32).collect();
    let loss = |rows: Range<usize>| {
        let scores: Vec<f32> =
            fit.valid_scores.iter().flat_map(|output| &output[rows.clone()]).copied().collect();
        let weight = if weight.is_empty() { &[][..] } else { &weight[rows.clone()] };
        EvalMetric::Loss.partial(&scores, &target[rows], weight, objective).sum
    };
    even_ranges(test.rows(), BLOCKS.min(test.rows())).into_iter().map(loss).collect()
}

/// Training and test rows of all folds; none if the run is interrupted.
fn folds(
    data: &Dataset,
    is_class: bool,
    seed: u64,
    context: Context<'_>,
) -> Vec<(Dataset, Dataset)> {
    let rows = data.rows().min(MOST_ROWS);
    let row = |at: usize| at * data.rows() / rows.max(1);
    let folds = if rows < FEW_ROWS { FOLDS_OF_FEW } else { FOLDS };

    let target: Vec<f64> = if is_class { data.target.to_vec() } else { Vec::new() };
    let stratum = |a: usize, b: usize| match is_class {
        true => target[row(a)].total_cmp(&target[row(b)]),
        false => Ordering::Equal,
    };
    let split = FoldSplit::new(rows, folds, Stream::new(seed, FOLD_STREAM, 0), stratum);
    let part = |rows: Vec<usize>| {
        let rows: Vec<usize> = rows.into_iter().map(row).collect();
        (!context.budget.is_interrupted()).then(|| data.subset(&rows, context.pool))
    };
    let fold = |fold: usize| Some((part(split.train_rows(fold))?, part(split.test_rows(fold))?));
    (0..folds).map(fold).collect::<Option<Vec<_>>>().unwrap_or_default()
}
