//! The positions of a population as a matrix: one row per member, in one allocation.

use crate::error::Error;
use crate::snapshot::{Datum, damaged};

/// A row-major matrix of positions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositionMatrix {
    width: usize,
    count: usize,
    values: Vec<f64>,
}

impl PositionMatrix {
    /// A matrix without rows.
    pub fn new(width: usize) -> Self {
        PositionMatrix { width, count: 0, values: Vec::new() }
    }

    /// A matrix of the values of a function of row and column.
    pub fn from_fn(count: usize, width: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut values = Vec::with_capacity(count.saturating_mul(width));
        for row in 0..count {
            values.extend((0..width).map(|column| value(row, column)));
        }
        PositionMatrix { width, count, values }
    }

    /// Number of rows.
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

    /// One row, mutable.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.width..(row + 1) * self.width]
    }

    /// Adds a row, truncated or padded with 0.5 to the width.
    pub fn push(&mut self, row: &[f64]) {
        self.values.extend((0..self.width).map(|column| row.get(column).copied().unwrap_or(0.5)));
        self.count += 1;
    }

    /// Removes all rows and keeps the allocation.
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

    /// The matrix that [`PositionMatrix::save`] stored; an error unless every row has the width.
    pub(crate) fn load(data: &Datum, width: usize) -> Result<Self, Error> {
        let mut rows = PositionMatrix::new(width);
        for row in data.list()? {
            rows.push(&row.to_reals(width)?);
        }
        Ok(rows)
    }

    /// [`PositionMatrix::load`] with a known number of rows.
    pub(crate) fn load_exactly(data: &Datum, count: usize, width: usize) -> Result<Self, Error> {
        let rows = PositionMatrix::load(data, width)?;
        if rows.len() == count { Ok(rows) } else { Err(damaged("a wrong number of positions")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_stored_in_order() {
        let mut rows = PositionMatrix::from_fn(2, 3, |row, column| (10 * row + column) as f64);
        rows.row_mut(1)[2] = 0.25;
        rows.push(&[7.0]);
        assert_eq!(
            rows.iter().collect::<Vec<_>>(),
            [[0.0, 1.0, 2.0], [10.0, 11.0, 0.25], [7.0, 0.5, 0.5]]
        );
        assert_eq!(PositionMatrix::load_exactly(&rows.save(), 3, 3), Ok(rows.clone()));
        assert!(
            PositionMatrix::load(&rows.save(), 2).is_err()
                && PositionMatrix::load_exactly(&rows.save(), 4, 3).is_err()
        );
        rows.clear();
        assert!(rows.is_empty());
    }
}
