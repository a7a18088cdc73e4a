//! Raw columns on their way from a reader to the bins.

/// A run of rows, column by column, in the order of the schema's features.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// One entry a feature, all of [`Chunk::rows`] length.
    pub columns: Vec<Column>,
    /// Regression: the value. Classification: the class index. Empty where there is no target (prediction).
    pub target: Vec<f64>,
    /// Row weights; empty if every row weighs one.
    pub weight: Vec<f64>,
    /// Number of rows.
    pub rows: usize,
}

impl Chunk {
    /// Adds the rows of a chunk with the same columns.
    pub fn append(&mut self, other: &Chunk) {
        for (column, more) in self.columns.iter_mut().zip(&other.columns) {
            match (column, more) {
                (Column::Number(values), Column::Number(more)) => values.extend_from_slice(more),
                (Column::Category(codes), Column::Category(more)) => codes.extend_from_slice(more),
                _ => unreachable!("chunks of one source agree on the kinds of their columns"),
            }
        }
        self.target.extend_from_slice(&other.target);
        self.weight.extend_from_slice(&other.weight);
        self.rows += other.rows;
    }
}

/// The values of one column.
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers; NaN is a missing value.
    Number(Vec<f64>),
    /// Codes of levels; [`MISSING`] is a missing (or never seen) level.
    Category(Vec<u32>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Number(values) => values.len(),
            Column::Category(codes) => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The code of a missing level.
pub const MISSING: u32 = u32::MAX;
