//! Tables of pandas, Polars, pyarrow and others through the Arrow C stream: numbers are read where
//! they lie; texts, categories and truth values become codes.
//!
//! **Unsafe code.** Reads of values whose type and place the schema and the lengths of an array
//! promise.
#![allow(unsafe_code)]

mod abi;

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use swarmwood::learn::data::MISSING;
use swarmwood::read::Picked;

use self::abi::{ArrowArray, ArrowSchema, Owned};
use crate::table::Source;

/// The types of numbers.
#[derive(Debug, Clone, Copy)]
enum Number {
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
    /// No value at all.
    Null,
}

/// A column of numbers in one or more pieces.
#[derive(Debug)]
pub struct Numbers {
    pieces: Vec<Piece>,
    rows: usize,
    kind: Number,
}

/// The part of a column in one batch.
#[derive(Debug)]
struct Piece {
    batch: Arc<Owned<ArrowArray>>,
    /// The column's place in the batch; `None` if the batch is the column.
    column: Option<usize>,
    /// The first row, counted in the whole.
    first: usize,
    rows: usize,
    /// Where that row is in the buffers.
    place: usize,
}

impl Piece {
    fn array(&self) -> &ArrowArray {
        let batch = self.batch.get();
        self.column.and_then(|at| batch.child(at)).unwrap_or(batch)
    }
}

/// A column as a table takes it.
pub struct Imported {
    pub name: String,
    pub texts: Option<Vec<Option<String>>>,
    pub source: Source,
}

/// The columns of a stream; if it is no struct it is one column, called `name`.
pub fn import(capsule: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<Vec<Imported>> {
    let stream = abi::drain(capsule)?;
    let schema = stream.schema.get();
    if schema.format() != "+s" {
        let name = name.unwrap_or_else(|| schema.name().to_string());
        return Ok(vec![column(name, schema, pieces(&stream.batches, None))?]);
    }
    let of = |(at, child): (usize, &ArrowSchema)| {
        column(child.name().to_string(), child, pieces(&stream.batches, Some(at)))
    };
    schema.children().enumerate().map(of).collect()
}

fn pieces(batches: &[Arc<Owned<ArrowArray>>], column: Option<usize>) -> Vec<Piece> {
    let mut first = 0;
    let mut piece = |batch: &Arc<Owned<ArrowArray>>| {
        // The rows of a struct are cut out of its columns by its own offset and length.
        let whole = batch.get();
        let inner = column.and_then(|at| whole.child(at)).map_or(0, ArrowArray::offset);
        let rows = whole.len();
        let piece =
            Piece { batch: Arc::clone(batch), column, first, rows, place: whole.offset() + inner };
        first += rows;
        piece
    };
    batches.iter().map(&mut piece).collect()
}

fn column(name: String, schema: &ArrowSchema, pieces: Vec<Piece>) -> PyResult<Imported> {
    let rows = pieces.iter().map(|piece| piece.rows).sum();
    if let Some(values) = schema.dictionary() {
        let indices = number(schema.format()).ok_or_else(|| refused(&name, schema.format()))?;
        return dictionary(name, indices, values.format(), &pieces);
    }
    if let Some(kind) = number(schema.format()) {
        return Ok(Imported {
            name,
            texts: None,
            source: Source::Arrow(Numbers { pieces, rows, kind }),
        });
    }
    if schema.format() == "b" {
        let code = |piece: &Piece, place: usize| u32::from(piece.array().bit(1, place));
        let codes = pieces.iter().flat_map(|piece| codes_of(piece, code)).collect();
        // The words of other readers for truth values.
        let texts = ["false", "true"].map(|word| Some(word.to_string())).to_vec();
        return Ok(Imported { name, texts: Some(texts), source: Source::Codes(codes) });
    }
    let mut levels = Levels::default();
    let mut codes = Vec::with_capacity(rows);
    for piece in &pieces {
        for place in piece.place..piece.place + piece.rows {
            codes.push(match text(piece.array(), schema.format(), place) {
                Some(text) => text.map_or(MISSING, |text| levels.code(text)),
                None => return Err(refused(&name, schema.format())),
            });
        }
    }
    Ok(Imported { name, texts: Some(levels.texts), source: Source::Codes(codes) })
}

/// The codes of a piece, missing where nothing is.
fn codes_of<'a>(
    piece: &'a Piece,
    code: impl Fn(&Piece, usize) -> u32 + 'a,
) -> impl Iterator<Item = u32> + 'a {
    let places = piece.place..piece.place + piece.rows;
    places
        .map(move |place| if piece.array().is_valid(place) { code(piece, place) } else { MISSING })
}

fn refused(name: &str, format: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "column '{name}' holds Arrow values of the type '{format}', which are neither numbers nor texts nor categories; \
         convert the column or leave it out"
    ))
}

/// Texts with a code each.
#[derive(Default)]
struct Levels {
    codes: HashMap<String, u32>,
    texts: Vec<Option<String>>,
}

impl Levels {
    fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.codes.get(text) {
            return code;
        }
        let code = self.texts.len() as u32;
        self.codes.insert(text.to_string(), code);
        self.texts.push(Some(text.to_string()));
        code
    }
}

/// A column of codes; every batch may have a dictionary of its own.
fn dictionary(name: String, indices: Number, format: &str, pieces: &[Piece]) -> PyResult<Imported> {
    let mut levels = Levels::default();
    let mut codes = Vec::new();
    for piece in pieces {
        let mut known = Vec::new();
        let values = piece.array().dictionary();
        for place in
            values.iter().flat_map(|values| values.offset()..values.offset() + values.len())
        {
            let value = values.and_then(|values| spelled(values, format, place));
            known.push(match value {
                Some(text) => text.map_or(MISSING, |text| levels.code(&text)),
                None => return Err(refused(&name, format)),
            });
        }
        codes.extend(codes_of(piece, |piece, place| {
            let index = cell(piece.array(), indices, place);
            known.get(index as usize).copied().unwrap_or(MISSING)
        }));
    }
    Ok(Imported { name, texts: Some(levels.texts), source: Source::Codes(codes) })
}

/// A value as a level's text: `None` for types that have none, `Some(None)` for no value.
fn spelled(array: &ArrowArray, format: &str, place: usize) -> Option<Option<String>> {
    match number(format) {
        Some(kind) if array.is_valid(place) => Some(Some(cell(array, kind, place).to_string())),
        Some(_) => Some(None),
        None => text(array, format, place).map(|text| text.map(str::to_string)),
    }
}

/// A text: `None` for types that have none, `Some(None)` for no value.
fn text<'a>(array: &'a ArrowArray, format: &str, place: usize) -> Option<Option<&'a str>> {
    if !matches!(format, "u" | "U" | "vu") {
        return None;
    }
    if !array.is_valid(place) {
        return Some(None);
    }
    // SAFETY: offsets, views and bytes of such an array are as the format says, for every place
    // that is valid.
    let bytes = unsafe {
        match format {
            "u" => {
                let (start, end): (i32, i32) = (array.value(1, place), array.value(1, place + 1));
                array.bytes(2, start as usize, (end - start) as usize)
            }
            "U" => {
                let (start, end): (i64, i64) = (array.value(1, place), array.value(1, place + 1));
                array.bytes(2, start as usize, (end - start) as usize)
            }
            _ => view(array, place),
        }
    };
    Some(std::str::from_utf8(bytes).ok())
}

/// A text of the view layout: up to 12 bytes lie in the view, longer ones in the buffer it names.
///
/// # Safety
/// The array must have this layout, and more than `place` views.
unsafe fn view(array: &ArrowArray, place: usize) -> &[u8] {
    // SAFETY: the caller's; a view is four words: length, start of the text, buffer, offset.
    unsafe {
        let length = array.value::<i32>(1, 4 * place) as usize;
        if length <= 12 {
            return array.bytes(1, 16 * place + 4, length);
        }
        let (buffer, offset): (i32, i32) =
            (array.value(1, 4 * place + 2), array.value(1, 4 * place + 3));
        array.bytes(2 + buffer as usize, offset as usize, length)
    }
}

fn number(format: &str) -> Option<Number> {
    Some(match format {
        "c" => Number::I8,
        "s" => Number::I16,
        "i" => Number::I32,
        "l" => Number::I64,
        "C" => Number::U8,
        "S" => Number::U16,
        "I" => Number::U32,
        "L" => Number::U64,
        "e" => Number::F16,
        "f" => Number::F32,
        "g" => Number::F64,
        "n" => Number::Null,
        _ => return None,
    })
}

/// The number at a place that is valid.
fn cell(array: &ArrowArray, kind: Number, place: usize) -> f64 {
    // SAFETY: the buffer holds values of the type, one for every place.
    unsafe {
        match kind {
            Number::I8 => f64::from(array.value::<i8>(1, place)),
            Number::I16 => f64::from(array.value::<i16>(1, place)),
            Number::I32 => f64::from(array.value::<i32>(1, place)),
            Number::I64 => array.value::<i64>(1, place) as f64,
            Number::U8 => f64::from(array.value::<u8>(1, place)),
            Number::U16 => f64::from(array.value::<u16>(1, place)),
            Number::U32 => f64::from(array.value::<u32>(1, place)),
            Number::U64 => array.value::<u64>(1, place) as f64,
            Number::F16 => half(array.value::<u16>(1, place)),
            Number::F32 => f64::from(array.value::<f32>(1, place)),
            Number::F64 => array.value::<f64>(1, place),
            Number::Null => f64::NAN,
        }
    }
}

/// A number of 16 bits (IEEE 754 binary16).
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

impl Numbers {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds numbers to `out`, NaN where nothing is.
    pub fn read(&self, rows: &Picked<'_>, out: &mut Vec<f64>) {
        match rows {
            Picked::Run(run) => {
                for piece in &self.pieces {
                    let (start, end) =
                        (run.start.max(piece.first), run.end.min(piece.first + piece.rows));
                    if start < end {
                        let array = piece.array();
                        let places =
                            piece.place + start - piece.first..piece.place + end - piece.first;
                        out.extend(places.map(|place| value(array, self.kind, place)));
                    }
                }
            }
            Picked::At(rows) => out.extend(rows.iter().map(|&row| {
                let at = self.pieces.partition_point(|piece| piece.first + piece.rows <= row);
                self.pieces.get(at).map_or(f64::NAN, |piece| {
                    value(piece.array(), self.kind, piece.place + row - piece.first)
                })
            })),
        }
    }
}

fn value(array: &ArrowArray, kind: Number, place: usize) -> f64 {
    if matches!(kind, Number::Null) || !array.is_valid(place) {
        f64::NAN
    } else {
        cell(array, kind, place)
    }
}
