//! From files to rows: CSV (plain, gzip, standard input) and Parquet; and from tables in memory
//! ([`borrowed`]).
//!
//! A text file has a header line and fields after RFC 4180; the encoding and the decimal sign are
//! detected, and the delimiter is found among comma, semicolon, tab and bar. A column is read as
//! numbers if every cell is a number or missing (infinities are numbers and lie beyond all others),
//! else as categories whose levels are ordered by their letters. Missing are empty cells, `NA`, `None`, `?` and, in upper or lower case, `nan`,
//! `null`, `n/a`, `#n/a` and `<na>`. A column has at most a million levels, a target at most a
//! thousand classes.
//!
//! In a Parquet file the types are the file's: numbers, texts and booleans; a null, and a text that
//! would be missing in a text file, is missing.

// Without Parquet there are no typed cells.
#![cfg_attr(not(feature = "parquet"), allow(dead_code))]

mod borrowed;
mod borrowed_feature;
mod cells;
mod class_weight;
mod cluster;
mod date_format;
mod date_probe;
mod delimiter;
#[cfg(feature = "demo")]
mod demo;
mod encoding;
mod folds;
mod frame;
mod kept_columns;
mod known_schema;
mod layout;
mod levels;
mod location;
mod number_format;
mod packed_chunk;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod sample;
mod schema_inference;
mod source;
mod source_stamp;
mod split;
mod stored_rows;
mod table;
mod target;
mod target_columns;
#[cfg(test)]
mod tests;
mod token;

use std::path::PathBuf;

use swarmwood_learn::data::Chunk;
use swarmwood_model::Schema;

pub use borrowed::{
    Columns, Field, RowSelection, TableColumn, borrowed, borrowed_continuing, borrowed_matching,
    borrowed_scoring,
};
pub use class_weight::ClassWeight;
pub use cluster::{
    ClusterFacts, ClusterPlan, RowCluster, clustered, clustered_whole, encode_part,
    occurring_texts, sample_places,
};
pub use date_format::{DateChoice, DateFormat};
#[cfg(feature = "demo")]
pub use demo::demo;
pub use encoding::TextEncoding;
pub use kept_columns::{KeepColumns, KeptCells};
pub use number_format::DecimalSign;
pub use rows::Rows;
pub use target_columns::target_of;

use crate::Result;
use source::{MEMORY_LIMIT, RereadableSource};
use stored_rows::RetentionLimits;

/// Bins are made from this many rows where there are more.
pub const SAMPLE_ROWS: usize = 1 << 17;

/// What the weights of all rows may sum to: learners add them up in single precision, where larger
/// sums overflow and smaller ones vanish.
const WEIGHT_SUMS: std::ops::RangeInclusive<f64> = 1e-30..=1e30;

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

/// How a text file is written; what is not given is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextFormat {
    /// Field separator.
    pub delimiter: Option<u8>,
    /// What separates the fraction of a number.
    pub decimal: Option<DecimalSign>,
    /// What separates thousands; any usual sign if it is not given.
    pub thousands: Option<char>,
    /// The encoding.
    pub encoding: Option<TextEncoding>,
}

/// How a training file is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Name of the target column, or names of several with commas between them, where a name may be
    /// in double quotes. A column that has the whole text as its name comes first.
    pub target: String,
    /// Name of the weight column.
    pub weight: Option<String>,
    /// Factors of the weights of training rows, by class.
    pub class_weight: Option<ClassWeight>,
    /// A factor of the weights of training rows of the second of two classes.
    pub scale_pos_weight: Option<f64>,
    /// Columns that are not features.
    pub ignore: Vec<String>,
    /// Columns to read as categories even if they hold numbers.
    pub categorical: Vec<String>,
    /// Which columns are read as dates, in training.
    pub dates: DateChoice,
    /// How a text file is written.
    pub format: TextFormat,
    /// Regression or classification.
    pub task: TaskChoice,
    /// The class that counts as positive in a two-class task.
    pub positive: Option<String>,
    /// Bytes of memory that the rows may need in training; half of the machine's if not given.
    pub max_memory: Option<u64>,
}

impl ReadOptions {
    /// Bytes of memory that the rows may need.
    fn memory_limit(&self) -> u64 {
        self.max_memory.unwrap_or_else(crate::memory::default_limit)
    }
}

/// Whether to continue reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadProgress {
    Continue,
    Stop,
}

/// Reads a training file and infers its schema: types, levels, classes.
///
/// ```
/// use swarmwood::read::{ReadOptions, Source, training};
///
/// let csv = Source::Bytes("pets.csv".into(), b"kind,weight,wild\ncat,4.5,no\nwolf,40,yes\ndog,NA,no\n");
/// let rows = training(&csv, &ReadOptions { target: "wild".into(), ..ReadOptions::default() })?;
/// assert_eq!((rows.rows, rows.schema.features.len()), (3, 2));
/// rows.for_each_chunk(&mut |chunk| {
///     assert_eq!(chunk.target, [0.0, 1.0, 0.0]);
///     Ok(())
/// })?;
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn training(source: &Source, options: &ReadOptions) -> Result<Rows> {
    let origin = RereadableSource::new(source, MEMORY_LIMIT)?;
    let limits = RetentionLimits::default();
    schema_inference::read_training(origin, options, limits)?.with_class_weights(options)
}

/// Reads another file (validation, test) with a schema that is already known; targets are required.
/// The target has the schema's name unless the options name another.
pub fn matching(source: &Source, schema: &Schema, options: &ReadOptions) -> Result<Rows> {
    known_schema::matching(
        RereadableSource::new(source, MEMORY_LIMIT)?,
        schema,
        options,
        RetentionLimits::default(),
    )
}

/// Reads training rows with the schema of a model that training continues.
pub fn continuing(source: &Source, schema: &Schema, options: &ReadOptions) -> Result<Rows> {
    matching(source, schema, options)?.with_class_weights(options)
}

/// The same for rows that may have no targets: whether they have is the second value. Targets are
/// read if the options name their column, or if there is a column with the name of the schema's
/// target. Rows without targets have the schema of a regression, and all targets are 0.
pub fn maybe_labelled(
    source: &Source,
    schema: &Schema,
    options: &ReadOptions,
) -> Result<(Rows, bool)> {
    let origin = RereadableSource::new(source, MEMORY_LIMIT)?;
    known_schema::maybe_labelled(origin, schema, options, RetentionLimits::default())
}

/// Reads rows to predict, chunk after chunk, with a model's schema; returns warnings. The target
/// may be absent.
pub fn scoring(
    source: &Source,
    schema: &Schema,
    options: &ReadOptions,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<Vec<String>> {
    let each = &mut |chunk: &Chunk, _: &KeptCells| each(chunk);
    Ok(scoring_keeping(source, schema, options, &KeepColumns::None, each)?.0)
}

/// The same with the texts of some input columns, whose names are returned as well.
pub fn scoring_keeping(
    source: &Source,
    schema: &Schema,
    options: &ReadOptions,
    keep: &KeepColumns,
    each: &mut dyn FnMut(&Chunk, &KeptCells) -> Result<()>,
) -> Result<(Vec<String>, Vec<String>)> {
    let mut rows = 0;
    let (frame, mut warnings) = known_schema::read_to_score(
        source::open_once(source)?,
        schema,
        options,
        keep,
        &mut |chunk, kept| {
            rows += chunk.rows;
            each(chunk, kept)
        },
    )?;
    if rows == 0 {
        warnings.push(format!("{}: there is a header and no rows", frame.location.file));
    }
    Ok((warnings, frame.kept.names))
}
