//! Tables of pandas, Polars, pyarrow and others through the Arrow C stream: numbers are read in
//! place; strings, categories and booleans become category codes.
//!
//! **Unsafe code.** Reads of values whose types and positions follow from the schema and the lengths
//! of an array, after `validate.rs` has checked them.
#![allow(unsafe_code)]

mod abi;
mod validate;

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use swarmwood::learn::data::MISSING;
use swarmwood::read::RowSelection;

use self::abi::{ArrowArray, ArrowSchema, OwnedStruct};

/// The types of numbers.
#[derive(Debug, Clone, Copy)]
enum NumberType {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// Days since the start of 1970 in 32 bits.
    Days,
    /// Parts of seconds since then in 64 bits: so many per second.
    Moment {
        per_second: u32,
    },
    /// Nulls alone.
    Null,
}

/// A column of numbers in one or more chunks.
#[derive(Debug)]
pub struct ArrowNumbers {
    chunks: Vec<ColumnChunk>,
    rows: usize,
    number_type: NumberType,
}

/// The part of a column in one batch.
#[derive(Debug)]
struct ColumnChunk {
    batch: Arc<OwnedStruct<ArrowArray>>,
    /// The column's index in the batch; `None` if the batch is the column.
    column: Option<usize>,
    /// The first row, counted in the whole.
    first: usize,
    rows: usize,
    /// The index of that row in the buffers.
    offset: usize,
}

impl ColumnChunk {
    fn array(&self) -> &ArrowArray {
        let batch = self.batch.get();
        self.column.and_then(|at| batch.child(at)).unwrap_or(batch)
    }
}

/// A column of a stream.
pub struct ArrowColumn {
    pub name: String,
    pub values: ArrowValues,
}

/// The values of a column.
pub enum ArrowValues {
    /// Numbers, read in place.
    Numbers(ArrowNumbers),
    /// Category codes and the levels they stand for.
    Codes { codes: Vec<u32>, levels: Vec<Option<String>> },
}

/// The columns of a stream. A stream of another type than a struct is one column, called `name`.
pub fn import(capsule: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<Vec<ArrowColumn>> {
    let stream = abi::read_stream(capsule)?;
    let schema = stream.schema.get();
    validate::check_schema(schema)
        .and_then(|()| {
            stream.batches.iter().try_for_each(|batch| validate::check_batch(schema, batch.get()))
        })
        .map_err(|message| PyValueError::new_err(format!("invalid Arrow data: {message}")))?;

    if schema.format() != "+s" {
        let name = name.unwrap_or_else(|| schema.name().to_string());
        return Ok(vec![column(name, schema, chunks(&stream.batches, None))?]);
    }
    let import_child = |(at, child): (usize, &ArrowSchema)| {
        column(child.name().to_string(), child, chunks(&stream.batches, Some(at)))
    };
    schema.children().enumerate().map(import_child).collect()
}

fn chunks(batches: &[Arc<OwnedStruct<ArrowArray>>], column: Option<usize>) -> Vec<ColumnChunk> {
    let mut first = 0;
    let mut chunk = |batch: &Arc<OwnedStruct<ArrowArray>>| {
        // The offset and length of a struct apply to its columns as well.
        let whole = batch.get();
        let inner = column.and_then(|at| whole.child(at)).map_or(0, ArrowArray::offset);
        let rows = whole.len();
        let chunk = ColumnChunk {
            batch: Arc::clone(batch),
            column,
            first,
            rows,
            offset: whole.offset() + inner,
        };
        first += rows;
        chunk
    };
    batches.iter().map(&mut chunk).collect()
}

fn column(name: String, schema: &ArrowSchema, chunks: Vec<ColumnChunk>) -> PyResult<ArrowColumn> {
    let rows = chunks.iter().map(|chunk| chunk.rows).sum();
    if let Some(values) = schema.dictionary() {
        let indices =
            number_type(schema.format()).ok_or_else(|| unsupported(&name, schema.format()))?;
        return dictionary(name, indices, values.format(), &chunks);
    }
    if let Some(number_type) = number_type(schema.format()) {
        let values = ArrowValues::Numbers(ArrowNumbers { chunks, rows, number_type });
        return Ok(ArrowColumn { name, values });
    }
    if schema.format() == "b" {
        let code = |chunk: &ColumnChunk, index: usize| u32::from(chunk.array().bit(1, index));
        let codes = chunks.iter().flat_map(|chunk| codes_of(chunk, code)).collect();
        // The spelling of booleans in files.
        let levels = ["false", "true"].map(|text| Some(text.to_string())).to_vec();
        return Ok(ArrowColumn { name, values: ArrowValues::Codes { codes, levels } });
    }
    let mut levels = LevelIndex::default();
    let mut codes = Vec::with_capacity(rows);
    for chunk in &chunks {
        for index in chunk.offset..chunk.offset + chunk.rows {
            codes.push(match text(chunk.array(), schema.format(), index) {
                Some(text) => text.map_or(MISSING, |text| levels.code(text)),
                None => return Err(unsupported(&name, schema.format())),
            });
        }
    }
    let values = ArrowValues::Codes { codes, levels: levels.levels };
    Ok(ArrowColumn { name, values })
}

/// The codes of a chunk; nulls are missing.
fn codes_of<'a>(
    chunk: &'a ColumnChunk,
    code: impl Fn(&ColumnChunk, usize) -> u32 + 'a,
) -> impl Iterator<Item = u32> + 'a {
    let indices = chunk.offset..chunk.offset + chunk.rows;
    indices
        .map(move |index| if chunk.array().is_valid(index) { code(chunk, index) } else { MISSING })
}

fn unsupported(name: &str, format: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "column '{name}' holds Arrow values of the type '{format}', which are neither numbers nor \
         strings nor categories; convert the column or drop it"
    ))
}

/// Levels of a category by code, and codes by level.
#[derive(Default)]
struct LevelIndex {
    codes: HashMap<String, u32>,
    levels: Vec<Option<String>>,
}

impl LevelIndex {
    fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.codes.get(text) {
            return code;
        }
        let code = self.levels.len() as u32;
        self.codes.insert(text.to_string(), code);
        self.levels.push(Some(text.to_string()));
        code
    }
}

/// A dictionary-encoded column; every batch may have its own dictionary.
fn dictionary(
    name: String,
    indices: NumberType,
    format: &str,
    chunks: &[ColumnChunk],
) -> PyResult<ArrowColumn> {
    let mut levels = LevelIndex::default();
    let mut codes = Vec::new();
    for chunk in chunks {
        let mut dictionary_codes = Vec::new();
        let values = chunk.array().dictionary();
        for index in
            values.iter().flat_map(|values| values.offset()..values.offset() + values.len())
        {
            let value = values.and_then(|values| level_text(values, format, index));
            dictionary_codes.push(match value {
                Some(text) => text.map_or(MISSING, |text| levels.code(&text)),
                None => return Err(unsupported(&name, format)),
            });
        }
        codes.extend(codes_of(chunk, |chunk, index| {
            let index = number_at(chunk.array(), indices, index);
            dictionary_codes.get(index as usize).copied().unwrap_or(MISSING)
        }));
    }
    let values = ArrowValues::Codes { codes, levels: levels.levels };
    Ok(ArrowColumn { name, values })
}

/// A value as the text of a level: `None` for unsupported types, `Some(None)` for a null.
fn level_text(array: &ArrowArray, format: &str, index: usize) -> Option<Option<String>> {
    match number_type(format) {
        Some(NumberType::Days | NumberType::Moment { .. }) => None,
        Some(kind) if array.is_valid(index) => {
            Some(Some(number_at(array, kind, index).to_string()))
        }
        Some(_) => Some(None),
        None => text(array, format, index).map(|text| text.map(str::to_string)),
    }
}

/// A string: `None` for other types, `Some(None)` for a null.
fn text<'a>(array: &'a ArrowArray, format: &str, index: usize) -> Option<Option<&'a str>> {
    if !matches!(format, "u" | "U" | "vu") {
        return None;
    }
    if !array.is_valid(index) {
        return Some(None);
    }
    // SAFETY: offsets, views and bytes of such an array were checked for every valid index.
    let bytes = unsafe {
        match format {
            "u" => {
                let (start, end): (i32, i32) = (array.value(1, index), array.value(1, index + 1));
                array.bytes(2, start as usize, (end - start) as usize)
            }
            "U" => {
                let (start, end): (i64, i64) = (array.value(1, index), array.value(1, index + 1));
                array.bytes(2, start as usize, (end - start) as usize)
            }
            _ => view(array, index),
        }
    };
    Some(std::str::from_utf8(bytes).ok())
}

/// A string of the view layout: up to 12 bytes are in the view, longer ones in the buffer it names.
///
/// # Safety
/// The array must have this layout, and more than `index` views.
unsafe fn view(array: &ArrowArray, index: usize) -> &[u8] {
    // SAFETY: the caller's; a view is four words: length, start of the text, buffer, offset.
    unsafe {
        let length = array.value::<i32>(1, 4 * index) as usize;
        if length <= 12 {
            return array.bytes(1, 16 * index + 4, length);
        }
        let (buffer, offset): (i32, i32) =
            (array.value(1, 4 * index + 2), array.value(1, 4 * index + 3));
        array.bytes(2 + buffer as usize, offset as usize, length)
    }
}

fn number_type(format: &str) -> Option<NumberType> {
    Some(match format {
        "c" => NumberType::I8,
        "s" => NumberType::I16,
        "i" => NumberType::I32,
        "l" => NumberType::I64,
        "C" => NumberType::U8,
        "S" => NumberType::U16,
        "I" => NumberType::U32,
        "L" => NumberType::U64,
        "e" => NumberType::F16,
        "f" => NumberType::F32,
        "g" => NumberType::F64,
        "n" => NumberType::Null,
        "tdD" => NumberType::Days,
        "tdm" => NumberType::Moment { per_second: 1000 },
        // The name of a zone may follow: such times are universal times.
        _ => match format.get(..4)? {
            "tss:" => NumberType::Moment { per_second: 1 },
            "tsm:" => NumberType::Moment { per_second: 1000 },
            "tsu:" => NumberType::Moment { per_second: 1_000_000 },
            "tsn:" => NumberType::Moment { per_second: 1_000_000_000 },
            _ => return None,
        },
    })
}

/// The number at a valid index.
fn number_at(array: &ArrowArray, number_type: NumberType, index: usize) -> f64 {
    // SAFETY: the buffer holds values of the type, one per index.
    unsafe {
        match number_type {
            NumberType::I8 => f64::from(array.value::<i8>(1, index)),
            NumberType::I16 => f64::from(array.value::<i16>(1, index)),
            NumberType::I32 => f64::from(array.value::<i32>(1, index)),
            NumberType::I64 => array.value::<i64>(1, index) as f64,
            NumberType::U8 => f64::from(array.value::<u8>(1, index)),
            NumberType::U16 => f64::from(array.value::<u16>(1, index)),
            NumberType::U32 => f64::from(array.value::<u32>(1, index)),
            NumberType::U64 => array.value::<u64>(1, index) as f64,
            NumberType::F16 => half(array.value::<u16>(1, index)),
            NumberType::F32 => f64::from(array.value::<f32>(1, index)),
            NumberType::F64 => array.value::<f64>(1, index),
            NumberType::Days => f64::from(array.value::<i32>(1, index)) * 86_400.0,
            NumberType::Moment { per_second } => {
                array.value::<i64>(1, index) as f64 / f64::from(per_second)
            }
            NumberType::Null => f64::NAN,
        }
    }
}

/// A half-precision number (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    }
}

impl ArrowNumbers {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the numbers are seconds since the start of 1970.
    pub fn is_date(&self) -> bool {
        matches!(self.number_type, NumberType::Days | NumberType::Moment { .. })
    }

    /// Appends numbers to `out`; nulls are NaN.
    pub fn read(&self, rows: &RowSelection<'_>, out: &mut Vec<f64>) {
        match rows {
            RowSelection::Range(run) => {
                for chunk in &self.chunks {
                    let (start, end) =
                        (run.start.max(chunk.first), run.end.min(chunk.first + chunk.rows));
                    if start < end {
                        let array = chunk.array();
                        let range =
                            chunk.offset + start - chunk.first..chunk.offset + end - chunk.first;
                        out.extend(
                            range.map(|index| number_or_nan(array, self.number_type, index)),
                        );
                    }
                }
            }
            RowSelection::Indices(rows) => out.extend(rows.iter().map(|&row| {
                let at = self.chunks.partition_point(|chunk| chunk.first + chunk.rows <= row);
                self.chunks.get(at).map_or(f64::NAN, |chunk| {
                    number_or_nan(chunk.array(), self.number_type, chunk.offset + row - chunk.first)
                })
            })),
        }
    }
}

fn number_or_nan(array: &ArrowArray, number_type: NumberType, index: usize) -> f64 {
    if matches!(number_type, NumberType::Null) || !array.is_valid(index) {
        f64::NAN
    } else {
        number_at(array, number_type, index)
    }
}
