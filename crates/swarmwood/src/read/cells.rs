//! The cells of one column, collected in the form the column is read in.

use swarmwood_learn::data::{Column, MISSING};
use swarmwood_model::{CalendarDate, DateColumn, DatePart};

use super::date_format::{DateChoice, DateFormat};
use super::date_probe::DateProbe;
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
    /// A moment from a typed source, in seconds since the start of 1970.
    Moment(f64),
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
    /// Perhaps dates. The cells are looked at and not kept.
    Probe {
        /// What has been found so far.
        probe: DateProbe,
        /// The first text that is no date, if there was one.
        word: Option<CellText>,
    },
    /// A part of dates; a word is noted and taken as missing.
    Date {
        /// The values of the current chunk.
        values: Vec<f64>,
        /// How the column is written and expanded.
        reader: DatePartReader,
        /// The first word, if there was one.
        word: Option<CellText>,
    },
}

/// Reads one part of the dates of a column.
#[derive(Debug, Clone)]
pub(super) struct DatePartReader {
    format: DateFormat,
    part: DatePart,
    origin: CalendarDate,
}

impl DatePartReader {
    /// A reader of a part; dates of a format that this program does not know are read as ISO 8601.
    pub(super) fn new(date: &DateColumn, part: DatePart) -> DatePartReader {
        let format = DateFormat::parse(&date.format).unwrap_or_else(|_| DateFormat::iso());
        DatePartReader { format, part, origin: date.origin }
    }

    /// The part of the date that a text names. ISO 8601 is always understood.
    fn value(&self, text: &[u8]) -> Option<f64> {
        let moment = self.format.moment(text).or_else(|| DateFormat::iso().moment(text))?;
        Some(self.part.of(moment, self.origin))
    }

    /// Which part it is.
    pub(super) fn part(&self) -> DatePart {
        self.part
    }

    /// The part of a moment.
    pub(super) fn of(&self, moment: f64) -> f64 {
        self.part.of(moment, self.origin)
    }
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

    /// A column that may hold dates.
    pub(super) fn probe(choice: &DateChoice) -> ColumnBuffer {
        ColumnBuffer::Probe { probe: DateProbe::new(choice), word: None }
    }

    /// A part of a column of dates.
    pub(super) fn date(date: &DateColumn, part: DatePart) -> ColumnBuffer {
        let reader = DatePartReader::new(date, part);
        ColumnBuffer::Date { values: Vec::new(), reader, word: None }
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
            CellValue::Moment(moment) => self.push_moment(moment, at),
            CellValue::Number(number) => match self {
                ColumnBuffer::Number { values, .. } => {
                    values.push(number);
                    Ok(CellOutcome::Value)
                }
                _ => self.push_text(number.to_string().as_bytes(), at),
            },
        }
    }

    /// Adds a moment of a typed source.
    fn push_moment(&mut self, moment: f64, at: u64) -> Result<CellOutcome, LevelError> {
        match self {
            ColumnBuffer::Probe { probe, .. } => probe.note_moment(moment),
            ColumnBuffer::Date { values, reader, .. } => values.push(reader.of(moment)),
            _ => return self.push_text(moment_text(moment).as_bytes(), at),
        }
        Ok(CellOutcome::Value)
    }

    /// Adds a cell of a text file.
    pub(super) fn push_text(&mut self, text: &[u8], at: u64) -> Result<CellOutcome, LevelError> {
        match self {
            ColumnBuffer::Number { values, format, word } => {
                Ok(push_number(values, format.number(text), word, text, at))
            }
            ColumnBuffer::Probe { probe, word } => {
                if token::is_missing(text) {
                    return Ok(CellOutcome::Missing);
                }
                if probe.note_text(text).is_continue() {
                    return Ok(CellOutcome::Value);
                }
                CellText::note(word, text, at);
                Ok(CellOutcome::Misfit)
            }
            ColumnBuffer::Date { values, reader, word } => {
                Ok(push_number(values, reader.value(text), word, text, at))
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
            ColumnBuffer::Number { values, .. } | ColumnBuffer::Date { values, .. } => {
                values.push(f64::NAN);
            }
            ColumnBuffer::Probe { .. } => {}
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.push(MISSING)
            }
        }
    }

    /// Takes the last cell back.
    pub(super) fn pop(&mut self) {
        match self {
            ColumnBuffer::Number { values, .. } | ColumnBuffer::Date { values, .. } => {
                values.pop();
            }
            ColumnBuffer::Probe { .. } => {}
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.pop();
            }
        }
    }

    /// The last value, as a target holds it: the number itself, or the code.
    pub(super) fn last(&self) -> Option<f64> {
        match self {
            ColumnBuffer::Number { values, .. } | ColumnBuffer::Date { values, .. } => {
                values.last().copied()
            }
            ColumnBuffer::Probe { .. } => None,
            ColumnBuffer::Growing { codes, .. } | ColumnBuffer::Known { codes, .. } => {
                codes.last().map(|&code| f64::from(code))
            }
        }
    }

    /// The chunk's values as a feature; the column goes on empty.
    pub(super) fn take(&mut self, room: usize) -> Column {
        match self {
            ColumnBuffer::Number { values, .. } | ColumnBuffer::Date { values, .. } => {
                Column::Number(std::mem::replace(values, Vec::with_capacity(room)))
            }
            ColumnBuffer::Probe { .. } => Column::Number(Vec::new()),
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
            ColumnBuffer::Number { word, .. }
            | ColumnBuffer::Date { word, .. }
            | ColumnBuffer::Probe { word, .. } => word.as_ref(),
            ColumnBuffer::Growing { .. } => None,
            ColumnBuffer::Known { unseen, .. } => unseen.as_ref(),
        }
    }
}

/// Adds a number if the cell is one, otherwise a missing value; `word` keeps the first text that is neither.
fn push_number(
    values: &mut Vec<f64>,
    number: Option<f64>,
    word: &mut Option<CellText>,
    text: &[u8],
    at: u64,
) -> CellOutcome {
    if let Some(number) = number {
        values.push(number);
        return CellOutcome::Value;
    }
    values.push(f64::NAN);
    if token::is_missing(text) {
        return CellOutcome::Missing;
    }
    CellText::note(word, text, at);
    CellOutcome::Misfit
}

/// A moment in ISO 8601.
pub(super) fn moment_text(moment: f64) -> String {
    let day = (moment / 86_400.0).floor();
    let date = CalendarDate::from_day_number(day as i64);
    let seconds = (moment - day * 86_400.0) as u32;
    if seconds == 0 {
        return date.to_string();
    }
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{date}T{hour:02}:{minute:02}:{second:02}")
}
