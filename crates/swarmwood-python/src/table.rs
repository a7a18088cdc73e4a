//! A table of columns that stay in Python's memory.

use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use swarmwood::read::{Columns, Field, RowSelection, TableColumn};

use crate::arrow::{self, ArrowNumbers, ArrowValues};
use crate::buffer::{self, StridedColumn};
use crate::errors::guarded;
use crate::sparse::{self, SparseColumn};

/// Where the values of a column are.
#[derive(Debug)]
enum ColumnSource {
    /// In a numpy array.
    Array(StridedColumn),
    /// In Arrow buffers.
    Arrow(ArrowNumbers),
    /// In a sparse matrix.
    Sparse(SparseColumn),
    /// Category codes that were made from strings or booleans.
    Codes(Vec<u32>),
}

impl ColumnSource {
    fn rows(&self) -> usize {
        match self {
            ColumnSource::Array(column) => column.rows(),
            ColumnSource::Arrow(column) => column.rows(),
            ColumnSource::Sparse(column) => column.rows(),
            ColumnSource::Codes(codes) => codes.len(),
        }
    }

    fn numbers(&self, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        match self {
            ColumnSource::Array(column) => column.numbers(rows, out),
            ColumnSource::Arrow(column) => column.read(rows, out),
            ColumnSource::Sparse(column) => column.numbers(rows, out),
            ColumnSource::Codes(codes) => {
                for_each_code(codes, rows, |code| out.push(f64::from(code)));
            }
        }
    }

    fn codes(&self, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        match self {
            ColumnSource::Array(column) => column.codes(rows, out),
            ColumnSource::Codes(codes) => for_each_code(codes, rows, |code| out.push(code)),
            // Codes are never requested of a column whose field has no levels.
            ColumnSource::Arrow(_) | ColumnSource::Sparse(_) => {}
        }
    }
}

fn for_each_code(codes: &[u32], rows: &RowSelection<'_>, mut visit: impl FnMut(u32)) {
    match rows {
        RowSelection::Range(run) => codes[run.clone()].iter().for_each(|&code| visit(code)),
        RowSelection::Indices(rows) => rows.iter().for_each(|&row| visit(codes[row])),
    }
}

/// The columns of a table, which the core reads in place.
#[derive(Debug, Default)]
pub struct ColumnTable {
    rows: usize,
    fields: Vec<Field>,
    features: Vec<ColumnSource>,
    /// By feature, whether it holds dates, as seconds since the start of 1970.
    dates: Vec<bool>,
    target: Option<ColumnSource>,
    weight: Option<ColumnSource>,
    /// Whether reading panics, for a test.
    panics: bool,
}

impl Columns for ColumnTable {
    fn rows(&self) -> usize {
        self.rows
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn has_weight(&self) -> bool {
        self.weight.is_some()
    }

    fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        assert!(!self.panics, "injected into a table");
        let source = match part {
            TableColumn::Feature(feature) => self.features.get(feature),
            TableColumn::Target => self.target.as_ref(),
            TableColumn::Weight => self.weight.as_ref(),
        };
        source.into_iter().for_each(|source| source.numbers(rows, out));
    }

    fn is_date(&self, feature: usize) -> bool {
        self.dates.get(feature) == Some(&true)
    }

    fn codes(&self, feature: usize, rows: &RowSelection<'_>, out: &mut Vec<u32>) {
        self.features.get(feature).into_iter().for_each(|source| source.codes(rows, out));
    }
}

/// Columns in memory, to train on or to predict. Nothing is copied but strings.
#[pyclass(module = "swarmwood._core", name = "Table")]
pub struct PyTable {
    columns: Arc<ColumnTable>,
}

impl PyTable {
    /// The columns, shared with Python.
    pub fn columns(&self) -> Arc<ColumnTable> {
        Arc::clone(&self.columns)
    }

    /// Makes the next read of a number panic, for a test.
    pub fn panic_when_read(&mut self) -> PyResult<()> {
        self.columns_mut()?.panics = true;
        Ok(())
    }

    fn columns_mut(&mut self) -> PyResult<&mut ColumnTable> {
        Arc::get_mut(&mut self.columns)
            .ok_or_else(|| PyRuntimeError::new_err("the table is in use"))
    }

    fn add(
        &mut self,
        name: String,
        levels: Option<Vec<Option<String>>>,
        source: ColumnSource,
    ) -> PyResult<()> {
        let columns = self.columns_mut()?;
        check_rows(columns.rows, &source)?;
        columns.fields.push(Field { name, texts: levels });
        columns.dates.push(matches!(&source, ColumnSource::Arrow(column) if column.is_date()));
        columns.features.push(source);
        Ok(())
    }
}

fn check_rows(rows: usize, source: &ColumnSource) -> PyResult<()> {
    if source.rows() == rows {
        return Ok(());
    }
    let message =
        format!("found columns with inconsistent numbers of rows: {rows} and {}", source.rows());
    Err(PyValueError::new_err(message))
}

/// The only column of an array.
fn single_column(array: &Bound<'_, PyAny>) -> PyResult<ColumnSource> {
    let mut columns = buffer::columns(array)?;
    match (columns.pop(), columns.is_empty()) {
        (Some(column), true) => Ok(ColumnSource::Array(column)),
        _ => Err(PyValueError::new_err("expected an array of one column")),
    }
}

#[pymethods]
impl PyTable {
    /// A table with this number of rows and no columns yet.
    #[new]
    fn new(rows: usize) -> PyResult<PyTable> {
        guarded(|| {
            let columns = ColumnTable { rows, ..ColumnTable::default() };
            Ok(PyTable { columns: Arc::new(columns) })
        })
    }

    #[getter]
    fn rows(&self) -> usize {
        self.columns.rows
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.columns.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// Adds the columns of a two-dimensional array as numerical features.
    fn add_matrix(&mut self, names: Vec<String>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let columns = buffer::columns(array)?;
            if columns.len() != names.len() {
                return Err(PyValueError::new_err(format!(
                    "{} names for {} columns",
                    names.len(),
                    columns.len()
                )));
            }
            names
                .into_iter()
                .zip(columns)
                .try_for_each(|(name, column)| self.add(name, None, ColumnSource::Array(column)))
        })
    }

    /// Adds the columns of a sparse matrix in the CSC format as numerical features.
    fn add_sparse(
        &mut self,
        names: Vec<String>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        guarded(|| {
            let columns = sparse::columns(self.columns.rows, indptr, indices, data)?;
            if columns.len() != names.len() {
                let (count, given) = (columns.len(), names.len());
                return Err(PyValueError::new_err(format!("{given} names for {count} columns")));
            }
            names
                .into_iter()
                .zip(columns)
                .try_for_each(|(name, column)| self.add(name, None, ColumnSource::Sparse(column)))
        })
    }

    /// Adds an array as a numerical feature.
    fn add_numbers(&mut self, name: String, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| self.add(name, None, single_column(array)?))
    }

    /// Adds an array of seconds since the start of 1970 as a feature of dates.
    fn add_dates(&mut self, name: String, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            self.add(name, None, single_column(seconds)?)?;
            if let Some(last) = self.columns_mut()?.dates.last_mut() {
                *last = true;
            }
            Ok(())
        })
    }

    /// Adds a categorical feature: an array of codes and the levels they stand for; negative codes
    /// are missing.
    fn add_codes(
        &mut self,
        name: String,
        codes: &Bound<'_, PyAny>,
        levels: Vec<Option<String>>,
    ) -> PyResult<()> {
        guarded(|| self.add(name, Some(levels), single_column(codes)?))
    }

    /// Whether each feature is categorical.
    #[getter]
    fn categorical(&self) -> Vec<bool> {
        self.columns.fields.iter().map(|field| field.texts.is_some()).collect()
    }

    /// Replaces a feature by a categorical one.
    fn set_codes(
        &mut self,
        at: usize,
        codes: &Bound<'_, PyAny>,
        levels: Vec<Option<String>>,
    ) -> PyResult<()> {
        guarded(|| {
            let source = single_column(codes)?;
            check_rows(self.columns.rows, &source)?;
            let columns = self.columns_mut()?;
            if at >= columns.features.len() {
                return Err(PyValueError::new_err(format!("there is no feature {at}")));
            }
            columns.fields[at].texts = Some(levels);
            columns.dates[at] = false;
            columns.features[at] = source;
            Ok(())
        })
    }

    /// Adds the columns of a capsule that `__arrow_c_stream__` returned; a stream of one column is
    /// called `name`.
    #[pyo3(signature = (capsule, name=None))]
    fn add_arrow(&mut self, capsule: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<()> {
        guarded(|| {
            for column in arrow::import(capsule, name)? {
                let (levels, source) = match column.values {
                    ArrowValues::Numbers(numbers) => (None, ColumnSource::Arrow(numbers)),
                    ArrowValues::Codes { codes, levels } => {
                        (Some(levels), ColumnSource::Codes(codes))
                    }
                };
                self.add(column.name, levels, source)?;
            }
            Ok(())
        })
    }

    /// Sets the target: numbers, or indices of classes.
    fn set_target(&mut self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let source = single_column(array)?;
            check_rows(self.columns.rows, &source)?;
            self.columns_mut()?.target = Some(source);
            Ok(())
        })
    }

    /// Sets the sample weights.
    fn set_weight(&mut self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let source = single_column(array)?;
            check_rows(self.columns.rows, &source)?;
            self.columns_mut()?.weight = Some(source);
            Ok(())
        })
    }
}
