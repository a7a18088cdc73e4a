//! Targets of several columns.
//!
//! The first column is the target of the store; the others are stored as features, behind the
//! others, and taken out of every chunk. So they are read, packed, sampled and split as all columns
//! are.

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_model::{Schema, Target, TargetKind};

use super::frame::ChunkFrame;
use super::location::SourceLocation;
use super::rows::Rows;
use crate::params::{name_list, name_list_text};
use crate::{Error, Result};

/// How the targets of a store are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TargetView {
    /// How many targets are stored as features, behind the others.
    pub(super) stored: usize,
    /// The only target that is handed over; `None` for all of them, row by row.
    chosen: Option<usize>,
}

impl TargetView {
    /// All targets of a schema.
    pub(super) fn of(schema: &Schema) -> TargetView {
        TargetView { stored: stored_targets(schema), chosen: None }
    }

    /// A chunk of the store without the columns that are targets.
    pub(super) fn apply(self, mut chunk: Chunk) -> Chunk {
        if self.stored == 0 {
            return chunk;
        }
        let others = chunk.columns.split_off(chunk.columns.len() - self.stored);
        let others: Vec<Vec<f64>> = others.into_iter().map(numbers).collect();
        match self.chosen {
            Some(0) => {}
            Some(at) => chunk.target = others.into_iter().nth(at - 1).unwrap_or_default(),
            None => {
                let of_row = |(row, &first): (usize, &f64)| {
                    let rest = others.iter().map(move |values| values[row]);
                    std::iter::once(first).chain(rest).collect::<Vec<_>>()
                };
                chunk.target = chunk.target.iter().enumerate().flat_map(of_row).collect();
            }
        }
        chunk
    }
}

fn numbers(column: Column) -> Vec<f64> {
    match column {
        Column::Number(values) => values,
        // Readers store targets as numbers.
        Column::Category(_) => Vec::new(),
    }
}

/// How many targets of a schema are stored as features.
pub(super) fn stored_targets(schema: &Schema) -> usize {
    schema.target.kind.columns().len().saturating_sub(1)
}

/// The names that a text lists, with commas between them; `None` if it is a plain name.
pub(super) fn listed_names(text: &str) -> Option<Vec<String>> {
    name_list(text).filter(|names| names.len() > 1 || text.contains('"'))
}

/// The target of several columns.
pub fn target_of(columns: Vec<String>) -> Target {
    Target { name: name_list_text(&columns), kind: TargetKind::Numbers(columns) }
}

impl Rows {
    /// The same rows with one of several targets; `None` if there is no such target.
    ///
    /// ```
    /// use swarmwood::read::{ReadOptions, Source, training};
    ///
    /// let csv = Source::Bytes("t.csv".into(), b"x,a,b\n1,10,0.5\n2,20,0.25\n");
    /// let rows = training(&csv, &ReadOptions { target: "a,b".into(), ..ReadOptions::default() })?;
    /// assert_eq!(rows.schema.features.len(), 1);
    /// let b = rows.of_target(1).unwrap();
    /// b.for_each_chunk(&mut |chunk| {
    ///     assert_eq!(chunk.target, [0.5, 0.25]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), swarmwood::Error>(())
    /// ```
    pub fn of_target(&self, at: usize) -> Option<Rows> {
        let name = self.schema.target.kind.columns().get(at)?.clone();
        let mut rows = self.clone();
        rows.schema.target = Target { name, kind: TargetKind::Number };
        rows.targets.chosen = Some(at);
        Some(rows)
    }
}

/// Rows that lack a value of one of several targets, by their numbers.
#[derive(Debug, Default)]
pub(super) struct IncompleteRows {
    rows: Vec<usize>,
}

impl IncompleteRows {
    /// Notes the rows of a chunk whose first row has this number. A target that is no number or not
    /// finite is an error.
    pub(super) fn note(&mut self, first: usize, chunk: &Chunk, frame: &ChunkFrame) -> Result<()> {
        let features = frame.features.len() - frame.stored_targets;
        for ((slot, cells), column) in
            frame.features[features..].iter().zip(&chunk.columns[features..])
        {
            if let Some(word) = cells.misfit() {
                let text = super::location::shown(&word.text);
                let help = "each of several targets must hold numbers; correct the cell, or train a \
                            model for this column alone";
                let message = format!("the target '{text}' is not a number");
                return Err(frame.location.cell(word.at, &slot.name, message, help));
            }
            let Column::Number(values) = column else { continue };
            if values.iter().any(|value| value.is_infinite()) {
                let help = "correct the value or remove the row";
                return Err(frame.location.column(&slot.name, "a target is infinite", help));
            }
            let missing = values.iter().enumerate().filter(|(_, value)| value.is_nan());
            self.rows.extend(missing.map(|(row, _)| first + row));
        }
        Ok(())
    }

    /// The rows without those that are incomplete, of which at least `least` must be left.
    pub(super) fn leave_out(
        mut self,
        rows: Rows,
        least: usize,
        location: &SourceLocation,
    ) -> Result<Rows> {
        self.rows.sort_unstable();
        self.rows.dedup();
        if self.rows.is_empty() {
            return Ok(rows);
        }
        let left = rows.rows - self.rows.len();
        if left < least {
            let message = format!("only {left} rows have a value of every target");
            return Err(location.fault(message, "fill the columns, or train one model per column"));
        }
        let count = match self.rows.len() {
            1 => "1 row lacks".to_string(),
            count => format!("{count} rows lack"),
        };
        let mut warnings = rows.warnings.clone();
        warnings
            .push(format!("{}: {count} a value of one of the targets, left out", location.file));
        let mut complete = rows.subset(|row| self.rows.binary_search(&row).is_err());
        complete.warnings = warnings;
        Ok(complete)
    }
}

/// The error about a number of target columns that the schema does not have.
pub(super) fn wrong_count(found: usize, expected: usize, location: &SourceLocation) -> Error {
    let plural = if found == 1 { "" } else { "s" };
    let message =
        format!("the target is {found} column{plural}, but the model predicts {expected}");
    location.fault(message, "name them in the order of training, with commas between them")
}
