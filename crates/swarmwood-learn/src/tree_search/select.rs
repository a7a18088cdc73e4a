//! The size of the tree, and whether to search at all, by cross-validation.
//!
//! A searched tree fits the training rows more closely than CART's of the same size. On noisy data
//! that does not help on new rows: CART's tree is kept unless the searched one is better by more
//! than its standard error.

use swarmwood_search::{Datum, Error};

use super::{ScoredTree, TreeSearchConfig, search};
use crate::cart::{TreeFold, row_errors, stratified_folds, weighted_mean};
use crate::context::Context;
use crate::event::{Event, Stage};
use crate::leaf_loss::LeafLoss;
use crate::plan::TaskLog;
use crate::rank_table::RankTable;
use crate::rank_tree::RankTree;
use crate::task_batches::TaskBatches;

/// The maximum numbers of leaves that are compared by default.
pub const DEFAULT_SIZES: [usize; 4] = [2, 4, 8, 16];

/// Maximum number of descents per search in cross-validation.
const CV_DESCENTS: usize = 8;

/// Number of rows from which on cross-validation is not repeated.
const MANY_ROWS: usize = 2000;

/// Standard errors of the difference by which a searched tree must be better than CART's.
const MIN_STANDARD_ERRORS: f64 = 1.0;

/// The cross-validated error of one way to make the tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeCandidateScore {
    /// Maximum number of leaves; 0 is what the depth allows.
    pub leaves: usize,
    /// Whether the tree is searched, or CART's.
    pub searched: bool,
    /// Mean error on rows that were not fitted.
    pub error: f64,
    /// Its standard error.
    pub deviation: f64,
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct TreeCvConfig<'a> {
    /// Maximum numbers of leaves.
    pub sizes: &'a [usize],
    /// Whether CART's tree is a candidate too.
    pub with_cart: bool,
    /// How errors are counted.
    pub measure: &'a LeafLoss,
    /// Number of folds.
    pub folds: usize,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeSelection {
    /// The candidate to take comes first: the size with the least error, the smaller one of equals;
    /// and CART's tree of that size if the searched one is not clearly better. The others follow in
    /// order of their error.
    pub candidates: Vec<TreeCandidateScore>,
    /// Searches that were finished, and searches planned.
    pub finished: [usize; 2],
    /// The tree of a fold with the least error on the fold's test rows, for runs that end before
    /// there is a tree of all rows.
    pub fallback: Option<RankTree>,
}

/// The trees and test errors of one fold and one size.
#[derive(Debug, Clone, PartialEq)]
struct FoldResult {
    /// The error of each test row under the searched tree and under CART's; `None` if the budget was
    /// interrupted.
    errors: Option<[Vec<f64>; 2]>,
    /// The searched tree.
    tree: RankTree,
}

impl TreeSelection {
    /// Whether all searches were finished.
    pub fn is_complete(&self) -> bool {
        self.finished[0] == self.finished[1]
    }
}

impl FoldResult {
    fn to_datum(&self) -> Datum {
        let errors = self.errors.iter().flatten().map(|errors| Datum::reals(errors)).collect();
        Datum::List(vec![self.tree.to_datum(), Datum::List(errors)])
    }

    fn from_datum(datum: &Datum, table: &RankTable, fold: &TreeFold) -> Result<Self, Error> {
        let [tree, errors] = datum.tuple()?;
        let [searched, cart] = errors.tuple()?;
        let of_rows = |errors: &Datum| -> Result<Vec<f64>, Error> {
            let errors = errors.list()?.iter().map(Datum::real).collect::<Result<Vec<_>, _>>()?;
            let fits = errors.len() == fold.test.len();
            let unfit = "holds errors of another fold; it is damaged";
            if fits { Ok(errors) } else { Err(Error::Snapshot(unfit.to_string())) }
        };
        let errors = [of_rows(searched)?, of_rows(cart)?];
        Ok(FoldResult { errors: Some(errors), tree: RankTree::from_datum(tree, table)? })
    }
}

/// Compares all candidates on rows that were not fitted; every fold and size is a task of the log.
/// When the budget is interrupted, the folds that were finished for every size decide; without any
/// the first size is taken.
pub fn select(
    table: &RankTable,
    config: &TreeSearchConfig,
    cv: TreeCvConfig<'_>,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
) -> Result<TreeSelection, Error> {
    let repeats = if table.rows() < MANY_ROWS { 2 } else { 1 };
    let folds: Vec<TreeFold> = (0..repeats)
        .flat_map(|repeat| stratified_folds(table, cv.folds, config.seed, repeat, context))
        .collect();

    // Both trees of a size come from one search, which starts with CART's.
    let sizes = cv.sizes.len();
    let count = folds.len() * sizes;
    let threads = context.pool.threads();
    let tasks = TaskBatches {
        count,
        batch: sizes * threads.div_ceil(sizes),
        key: &|at| format!("fold {} leaves {}", at / sizes, cv.sizes[at % sizes]),
        save: &FoldResult::to_datum,
        load: &|at, stored| FoldResult::from_datum(stored, table, &folds[at / sizes]),
        event: &|fits| Event::new(Stage::COMPARING, fits, count),
    };
    let results = tasks.run(context, log, |at| {
        let mut config = config.clone();
        config.limits.leaves = cv.sizes[at % sizes];
        config.descents = config.descents.min(CV_DESCENTS);
        evaluate_fold(table, &config, &folds[at / sizes], cv.measure, context)
    })?;

    let weights = |fold: &TreeFold| fold.test.iter().map(|&row| table.weight(row)).collect();
    let weights: Vec<Vec<f64>> = folds.iter().map(weights).collect();
    let complete_folds: Vec<Vec<[Vec<[f64; 2]>; 2]>> = results
        .chunks(sizes)
        .zip(&weights)
        .map_while(|(fold, weights)| {
            let weigh = |errors: &Vec<f64>| {
                errors.iter().zip(weights).map(|(&error, &weight)| [error, weight]).collect()
            };
            let of_size = |result: &Option<FoldResult>| {
                result.as_ref()?.errors.as_ref().map(|errors| errors.each_ref().map(weigh))
            };
            fold.iter().map(of_size).collect()
        })
        .collect();
    let errors: Vec<[Vec<[f64; 2]>; 2]> = complete_folds.into_iter().flatten().collect();

    let has_errors = |result: &&FoldResult| result.errors.is_some();
    let finished = results.iter().flatten().filter(has_errors).count();
    // Without folds nothing could be compared, which is not complete either.
    let planned = count.max(1);
    Ok(TreeSelection {
        candidates: rank_candidates(&errors, cv),
        finished: [finished, planned],
        fallback: best_fold_tree(&results, &weights, sizes),
    })
}

/// The candidates, the one to take first. `errors` holds one entry per fold and size, fold by fold.
fn rank_candidates(errors: &[[Vec<[f64; 2]>; 2]], cv: TreeCvConfig<'_>) -> Vec<TreeCandidateScore> {
    if errors.is_empty() {
        let (error, deviation) = (f64::NAN, f64::NAN);
        let leaves = cv.sizes[0];
        return vec![TreeCandidateScore { leaves, searched: true, error, deviation }];
    }

    let of_size = |size: usize| errors.iter().skip(size).step_by(cv.sizes.len());
    let mut candidates = Vec::new();
    for (size, &leaves) in cv.sizes.iter().enumerate() {
        for (which, searched) in [(0, true), (1, false)] {
            let of_candidate = of_size(size).flat_map(|errors| errors[which].iter().copied());
            let (error, deviation) = weighted_mean(of_candidate);
            if searched || cv.with_cart {
                candidates.push(TreeCandidateScore { leaves, searched, error, deviation });
            }
        }
    }
    candidates.sort_by(|a, b| a.error.total_cmp(&b.error));

    // CART's tree of the best size wins unless the searched one is better by more than noise.
    let best = candidates[0];
    if cv.with_cart && best.searched {
        let size = cv.sizes.iter().position(|&leaves| leaves == best.leaves).unwrap_or(0);
        let differences = of_size(size)
            .flat_map(|[own, cart]| own.iter().zip(cart).map(|(a, b)| [b[0] - a[0], a[1]]));
        let (gain, deviation) = weighted_mean(differences);
        let is_cart = |other: &TreeCandidateScore| other.leaves == best.leaves && !other.searched;
        if gain <= MIN_STANDARD_ERRORS * deviation
            && let Some(at) = candidates.iter().position(is_cart)
        {
            candidates[..=at].rotate_right(1);
        }
    }
    candidates
}

/// Searches on the training rows of a fold and computes the errors of its test rows.
fn evaluate_fold(
    table: &RankTable,
    config: &TreeSearchConfig,
    fold: &TreeFold,
    measure: &LeafLoss,
    context: Context<'_>,
) -> FoldResult {
    let (train, test) = (table.subset(&fold.train), table.subset(&fold.test));
    let found = search(&train, config, context, &mut |_| ());
    let tree = found.best.tree.clone();
    if context.budget.is_interrupted() {
        // A search that was cut short says nothing about whole ones, but its tree is one to fall
        // back to.
        return FoldResult { errors: None, tree };
    }
    let errors = |mut scored: ScoredTree| {
        scored.tree.centre_thresholds(&train);
        let errors = row_errors(&scored.tree, &train, &test, measure);
        errors.into_iter().map(|[error, _]| error).collect()
    };
    FoldResult { errors: Some([errors(found.best), errors(found.cart)]), tree }
}

/// The tree with the least error on the test rows of its fold; without any error known, the largest
/// tree.
fn best_fold_tree(
    results: &[Option<FoldResult>],
    weights: &[Vec<f64>],
    sizes: usize,
) -> Option<RankTree> {
    let error = |(at, result): (usize, &FoldResult)| match &result.errors {
        Some([searched, _]) => {
            let weighted = searched.iter().zip(&weights[at / sizes]).map(|(&e, &w)| [e, w]);
            weighted_mean(weighted).0
        }
        None => f64::MAX / result.tree.leaves() as f64,
    };
    let known = results.iter().enumerate().filter_map(|(at, result)| Some((at, result.as_ref()?)));
    let scored = known.map(|(at, result)| (error((at, result)), &result.tree));
    let best = scored.reduce(|best, other| if other.0 < best.0 { other } else { best });
    best.map(|(_, tree)| tree.clone())
}
