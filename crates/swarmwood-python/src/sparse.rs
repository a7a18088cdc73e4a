//! Columns of a sparse matrix that is stored column by column (CSC). Cells that are not stored are
//! zeros; stored NaN are missing values. The values stay in Python's memory.

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use swarmwood::read::RowSelection;

use crate::buffer::{self, StridedColumn};

/// The stored cells of all columns.
#[derive(Debug)]
struct StoredCells {
    /// The rows of the cells, ascending within each column.
    rows: Vec<u32>,
    values: StridedColumn,
}

/// One column.
#[derive(Debug)]
pub struct SparseColumn {
    cells: Arc<StoredCells>,
    /// The cells of the column.
    range: Range<usize>,
    row_count: usize,
}

/// The columns of a matrix: where the cells of each column begin and the last ones end, the row of
/// each cell, and its value.
pub fn columns(
    row_count: usize,
    starts: &Bound<'_, PyAny>,
    rows: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
) -> PyResult<Vec<SparseColumn>> {
    let values = only_column(values)?;
    let starts = indices(starts)?;
    let rows: Vec<u32> = indices(rows)?.into_iter().map(|row| row as u32).collect();
    let fits = starts.first() == Some(&0)
        && starts.is_sorted()
        && starts.last() == Some(&rows.len())
        && values.rows() == rows.len();
    if !fits {
        return Err(PyValueError::new_err("the arrays of the sparse matrix do not fit together"));
    }

    let cells = Arc::new(StoredCells { rows, values });
    let mut columns = Vec::with_capacity(starts.len() - 1);
    for pair in starts.windows(2) {
        let range = pair[0]..pair[1];
        let own = &cells.rows[range.clone()];
        let is_ascending = own.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_ascending || own.last().is_some_and(|&last| last as usize >= row_count) {
            let message = "the rows of a column of the sparse matrix are not in ascending order";
            return Err(PyValueError::new_err(message));
        }
        columns.push(SparseColumn { cells: Arc::clone(&cells), range, row_count });
    }
    Ok(columns)
}

fn only_column(array: &Bound<'_, PyAny>) -> PyResult<StridedColumn> {
    let mut columns = buffer::columns(array)?;
    match (columns.pop(), columns.is_empty()) {
        (Some(column), true) => Ok(column),
        _ => Err(PyValueError::new_err("expected an array of one dimension")),
    }
}

/// The values of an array of indices.
fn indices(array: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let column = only_column(array)?;
    let mut codes = Vec::with_capacity(column.rows());
    column.codes(&RowSelection::Range(0..column.rows()), &mut codes);
    Ok(codes.into_iter().map(|code| code as usize).collect())
}

impl SparseColumn {
    pub fn rows(&self) -> usize {
        self.row_count
    }

    /// Appends numbers to `out`.
    pub fn numbers(&self, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        let own = &self.cells.rows[self.range.clone()];
        let first = out.len();
        let (mut places, mut cells) = (Vec::new(), Vec::new());
        match rows {
            RowSelection::Range(run) => {
                out.resize(first + run.len(), 0.0);
                let begin = own.partition_point(|&row| (row as usize) < run.start);
                let end = own.partition_point(|&row| (row as usize) < run.end);
                places.extend(own[begin..end].iter().map(|&row| row as usize - run.start));
                cells.extend((begin..end).map(|cell| self.range.start + cell));
            }
            RowSelection::Indices(rows) => {
                out.resize(first + rows.len(), 0.0);
                for (place, &row) in rows.iter().enumerate() {
                    if let Ok(cell) = own.binary_search(&(row as u32)) {
                        places.push(place);
                        cells.push(self.range.start + cell);
                    }
                }
            }
        }

        let mut values = Vec::with_capacity(cells.len());
        self.cells.values.numbers(&RowSelection::Indices(&cells), &mut values);
        places.iter().zip(values).for_each(|(&place, value)| out[first + place] = value);
    }
}
