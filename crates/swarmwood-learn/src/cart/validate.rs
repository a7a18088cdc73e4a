//! The price per leaf by cross-validation (Breiman et al. 1984, section 3.4).

use super::folds::Fold;
use super::grow::{Growing, grow};
use super::prune::Path;
use crate::leaf_loss::Loss;
use crate::ranked::{Ranked, Target};
use crate::sketch::{self, Fitted, Sketch};

/// Which of the validated trees is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The one with the least error; of equals the smallest.
    Best,
    /// The smallest one within one standard error of it.
    OneStandardError,
}

/// What cross-validation said of one nested tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Validated {
    /// The price per leaf.
    pub alpha: f64,
    /// Leaves of the tree of all rows.
    pub leaves: usize,
    /// Mean error of rows that were not fitted.
    pub error: f64,
    /// Its standard error.
    pub deviation: f64,
}

/// Validates the nested trees of all rows on folds. The price between two of them is their
/// geometric mean, as the price of a tree of fewer rows lies anywhere between. Errors are counted
/// by `measure`: mistakes or costs for classes, squared or absolute errors for numbers. In a hurry
/// the folds that were judged must do; without any, nothing is cut back.
pub fn choose_alpha(
    growing: &Growing<'_>,
    path: &Path,
    measure: &Loss,
    folds: &[Fold],
    choice: Choice,
) -> (f64, Vec<Validated>) {
    let steps = path.steps();
    let price = |at: usize| match steps.get(at + 1) {
        Some(next) => (steps[at].alpha * next.alpha).sqrt(),
        None => f64::INFINITY,
    };
    let prices: Vec<f64> = (0..steps.len()).map(price).collect();
    let judged = growing.pool.map(folds.len(), |at| judge(growing, measure, &folds[at], &prices));
    let judged: Vec<Vec<Vec<[f64; 2]>>> = judged.into_iter().flatten().collect();
    if judged.is_empty() {
        return (-1.0, Vec::new());
    }
    let mut validated = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let errors: Vec<[f64; 2]> =
            judged.iter().flat_map(|fold| fold[at].iter().copied()).collect();
        let (error, deviation) = mean(&errors);
        validated.push(Validated { alpha: step.alpha, leaves: step.leaves, error, deviation });
    }
    let better = |best: usize, other: usize| {
        if validated[other].error <= validated[best].error { other } else { best }
    };
    let best = (0..steps.len()).reduce(better).unwrap_or(0);
    let chosen = match choice {
        Choice::Best => best,
        Choice::OneStandardError => {
            let bound = validated[best].error + validated[best].deviation;
            (0..steps.len()).rev().find(|&at| validated[at].error <= bound).unwrap_or(best)
        }
    };
    (steps[chosen].alpha, validated)
}

/// For each price the error and the weight of every row of a fold; none if there was no time.
fn judge(
    growing: &Growing<'_>,
    measure: &Loss,
    fold: &Fold,
    prices: &[f64],
) -> Option<Vec<Vec<[f64; 2]>>> {
    if growing.pool.hurried() {
        return None;
    }
    let (train, test) = (growing.table.subset(&fold.train), growing.table.subset(&fold.test));
    let grown = grow(&Growing { table: &train, ..*growing });
    let path = Path::new(grown, &train, growing.loss);
    let mut last: Option<(usize, Vec<[f64; 2]>)> = None;
    let mut all = Vec::with_capacity(prices.len());
    for &price in prices {
        // A tree that was cut short says nothing of whole ones.
        if growing.pool.hurried() {
            return None;
        }
        let mut tree = path.tree(price);
        // Trees are nested, so that equal sizes are equal trees.
        if let Some((_, errors)) = last.as_ref().filter(|last| last.0 == tree.leaves()) {
            all.push(errors.clone());
            continue;
        }
        tree.centre(&train);
        let errors = errors(&tree, &train, &test, measure);
        all.push(errors.clone());
        last = Some((tree.leaves(), errors));
    }
    Some(all)
}

/// The error and the weight of every row of a table under a tree that was fitted on another.
pub fn errors(tree: &Sketch, train: &Ranked, test: &Ranked, measure: &Loss) -> Vec<[f64; 2]> {
    let (_, leaves) = sketch::fit(tree, train, measure);
    let rows: Vec<u32> = (0..test.rows() as u32).collect();
    let leaf_of = tree.leaves_of(test, tree.root(), &rows);
    let error = |(&row, &leaf): (&u32, &u32)| {
        [error_of(&leaves[leaf as usize], test, row, measure), test.weight(row)]
    };
    rows.iter().zip(&leaf_of).map(error).collect()
}

fn error_of(leaf: &Fitted, test: &Ranked, row: u32, measure: &Loss) -> f64 {
    match test.target() {
        Target::Classes { of_row, count } => {
            let (truth, decided) = (usize::from(of_row[row as usize]), leaf.class(measure));
            match measure {
                Loss::Costs(costs) => {
                    let mut one = vec![0.0; *count];
                    one[truth] = 1.0;
                    costs.of(&one, decided)
                }
                _ => f64::from(u8::from(truth != decided)),
            }
        }
        Target::Numbers { of_row, centre } => {
            let error = of_row[row as usize] + centre - leaf.value;
            if *measure == Loss::Absolute { error.abs() } else { error * error }
        }
    }
}

/// Weighted mean and its standard error.
pub fn mean(errors: &[[f64; 2]]) -> (f64, f64) {
    let total: f64 = errors.iter().map(|error| error[1]).sum();
    let mean = errors.iter().map(|error| error[0] * error[1]).sum::<f64>() / total;
    let squares: f64 = errors.iter().map(|error| error[1] * (error[0] - mean).powi(2)).sum();
    (mean, (squares / total / errors.len() as f64).sqrt())
}
