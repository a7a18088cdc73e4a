//! A sweep row by row, in the order of the codes: for few rows, many codes or many leaves.

use super::{Best, Lot, Place, View, may_part};
use crate::leaf_loss::{Medians, Sums};
use crate::ranked::{Ranked, Target};

/// Books that rows move in.
trait Books: Clone {
    fn shift(&mut self, row: u32, from: u16, to: u16);
    fn settle(&mut self) -> f64;
    fn allowed(&self) -> bool;
}

impl Books for Sums<'_> {
    #[inline]
    fn shift(&mut self, row: u32, from: u16, to: u16) {
        let load = self.load(row);
        Sums::shift(self, from, to, load, 1);
    }
    #[inline]
    fn settle(&mut self) -> f64 {
        Sums::settle(self)
    }
    #[inline]
    fn allowed(&self) -> bool {
        Sums::allowed(self)
    }
}

#[derive(Clone)]
struct Absolute<'a> {
    table: &'a Ranked,
    books: Medians,
}

impl Absolute<'_> {
    fn target(&self, row: u32) -> f64 {
        match self.table.target() {
            Target::Numbers { of_row, .. } => of_row[row as usize],
            Target::Classes { .. } => 0.0,
        }
    }
}

impl Books for Absolute<'_> {
    fn shift(&mut self, row: u32, from: u16, to: u16) {
        let (weight, target) = (self.table.weight(row), self.target(row));
        self.books.shift(from, to, weight, target);
    }
    fn settle(&mut self) -> f64 {
        self.books.settle()
    }
    fn allowed(&self) -> bool {
        self.books.allowed()
    }
}

/// The best cut along an order of the codes.
pub(super) fn sweep(view: &View<'_>, feature: u32, order: &[u16]) -> Option<Place> {
    let lot = view.lot;
    match &view.start {
        Some(start) => run(lot, start.clone(), feature, order),
        None => {
            let leaves = usize::from(lot.leaves);
            let books = Medians::new(lot.table, &lot.rows, leaves, view.demand.min_leaf);
            let mut books = Absolute { table: lot.table, books };
            for (&row, &leaf) in lot.rows.iter().zip(&lot.right) {
                let (weight, target) = (lot.table.weight(row), books.target(row));
                books.books.add(leaf, weight, target);
            }
            run(lot, books, feature, order)
        }
    }
}

fn run(lot: &Lot<'_>, books: impl Books, feature: u32, order: &[u16]) -> Option<Place> {
    let (missing, sorted) = sort(lot, feature, order);
    let mut best = Best::default();
    along(
        lot,
        books.clone(),
        &sorted,
        true,
        may_part(lot, feature, !missing.is_empty()),
        &mut best,
    );
    if !missing.is_empty() {
        let mut books = books;
        missing.iter().for_each(|&at| {
            books.shift(lot.rows[at as usize], lot.right[at as usize], lot.left[at as usize])
        });
        along(lot, books, &sorted, false, false, &mut best);
    }
    best.0
}

/// Moves rows over, code after code. The last code ends a sweep unless the rule may part known
/// values from missing ones.
fn along(
    lot: &Lot<'_>,
    mut books: impl Books,
    sorted: &[(u16, u32)],
    missing_right: bool,
    to_the_end: bool,
    best: &mut Best,
) {
    let mut at = 0;
    while at < sorted.len() {
        let code = sorted[at].0;
        while let Some(&(_, place)) = sorted.get(at).filter(|next| next.0 == code) {
            let place = place as usize;
            books.shift(lot.rows[place], lot.right[place], lot.left[place]);
            at += 1;
        }
        if at == sorted.len() && !to_the_end {
            break;
        }
        let loss = books.settle();
        if books.allowed() {
            best.offer(loss, usize::from(code) + 1, missing_right);
        }
    }
}

/// Places in the lot with a missing value, and the others with the place of their code in the
/// order, sorted by it.
fn sort(lot: &Lot<'_>, feature: u32, order: &[u16]) -> (Vec<u32>, Vec<(u16, u32)>) {
    let column = &lot.table.columns()[feature as usize];
    let mut rank = vec![0_u16; usize::from(column.top()) + 1];
    (0..).zip(order).for_each(|(at, &code)| rank[usize::from(code)] = at);
    let mut missing = Vec::new();
    let mut sorted = Vec::with_capacity(lot.rows.len());
    for (at, &row) in (0..).zip(&lot.rows) {
        match column.codes()[row as usize] {
            0 => missing.push(at),
            code => sorted.push((rank[usize::from(code)], at)),
        }
    }
    if sorted.len() * 8 > order.len() {
        sorted = by_counting(&sorted, order.len());
    } else {
        sorted.sort_unstable();
    }
    (missing, sorted)
}

fn by_counting(pairs: &[(u16, u32)], codes: usize) -> Vec<(u16, u32)> {
    let mut starts = vec![0_u32; codes + 1];
    pairs.iter().for_each(|pair| starts[usize::from(pair.0) + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut sorted = vec![(0, 0); pairs.len()];
    for &pair in pairs {
        let place = &mut starts[usize::from(pair.0)];
        sorted[*place as usize] = pair;
        *place += 1;
    }
    sorted
}
