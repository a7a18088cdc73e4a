//! The input of a prediction: borrowed columns in schema order.

use std::ops::Range;

use crate::schema::{Kind, Schema};

/// The category code of a missing value. Any other code without a level in the schema counts as
/// missing too.
pub const MISSING: u32 = u32::MAX;

/// One value of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureValue {
    /// A number; NaN is a missing value.
    Number(f64),
    /// A category code; [`MISSING`] and codes without a level in the schema are missing values.
    Category(u32),
}

/// The values of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnView<'a> {
    /// Numbers; NaN is a missing value.
    Number(&'a [f64]),
    /// Category codes; [`MISSING`] and codes without a level in the schema are missing values.
    Category(&'a [u32]),
}

impl ColumnView<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            ColumnView::Number(values) => values.len(),
            ColumnView::Category(codes) => codes.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> FeatureValue {
        match self {
            ColumnView::Number(values) => FeatureValue::Number(values[row]),
            ColumnView::Category(codes) => FeatureValue::Category(codes[row]),
        }
    }
}

/// A block of rows: one column per feature, in the order of [`Schema::features`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block<'a> {
    /// The columns.
    pub columns: &'a [ColumnView<'a>],
    /// The number of rows, which is the length of each column.
    pub rows: usize,
}

/// Why rows do not match a model, or an output buffer does not match the rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The number of columns differs from the number of features.
    #[error(
        "{found} columns for {expected} features; give one column per feature, in the order of the model's schema"
    )]
    Columns {
        /// How many columns there are.
        found: usize,
        /// How many features there are.
        expected: usize,
    },
    /// A column is of the wrong kind.
    #[error("column {column} holds {found}, but the model's feature `{name}` is {expected}")]
    Kind {
        /// Which column, counted from 0.
        column: usize,
        /// The feature's name.
        name: String,
        /// What the column holds.
        found: &'static str,
        /// What the feature is.
        expected: &'static str,
    },
    /// A column is shorter or longer than the block.
    #[error("column {column} has {found} values in a block of {expected} rows")]
    Length {
        /// Which column, counted from 0.
        column: usize,
        /// How many values it has.
        found: usize,
        /// How many rows the block has.
        expected: usize,
    },
    /// The requested rows are not in the block.
    #[error("rows {}..{} are not in a block of {rows} rows", range.start, range.end)]
    Range {
        /// The requested rows.
        range: Range<usize>,
        /// How many rows the block has.
        rows: usize,
    },
    /// The output buffer has the wrong length.
    #[error("the output buffer has length {found}, but there are {expected} results")]
    Output {
        /// Length of the buffer.
        found: usize,
        /// Number of results.
        expected: usize,
    },
}

/// For each feature the number of its levels, or `None` for a number: the part of the schema that
/// prediction needs.
pub(crate) fn level_counts(schema: &Schema) -> Vec<Option<u32>> {
    let count = |kind: &Kind| match kind {
        Kind::Number => None,
        // The code `MISSING` cannot have a level, so it is the largest possible count.
        Kind::Category { levels } => Some(u32::try_from(levels.len()).unwrap_or(MISSING)),
    };
    schema.features.iter().map(|feature| count(&feature.kind)).collect()
}

/// Checks that a column of numbers, or else of categories, matches its feature.
fn check_kind(column: usize, schema: &Schema, number: bool) -> Result<(), BlockError> {
    let feature = &schema.features[column];
    let expected = matches!(feature.kind, Kind::Number);
    if expected == number {
        return Ok(());
    }
    let name = |number| if number { "numbers" } else { "categories" };
    Err(BlockError::Kind {
        column,
        name: feature.name.clone(),
        found: name(number),
        expected: name(expected),
    })
}

/// Checks that a row matches the schema.
pub(crate) fn check_row(schema: &Schema, row: &[FeatureValue]) -> Result<(), BlockError> {
    if row.len() != schema.features.len() {
        return Err(BlockError::Columns { found: row.len(), expected: schema.features.len() });
    }
    let mut values = row.iter().enumerate();
    values.try_for_each(|(column, value)| {
        check_kind(column, schema, matches!(value, FeatureValue::Number(_)))
    })
}

impl Block<'_> {
    /// Checks that the block matches the schema.
    pub fn check(&self, schema: &Schema) -> Result<(), BlockError> {
        if self.columns.len() != schema.features.len() {
            return Err(BlockError::Columns {
                found: self.columns.len(),
                expected: schema.features.len(),
            });
        }

        for (column, values) in self.columns.iter().enumerate() {
            check_kind(column, schema, matches!(values, ColumnView::Number(_)))?;
            if values.len() != self.rows {
                return Err(BlockError::Length {
                    column,
                    found: values.len(),
                    expected: self.rows,
                });
            }
        }
        Ok(())
    }
}
