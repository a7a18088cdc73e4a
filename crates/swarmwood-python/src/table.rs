//! A table that Python lends, column by column.

use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use swarmwood::read::{Columns, Field, Part, Picked};

use crate::arrow;
use crate::buffer::{self, Strided};
use crate::fault::guarded;

/// Where the cells of a column are.
#[derive(Debug)]
pub enum Source {
    /// In an array of Python's.
    Array(Strided),
    /// In numbers of Arrow's.
    Arrow(arrow::Numbers),
    /// In codes of our own.
    Codes(Vec<u32>),
}

impl Source {
    fn rows(&self) -> usize {
        match self {
            Source::Array(column) => column.rows(),
            Source::Arrow(column) => column.rows(),
            Source::Codes(codes) => codes.len(),
        }
    }

    fn numbers(&self, rows: &Picked<'_>, out: &mut Vec<f64>) {
        match self {
            Source::Array(column) => column.numbers(rows, out),
            Source::Arrow(column) => column.read(rows, out),
            Source::Codes(codes) => picked(codes, rows, |code| out.push(f64::from(code))),
        }
    }

    fn codes(&self, rows: &Picked<'_>, out: &mut Vec<u32>) {
        match self {
            Source::Array(column) => column.codes(rows, out),
            Source::Codes(codes) => picked(codes, rows, |code| out.push(code)),
            // Numbers are never asked for their codes: the field says what the column holds.
            Source::Arrow(_) => {}
        }
    }
}

fn picked(codes: &[u32], rows: &Picked<'_>, mut each: impl FnMut(u32)) {
    match rows {
        Picked::Run(run) => codes[run.clone()].iter().for_each(|&code| each(code)),
        Picked::At(rows) => rows.iter().for_each(|&row| each(codes[row])),
    }
}

/// The columns of a table.
#[derive(Debug, Default)]
pub struct Lending {
    rows: usize,
    fields: Vec<Field>,
    features: Vec<Source>,
    target: Option<Source>,
    weight: Option<Source>,
    /// Whether reading is to panic, for a test.
    faulty: bool,
}

impl Columns for Lending {
    fn rows(&self) -> usize {
        self.rows
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn has_weight(&self) -> bool {
        self.weight.is_some()
    }

    fn numbers(&self, part: Part, rows: &Picked<'_>, out: &mut Vec<f64>) {
        assert!(!self.faulty, "injected into a table");
        let source = match part {
            Part::Feature(feature) => self.features.get(feature),
            Part::Target => self.target.as_ref(),
            Part::Weight => self.weight.as_ref(),
        };
        source.into_iter().for_each(|source| source.numbers(rows, out));
    }

    fn codes(&self, feature: usize, rows: &Picked<'_>, out: &mut Vec<u32>) {
        self.features.get(feature).into_iter().for_each(|source| source.codes(rows, out));
    }
}

/// Columns in memory, to train on or to predict. Nothing is copied but texts.
#[pyclass(module = "swarmwood._core")]
pub struct Table {
    pub lending: Arc<Lending>,
}

impl Table {
    fn lending_mut(&mut self) -> PyResult<&mut Lending> {
        Arc::get_mut(&mut self.lending)
            .ok_or_else(|| PyRuntimeError::new_err("the table is in use"))
    }

    /// Makes the next one who reads a number panic, for a test.
    pub fn fail_when_read(&mut self) -> PyResult<()> {
        self.lending_mut()?.faulty = true;
        Ok(())
    }

    fn add(
        &mut self,
        name: String,
        texts: Option<Vec<Option<String>>>,
        source: Source,
    ) -> PyResult<()> {
        let lending = self.lending_mut()?;
        check_rows(lending.rows, &source)?;
        lending.fields.push(Field { name, texts });
        lending.features.push(source);
        Ok(())
    }
}

fn check_rows(rows: usize, source: &Source) -> PyResult<()> {
    if source.rows() == rows {
        return Ok(());
    }
    let message =
        format!("found columns with inconsistent numbers of rows: {rows} and {}", source.rows());
    Err(PyValueError::new_err(message))
}

/// The one column of an array.
fn one(array: &Bound<'_, PyAny>) -> PyResult<Source> {
    let mut columns = buffer::columns(array)?;
    match (columns.pop(), columns.is_empty()) {
        (Some(column), true) => Ok(Source::Array(column)),
        _ => Err(PyValueError::new_err("one column is wanted")),
    }
}

#[pymethods]
impl Table {
    /// A table of so many rows and no columns yet.
    #[new]
    fn new(rows: usize) -> PyResult<Table> {
        guarded(|| Ok(Table { lending: Arc::new(Lending { rows, ..Lending::default() }) }))
    }

    #[getter]
    fn rows(&self) -> usize {
        self.lending.rows
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.lending.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// Features that are the columns of a two-dimensional array of numbers.
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
                .try_for_each(|(name, column)| self.add(name, None, Source::Array(column)))
        })
    }

    /// A feature that is an array of numbers.
    fn add_numbers(&mut self, name: String, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| self.add(name, None, one(array)?))
    }

    /// A category: an array of codes, and the texts they stand for; codes below zero are missing.
    fn add_codes(
        &mut self,
        name: String,
        codes: &Bound<'_, PyAny>,
        texts: Vec<Option<String>>,
    ) -> PyResult<()> {
        guarded(|| self.add(name, Some(texts), one(codes)?))
    }

    /// Whether each feature holds categories.
    #[getter]
    fn categorical(&self) -> Vec<bool> {
        self.lending.fields.iter().map(|field| field.texts.is_some()).collect()
    }

    /// Puts a category in the place of a feature.
    fn set_codes(
        &mut self,
        at: usize,
        codes: &Bound<'_, PyAny>,
        texts: Vec<Option<String>>,
    ) -> PyResult<()> {
        guarded(|| {
            let source = one(codes)?;
            check_rows(self.lending.rows, &source)?;
            let lending = self.lending_mut()?;
            if at >= lending.features.len() {
                return Err(PyValueError::new_err(format!("there is no feature {at}")));
            }
            lending.fields[at].texts = Some(texts);
            lending.features[at] = source;
            Ok(())
        })
    }

    /// The columns of a capsule that `__arrow_c_stream__` gave; a stream of one column is called
    /// `name`.
    #[pyo3(signature = (capsule, name=None))]
    fn add_arrow(&mut self, capsule: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<()> {
        guarded(|| {
            for column in arrow::import(capsule, name)? {
                self.add(column.name, column.texts, column.source)?;
            }
            Ok(())
        })
    }

    /// The targets: numbers, or numbers of classes.
    fn set_target(&mut self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let source = one(array)?;
            check_rows(self.lending.rows, &source)?;
            self.lending_mut()?.target = Some(source);
            Ok(())
        })
    }

    /// The weights of the rows.
    fn set_weight(&mut self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let source = one(array)?;
            check_rows(self.lending.rows, &source)?;
            self.lending_mut()?.weight = Some(source);
            Ok(())
        })
    }
}
