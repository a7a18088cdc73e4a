//! A sweep over counts: rows of one code that move between the same two leaves with the same class
//! move as one. For many rows with few codes.

use super::{Best, Lot, Place, may_part};
use crate::leaf_loss::sums::{Load, Sums};
use crate::ranked::Target;

/// Rows that move alike: the same leaf on either side and, for classes, the same class.
pub(super) struct Groups {
    /// The group of each row of the lot.
    of: Vec<u32>,
    /// Left and right leaf, and the class.
    kinds: Vec<(u16, u16, usize)>,
}

impl Groups {
    /// The groups of a lot; none if there are nearly as many as rows.
    pub(super) fn new(lot: &Lot<'_>) -> Option<Self> {
        let classes = match lot.table.target() {
            Target::Classes { count, .. } => *count,
            Target::Numbers { .. } => 1,
        };
        let lefts = usize::from(lot.leaves - lot.rights);
        let dense = usize::from(lot.rights) * lefts * classes;
        if dense * 16 > lot.rows.len() {
            return None;
        }
        let mut number = vec![u32::MAX; dense];
        let mut kinds = Vec::new();
        let mut of = Vec::with_capacity(lot.rows.len());
        for ((&row, &right), &left) in lot.rows.iter().zip(&lot.right).zip(&lot.left) {
            let class = match lot.table.target() {
                Target::Classes { of_row, .. } => usize::from(of_row[row as usize]),
                Target::Numbers { .. } => 0,
            };
            let pair = usize::from(right) * lefts + usize::from(left - lot.rights);
            let number = &mut number[pair * classes + class];
            if *number == u32::MAX {
                *number = kinds.len() as u32;
                kinds.push((left, right, class));
            }
            of.push(*number);
        }
        Some(Groups { of, kinds })
    }

    /// Whether counting is cheaper than moving row by row.
    pub(super) fn pay(&self, codes: usize, rows: usize) -> bool {
        (codes + 1) * self.kinds.len() <= rows
    }
}

/// The best cut along an order of the codes.
pub(super) fn sweep(
    lot: &Lot<'_>,
    groups: &Groups,
    books: Sums<'_>,
    feature: u32,
    order: &[u16],
) -> Option<Place> {
    let column = &lot.table.columns()[feature as usize];
    let weighted = lot.table.is_weighted();
    let width = groups.kinds.len();
    let cells = (usize::from(column.top()) + 1) * width;
    let mut rows = vec![0_u32; cells];
    let mut weights = vec![0.0_f64; if weighted { cells } else { 0 }];
    let targets = match lot.table.target() {
        Target::Classes { .. } => {
            for (&row, &group) in lot.rows.iter().zip(&groups.of) {
                let cell = usize::from(column.codes()[row as usize]) * width + group as usize;
                rows[cell] += 1;
                if weighted {
                    weights[cell] += lot.table.weight(row);
                }
            }
            Vec::new()
        }
        Target::Numbers { of_row, .. } => {
            let mut targets = vec![0.0_f64; cells];
            for (&row, &group) in lot.rows.iter().zip(&groups.of) {
                let cell = usize::from(column.codes()[row as usize]) * width + group as usize;
                rows[cell] += 1;
                let weight = lot.table.weight(row);
                targets[cell] += weight * of_row[row as usize];
                if weighted {
                    weights[cell] += weight;
                }
            }
            targets
        }
    };
    Counted { groups, rows, weights, targets }.run(books, order, may_part(lot, feature, true))
}

struct Counted<'a> {
    groups: &'a Groups,
    /// By code, then group.
    rows: Vec<u32>,
    weights: Vec<f64>,
    targets: Vec<f64>,
}

impl Counted<'_> {
    /// Moves the rows of a code over; whether there were any.
    #[inline]
    fn shift(&self, books: &mut Sums<'_>, code: u16) -> bool {
        let width = self.groups.kinds.len();
        let first = usize::from(code) * width;
        let mut any = false;
        for (cell, &(left, right, class)) in (first..).zip(&self.groups.kinds) {
            let rows = self.rows[cell];
            if rows == 0 {
                continue;
            }
            any = true;
            let weight = self.weights.get(cell).copied().unwrap_or_else(|| f64::from(rows));
            let load = match self.targets.get(cell) {
                Some(&target) => Load::Moments(weight, target),
                None => Load::Class(class, weight),
            };
            books.shift(right, left, load, rows);
        }
        any
    }

    fn run(&self, books: Sums<'_>, order: &[u16], to_the_end: bool) -> Option<Place> {
        let mut best = Best::default();
        let mut left = books.clone();
        let missing = self.shift(&mut left, 0);
        self.along(books, order, true, missing && to_the_end, &mut best);
        if missing {
            self.along(left, order, false, false, &mut best);
        }
        best.0
    }

    fn along(
        &self,
        mut books: Sums<'_>,
        order: &[u16],
        missing_right: bool,
        to_the_end: bool,
        best: &mut Best,
    ) {
        let width = self.groups.kinds.len();
        let has_rows = |code: &u16| {
            self.rows[usize::from(*code) * width..][..width].iter().any(|&rows| rows > 0)
        };
        let Some(last) = order.iter().rposition(has_rows) else { return };
        for (at, &code) in order.iter().enumerate().take(last + 1) {
            if !self.shift(&mut books, code) {
                continue;
            }
            if at == last && !to_the_end {
                break;
            }
            let loss = books.settle();
            if books.allowed() {
                best.offer(loss, at + 1, missing_right);
            }
        }
    }
}
