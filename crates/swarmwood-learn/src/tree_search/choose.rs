//! How large the tree is to be, and whether to search at all: by cross-validation.
//!
//! A searched tree follows the training rows more closely than CART's of the same size. Where a
//! table is little more than noise that does not help on new rows: CART's tree is kept unless the
//! searched one is better by more than chance would often make it.

use std::sync::{Mutex, PoisonError};

use super::{Settings, search};
use crate::cart::{self, Fold};
use crate::event::Flow;
use crate::leaf_loss::Loss;
use crate::pool::Pool;
use crate::ranked::Ranked;
use crate::sketch::Sketch;

/// The sizes that are compared where none is given.
pub const SIZES: [usize; 4] = [2, 4, 8, 16];

/// Descents of a search in cross-validation, where it is done many times.
const DESCENTS: usize = 8;

/// Rows from which on one dealing of the folds tells enough.
const MANY_ROWS: usize = 2000;

/// Standard errors of the difference by which a searched tree must be better than CART's.
const EVIDENCE: f64 = 1.0;

/// One way to make the tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    /// Most leaves; 0 is what the depth allows.
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
pub struct Menu<'a> {
    /// Numbers of leaves.
    pub sizes: &'a [usize],
    /// Whether CART's tree is compared too.
    pub with_cart: bool,
    /// What errors are counted by.
    pub measure: &'a Loss,
    /// Parts of the rows.
    pub folds: usize,
}

/// Judges every arm on rows that were not fitted. The one to take comes first: the size with the
/// least error, of equals the smaller one; and CART's tree of that size where the searched one is
/// not clearly better. The rest is ordered by error.
///
/// The second answer is the best tree of a fold by its own unseen rows: for a run without the time
/// to make one of all rows.
pub fn choose(
    table: &Ranked,
    settings: &Settings,
    menu: Menu<'_>,
    pool: &Pool,
    halt: &(dyn Fn() -> bool + Sync),
) -> (Vec<Arm>, Option<Sketch>) {
    let repeats = if table.rows() < MANY_ROWS { 2 } else { 1 };
    let folds: Vec<Fold> = (0..repeats)
        .flat_map(|repeat| cart::deal(table, menu.folds, settings.seed, repeat, pool))
        .collect();
    let hand: Mutex<Option<(f64, Sketch)>> = Mutex::default();
    // Both trees of a size come from one search, which starts with CART's.
    let judged = pool.map(folds.len() * menu.sizes.len(), |at| {
        let (fold, leaves) = (&folds[at / menu.sizes.len()], menu.sizes[at % menu.sizes.len()]);
        if halt() {
            None
        } else {
            judge(table, settings, (fold, leaves), menu.measure, pool, halt, &hand)
        }
    });
    let hand = hand.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, sketch)| sketch);
    // A run that was halted goes on with the folds that it has for every size; without any, sizes
    // are not told apart.
    let whole = judged.chunks(menu.sizes.len()).take_while(|fold| fold.iter().all(Option::is_some));
    let judged: Vec<[Vec<[f64; 2]>; 2]> = whole.flatten().flatten().cloned().collect();
    if judged.is_empty() {
        let arm =
            Arm { leaves: menu.sizes[0], searched: true, error: f64::NAN, deviation: f64::NAN };
        return (vec![arm], hand);
    }
    let mut arms = Vec::new();
    for (size, &leaves) in menu.sizes.iter().enumerate() {
        for (which, searched) in [(0, true), (1, false)] {
            let of_arm = judged.iter().skip(size).step_by(menu.sizes.len());
            let errors: Vec<[f64; 2]> =
                of_arm.flat_map(|judged| judged[which].iter().copied()).collect();
            let (error, deviation) = cart::mean(&errors);
            if searched || menu.with_cart {
                arms.push(Arm { leaves, searched, error, deviation });
            }
        }
    }
    arms.sort_by(|a, b| a.error.total_cmp(&b.error));
    if menu.with_cart && arms[0].searched {
        let size = menu.sizes.iter().position(|&leaves| leaves == arms[0].leaves).unwrap_or(0);
        let of_size = judged.iter().skip(size).step_by(menu.sizes.len());
        let differences =
            of_size.flat_map(|[own, cart]| own.iter().zip(cart).map(|(a, b)| [b[0] - a[0], a[1]]));
        let (gain, deviation) = cart::mean(&differences.collect::<Vec<_>>());
        let leaves = arms[0].leaves;
        if gain <= EVIDENCE * deviation
            && let Some(at) = arms.iter().position(|arm| arm.leaves == leaves && !arm.searched)
        {
            arms[..=at].rotate_right(1);
        }
    }
    (arms, hand)
}

/// The errors of the searched and of CART's tree of a size on the rows that a fold leaves out; none
/// if there was no time.
fn judge(
    table: &Ranked,
    settings: &Settings,
    (fold, leaves): (&Fold, usize),
    measure: &Loss,
    pool: &Pool,
    halt: &(dyn Fn() -> bool + Sync),
    hand: &Mutex<Option<(f64, Sketch)>>,
) -> Option<[Vec<[f64; 2]>; 2]> {
    let (train, test) = (table.subset(&fold.train), table.subset(&fold.test));
    let mut settings = settings.clone();
    settings.limits.leaves = leaves;
    settings.descents = settings.descents.min(DESCENTS);
    let found = search(&train, &settings, pool, &mut |_| Flow::Continue, halt);
    if pool.hurried() {
        // A tree that was cut short says nothing of whole ones, and is better than none.
        take_in_hand(hand, f64::MAX / found.best.sketch.leaves() as f64, found.best.sketch);
        return None;
    }
    let uncentred = found.best.sketch.clone();
    let errors = [found.best, found.cart].map(|mut tried| {
        tried.sketch.centre(&train);
        cart::errors(&tried.sketch, &train, &test, measure)
    });
    take_in_hand(hand, cart::mean(&errors[0]).0, uncentred);
    Some(errors)
}

/// Keeps the tree of least error. Which of equals it is depends on the threads, so that only cut
/// runs may use it.
fn take_in_hand(hand: &Mutex<Option<(f64, Sketch)>>, error: f64, sketch: Sketch) {
    let mut hand = hand.lock().unwrap_or_else(PoisonError::into_inner);
    if hand.as_ref().is_none_or(|(least, _)| error < *least) {
        *hand = Some((error, sketch));
    }
}
