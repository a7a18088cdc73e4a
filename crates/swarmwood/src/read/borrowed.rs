//! Rows of a table that the caller owns: only the current chunk is copied.
//!
//! The caller gives access to its buffers by [`Columns`]. They are read chunk by chunk, like a
//! file, so that training needs memory for its bins and one chunk and never a second copy of the
//! table.
//!
//! Rows of weight 0 are left out, and so are those that single precision, in which scores are kept,
//! would not notice beside the heaviest: they could only fill leaves of their own.
//!
//! In a table small enough for its bins to be made from every row, whole weights mean repeated
//! rows, and are taken so: a row of weight 3 and three equal rows are the same table, hence the
//! same model, bit for bit, whatever a method does with rows (folds, samples, least sizes of
//! leaves). Repeats have no place of their own in such a table, so that rows then come in an order
//! that follows from their content; tables without equal rows keep theirs, and with it the model
//! that a file with the same rows gives.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use swarmwood_learn::data::{Chunk, Column, MISSING};
use swarmwood_model::{Feature, FeatureSource, Kind, Schema, Target, TargetKind};

use super::borrowed_feature::{BorrowedFeature, date_column};
use super::frame::chunk_rows;
use super::levels::{KnownLevels, MOST_LEVELS};
use super::location::{PositionUnit, SourceLocation, listed, shown};
use super::rows::Rows;
use super::sample::hash;
use super::stored_rows::StoredRows;
use super::target_columns::stored_targets;
use super::token;
use super::{SAMPLE_ROWS, WEIGHT_SUMS};
use crate::Result;

/// Heavier rows are not taken as repeats: the table would grow for nothing.
const MOST_REPEATS: f64 = 16.0;

/// The seed of the order by content.
const ORDER_SEED: u64 = 1;

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableColumn {
    /// A feature's, by its position.
    Feature(usize),
    /// The target's: numbers, or class numbers.
    Target,
    /// The weights.
    Weight,
}

/// A selection of rows.
#[derive(Debug, Clone)]
pub enum RowSelection<'a> {
    /// Consecutive rows.
    Range(Range<usize>),
    /// Rows by their indices.
    Indices(&'a [usize]),
}

/// A feature of a borrowed table.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// For categories the texts that codes stand for; `None` for numbers.
    pub texts: Option<Vec<Option<String>>>,
}

/// A table in the caller's memory. Methods are only called with rows that exist.
pub trait Columns: Debug + Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// The features.
    fn fields(&self) -> &[Field];
    /// Whether there are weights.
    fn has_weight(&self) -> bool;
    /// Adds numbers to `out`, NaN for missing ones.
    fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>);
    /// Whether a feature holds dates: its numbers are seconds since the start of 1970.
    fn is_date(&self, _feature: usize) -> bool {
        false
    }
    /// Adds codes of a category to `out`, [`MISSING`] for missing ones.
    fn codes(&self, feature: usize, rows: &RowSelection<'_>, out: &mut Vec<u32>);
}

/// A borrowed table with the codes of a schema.
#[derive(Debug)]
pub(super) struct BorrowedTable {
    columns: Arc<dyn Columns>,
    /// By feature.
    sources: Vec<BorrowedFeature>,
    /// The rows that are in use, in their order; `None` for all as they lie.
    order: Option<Vec<usize>>,
    weighted: bool,
    has_target: bool,
}

/// The rows of a borrowed table for training; `target` is the kind of its target. Of several
/// targets, all but the first are the last fields of the table.
///
/// ```
/// use std::sync::Arc;
/// use swarmwood::model::{Target, TargetKind};
/// use swarmwood::read::{Columns, Field, TableColumn, RowSelection, borrowed};
///
/// #[derive(Debug)]
/// struct Squares(Vec<Field>);
/// impl Columns for Squares {
///     fn rows(&self) -> usize {
///         100
///     }
///     fn fields(&self) -> &[Field] {
///         &self.0
///     }
///     fn has_weight(&self) -> bool {
///         false
///     }
///     fn numbers(&self, part: TableColumn, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
///         let value = |row: usize| if part == TableColumn::Target { (row * row) as f64 } else { row as f64 };
///         match rows {
///             RowSelection::Range(run) => out.extend(run.clone().map(value)),
///             RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| value(row))),
///         }
///     }
///     fn codes(&self, _: usize, _: &RowSelection<'_>, _: &mut Vec<u32>) {}
/// }
/// let table = Arc::new(Squares(vec![Field { name: "x".into(), texts: None }]));
/// let rows = borrowed(table, Target { name: "y".into(), kind: TargetKind::Number })?;
/// assert_eq!((rows.rows, rows.schema.features[0].name.as_str()), (100, "x"));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn borrowed(columns: Arc<dyn Columns>, target: Target) -> Result<Rows> {
    let stored = target.kind.columns().len().saturating_sub(1);
    let inputs = columns.fields().len().saturating_sub(stored);
    let fields = &columns.fields()[..inputs];
    let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(location().column(
            twice[0],
            "two features have this name",
            "give each a name of its own",
        ));
    }
    let (mut features, mut sources, mut dates) = (Vec::new(), Vec::new(), Vec::new());
    for (at, field) in fields.iter().enumerate() {
        let name = field.name.clone();
        match &field.texts {
            None if columns.is_date(at) => {
                let date = date_column(&*columns, at, &name);
                for &part in &date.parts {
                    features.push(Feature { name: date.feature_name(part), kind: Kind::Number });
                    sources.push(BorrowedFeature::date(at, &date, part));
                }
                dates.push(date);
            }
            None => {
                features.push(Feature { name, kind: Kind::Number });
                sources.push(BorrowedFeature::numbers(at));
            }
            Some(texts) => {
                let (levels, map) = levels_of(&*columns, at, texts, &field.name)?;
                features.push(Feature { name, kind: Kind::Category { levels } });
                sources.push(BorrowedFeature::codes(at, map));
            }
        }
    }
    sources.extend((inputs..columns.fields().len()).map(BorrowedFeature::numbers));
    let schema = Schema { features, target, dates };
    BorrowedTable::of(columns, sources).into_training_rows(schema, Vec::new())
}

/// The rows of a borrowed table with targets, for validation; its features are those of the schema, in their
/// order.
pub fn borrowed_matching(columns: Arc<dyn Columns>, schema: &Schema) -> Result<Rows> {
    let (table, warnings) = BorrowedTable::following(columns, schema, true)?;
    table.check_targets(schema)?;
    Ok(table.into_rows(schema.clone(), warnings))
}

/// The rows of a borrowed table for training that continues a model; its features are those of the
/// model's schema, in their order.
pub fn borrowed_continuing(columns: Arc<dyn Columns>, schema: &Schema) -> Result<Rows> {
    let (table, warnings) = BorrowedTable::following(columns, schema, true)?;
    table.into_training_rows(schema.clone(), warnings)
}

/// Visits the rows of a borrowed table, chunk after chunk, with the codes of a model's schema;
/// returns warnings. Features are those of the schema, in their order; there are no targets.
pub fn borrowed_scoring(
    columns: Arc<dyn Columns>,
    schema: &Schema,
    each: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<Vec<String>> {
    let (table, warnings) = BorrowedTable::following(columns, schema, false)?;
    table.for_each_chunk(each)?;
    Ok(warnings)
}

/// The location in messages about a table that is not a file.
fn location() -> SourceLocation {
    SourceLocation { file: "the data".to_string(), unit: PositionUnit::Row }
}

/// The levels of a category that occur, in the order of their letters, and the schema's codes of
/// the caller's codes.
pub(super) fn levels_of(
    columns: &dyn Columns,
    feature: usize,
    texts: &[Option<String>],
    name: &str,
) -> Result<(Vec<String>, Vec<u32>)> {
    let mut occurs = vec![false; texts.len()];
    let mut codes = Vec::new();
    for run in runs(columns.rows(), 1) {
        codes.clear();
        columns.codes(feature, &RowSelection::Range(run), &mut codes);
        codes.iter().for_each(|&code| {
            occurs.get_mut(code as usize).into_iter().for_each(|seen| *seen = true)
        });
    }
    let known =
        |text: &Option<String>| text.clone().filter(|text| !token::is_missing(text.as_bytes()));
    let found = texts
        .iter()
        .zip(&occurs)
        .filter(|(_, occurs)| **occurs)
        .filter_map(|(text, _)| known(text));
    let mut levels: Vec<String> = found.collect();
    levels.sort();
    levels.dedup();
    if levels.len() > MOST_LEVELS {
        let help = "identifiers and free text cannot be learned from; leave the column out";
        return Err(location().column(
            name,
            format!("more than {MOST_LEVELS} different texts"),
            help,
        ));
    }
    let code = |text: &Option<String>| {
        known(text)
            .and_then(|text| levels.binary_search(&text).ok())
            .map_or(MISSING, |code| code as u32)
    };
    let map = texts.iter().map(code).collect();
    Ok((levels, map))
}

/// Runs of rows, each a chunk of a table of this width.
pub(super) fn runs(rows: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    let length = chunk_rows(width);
    (0..rows).step_by(length).map(move |first| first..(first + length).min(rows))
}

impl BorrowedTable {
    fn of(columns: Arc<dyn Columns>, sources: Vec<BorrowedFeature>) -> BorrowedTable {
        let weighted = columns.has_weight();
        BorrowedTable { columns, sources, order: None, weighted, has_target: true }
    }

    /// A table whose columns must be the inputs of a schema; levels that the schema does not know
    /// are told.
    pub(super) fn following(
        columns: Arc<dyn Columns>,
        schema: &Schema,
        has_target: bool,
    ) -> Result<(BorrowedTable, Vec<String>)> {
        let fields = columns.fields();
        let inputs = schema.input_columns().len();
        let stored = if has_target { stored_targets(schema) } else { 0 };
        if fields.len() != inputs + stored {
            let found = fields.len().saturating_sub(stored);
            let message = format!("has {found} features, but the model wants {inputs}");
            return Err(
                location().fault(message, "give the features of the training data, in their order")
            );
        }
        let (mut sources, mut warnings) = (Vec::with_capacity(inputs), Vec::new());
        let mut next = 0..inputs;
        for (feature, source) in schema.features.iter().zip(schema.sources()) {
            let is_first_part = match source {
                FeatureSource::Date(date, part) => date.parts.first() == Some(&part),
                FeatureSource::Column(_) => true,
            };
            if is_first_part {
                next.next();
            }
            let at = next.start.saturating_sub(1);
            let is_date = columns.is_date(at);
            sources.push(match (&fields[at].texts, &feature.kind, source) {
                (None, _, FeatureSource::Date(date, part)) if is_date => {
                    BorrowedFeature::date(at, date, part)
                }
                (_, _, FeatureSource::Date(date, _)) => {
                    let help = "the model was trained with dates in this column; give it as datetimes";
                    return Err(location().column(&date.name, "holds no dates", help));
                }
                (None, Kind::Number, _) if !is_date => BorrowedFeature::numbers(at),
                (Some(texts), Kind::Category { levels }, _) => {
                    let map = known_codes(texts, levels);
                    warnings.extend(unseen(&*columns, at, texts, &map, &feature.name));
                    BorrowedFeature::codes(at, map)
                }
                (_, Kind::Number, _) => {
                    let help = "the model was trained with numbers in this column";
                    let message = if is_date { "holds dates" } else { "holds texts" };
                    let message = format!("{message}, but must hold numbers");
                    return Err(location().column(&feature.name, message, help));
                }
                (None, Kind::Category { .. }, _) => {
                    let help = "the model was trained with categories in this column; give them as texts or categories";
                    return Err(location().column(&feature.name, "holds numbers, but must hold categories", help));
                }
            });
        }
        sources.extend((inputs..fields.len()).map(BorrowedFeature::numbers));
        let weighted = has_target && columns.has_weight();
        Ok((BorrowedTable { columns, sources, order: None, weighted, has_target }, warnings))
    }

    /// Checks targets and weights, leaves out what weighs nothing, and takes whole weights as
    /// repeats.
    fn into_training_rows(mut self, schema: Schema, mut warnings: Vec<String>) -> Result<Rows> {
        let weights = self.check_targets(&schema)?;
        let rows = self.columns.rows();
        let repeats = |weight: f64| weight.fract() == 0.0 && weight <= MOST_REPEATS;
        let whole = weights.iter().all(|&weight| repeats(weight));
        let total = if weights.is_empty() { rows as f64 } else { weights.iter().sum() };
        if whole && rows.max(total as usize) <= SAMPLE_ROWS {
            self.order = self.by_content(&weights);
            self.weighted = false;
        } else {
            // Learners add weights up in numbers of 24 bits, where lighter rows vanish beside the
            // heaviest.
            let least = weights.iter().copied().fold(0.0, f64::max) * f64::from(f32::EPSILON);
            let counts = |weight: f64| weight > 0.0 && weight >= least;
            if !weights.iter().all(|&weight| counts(weight)) {
                self.order = Some((0..rows).filter(|&row| counts(weights[row])).collect());
            }
            let light = weights.iter().filter(|&&weight| weight > 0.0 && !counts(weight)).count();
            if light > 0 {
                let share = f32::EPSILON;
                warnings.push(format!(
                    "{light} rows weigh less than {share:.1e} of the heaviest one, too little to count beside it, and are left \
                     out"
                ));
            }
        }
        if self.rows() < 2 {
            let message = format!(
                "only {} of {rows} rows can be learned from (n_samples = {0})",
                self.rows()
            );
            return Err(location().fault(message, "give at least two rows that weigh more than 0"));
        }
        Ok(self.into_rows(schema, warnings))
    }

    fn into_rows(self, schema: Schema, warnings: Vec<String>) -> Rows {
        let rows = self.rows();
        Rows::new(schema, rows, warnings, StoredRows::Borrowed(self), None)
    }

    /// The weights, once they and the targets are found to make sense.
    fn check_targets(&self, schema: &Schema) -> Result<Vec<f64>> {
        let rows = self.columns.rows();
        let classes = match &schema.target.kind {
            TargetKind::Number | TargetKind::Numbers(_) => None,
            TargetKind::Classes(names) => Some(names.len() as f64),
        };
        let fields = self.columns.fields().len();
        let stored = (fields - stored_targets(schema)..fields).map(TableColumn::Feature);
        let mut target = Vec::new();
        let parts = std::iter::once(TableColumn::Target).chain(stored);
        for (part, run) in parts.flat_map(|part| runs(rows, 1).map(move |run| (part, run))) {
            target.clear();
            self.columns.numbers(part, &RowSelection::Range(run.clone()), &mut target);
            let fits = |value: &f64| match classes {
                None => value.is_finite(),
                Some(classes) => value.fract() == 0.0 && (0.0..classes).contains(value),
            };
            if let Some(at) = target.iter().position(|value| !fits(value)) {
                let message = format!("row {}: the target is {}", run.start + at, target[at]);
                let help = "targets must be finite numbers, or numbers of classes";
                return Err(location().column(&schema.target.name, message, help));
            }
        }
        let mut weights = Vec::new();
        if self.weighted {
            self.columns.numbers(TableColumn::Weight, &RowSelection::Range(0..rows), &mut weights);
            let sum: f64 = weights.iter().sum();
            if !(weights.iter().all(|&weight| weight >= 0.0) && WEIGHT_SUMS.contains(&sum)) {
                let help = "every weight must be a finite number, 0 or more, and one of them more \
                            than 0; their sum must be from 1e-30 to 1e30";
                return Err(location()
                    .fault(format!("the weights cannot be used: they sum to {sum}"), help));
            }
        }
        Ok(weights)
    }

    /// The rows with their repeats, in an order that follows from their content; `None` where all
    /// rows differ and none is left out, and the order at hand is as good as any.
    fn by_content(&self, weights: &[f64]) -> Option<Vec<usize>> {
        let mut keys = Vec::with_capacity(self.columns.rows());
        let _ = self.for_each_chunk(&mut |chunk| {
            let first = keys.len();
            keys.extend(chunk.target.iter().map(|&target| mixed(0, target)));
            for column in &chunk.columns {
                match column {
                    Column::Number(values) => {
                        keys[first..]
                            .iter_mut()
                            .zip(values)
                            .for_each(|(key, &value)| *key = mixed(*key, value));
                    }
                    Column::Category(codes) => {
                        keys[first..]
                            .iter_mut()
                            .zip(codes)
                            .for_each(|(key, &code)| *key = mixed(*key, code.into()));
                    }
                }
            }
            Ok(())
        });
        let copies = |row: usize| weights.get(row).map_or(1, |&weight| weight as usize);
        let mut order: Vec<usize> = (0..keys.len()).filter(|&row| copies(row) > 0).collect();
        order.sort_unstable_by_key(|&row| (keys[row], row));
        let repeated = order.windows(2).any(|pair| keys[pair[0]] == keys[pair[1]]);
        if repeated || order.iter().any(|&row| copies(row) > 1) {
            return Some(
                order.into_iter().flat_map(|row| std::iter::repeat_n(row, copies(row))).collect(),
            );
        }
        order.sort_unstable();
        (order.len() < keys.len()).then_some(order)
    }

    /// The caller's rows in the order of this table; `None` if it is theirs.
    pub(super) fn caller_order(&self) -> Option<&[usize]> {
        self.order.as_deref()
    }

    /// The columns of a table without rows.
    pub(super) fn empty_columns(&self) -> Vec<Column> {
        let empty = |source: &BorrowedFeature| match source.codes {
            Some(_) => Column::Category(Vec::new()),
            None => Column::Number(Vec::new()),
        };
        self.sources.iter().map(empty).collect()
    }

    /// The weights of all rows; empty if every row weighs one.
    pub(super) fn weights(&self) -> Vec<f64> {
        match self.weighted {
            true => self.values(TableColumn::Weight, &RowSelection::Range(0..self.rows())),
            false => Vec::new(),
        }
    }

    /// The row of the caller's table that is at a position of this one.
    pub(super) fn caller_row(&self, row: usize) -> usize {
        self.order.as_ref().map_or(row, |order| order[row])
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.order.as_ref().map_or(self.columns.rows(), Vec::len)
    }

    /// Hands every row over, in chunks.
    pub(super) fn for_each_chunk(&self, each: &mut dyn FnMut(&Chunk) -> Result<()>) -> Result<()> {
        // Bins are made beside a chunk, and all that is wanted of it is to be small; predictions
        // want long runs.
        let shrink = if self.has_target { 4 } else { 1 };
        for run in runs(self.rows(), self.sources.len() * shrink) {
            each(&self.chunk(&RowSelection::Range(run)))?;
        }
        Ok(())
    }

    /// Some rows as a chunk.
    pub(super) fn chunk(&self, rows: &RowSelection<'_>) -> Chunk {
        let columns = (0..self.sources.len()).map(|feature| self.column(feature, rows)).collect();
        let target =
            if self.has_target { self.values(TableColumn::Target, rows) } else { Vec::new() };
        let weight =
            if self.weighted { self.values(TableColumn::Weight, rows) } else { Vec::new() };
        let count = match rows {
            RowSelection::Range(run) => run.len(),
            RowSelection::Indices(rows) => rows.len(),
        };
        Chunk { columns, target, weight, rows: count }
    }

    /// Some rows of one feature.
    pub(super) fn column(&self, feature: usize, rows: &RowSelection<'_>) -> Column {
        let BorrowedFeature { column, codes: map, date } = &self.sources[feature];
        let Some(map) = map else {
            let mut values = self.values(TableColumn::Feature(*column), rows);
            if let Some(date) = date {
                values.iter_mut().for_each(|value| *value = date.of(*value));
            }
            return Column::Number(values);
        };
        let mut codes = Vec::new();
        self.with_source_rows(rows, |rows| self.columns.codes(*column, rows, &mut codes));
        codes
            .iter_mut()
            .for_each(|code| *code = map.get(*code as usize).copied().unwrap_or(MISSING));
        Column::Category(codes)
    }

    /// The targets of all rows.
    pub(super) fn targets(&self) -> Vec<f64> {
        self.values(TableColumn::Target, &RowSelection::Range(0..self.rows()))
    }

    fn values(&self, part: TableColumn, rows: &RowSelection<'_>) -> Vec<f64> {
        let mut values = Vec::new();
        self.with_source_rows(rows, |rows| self.columns.numbers(part, rows, &mut values));
        values
    }

    /// Calls `read` with the caller's indices of some rows.
    fn with_source_rows(&self, rows: &RowSelection<'_>, read: impl FnOnce(&RowSelection<'_>)) {
        match (&self.order, rows) {
            (None, rows) => read(rows),
            (Some(order), RowSelection::Range(run)) => {
                read(&RowSelection::Indices(&order[run.clone()]))
            }
            (Some(order), RowSelection::Indices(rows)) => {
                let rows: Vec<usize> = rows.iter().map(|&row| order[row]).collect();
                read(&RowSelection::Indices(&rows));
            }
        }
    }
}

/// One more value of a row's key; the missing values are one, and so are both zeros.
fn mixed(key: u64, value: f64) -> u64 {
    let bits = if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() };
    hash(key.rotate_left(17) ^ bits, ORDER_SEED)
}

/// The schema's codes of the caller's codes.
fn known_codes(texts: &[Option<String>], levels: &[String]) -> Vec<u32> {
    let known = KnownLevels::new(levels);
    texts
        .iter()
        .map(|text| text.as_ref().and_then(|text| known.code(text.as_bytes())).unwrap_or(MISSING))
        .collect()
}

/// A warning about levels that occur and the schema does not know.
fn unseen(
    columns: &dyn Columns,
    feature: usize,
    texts: &[Option<String>],
    map: &[u32],
    name: &str,
) -> Option<String> {
    let strange = |code: usize| {
        let text = texts.get(code)?.as_deref()?;
        (map[code] == MISSING && !token::is_missing(text.as_bytes())).then_some(text)
    };
    // Most tables know every level, and are not read for this.
    (0..texts.len()).find_map(strange)?;
    let (mut cells, mut first, mut codes) = (0, None, Vec::new());
    for run in runs(columns.rows(), 1) {
        codes.clear();
        columns.codes(feature, &RowSelection::Range(run), &mut codes);
        for text in codes.iter().filter_map(|&code| strange(code as usize)) {
            cells += 1;
            first.get_or_insert(text);
        }
    }
    let first = listed(&[shown(first?.as_bytes())]);
    let hold = if cells == 1 { "1 cell holds".to_string() } else { format!("{cells} cells hold") };
    Some(format!(
        "column '{name}': {hold} a level that is not in the training data, taken as missing (the first is {first})"
    ))
}
