//! Columns of arrays that Python keeps, read where they lie.
//!
//! **Unsafe code.** A column is an address, a step and a number of rows, taken from a buffer that
//! the interpreter has exported and that stays exported as long as the column lives; every read is
//! inside of what the buffer's shape allows. What Python may do to the values in the meantime is on
//! the caller, as with every library that releases the lock.
#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use swarmwood::learn::data::MISSING;
use swarmwood::read::Picked;

/// The type of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
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
pub struct Strided {
    /// Keeps the memory where it is.
    _owner: Arc<PyUntypedBuffer>,
    start: *const u8,
    step: isize,
    rows: usize,
    cell: Cell,
}

// SAFETY: the memory behind the pointer is only ever read, and stays exported until `_owner` is
// dropped.
unsafe impl Send for Strided {}
// SAFETY: as above; reading from several threads at once is fine.
unsafe impl Sync for Strided {}

/// Every column of an array of one or two dimensions.
pub fn columns(array: &Bound<'_, PyAny>) -> PyResult<Vec<Strided>> {
    let buffer = Arc::new(PyUntypedBuffer::get(array)?);
    let cell = cell_of(&buffer)?;
    if buffer.suboffsets().is_some() {
        return Err(PyTypeError::new_err("the array is not made of one piece of memory"));
    }
    let (shape, strides) = (buffer.shape(), buffer.strides());
    let (rows, step, count, across) = match (shape, strides) {
        ([rows], [step]) => (*rows, *step, 1, 0),
        ([rows, count], [step, across]) => (*rows, *step, *count, *across),
        _ => return Err(PyValueError::new_err("an array of one or two dimensions is wanted")),
    };
    let first = buffer.buf_ptr().cast_const().cast::<u8>();
    let column = |at: usize| Strided {
        _owner: Arc::clone(&buffer),
        // An offset within the buffer: `at` is less than its width.
        start: first.wrapping_offset(across * at as isize),
        step,
        rows,
        cell,
    };
    Ok((0..count).map(column).collect())
}

fn cell_of(buffer: &PyUntypedBuffer) -> PyResult<Cell> {
    Ok(match ElementType::from_format(buffer.format()) {
        ElementType::Float { bytes: 4 } => Cell::F32,
        ElementType::Float { bytes: 8 } => Cell::F64,
        ElementType::SignedInteger { bytes: 1 } => Cell::I8,
        ElementType::SignedInteger { bytes: 2 } => Cell::I16,
        ElementType::SignedInteger { bytes: 4 } => Cell::I32,
        ElementType::SignedInteger { bytes: 8 } => Cell::I64,
        ElementType::UnsignedInteger { bytes: 1 } | ElementType::Bool => Cell::U8,
        ElementType::UnsignedInteger { bytes: 2 } => Cell::U16,
        ElementType::UnsignedInteger { bytes: 4 } => Cell::U32,
        ElementType::UnsignedInteger { bytes: 8 } => Cell::U64,
        _ => {
            let format = buffer.format().to_string_lossy();
            return Err(PyTypeError::new_err(format!(
                "arrays of the type '{format}' cannot be read"
            )));
        }
    })
}

impl Strided {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds numbers to `out`.
    pub fn numbers(&self, rows: &Picked<'_>, out: &mut Vec<f64>) {
        match self.cell {
            Cell::F32 => self.each::<f32, _>(rows, out, f64::from),
            Cell::F64 => self.each::<f64, _>(rows, out, |value| value),
            Cell::I8 => self.each::<i8, _>(rows, out, f64::from),
            Cell::I16 => self.each::<i16, _>(rows, out, f64::from),
            Cell::I32 => self.each::<i32, _>(rows, out, f64::from),
            Cell::I64 => self.each::<i64, _>(rows, out, |value| value as f64),
            Cell::U8 => self.each::<u8, _>(rows, out, f64::from),
            Cell::U16 => self.each::<u16, _>(rows, out, f64::from),
            Cell::U32 => self.each::<u32, _>(rows, out, f64::from),
            Cell::U64 => self.each::<u64, _>(rows, out, |value| value as f64),
        }
    }

    /// Adds codes to `out`; a number below zero is a missing one.
    pub fn codes(&self, rows: &Picked<'_>, out: &mut Vec<u32>) {
        let code = |value: i64| u32::try_from(value).unwrap_or(MISSING);
        match self.cell {
            Cell::I8 => self.each::<i8, _>(rows, out, |value| code(value.into())),
            Cell::I16 => self.each::<i16, _>(rows, out, |value| code(value.into())),
            Cell::I32 => self.each::<i32, _>(rows, out, |value| code(value.into())),
            Cell::I64 => self.each::<i64, _>(rows, out, code),
            Cell::U8 => self.each::<u8, _>(rows, out, u32::from),
            Cell::U16 => self.each::<u16, _>(rows, out, u32::from),
            Cell::U32 => self.each::<u32, _>(rows, out, |value| value),
            Cell::U64 | Cell::F32 | Cell::F64 => {
                let mut numbers = Vec::new();
                self.numbers(rows, &mut numbers);
                // Casts saturate, and nothing that is not there is read from a code that is too
                // large.
                out.extend(
                    numbers
                        .into_iter()
                        .map(|value| if value >= 0.0 { value as u32 } else { MISSING }),
                );
            }
        }
    }

    fn each<T: Copy, U>(&self, rows: &Picked<'_>, out: &mut Vec<U>, convert: impl Fn(T) -> U) {
        let value = |row: usize| {
            // SAFETY: `row` is checked by the callers below, so the address is that of a cell of
            // the buffer; the cell has the type of its format, and may lie at any address.
            convert(unsafe {
                self.start.offset(self.step * row as isize).cast::<T>().read_unaligned()
            })
        };
        match rows {
            Picked::Run(run) => {
                assert!(run.end <= self.rows, "rows are asked for that are there");
                out.extend(run.clone().map(value));
            }
            Picked::At(rows) => out.extend(rows.iter().map(|&row| {
                assert!(row < self.rows, "rows are asked for that are there");
                value(row)
            })),
        }
    }
}
