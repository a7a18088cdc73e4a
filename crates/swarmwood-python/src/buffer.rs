//! Columns of numpy arrays, read in place through the buffer protocol.
//!
//! **Unsafe code.** A column is an address, a step and a number of rows, taken from a buffer that
//! the interpreter has exported and that stays exported as long as the column lives; every read is
//! within the buffer's shape. Whether Python code changes the values in the meantime is up to the
//! caller, as with every library that releases the lock.
#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use swarmwood::learn::data::MISSING;
use swarmwood::read::RowSelection;

/// The type of the cells of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// One column of an exported buffer.
#[derive(Debug)]
pub struct StridedColumn {
    /// Keeps the buffer exported.
    _owner: Arc<PyUntypedBuffer>,
    start: *const u8,
    step: isize,
    rows: usize,
    cell_type: CellType,
}

// SAFETY: the memory behind the pointer is only ever read, and stays exported until `_owner` is
// dropped.
unsafe impl Send for StridedColumn {}
// SAFETY: as above; reading from several threads at once is fine.
unsafe impl Sync for StridedColumn {}

/// Every column of an array of one or two dimensions.
pub fn columns(array: &Bound<'_, PyAny>) -> PyResult<Vec<StridedColumn>> {
    let buffer = Arc::new(PyUntypedBuffer::get(array)?);
    let cell_type = cell_type(&buffer)?;
    if buffer.suboffsets().is_some() {
        return Err(PyTypeError::new_err("the array is not contiguous in memory"));
    }

    let (shape, strides) = (buffer.shape(), buffer.strides());
    let (rows, step, count, across) = match (shape, strides) {
        ([rows], [step]) => (*rows, *step, 1, 0),
        ([rows, count], [step, across]) => (*rows, *step, *count, *across),
        _ => return Err(PyValueError::new_err("expected an array of one or two dimensions")),
    };

    let first = buffer.buf_ptr().cast_const().cast::<u8>();
    let column = |at: usize| StridedColumn {
        _owner: Arc::clone(&buffer),
        // An offset within the buffer: `at` is less than its width.
        start: first.wrapping_offset(across * at as isize),
        step,
        rows,
        cell_type,
    };
    Ok((0..count).map(column).collect())
}

/// The values of an array of one dimension.
pub fn single_row(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let mut values = Vec::new();
    match columns(array)?.as_slice() {
        [column] => column.numbers(&RowSelection::Range(0..column.rows()), &mut values),
        _ => return Err(PyValueError::new_err("expected an array of one dimension")),
    }
    Ok(values)
}

fn cell_type(buffer: &PyUntypedBuffer) -> PyResult<CellType> {
    Ok(match ElementType::from_format(buffer.format()) {
        ElementType::Float { bytes: 4 } => CellType::F32,
        ElementType::Float { bytes: 8 } => CellType::F64,
        ElementType::SignedInteger { bytes: 1 } => CellType::I8,
        ElementType::SignedInteger { bytes: 2 } => CellType::I16,
        ElementType::SignedInteger { bytes: 4 } => CellType::I32,
        ElementType::SignedInteger { bytes: 8 } => CellType::I64,
        ElementType::UnsignedInteger { bytes: 1 } | ElementType::Bool => CellType::U8,
        ElementType::UnsignedInteger { bytes: 2 } => CellType::U16,
        ElementType::UnsignedInteger { bytes: 4 } => CellType::U32,
        ElementType::UnsignedInteger { bytes: 8 } => CellType::U64,
        _ => {
            let format = buffer.format().to_string_lossy();
            return Err(PyTypeError::new_err(format!(
                "arrays of the type '{format}' are not supported"
            )));
        }
    })
}

impl StridedColumn {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends numbers to `out`.
    pub fn numbers(&self, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        match self.cell_type {
            CellType::F32 => self.each::<f32, _>(rows, out, f64::from),
            CellType::F64 => self.each::<f64, _>(rows, out, |value| value),
            CellType::I8 => self.each::<i8, _>(rows, out, f64::from),
            CellType::I16 => self.each::<i16, _>(rows, out, f64::from),
            CellType::I32 => self.each::<i32, _>(rows, out, f64::from),
            CellType::I64 => self.each::<i64, _>(rows, out, |value| value as f64),
            CellType::U8 => self.each::<u8, _>(rows, out, f64::from),
            CellType::U16 => self.each::<u16, _>(rows, out, f64::from),
            CellType::U32 => self.each::<u32, _>(rows, out, f64::from),
            CellType::U64 => self.each::<u64, _>(rows, out, |value| value as f64),
        }
    }

    /// Appends codes to `out`; a negative number is a missing value.
    pub fn codes(&self, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        let code = |value: i64| u32::try_from(value).unwrap_or(MISSING);
        match self.cell_type {
            CellType::I8 => self.each::<i8, _>(rows, out, |value| code(value.into())),
            CellType::I16 => self.each::<i16, _>(rows, out, |value| code(value.into())),
            CellType::I32 => self.each::<i32, _>(rows, out, |value| code(value.into())),
            CellType::I64 => self.each::<i64, _>(rows, out, code),
            CellType::U8 => self.each::<u8, _>(rows, out, u32::from),
            CellType::U16 => self.each::<u16, _>(rows, out, u32::from),
            CellType::U32 => self.each::<u32, _>(rows, out, |value| value),
            CellType::U64 | CellType::F32 | CellType::F64 => {
                let mut numbers = Vec::new();
                self.numbers(rows, &mut numbers);
                // Casts saturate; a code that is too large is out of range for the levels and
                // treated as missing there.
                out.extend(
                    numbers
                        .into_iter()
                        .map(|value| if value >= 0.0 { value as u32 } else { MISSING }),
                );
            }
        }
    }

    fn each<T: Copy, U>(
        &self,
        rows: &RowSelection<'_>,
        out: &mut Vec<U>,
        convert: impl Fn(T) -> U,
    ) {
        let value = |row: usize| {
            // SAFETY: `row` is checked by the callers below, so the address is that of a cell of
            // the buffer; the cell has the type of its format, and may lie at any address.
            convert(unsafe {
                self.start.offset(self.step * row as isize).cast::<T>().read_unaligned()
            })
        };

        match rows {
            RowSelection::Range(run) => {
                assert!(run.end <= self.rows, "requested rows are within the array");
                out.extend(run.clone().map(value));
            }
            RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| {
                assert!(row < self.rows, "requested rows are within the array");
                value(row)
            })),
        }
    }
}
