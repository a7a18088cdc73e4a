//! The number of leaves by cross-validation.

use super::{Settings, search};
use crate::cart::{self, Fold};
use crate::event::Flow;
use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::Ranked;

/// The sizes that are compared.
pub const SIZES: [usize; 4] = [2, 4, 8, 16];

/// The size with the least error on rows that were not fitted, of equals the smallest, and for each size its error with its
/// standard error.
pub fn choose_size(
    table: &Ranked,
    settings: &Settings,
    measure: &Loss,
    folds: &[Fold],
    pool: &Pool,
    halt: &(dyn Fn() -> bool + Sync),
) -> (usize, Vec<(usize, f64, f64)>) {
    let judged = pool.map(folds.len() * SIZES.len(), |at| {
        let (fold, size) = (&folds[at / SIZES.len()], SIZES[at % SIZES.len()]);
        let (train, test) = (table.subset(&fold.train), table.subset(&fold.test));
        let mut settings = settings.clone();
        settings.limits.leaves = size;
        let mut found = search(&train, &settings, pool, &mut |_| Flow::Continue, halt).best.sketch;
        found.centre(&train);
        cart::errors(&found, &train, &test, measure)
    });
    let sizes: Vec<(usize, f64, f64)> = (0..SIZES.len())
        .map(|size| {
            let errors: Vec<[f64; 2]> = judged.iter().skip(size).step_by(SIZES.len()).flatten().copied().collect();
            let (error, deviation) = cart::mean(&errors);
            (SIZES[size], error, deviation)
        })
        .collect();
    let best = sizes.iter().copied().reduce(|best, other| if other.1 < best.1 { other } else { best });
    (best.map_or(SIZES[0], |best| best.0), sizes)
}
