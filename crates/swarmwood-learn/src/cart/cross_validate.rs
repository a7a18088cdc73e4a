//! The complexity parameter `alpha` by cross-validation (Breiman et al. 1984, section 3.4).

use swarmwood_search::{Datum, Error};

use super::folds::{TreeFold, stratified_folds};
use super::grow::CartGrower;
use super::prune::PruningPath;
use crate::event::{Event, Stage};
use crate::leaf_loss::LeafLoss;
use crate::plan::TaskLog;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::{NodeFit, RankTree, fit_nodes};
use crate::task_batches::TaskBatches;

/// Which of the cross-validated trees is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruningChoice {
    /// The one with the least error; the smallest of equals.
    Best,
    /// The smallest one within one standard error of it.
    OneStandardError,
}

/// The cross-validated error of one nested tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PruningScore {
    /// The complexity parameter.
    pub alpha: f64,
    /// Leaves of the tree of all rows.
    pub leaves: usize,
    /// Mean error of rows that were not fitted.
    pub error: f64,
    /// Its standard error.
    pub deviation: f64,
}

/// The errors of the test rows of one fold under each of the nested trees. Few rows change their
/// error from one tree to the next, so that only changes are stored.
#[derive(Debug, Clone, PartialEq, Default)]
struct FoldErrors {
    /// The weight of each row.
    weights: Vec<f64>,
    /// For each tree the rows whose error differs from that under the tree before, and the error.
    changes: Vec<Vec<(u32, f64)>>,
}

/// How a grown tree is pruned by cross-validation.
#[derive(Debug, Clone, Copy)]
pub struct PruningConfig<'a> {
    /// How errors are counted.
    pub measure: &'a LeafLoss,
    /// Number of folds.
    pub folds: usize,
    /// Seed of the split into folds.
    pub seed: u64,
    /// Which of the nested trees is taken.
    pub choice: PruningChoice,
}

/// A tree of CART and the errors that it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct CartFit {
    /// The tree.
    pub tree: RankTree,
    /// The cross-validated errors of the nested trees; empty without pruning.
    pub scores: Vec<PruningScore>,
}

/// Values that a tree of many classes may store, leaves times classes, if an interruption leaves no
/// time to cross-validate its size.
const MAX_UNVALIDATED_VALUES: usize = 100_000;

/// Grows a tree and prunes it, if that is asked for. The growth and every fold are tasks of the log.
/// When the budget is interrupted, the tree is what was grown so far, or is pruned by the folds that
/// were finished; without any, it is pruned only if it is very large for its number of classes.
pub fn fit_cart(
    grower: &CartGrower<'_>,
    pruning: Option<PruningConfig<'_>>,
    log: &mut TaskLog<'_>,
) -> Result<CartFit, Error> {
    let folds = pruning.map_or(0, |pruning| pruning.folds);
    let event = |fits: usize| Event::new(Stage::COMPARING, fits, folds + 1);
    let grown = match log.recall("growth")? {
        Some((stored, _)) => RankTree::from_datum(&stored, grower.table)?,
        None => {
            let tree = grower.grow();
            if !grower.context.budget.is_interrupted() {
                log.record("growth", 1, tree.to_datum());
                log.notify(&event(1));
            }
            tree
        }
    };

    let Some(pruning) = pruning else {
        return Ok(CartFit { tree: grown, scores: Vec::new() });
    };
    let path = PruningPath::new(grown, grower.table, grower.loss);
    // The folds say nothing about a tree whose growth was interrupted.
    if grower.context.budget.is_interrupted() {
        let alpha = unvalidated_alpha(&path, grower.table);
        return Ok(CartFit { tree: path.tree(alpha), scores: Vec::new() });
    }
    let folds = stratified_folds(grower.table, pruning.folds, pruning.seed, 0, grower.context);
    let alphas = intermediate_alphas(&path);
    let tasks = TaskBatches {
        count: folds.len(),
        batch: grower.context.pool.threads(),
        key: &|fold| format!("fold {fold}"),
        save: &|errors: &Option<FoldErrors>| {
            errors.as_ref().map_or(Datum::List(Vec::new()), FoldErrors::to_datum)
        },
        load: &|fold, stored| {
            FoldErrors::from_datum(stored, grower.table, &folds[fold], alphas.len()).map(Some)
        },
        event: &|fits| event(fits + 1),
    };
    let evaluate = |fold: usize| evaluate_fold(grower, pruning.measure, &folds[fold], &alphas);
    let errors = tasks.run(grower.context, log, evaluate)?;
    let finished = errors.into_iter().flatten().flatten().collect();
    let (alpha, scores) = choose_by_errors(&path, grower.table, finished, pruning.choice);
    Ok(CartFit { tree: path.tree(alpha), scores })
}

/// Cross-validates the nested trees of all rows. The `alpha` between two of them is their geometric
/// mean, as the `alpha` of a tree of fewer rows lies anywhere between. Errors are counted by
/// `measure`: misclassifications or costs for classes, squared or absolute errors for numbers. When
/// the budget is interrupted, the folds that were finished decide; without any, only a very large
/// tree is pruned.
pub fn choose_alpha(
    grower: &CartGrower<'_>,
    path: &PruningPath,
    measure: &LeafLoss,
    folds: &[TreeFold],
    choice: PruningChoice,
) -> (f64, Vec<PruningScore>) {
    let alphas = intermediate_alphas(path);
    let evaluate = |at: usize| evaluate_fold(grower, measure, &folds[at], &alphas);
    let fold_errors = grower.context.pool.map(folds.len(), evaluate);
    choose_by_errors(path, grower.table, fold_errors.into_iter().flatten().collect(), choice)
}

impl FoldErrors {
    /// Stores the error of a row from one of the nested trees on, if it differs from the last one.
    fn record(&mut self, tree: usize, row: u32, error: f64, last: &mut f64) {
        if error != *last {
            self.changes[tree].push((row, error));
            *last = error;
        }
    }

    /// The changes as a part of a stored state; the weights are in the table.
    fn to_datum(&self) -> Datum {
        let change =
            |&(row, error): &(u32, f64)| [Datum::Natural(u64::from(row)), Datum::Real(error)];
        let of_tree =
            |changes: &Vec<(u32, f64)>| Datum::List(changes.iter().flat_map(change).collect());
        Datum::List(self.changes.iter().map(of_tree).collect())
    }

    /// What [`FoldErrors::to_datum`] stored for a fold and so many nested trees.
    fn from_datum(
        datum: &Datum,
        table: &RankTable,
        fold: &TreeFold,
        trees: usize,
    ) -> Result<Self, Error> {
        let unfit = || Error::Snapshot("holds errors of another fold; it is damaged".to_string());
        let change = |pair: &[Datum]| -> Result<(u32, f64), Error> {
            let [row, error] = pair else { return Err(unfit()) };
            let row = row.natural()?;
            let row = u32::try_from(row).ok().filter(|&row| (row as usize) < fold.test.len());
            Ok((row.ok_or_else(unfit)?, error.real()?))
        };
        let of_tree = |datum: &Datum| datum.list()?.chunks(2).map(change).collect();
        let changes = datum.list()?.iter().map(of_tree).collect::<Result<Vec<_>, Error>>()?;
        if changes.len() != trees {
            return Err(unfit());
        }
        let weights = fold.test.iter().map(|&row| table.weight(row)).collect();
        Ok(FoldErrors { weights, changes })
    }
}

/// The `alpha` that stands for each nested tree on other rows.
fn intermediate_alphas(path: &PruningPath) -> Vec<f64> {
    let steps = path.steps();
    let between = |at: usize| match steps.get(at + 1) {
        Some(next) => (steps[at].alpha * next.alpha).sqrt(),
        None => f64::INFINITY,
    };
    (0..steps.len()).map(between).collect()
}

/// The `alpha` of the largest nested tree that may be stored without a finished fold.
fn unvalidated_alpha(path: &PruningPath, table: &RankTable) -> f64 {
    let outputs = match table.target() {
        RankTarget::Classes { count, .. } if *count > 2 => *count,
        _ => 1,
    };
    let steps = path.steps();
    let fits = |leaves: usize| leaves * outputs <= MAX_UNVALIDATED_VALUES;
    if steps.first().is_none_or(|whole| fits(whole.leaves)) {
        return -1.0;
    }
    steps.iter().find(|step| fits(step.leaves)).map_or(f64::INFINITY, |step| step.alpha)
}

/// The `alpha` to take, given the errors of all finished folds.
fn choose_by_errors(
    path: &PruningPath,
    table: &RankTable,
    folds: Vec<FoldErrors>,
    choice: PruningChoice,
) -> (f64, Vec<PruningScore>) {
    if folds.is_empty() {
        return (unvalidated_alpha(path, table), Vec::new());
    }

    let steps = path.steps();
    let mut errors: Vec<Vec<[f64; 2]>> = folds
        .iter()
        .map(|fold| fold.weights.iter().map(|&weight| [0.0, weight]).collect())
        .collect();
    let mut scores = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        for (errors, fold) in errors.iter_mut().zip(&folds) {
            fold.changes[at].iter().for_each(|&(row, error)| errors[row as usize][0] = error);
        }
        let (error, deviation) = weighted_mean(errors.iter().flatten().copied());
        scores.push(PruningScore { alpha: step.alpha, leaves: step.leaves, error, deviation });
    }

    let better = |best: usize, other: usize| {
        if scores[other].error <= scores[best].error { other } else { best }
    };
    let best = (0..steps.len()).reduce(better).unwrap_or(0);
    let chosen = match choice {
        PruningChoice::Best => best,
        PruningChoice::OneStandardError => {
            let bound = scores[best].error + scores[best].deviation;
            (0..steps.len()).rev().find(|&at| scores[at].error <= bound).unwrap_or(best)
        }
    };
    (steps[chosen].alpha, scores)
}

/// The errors of the test rows of a fold for each `alpha`; `None` when the budget is interrupted,
/// because a tree whose growth was cut short says nothing about whole ones.
fn evaluate_fold(
    grower: &CartGrower<'_>,
    measure: &LeafLoss,
    fold: &TreeFold,
    alphas: &[f64],
) -> Option<FoldErrors> {
    let budget = grower.context.budget;
    if budget.is_interrupted() {
        return None;
    }
    let (train, test) = (grower.table.subset(&fold.train), grower.table.subset(&fold.test));
    let grown = CartGrower { table: &train, ..*grower }.grow();
    if budget.is_interrupted() {
        return None;
    }
    let path = PruningPath::new(grown, &train, grower.loss);
    if budget.is_interrupted() {
        return None;
    }

    let (mut tree, pruned_at) = path.into_parts();
    tree.centre_thresholds(&train);
    let (nodes, leaves) = predictions(&tree, &train, measure);
    // The first of the nested trees without the split of a node.
    let leaf_from: Vec<usize> =
        pruned_at.iter().map(|&at| alphas.partition_point(|&alpha| alpha < at)).collect();

    let weights = (0..test.rows() as u32).map(|row| test.weight(row)).collect();
    let mut found = FoldErrors { weights, changes: vec![Vec::new(); alphas.len()] };
    let mut path = Vec::new();
    for row in 0..test.rows() as u32 {
        if row % 1024 == 0 && budget.is_interrupted() {
            return None;
        }
        let leaf = tree.path(&test, row, &mut path);

        // From the leaf up: each node is the row's leaf until a node above it is pruned.
        let (mut last, mut first, mut leaf) = (0.0, 0, &leaves[leaf as usize]);
        for &node in path.iter().rev() {
            let until = leaf_from[node as usize];
            if first < until {
                found.record(first, row, leaf.error(&test, row, measure), &mut last);
            }
            (first, leaf) = (until, &nodes[node as usize]);
        }
        if first < alphas.len() {
            found.record(first, row, leaf.error(&test, row, measure), &mut last);
        }
    }
    Some(found)
}

/// The error and the weight of every row of `test` under a tree that was fitted to `train`.
pub(crate) fn row_errors(
    tree: &RankTree,
    train: &RankTable,
    test: &RankTable,
    measure: &LeafLoss,
) -> Vec<[f64; 2]> {
    let (_, leaves) = predictions(tree, train, measure);
    let rows: Vec<u32> = (0..test.rows() as u32).collect();
    let leaf_of = tree.assign_leaves(test, tree.root(), &rows);
    let error = |(&row, &leaf): (&u32, &u32)| {
        [leaves[leaf as usize].error(test, row, measure), test.weight(row)]
    };
    rows.iter().zip(&leaf_of).map(error).collect()
}

/// What every node, as a leaf, and every leaf of a tree predict.
fn predictions(
    tree: &RankTree,
    train: &RankTable,
    measure: &LeafLoss,
) -> (Vec<LeafPrediction>, Vec<LeafPrediction>) {
    let (nodes, leaves) = fit_nodes(tree, train, measure);
    let of = |fit: &NodeFit| match train.target() {
        RankTarget::Classes { .. } => LeafPrediction::Class(fit.class(measure)),
        RankTarget::Numbers { .. } => LeafPrediction::Number(fit.value),
    };
    (nodes.iter().map(of).collect(), leaves.iter().map(of).collect())
}

/// What a leaf predicts.
enum LeafPrediction {
    Class(usize),
    Number(f64),
}

impl LeafPrediction {
    /// The error of a row.
    fn error(&self, test: &RankTable, row: u32, measure: &LeafLoss) -> f64 {
        match (self, test.target()) {
            (&LeafPrediction::Class(predicted), RankTarget::Classes { of_row, count }) => {
                let truth = usize::from(of_row[row as usize]);
                match measure {
                    LeafLoss::Costs(costs) => {
                        let mut one = vec![0.0; *count];
                        one[truth] = 1.0;
                        costs.of(&one, predicted)
                    }
                    _ => f64::from(u8::from(truth != predicted)),
                }
            }
            (&LeafPrediction::Number(predicted), RankTarget::Numbers { of_row, centre }) => {
                let error = of_row[row as usize] + centre - predicted;
                if *measure == LeafLoss::Absolute { error.abs() } else { error * error }
            }
            _ => unreachable!("rows of a fold have the targets of the table"),
        }
    }
}

/// Weighted mean and its standard error, of pairs of a value and its weight.
pub(crate) fn weighted_mean(errors: impl Iterator<Item = [f64; 2]> + Clone) -> (f64, f64) {
    let total: f64 = errors.clone().map(|error| error[1]).sum();
    let mean = errors.clone().map(|error| error[0] * error[1]).sum::<f64>() / total;
    let squares: f64 = errors.clone().map(|error| error[1] * (error[0] - mean).powi(2)).sum();
    (mean, (squares / total / errors.count() as f64).sqrt())
}
