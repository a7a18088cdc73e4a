//! One chunk of rows being filled, with the rules for targets and weights.

use std::collections::HashMap;

use swarmwood_learn::data::Chunk;

use super::cells::{CellOutcome, CellText, CellValue, ColumnBuffer, moment_text};
use super::kept_columns::KeptCells;
use super::levels::{LevelError, MOST_LEVELS, bits};
use super::location::{SourceLocation, shown};
use super::number_format::NumberFormat;
use super::token;
use crate::{Error, Result};

/// More classes than this are refused: every class costs one tree per round.
pub(super) const MOST_CLASSES: usize = 1000;
/// A chunk has about this many cells, so that a wide table does not take more room than a narrow
/// one.
const CHUNK_CELLS: usize = 1 << 20;
const MOST_CHUNK_ROWS: usize = 1 << 14;

/// Rows of a chunk of so many features.
pub(super) fn chunk_rows(features: usize) -> usize {
    (CHUNK_CELLS / features.max(1)).clamp(64, MOST_CHUNK_ROWS)
}

/// A column's position in the file and its name.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) position: usize,
    pub(super) name: String,
}

/// What a word in a number column, or an unknown class in the target, leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfits {
    /// It is noted; the survey finds the column's type from it.
    Note,
    /// It is an error: the schema is fixed.
    Refuse,
}

/// The columns of interest and the rows of the current chunk.
#[derive(Debug)]
pub(super) struct ChunkFrame {
    pub(super) location: SourceLocation,
    pub(super) features: Vec<(Slot, ColumnBuffer)>,
    /// How many of the features, the last ones, are targets.
    pub(super) stored_targets: usize,
    pub(super) target: Option<(Slot, ColumnBuffer)>,
    pub(super) weight: Option<(Slot, Vec<f64>)>,
    /// Columns that are copied.
    pub(super) kept: KeptCells,
    /// How weights are written.
    pub(super) number_format: NumberFormat,
    pub(super) misfits: Misfits,
    pub(super) target_misfits: Misfits,
    /// Distinct numbers of a target whose task is still open, each with its shortest spelling.
    pub(super) distinct: HashMap<u64, String>,
    pub(super) count_distinct: bool,
    /// Rows left out because they have no target.
    pub(super) dropped: Option<CellText>,
    pub(super) rows: usize,
    pub(super) chunk_rows: usize,
}

impl ChunkFrame {
    pub(super) fn new(
        location: SourceLocation,
        features: Vec<(Slot, ColumnBuffer)>,
        target: Option<(Slot, ColumnBuffer)>,
    ) -> ChunkFrame {
        let chunk_rows = chunk_rows(features.len());
        ChunkFrame {
            location,
            features,
            stored_targets: 0,
            target,
            weight: None,
            kept: KeptCells::default(),
            number_format: NumberFormat::default(),
            misfits: Misfits::Refuse,
            target_misfits: Misfits::Refuse,
            distinct: HashMap::new(),
            count_distinct: false,
            dropped: None,
            rows: 0,
            chunk_rows,
        }
    }

    /// Adds a row of a text file; a row without a target is left out.
    pub(super) fn push_row<'a>(
        &mut self,
        field: impl Fn(usize) -> &'a [u8],
        at: u64,
    ) -> Result<()> {
        if let Some((slot, _)) = &self.target {
            let text = field(slot.position);
            if !self.push_target(CellValue::Text(text), at)? {
                return Ok(());
            }
        }
        if let Some((slot, _)) = &self.weight {
            let text = field(slot.position);
            self.push_weight(CellValue::Text(text), at)?;
        }
        for column in 0..self.kept.positions.len() {
            self.kept.push(column, field(self.kept.positions[column]));
        }
        for (slot, cells) in &mut self.features {
            let text = field(slot.position);
            match cells.push_text(text, at) {
                Ok(CellOutcome::Value | CellOutcome::Missing) => {}
                Ok(CellOutcome::Misfit) => {
                    let cell = CellContext { location: &self.location, slot, text, at };
                    cell.check_misfit(self.misfits, cells)?
                }
                Err(error) => {
                    let cell = CellContext { location: &self.location, slot, text, at };
                    return Err(cell.level_error(error));
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds the target of a row; `false` if it is missing and the row is to be left out.
    pub(super) fn push_target(&mut self, cell: CellValue<'_>, at: u64) -> Result<bool> {
        let Some((slot, cells)) = &mut self.target else { return Ok(true) };
        let text = spelled(cell);
        match cells.push(cell, at) {
            Ok(CellOutcome::Value) => {}
            Ok(CellOutcome::Missing) => {
                cells.pop();
                CellText::note(&mut self.dropped, text.as_ref(), at);
                return Ok(false);
            }
            Ok(CellOutcome::Misfit) => {
                if self.target_misfits == Misfits::Refuse {
                    let cell = CellContext { location: &self.location, slot, text: &text, at };
                    return Err(cell.target_error(cells));
                }
                return Ok(true);
            }
            Err(error) => {
                let cell = CellContext { location: &self.location, slot, text: &text, at };
                return Err(cell.level_error(error));
            }
        }
        if let (ColumnBuffer::Number { .. }, Some(value)) = (&*cells, cells.last()) {
            if value.is_infinite() {
                let help = "correct the value or remove the row";
                return Err(self.location.cell(
                    at,
                    &slot.name,
                    format!("the target '{}' is infinite", shown(&text)),
                    help,
                ));
            }
            if self.count_distinct && self.distinct.len() <= MOST_CLASSES {
                self.note_distinct(value, &text);
            }
        }
        Ok(true)
    }

    fn note_distinct(&mut self, value: f64, text: &[u8]) {
        let spelling = self
            .distinct
            .entry(bits(value))
            .or_insert_with(|| String::from_utf8_lossy(text).into_owned());
        if (text.len(), text) < (spelling.len(), spelling.as_bytes()) {
            *spelling = String::from_utf8_lossy(text).into_owned();
        }
    }

    /// Adds the weight of a row.
    pub(super) fn push_weight(&mut self, cell: CellValue<'_>, at: u64) -> Result<()> {
        let Some((slot, weights)) = &mut self.weight else { return Ok(()) };
        let value = match cell {
            CellValue::Text(text) => self.number_format.number(text),
            CellValue::Number(number) => Some(number),
            CellValue::Moment(_) | CellValue::Missing => None,
        };
        if let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) {
            weights.push(value);
            return Ok(());
        }
        let text = spelled(cell);
        let message = if token::is_missing(&text) {
            String::from("the weight is missing")
        } else {
            format!("'{}' is not a weight", shown(&text))
        };
        Err(self.location.cell(
            at,
            &slot.name,
            message,
            "every weight must be a finite number, 0 or more",
        ))
    }

    /// Adds one column's cell of a row that was not left out.
    pub(super) fn push_feature(
        &mut self,
        feature: usize,
        cell: CellValue<'_>,
        at: u64,
    ) -> Result<()> {
        let (slot, cells) = &mut self.features[feature];
        match cells.push(cell, at) {
            Ok(CellOutcome::Value | CellOutcome::Missing) => Ok(()),
            Ok(CellOutcome::Misfit) => {
                let text = &spelled(cell);
                let cell = CellContext { location: &self.location, slot, text, at };
                cell.check_misfit(self.misfits, cells)
            }
            Err(error) => {
                let text = &spelled(cell);
                Err(CellContext { location: &self.location, slot, text, at }.level_error(error))
            }
        }
    }

    /// Adds a copied cell.
    pub(super) fn push_kept(&mut self, column: usize, cell: CellValue<'_>) {
        self.kept.push(column, &spelled(cell));
    }

    /// The chunk so far; the frame goes on empty.
    pub(super) fn take(&mut self) -> Chunk {
        let room = self.chunk_rows;
        Chunk {
            columns: self.features.iter_mut().map(|(_, cells)| cells.take(room)).collect(),
            target: self
                .target
                .as_mut()
                .map(|(_, cells)| cells.take_target(room))
                .unwrap_or_default(),
            weight: self
                .weight
                .as_mut()
                .map(|(_, values)| std::mem::take(values))
                .unwrap_or_default(),
            rows: std::mem::take(&mut self.rows),
        }
    }
}

/// The text of a cell, as messages show it.
fn spelled(cell: CellValue<'_>) -> std::borrow::Cow<'_, [u8]> {
    match cell {
        CellValue::Text(text) => text.into(),
        CellValue::Number(number) => number.to_string().into_bytes().into(),
        CellValue::Moment(moment) => moment_text(moment).into_bytes().into(),
        CellValue::Missing => (&[][..]).into(),
    }
}

/// A cell that is not accepted, for messages.
struct CellContext<'a> {
    location: &'a SourceLocation,
    slot: &'a Slot,
    text: &'a [u8],
    at: u64,
}

impl CellContext<'_> {
    /// A word in a column of numbers is an error where the schema is fixed; an unseen level never
    /// is.
    fn check_misfit(&self, misfits: Misfits, cells: &ColumnBuffer) -> Result<()> {
        if misfits == Misfits::Refuse && matches!(cells, ColumnBuffer::Number { .. }) {
            let help = "the model was trained with numbers in this column; correct the cell or \
                        leave it empty";
            return Err(self.error(format!("'{}' is not a number", shown(self.text)), help));
        }
        if misfits == Misfits::Refuse && matches!(cells, ColumnBuffer::Date { .. }) {
            let help = "the model was trained with dates in this column; write them as in the \
                        training data or as in 2024-02-29, or leave the cell empty";
            return Err(self.error(format!("'{}' is not a date", shown(self.text)), help));
        }
        Ok(())
    }

    fn target_error(&self, cells: &ColumnBuffer) -> Error {
        let text = shown(self.text);
        match cells {
            ColumnBuffer::Number { .. } => {
                let help = "a regression target must hold numbers; correct the cell, or train a \
                            classification";
                self.error(format!("the target '{text}' is not a number"), help)
            }
            _ => {
                let help = "the labels must be those of the training data";
                self.error(format!("'{text}' is not one of the classes"), help)
            }
        }
    }

    fn level_error(&self, error: LevelError) -> Error {
        match error {
            LevelError::NotUtf8 => {
                let message = format!("'{}' is not UTF-8 text", shown(self.text));
                self.error(message, "name the encoding, such as --encoding windows-1252")
            }
            LevelError::TooMany => {
                let message = format!("more than {MOST_LEVELS} different texts, or too long ones");
                let help = format!(
                    "identifiers and free text cannot be learned from; leave the column out \
                     (--ignore '{}')",
                    self.slot.name
                );
                self.location.column(&self.slot.name, message, help)
            }
        }
    }

    fn error(&self, message: String, help: &str) -> Error {
        self.location.cell(self.at, &self.slot.name, message, help)
    }
}
