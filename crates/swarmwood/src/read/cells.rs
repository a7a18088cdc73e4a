//! The cells of one column, collected in the form the column is read in.

use swarmwood_learn::data::{Column, MISSING};

use super::levels::{KnownLevels, LevelCollector, LevelError};
use super::number_format::NumberFormat;
use super::token;

/// One cell, as a source hands it over.
#[derive(Debug, Clone, Copy)]
pub(super) enum CellValue<'a> {
    /// A text that may stand for a missing value or a number.
    Text(&'a [u8]),
    /// A number from a typed source.
    Number(f64),
    /// No value in a typed source.
    Missing,
}

/// A text with the place it was found at.
#[derive(Debug, Clone)]
pub(super) struct CellText {
    pub(super) text: Vec<u8>,
    pub(super) at: u64,
    /// How many such cells there are.
    pub(super) count: u64,
}

impl CellText {
    pub(super) fn note(found: &mut Option<CellText>, text: &[u8], at: u64) {
        match found {
            Some(found) => found.count += 1,
            None => *found = Some(CellText { text: text.to_vec(), at, count: 1 }),
        }
    }
}

/// A column being collected.
#[derive(Debug)]
pub(super) enum ColumnBuffer {
    /// Numbers; a word is noted and taken as missing.
    Number {
        /// The values of the current chunk.
        values: Vec<f64>,
        /// How texts are read as numbers.
        format: NumberFormat,
        /// The first word, if there was one.
        word: Option<CellText>,
    },
    /// Levels found on the way.
    Growing {
        /// The codes of the current chunk.
        codes: Vec<u32>,
        /// All levels so far.
        levels: LevelCollector,
    },
    /// Levels of a schema; a text that is none of them is noted and taken as missing.
    Known {
        /// The codes of the current chunk.
        codes: Vec<u32>,
        /// The schema's levels.
        levels: KnownLevels,
        /// The first text that is not a level, if there was one.
        unseen: Option<CellText>,
    },
}

/// What became of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellOutcome {
    /// It has a value.
    Value,
    /// It is missing.
    Missing,
    /// It has text that does not fit the column; taken as missing.
    Misfit,
}

impl ColumnBuffer {
    /// A column read as numbers.
    pub(super) fn numbers(format: NumberFormat) -> ColumnBuffer {
        ColumnBuffer::Number { values: Vec::new(), format, word: None }
    }

    /// A column whose levels are to be found.
    pub(super) fn growing() -> ColumnBuffer {
        ColumnBuffer::Growing { codes: Vec::new(), levels: LevelCollector::default() }
    }

    /// A column with the levels of a schema.
    pub(super) fn known(names: &[String]) -> ColumnBuffer {
        ColumnBuffer::Known { codes: Vec::new(), levels: KnownLevels::new(names), unseen: None }
    }

    /// Adds a cell; `at` is its line or row.
    pub(super) fn push(&mut self, cell: CellValue<'_>, at: u64) -> Result<CellOutcome, LevelError> {
        match cell {
            CellValue::Text(text) => self.push_text(text, at),
            CellValue::Missing => {
                self.push_missing();
                Ok(CellOutcome::Missing)
            }
            CellValue::Number(number) if number.is_nan() => {
                self.push_missing();
                Ok(CellOutcome::Missing)
            }
            CellValue::Number(number) => match self {
                ColumnBuffer::Number { values, .. } => {
                    values.push(number);
                    Ok(CellOutcome::Value)
                }
                _ => self.push_text(number.to_string().as_bytes(), at),
            },
        }
    }

    /// Adds a cell of a text file.
    pub(super) fn push_text(&mut self, text: &[u8], at: u64) -> Result<CellOutcome, LevelError> {
        match self {
            ColumnBuffer::Number { values, format, word } => {
                if let Some(number) = format.number(text) {
                    values.push(number);
                    return Ok(CellOutcome::Value);
                }
                values.push(f64::NAN);
                if token::is_missing(text) {
                    return Ok(CellOutcome::Missing);
                }
                CellText::note(word, text, at);
                Ok(CellOutcome::Misfit)
            }
            ColumnBuffer::Growing { codes, levels } => {
                if token::is_missing(text) {
                    codes.push(MISSING);
                    return Ok(CellOutcome::Missing);
                }
                codes.push(levels.code(text, at)?);
                Ok(CellOutcome::Value)
            }
            ColumnBuffer::Known { codes, levels, unseen } => {
                // A level may be spelled like a missing value in a schema that was not made from a
                // text file.
                if let Some(code) = levels.code(text) {
                    codes.push(code);
                    return Ok(CellOutcome::Value);
                }
                codes.push(MISSING);
                if token::is_missing(text) {
                    return Ok(CellOutcome::Missing);
                }
                if std::str::from_utf8(text).is_err() {
                    return Err(LevelError::NotUtf8);
                }
                CellText::note(unseen, text, at);
                Ok(CellOutcome::Misfit)
            }
        }
    }

    fn push_missing(&mut self) {
        match self {
            ColumnBuffer::Number { values, .. } => values.push(f64::NAN),
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.push(MISSING)
            }
        }
    }

    /// Takes the last cell back.
    pub(super) fn pop(&mut self) {
        match self {
            ColumnBuffer::Number { values, .. } => {
                values.pop();
            }
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.pop();
            }
        }
    }

    /// The last value, as a target holds it: the number itself, or the code.
    pub(super) fn last(&self) -> Option<f64> {
        match self {
            ColumnBuffer::Number { values, .. } => values.last().copied(),
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.last().map(|&code| f64::from(code))
            }
        }
    }

    /// The chunk's values as a feature; the column goes on empty.
    pub(super) fn take(&mut self, room: usize) -> Column {
        match self {
            ColumnBuffer::Number { values, .. } => {
                Column::Number(std::mem::replace(values, Vec::with_capacity(room)))
            }
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                Column::Category(std::mem::replace(codes, Vec::with_capacity(room)))
            }
        }
    }

    /// The chunk's values as a target; the column goes on empty.
    pub(super) fn take_target(&mut self, room: usize) -> Vec<f64> {
        match self.take(room) {
            Column::Number(values) => values,
            Column::Category(codes) => codes.into_iter().map(f64::from).collect(),
        }
    }

    /// The first text that did not fit.
    pub(super) fn misfit(&self) -> Option<&CellText> {
        match self {
            ColumnBuffer::Number { word, .. } => word.as_ref(),
            ColumnBuffer::Growing { .. } => None,
            ColumnBuffer::Known { unseen, .. } => unseen.as_ref(),
        }
    }
}
