//! From files to rows: CSV (plain, gzip, standard input) and Parquet.

use std::path::PathBuf;

use swarmwood_learn::data::Chunk;
use swarmwood_model::Schema;

use crate::Result;

/// Where rows come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file; the content, not the name, tells gzip and Parquet.
    File(PathBuf),
    /// Standard input, spooled to a temporary file if it outgrows memory.
    Stdin,
    /// Bytes in memory with the name used in messages.
    Bytes(String, &'static [u8]),
}

/// What the target column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskChoice {
    /// Text, booleans or exactly two distinct values: classification; other numbers: regression.
    #[default]
    Auto,
    /// Numbers.
    Regression,
    /// Classes.
    Classification,
}

/// How a training file is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Name of the target column.
    pub target: String,
    /// Name of the weight column.
    pub weight: Option<String>,
    /// Columns that are not features.
    pub ignore: Vec<String>,
    /// Columns to read as categories even if they hold numbers.
    pub categorical: Vec<String>,
    /// Field separator; found by itself if not given.
    pub delimiter: Option<u8>,
    /// Regression or classification.
    pub task: TaskChoice,
    /// The class that counts as positive in a two-class task.
    pub positive: Option<String>,
}

/// Rows with their schema, ready for training: kept in memory if small, read again from the source if not.
#[derive(Debug)]
pub struct Rows {
    /// Features and target as they were read.
    pub schema: Schema,
    /// Number of rows with a target.
    pub rows: usize,
    /// All rows, or a sample that depends on the number of rows alone: what the bins are made from.
    pub sample: Chunk,
    /// Things the user should know.
    pub warnings: Vec<String>,
}

impl Rows {
    /// Hands every row, in order, in chunks.
    pub fn for_each_chunk(&self, _each: &mut dyn FnMut(&Chunk) -> Result<()>) -> Result<()> {
        todo!()
    }
}

/// Surveys a training file: types, levels, classes, rows.
pub fn training(_source: &Source, _options: &ReadOptions) -> Result<Rows> {
    todo!()
}

/// Reads another file (validation, test) with a schema that is already known; targets are required.
pub fn matching(_source: &Source, _schema: &Schema, _options: &ReadOptions) -> Result<Rows> {
    todo!()
}

/// Reads rows to predict, chunk after chunk, with a model's schema; returns warnings. The target may be absent.
pub fn scoring(
    _source: &Source,
    _schema: &Schema,
    _options: &ReadOptions,
    _each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<Vec<String>> {
    todo!()
}
