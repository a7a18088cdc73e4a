//! The plan of a fit: a search on all rows and one on the rows outside of each fold; the losses of
//! the folds choose how many iterations, which ridge, and whether one tree or a sum.

use swarmwood_search::rng::Stream;
use swarmwood_search::{Datum, Error};

use super::class_fit::fit_classes;
use super::leaf_fit::SumFit;
use super::model::TreeSumFit;
use super::rows::SumRows;
use super::search::{SumSearch, SumSearchConfig};
use super::test_loss::test_loss;
use super::{TreeSumConfig, model};
use crate::cart::{TreeFold, TreeLimits, stratified_folds};
use crate::context::Context;
use crate::event::{Event, Stage};
use crate::leaf_loss::LeafLoss;
use crate::plan::TaskLog;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::RankTree;
use crate::task_batches::TaskBatches;
use crate::tree_search::{self, TreeSearchConfig};

/// Penalties of leaf values that are compared.
const RIDGES: [f64; 6] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// The penalty during a search.
const SEARCH_RIDGE: f64 = 3.0;

/// Shares of the iterations after which the sum is a candidate.
const STOPS: [f64; 4] = [0.0, 1.0 / 6.0, 0.5, 1.0];

/// Rows that trees are searched on, at most; values are fitted to all rows.
const SEARCH_ROWS: usize = 20_000;

/// Random stream that draws these rows.
const SAMPLE_STREAM: u64 = 10 << 32;

/// Trees of the population of the search over one tree, and its descents.
const TREE_POPULATION: usize = 4;
const TREE_DESCENTS: usize = 8;

/// The cross-validated loss of one way to make the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeSumCandidate {
    /// Iterations of the search over sums; `None` for one tree.
    pub iterations: Option<usize>,
    /// Penalty of the leaf values.
    pub ridge: f64,
    /// Mean loss on rows that were not fitted: squared error, or log loss.
    pub loss: f64,
    /// Misclassified rows among them; 0 for numbers.
    pub errors: f64,
}

/// How a fit was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSumReport {
    /// The candidate that the model is; its loss is not a number if no fold was finished.
    pub chosen: TreeSumCandidate,
    /// The best ridge of every candidate, the chosen one among them.
    pub candidates: Vec<TreeSumCandidate>,
    /// Number of trees.
    pub trees: usize,
    /// Number of splits of all trees together.
    pub splits: usize,
    /// Folds that were finished, and folds planned.
    pub folds: [usize; 2],
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq)]
struct SumTaskResult {
    /// The trees of each candidate; of all rows alone.
    trees: Vec<Vec<RankTree>>,
    /// Summed test losses and number of errors by candidate and ridge, and the weight of the test
    /// rows; of folds alone.
    losses: Vec<f64>,
}

impl SumTaskResult {
    fn to_datum(&self) -> Datum {
        let of_sum =
            |trees: &Vec<RankTree>| Datum::List(trees.iter().map(RankTree::to_datum).collect());
        let trees = Datum::List(self.trees.iter().map(of_sum).collect());
        Datum::List(vec![trees, Datum::reals(&self.losses)])
    }

    fn from_datum(
        datum: &Datum,
        table: &RankTable,
        is_fold: bool,
        candidates: usize,
    ) -> Result<Self, Error> {
        let [trees, losses] = datum.tuple()?;
        let of_sum = |sum: &Datum| -> Result<Vec<RankTree>, Error> {
            sum.list()?.iter().map(|tree| RankTree::from_datum(tree, table)).collect()
        };
        let trees: Vec<Vec<RankTree>> =
            trees.list()?.iter().map(of_sum).collect::<Result<_, _>>()?;
        if trees.len() != if is_fold { 0 } else { candidates } {
            return Err(Error::Snapshot("holds trees of another plan; it is damaged".to_string()));
        }
        let count = if is_fold { 2 * candidates * RIDGES.len() + 1 } else { 0 };
        Ok(SumTaskResult { trees, losses: losses.to_reals(count)? })
    }
}

/// What every task of a fit reads.
struct SumPlan<'a> {
    table: &'a RankTable,
    config: &'a TreeSumConfig,
    context: Context<'a>,
}

/// Fits a sum of trees, or one tree where cross-validation prefers it. Every search is a task of the
/// log. When the budget is interrupted, the best sum so far is the result, and the folds that were
/// finished decide as far as there are any.
pub fn fit(
    table: &RankTable,
    config: &TreeSumConfig,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
) -> Result<TreeSumFit, Error> {
    let sample = (table.rows() > SEARCH_ROWS).then(|| draw_rows(table, config.seed));
    let searched = sample.as_ref().unwrap_or(table);
    let plan = SumPlan { table: searched, config, context };
    let folds = stratified_folds(searched, config.folds, config.seed, 0, context);
    let planned = folds.len();
    let count = STOPS.len() + usize::from(config.with_one_tree);
    let tasks = TaskBatches {
        count: planned + 1,
        batch: context.pool.threads(),
        key: &|at| if at == 0 { "all rows".to_string() } else { format!("fold {}", at - 1) },
        save: &SumTaskResult::to_datum,
        load: &|at, stored| SumTaskResult::from_datum(stored, searched, at > 0, count),
        event: &|done| Event::new(Stage::COMPARING, done, planned + 1),
    };
    let mut results = tasks.run(context, log, |at| match at {
        0 => SumTaskResult { trees: plan.search(0, searched), losses: Vec::new() },
        _ => plan.evaluate_fold(at as u64, &folds[at - 1]),
    })?;

    let of_folds: Vec<&Vec<f64>> = results[1..]
        .iter()
        .flatten()
        .map(|result| &result.losses)
        .filter(|losses| !losses.is_empty())
        .collect();
    let finished = of_folds.len();
    let (candidate, ridge, candidates) = choose(&of_folds, count, config.iterations);
    let trees = match results.swap_remove(0) {
        Some(mut result) => result.trees.swap_remove(candidate),
        None => Vec::new(),
    };

    let rows = SumRows::new(table, config.bins);
    let (trees, splits) = model::centre(trees, table);
    let mut fitted = SumFit::of_trees(&rows, &trees, ridge);
    if rows.outputs() > 1 {
        fit_classes(&mut fitted, &rows, ridge);
    }
    let report = TreeSumReport {
        chosen: candidates[candidate],
        candidates,
        trees: fitted.trees.len(),
        splits: fitted.splits(),
        folds: [finished, planned],
    };
    Ok(model::assemble(&fitted, &rows, splits, report))
}

/// Rows to search on.
fn draw_rows(table: &RankTable, seed: u64) -> RankTable {
    let mut stream = Stream::new(seed, SAMPLE_STREAM, 0);
    let mut rows: Vec<u32> = stream
        .sample_without(table.rows(), SEARCH_ROWS)
        .into_iter()
        .map(|row| row as u32)
        .collect();
    rows.sort_unstable();
    table.subset(&rows)
}

/// The candidate to take, its ridge, and the best ridge of each candidate: the sum with the least
/// loss over all folds, or one tree. Without a fold it is the longest search.
fn choose(
    folds: &[&Vec<f64>],
    count: usize,
    iterations: usize,
) -> (usize, f64, Vec<TreeSumCandidate>) {
    let weight: f64 = folds.iter().filter_map(|losses| losses.last()).sum();
    let sum = |at: usize| folds.iter().map(|losses| losses[at]).sum::<f64>();
    let mean =
        |candidate: usize, ridge: usize| sum(2 * (candidate * RIDGES.len() + ridge)) / weight;
    let best = |candidate: usize| {
        let ridge = (0..RIDGES.len())
            .reduce(|a, b| if mean(candidate, b) < mean(candidate, a) { b } else { a })
            .filter(|_| !folds.is_empty());
        TreeSumCandidate {
            iterations: STOPS.get(candidate).map(|share| (share * iterations as f64) as usize),
            ridge: ridge.map_or(SEARCH_RIDGE, |ridge| RIDGES[ridge]),
            loss: ridge.map_or(f64::NAN, |ridge| mean(candidate, ridge)),
            errors: ridge.map_or(0.0, |ridge| sum(2 * (candidate * RIDGES.len() + ridge) + 1)),
        }
    };
    let candidates: Vec<TreeSumCandidate> = (0..count).map(best).collect();
    // Of equals, the longest search.
    let mut chosen = (0..STOPS.len())
        .rev()
        .reduce(|a, b| if candidates[b].loss < candidates[a].loss { b } else { a })
        .unwrap_or(0);
    if let Some(tree) = candidates.get(STOPS.len()) {
        let sum = &candidates[chosen];
        // One tree may be right more often where its probabilities are worse. About half of the
        // errors of both are the same rows, so that this is one standard error of the difference.
        let deviation = (0.5 * (sum.errors + tree.errors)).sqrt();
        let is_clearly_better = sum.errors - tree.errors > deviation;
        let is_clearly_worse = tree.errors - sum.errors > deviation;
        if is_clearly_better || (tree.loss < sum.loss && !is_clearly_worse) {
            chosen = STOPS.len();
        }
    }
    (chosen, candidates[chosen].ridge, candidates)
}

impl SumPlan<'_> {
    /// The trees of each candidate: sums after some iterations each, and one tree.
    fn search(&self, item: u64, table: &RankTable) -> Vec<Vec<RankTree>> {
        let config = self.config;
        let rows = SumRows::new(table, config.bins);
        let sums = SumSearchConfig {
            splits: config.splits,
            min_leaf: config.min_leaf,
            ridge: SEARCH_RIDGE,
            iterations: config.iterations,
            seed: config.seed,
        };
        let stops = STOPS.map(|share| (share * config.iterations as f64) as usize);
        let mut found = SumSearch::new(&rows, sums, self.context).run(item, &stops);
        if config.with_one_tree {
            found.push(vec![self.one_tree(table)]);
        }
        found
    }

    /// The best single tree with so many splits.
    fn one_tree(&self, table: &RankTable) -> RankTree {
        let is_number = matches!(table.target(), RankTarget::Numbers { .. });
        let loss = if is_number { LeafLoss::Squared } else { LeafLoss::Mix { share: 0.5 } };
        let limits =
            TreeLimits { leaves: self.config.splits + 1, depth: 0, min_leaf: self.config.min_leaf };
        let config = TreeSearchConfig {
            loss,
            limits,
            population: TREE_POPULATION,
            descents: if is_number { 0 } else { TREE_DESCENTS },
            seed: self.config.seed,
        };
        tree_search::search(table, &config, self.context, &mut |_| ()).best.tree
    }

    /// Searches on the training rows of a fold and computes the losses of its test rows.
    fn evaluate_fold(&self, item: u64, fold: &TreeFold) -> SumTaskResult {
        let (train, test) = (self.table.subset(&fold.train), self.table.subset(&fold.test));
        let candidates = self.search(item, &train);
        let rows = SumRows::new(&train, self.config.bins);
        let mut losses = Vec::new();
        let mut weight = 0.0;
        for trees in candidates {
            let (trees, _) = model::centre(trees, &train);
            for ridge in RIDGES {
                if self.context.budget.is_interrupted() {
                    return SumTaskResult { trees: Vec::new(), losses: Vec::new() };
                }
                let mut fit = SumFit::of_trees(&rows, &trees, ridge);
                if rows.outputs() > 1 {
                    fit_classes(&mut fit, &rows, ridge);
                }
                let of_test = test_loss(&fit, rows.scale, &test);
                losses.extend([of_test.loss, of_test.errors]);
                weight = of_test.weight;
            }
        }
        losses.push(weight);
        SumTaskResult { trees: Vec::new(), losses }
    }
}
