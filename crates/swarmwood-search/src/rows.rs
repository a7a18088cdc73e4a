//! Positions of a population, one row each, in one piece of memory.

use crate::error::Error;
use crate::snapshot::{Datum, damaged};

/// Rows of equal width.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    width: usize,
    count: usize,
    values: Vec<f64>,
}

impl Rows {
    /// No rows yet.
    pub fn new(width: usize) -> Self {
        Rows { width, count: 0, values: Vec::new() }
    }

    /// Rows made value by value, row after row.
    pub fn fill(count: usize, width: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut values = Vec::with_capacity(count.saturating_mul(width));
        for row in 0..count {
            values.extend((0..width).map(|column| value(row, column)));
        }
        Rows { width, count, values }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// One row, to change.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.width..(row + 1) * self.width]
    }

    /// Adds a row, cut or filled with middles to the width.
    pub fn push(&mut self, row: &[f64]) {
        self.values.extend((0..self.width).map(|column| row.get(column).copied().unwrap_or(0.5)));
        self.count += 1;
    }

    /// Forgets all rows and keeps their memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.count = 0;
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> + '_ {
        (0..self.count).map(|row| self.row(row))
    }

    pub(crate) fn save(&self) -> Datum {
        Datum::List(self.iter().map(Datum::reals).collect())
    }

    /// Rows that [`Rows::save`] stored; an error unless every one has the width.
    pub(crate) fn load(data: &Datum, width: usize) -> Result<Self, Error> {
        let mut rows = Rows::new(width);
        for row in data.list()? {
            rows.push(&row.to_reals(width)?);
        }
        Ok(rows)
    }

    /// [`Rows::load`] of a known number of rows.
    pub(crate) fn load_exactly(data: &Datum, count: usize, width: usize) -> Result<Self, Error> {
        let rows = Rows::load(data, width)?;
        if rows.len() == count {
            Ok(rows)
        } else {
            Err(damaged("another number of positions than belongs"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_places() {
        let mut rows = Rows::fill(2, 3, |row, column| (10 * row + column) as f64);
        rows.row_mut(1)[2] = 0.25;
        rows.push(&[7.0]);
        assert_eq!(
            rows.iter().collect::<Vec<_>>(),
            [[0.0, 1.0, 2.0], [10.0, 11.0, 0.25], [7.0, 0.5, 0.5]]
        );
        assert_eq!(Rows::load_exactly(&rows.save(), 3, 3), Ok(rows.clone()));
        assert!(
            Rows::load(&rows.save(), 2).is_err() && Rows::load_exactly(&rows.save(), 4, 3).is_err()
        );
        rows.clear();
        assert!(rows.is_empty());
    }
}
