//! The best rule of one node of a tree while everything below the node stays as it is.
//!
//! Every row at the node knows the leaf it ends in if it goes right, and the leaf if it goes left.
//! A sweep starts with all rows on the right and moves them over in the order of one feature's
//! codes; after each code the books of the leaves say what the tree would cost with the cut there,
//! every leaf at its best value. So one pass over the rows tries all cuts of a feature exactly.
//! With two fresh leaves below the node this is the split search of CART (Breiman et al. 1984).
//!
//! Levels of a category are first put into orders along which a cut makes sense; cuts along an
//! order are exact, the choice among all sets of levels is not. Two classes or the squared loss
//! over two fresh leaves need one order, and there the best set is found (Breiman et al. 1984,
//! theorem 4.5).

mod counted;
mod order;
mod sorted;
#[cfg(test)]
mod tests;

use crate::leaf_loss::{Loss, Sums};
use crate::pool::Pool;
use crate::ranked::{CodeSet, Cut, Ranked, Rule};

/// Rows times features from which on the features are shared between threads.
const WORTH_SHARING: usize = 1 << 15;

/// The rows of a node, each with the leaf on either side.
#[derive(Debug, Clone)]
pub struct Lot<'a> {
    /// The table the rows are of.
    pub table: &'a Ranked,
    /// The rows at the node.
    pub rows: Vec<u32>,
    /// The leaf of each row if it goes right: below `rights`.
    pub right: Vec<u16>,
    /// The leaf of each row if it goes left: from `rights` on.
    pub left: Vec<u16>,
    /// How many leaves there are on the right.
    pub rights: u16,
    /// How many leaves there are on both sides.
    pub leaves: u16,
}

/// What a rule must heed.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// What leaves cost.
    pub loss: &'a Loss,
    /// The fewest rows of a leaf that has any.
    pub min_leaf: usize,
}

/// A rule and what the leaves of the node cost with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The rule.
    pub rule: Rule,
    /// The loss of all leaves below the node.
    pub loss: f64,
}

/// The cut of a sweep: the first so many codes of an order go left.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    loss: f64,
    /// How many codes of the order go left, at least one.
    codes: usize,
    missing_right: bool,
}

impl<'a> Lot<'a> {
    /// Rows above two fresh leaves: leaf 0 on the right, leaf 1 on the left.
    pub fn fresh(table: &'a Ranked, rows: Vec<u32>) -> Self {
        let (right, left) = (vec![0; rows.len()], vec![1; rows.len()]);
        Lot { table, rows, right, left, rights: 1, leaves: 2 }
    }

    /// The best rule over the given features; of equals the first. None if no rule is allowed.
    pub fn best(&self, demand: Demand<'_>, features: &[u32], pool: &Pool) -> Option<Found> {
        let view = View::new(self, demand);
        let search = |at: usize| view.best_of(features[at]);
        let found = if self.rows.len() * features.len() < WORTH_SHARING {
            (0..features.len()).map(search).collect()
        } else {
            // The best of what was swept is a rule like any other.
            pool.map(features.len(), |at| if pool.hurried() { None } else { search(at) })
        };
        let better = |best: Found, other: Found| if other.loss < best.loss { other } else { best };
        found.into_iter().flatten().reduce(better)
    }
}

/// A lot with what all features need of it.
struct View<'a> {
    lot: &'a Lot<'a>,
    demand: Demand<'a>,
    /// The books with every row on the right; none for the absolute loss.
    start: Option<Sums<'a>>,
    groups: Option<counted::Groups>,
}

impl<'a> View<'a> {
    fn new(lot: &'a Lot<'a>, demand: Demand<'a>) -> Self {
        let start = (*demand.loss != Loss::Absolute).then(|| {
            let mut books =
                Sums::new(lot.table, demand.loss, usize::from(lot.leaves), demand.min_leaf);
            for (&row, &leaf) in lot.rows.iter().zip(&lot.right) {
                books.add(leaf, books.load(row), 1);
            }
            books.settle();
            books
        });
        let groups = start.is_some().then(|| counted::Groups::new(lot)).flatten();
        View { lot, demand, start, groups }
    }

    fn best_of(&self, feature: u32) -> Option<Found> {
        let column = &self.lot.table.columns()[feature as usize];
        if column.top() == 0 {
            return None;
        }
        let orders = if column.is_category() {
            order::of_levels(self, feature)
        } else {
            vec![(1..=column.top()).collect()]
        };
        let mut best: Option<Found> = None;
        for order in &orders {
            let place = match (&self.groups, &self.start) {
                (Some(groups), Some(start)) if groups.pay(order.len(), self.lot.rows.len()) => {
                    counted::sweep(self.lot, groups, start.clone(), feature, order)
                }
                _ => sorted::sweep(self, feature, order),
            };
            if let Some(place) =
                place.filter(|place| best.as_ref().is_none_or(|best| place.loss < best.loss))
            {
                best = Some(Found { rule: self.rule(feature, order, place), loss: place.loss });
            }
        }
        best
    }

    fn rule(&self, feature: u32, order: &[u16], place: Place) -> Rule {
        let column = &self.lot.table.columns()[feature as usize];
        let cut = if column.is_category() {
            let right = order[place.codes..].iter().copied();
            Cut::In(CodeSet::new(right))
        } else {
            Cut::Above(order[place.codes - 1])
        };
        Rule { feature, cut, missing_right: place.missing_right }
    }
}

/// Whether a rule over the feature may send all known values left and missing ones right. No
/// threshold lies above an infinite value.
fn may_part(lot: &Lot<'_>, feature: u32, any_missing: bool) -> bool {
    any_missing && lot.table.columns()[feature as usize].is_bounded()
}

/// The best place so far, while a sweep goes on.
#[derive(Debug, Default)]
struct Best(Option<Place>);

impl Best {
    #[inline]
    fn offer(&mut self, loss: f64, codes: usize, missing_right: bool) {
        if self.0.is_none_or(|best| loss < best.loss) {
            self.0 = Some(Place { loss, codes, missing_right });
        }
    }
}
