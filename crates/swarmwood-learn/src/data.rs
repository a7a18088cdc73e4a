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

/// The values of one column.
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers; NaN is a missing value.
    Number(Vec<f64>),
    /// Codes of levels; [`MISSING`] is a missing (or never seen) level.
    Category(Vec<u32>),
}

/// The code of a missing level.
pub const MISSING: u32 = u32::MAX;
