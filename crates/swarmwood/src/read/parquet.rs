//! Parquet files, row group after row group, column by column.
//!
//! The column readers of the `parquet` crate are used without Arrow, which would add much to the
//! time to build. Numbers of every width, decimals, booleans, texts, dates and timestamps are read.
//! Times of day and nested columns are refused by name, but only if they are asked for: an ignored
//! column may be anything.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::ReadProgress;
use super::cells::{CellValue, ColumnBuffer};
use super::frame::ChunkFrame;
use super::location::SourceLocation;
use super::source::{ParquetBytes, ParquetInput, ReadMeter};
use super::table::{ColumnType, check_unique};
use crate::{Error, Result};

/// How a column's values become cells.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CellForm {
    Boolean,
    /// Integers, to be divided by a power of ten if they are decimals.
    Integer {
        signed: bool,
        scale: i32,
    },
    Float,
    /// Two bytes of a half-precision number.
    Half,
    /// Bytes of a big-endian integer, to be divided by a power of ten.
    Decimal {
        scale: i32,
    },
    Text,
    /// Days, or parts of seconds, since the start of 1970: so many seconds each, as a fraction.
    Moment {
        seconds: f64,
        per: f64,
    },
    /// What it is instead, for the message.
    Unreadable(&'static str),
}

/// A top-level column.
#[derive(Debug)]
struct ParquetColumn {
    /// Position among the leaves of the schema.
    leaf: usize,
    form: CellForm,
    /// Definition level of a value that is there.
    present: i16,
}

/// An opened Parquet file.
pub(super) struct ParquetTable {
    location: SourceLocation,
    names: Vec<String>,
    columns: Vec<ParquetColumn>,
    reader: Box<dyn FileReader>,
    meter: ReadMeter,
}

impl ParquetTable {
    pub(super) fn open(input: ParquetInput) -> Result<ParquetTable> {
        let ParquetInput { location, bytes } = input;
        let reader = guard(&location, || open_reader(bytes))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().to_string()).collect();
        check_unique(&names, &location, None)?;
        let mut columns: Vec<ParquetColumn> = names
            .iter()
            .map(|_| ParquetColumn {
                leaf: 0,
                form: CellForm::Unreadable("a column without values"),
                present: 0,
            })
            .collect();
        for (leaf, column) in schema.columns().iter().enumerate() {
            let root = schema.get_column_root_idx(leaf);
            let nested = !fields[root].is_primitive() || column.max_rep_level() > 0;
            let form =
                if nested { CellForm::Unreadable("a nested column") } else { form_of(column) };
            columns[root] = ParquetColumn { leaf, form, present: column.max_def_level() };
        }
        let meter = ReadMeter::new(
            u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0),
        );
        Ok(ParquetTable { location, names, columns, reader, meter })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn location(&self) -> &SourceLocation {
        &self.location
    }

    pub(super) fn meter(&self) -> ReadMeter {
        self.meter.clone()
    }

    pub(super) fn column_type(&self, position: usize) -> ColumnType {
        match self.columns[position].form {
            CellForm::Boolean | CellForm::Text => ColumnType::Text,
            CellForm::Moment { .. } => ColumnType::Date,
            _ => ColumnType::Number,
        }
    }

    pub(super) fn read(
        self,
        frame: &mut ChunkFrame,
        each: &mut dyn FnMut(&mut ChunkFrame) -> Result<ReadProgress>,
    ) -> Result<ReadProgress> {
        self.check_readable(frame)?;
        let mut first_row = 1;
        for index in 0..self.reader.num_row_groups() {
            let group = guard(&self.location, || self.reader.get_row_group(index))?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let mut readers = self.readers(&*group, frame)?;
            let mut done = 0;
            while done < rows {
                let batch = (rows - done).min(frame.chunk_rows.saturating_sub(frame.rows)).max(1);
                self.pour(&mut readers, frame, batch, first_row + done as u64)?;
                done += batch;
                self.meter.add(batch as u64);
                if frame.rows >= frame.chunk_rows && each(frame)? == ReadProgress::Stop {
                    return Ok(ReadProgress::Stop);
                }
            }
            first_row += rows as u64;
        }
        if frame.rows > 0 { each(frame) } else { Ok(ReadProgress::Continue) }
    }

    /// Moves a batch of rows into the frame: targets first, because they decide which rows stay.
    fn pour(
        &self,
        readers: &mut Readers,
        frame: &mut ChunkFrame,
        rows: usize,
        first_row: u64,
    ) -> Result<()> {
        let mut stays = vec![true; rows];
        if let (Some(reader), Some((slot, cells))) = (&mut readers.target, &frame.target) {
            let column = &self.columns[slot.position];
            let as_number = matches!(cells, ColumnBuffer::Number { .. });
            let mut push = |row: usize, cell: CellValue<'_>| {
                stays[row] = frame.push_target(cell, first_row + row as u64)?;
                Ok(())
            };
            let batch = ColumnBatch { location: &self.location, column, rows, as_number };
            batch.read(reader, &mut push)?;
        }
        if let (Some(reader), Some((slot, _))) = (&mut readers.weight, &frame.weight) {
            let column = &self.columns[slot.position];
            let mut push = |row: usize, cell: CellValue<'_>| {
                if stays[row] { frame.push_weight(cell, first_row + row as u64) } else { Ok(()) }
            };
            let batch = ColumnBatch { location: &self.location, column, rows, as_number: true };
            batch.read(reader, &mut push)?;
        }
        for (feature, reader) in readers.features.iter_mut().enumerate() {
            let (slot, cells) = &frame.features[feature];
            let column = &self.columns[slot.position];
            let as_number = matches!(cells, ColumnBuffer::Number { .. });
            let mut push = |row: usize, cell: CellValue<'_>| {
                if stays[row] {
                    frame.push_feature(feature, cell, first_row + row as u64)
                } else {
                    Ok(())
                }
            };
            let batch = ColumnBatch { location: &self.location, column, rows, as_number };
            batch.read(reader, &mut push)?;
        }
        for (column, reader) in readers.kept.iter_mut().enumerate() {
            let form = &self.columns[frame.kept.positions[column]];
            let mut push = |row: usize, cell: CellValue<'_>| {
                if stays[row] {
                    frame.push_kept(column, cell);
                }
                Ok(())
            };
            let batch =
                ColumnBatch { location: &self.location, column: form, rows, as_number: false };
            batch.read(reader, &mut push)?;
        }
        frame.rows += stays.iter().filter(|stays| **stays).count();
        Ok(())
    }

    fn readers(&self, group: &dyn RowGroupReader, frame: &ChunkFrame) -> Result<Readers> {
        let open = |position: usize| {
            guard(&self.location, || group.get_column_reader(self.columns[position].leaf))
        };
        Ok(Readers {
            target: frame.target.as_ref().map(|(slot, _)| open(slot.position)).transpose()?,
            weight: frame.weight.as_ref().map(|(slot, _)| open(slot.position)).transpose()?,
            features: frame
                .features
                .iter()
                .map(|(slot, _)| open(slot.position))
                .collect::<Result<_>>()?,
            kept: frame.kept.positions.iter().map(|&at| open(at)).collect::<Result<_>>()?,
        })
    }

    fn check_readable(&self, frame: &ChunkFrame) -> Result<()> {
        let target = frame.target.iter().map(|(slot, _)| slot);
        let weight = frame.weight.iter().map(|(slot, _)| slot);
        let used = frame.features.iter().map(|(slot, _)| slot).chain(target).chain(weight);
        let kept = frame.kept.positions.iter().copied();
        for position in used.map(|slot| slot.position).chain(kept) {
            if let CellForm::Unreadable(what) = self.columns[position].form {
                let name = &self.names[position];
                let help =
                    format!("turn it into numbers or text, or leave it out (--ignore '{name}')");
                return Err(self.location.column(name, format!("{what} cannot be used"), help));
            }
        }
        Ok(())
    }
}

fn open_reader(bytes: ParquetBytes) -> std::result::Result<Box<dyn FileReader>, ParquetError> {
    Ok(match bytes {
        ParquetBytes::File(file) => Box::new(SerializedFileReader::new(file)?),
        ParquetBytes::Static(bytes) => {
            Box::new(SerializedFileReader::new(Bytes::from_static(bytes))?)
        }
        ParquetBytes::Shared(bytes) => {
            Box::new(SerializedFileReader::new(Bytes::from_owner(bytes))?)
        }
    })
}

/// The open columns of a row group.
struct Readers {
    target: Option<ColumnReader>,
    weight: Option<ColumnReader>,
    features: Vec<ColumnReader>,
    kept: Vec<ColumnReader>,
}

fn form_of(column: &ColumnDescriptor) -> CellForm {
    use ConvertedType as Old;
    let (logical, old) = (column.logical_type_ref(), column.converted_type());
    let scale = column.type_scale();
    let is_decimal = matches!(logical, Some(LogicalType::Decimal(_))) || old == Old::DECIMAL;
    let is_time = matches!(logical, Some(LogicalType::Time(_)))
        || matches!(old, Old::TIME_MILLIS | Old::TIME_MICROS);
    let unsigned = matches!(logical, Some(LogicalType::Integer(int)) if !int.is_signed)
        || matches!(old, Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64);
    match column.physical_type() {
        _ if is_time => CellForm::Unreadable("a column of times of day"),
        PhysicalType::INT32 | PhysicalType::INT64 if moment_form(column).is_some() => {
            moment_form(column).unwrap_or(CellForm::Float)
        }
        PhysicalType::BOOLEAN => CellForm::Boolean,
        PhysicalType::INT32 | PhysicalType::INT64 => {
            CellForm::Integer { signed: !unsigned, scale: if is_decimal { scale } else { 0 } }
        }
        // The deprecated form of Impala and Spark.
        PhysicalType::INT96 => CellForm::Moment { seconds: 1.0, per: 1e9 },
        PhysicalType::FLOAT | PhysicalType::DOUBLE => CellForm::Float,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY if is_decimal => {
            CellForm::Decimal { scale }
        }
        PhysicalType::BYTE_ARRAY => match logical {
            None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => {
                CellForm::Text
            }
            _ => CellForm::Unreadable("a column of binary data"),
        },
        PhysicalType::FIXED_LEN_BYTE_ARRAY => match logical {
            Some(LogicalType::Float16) => CellForm::Half,
            _ => CellForm::Unreadable("a column of binary data"),
        },
    }
}

/// The form of a column of dates or timestamps; times with a zone are universal times.
fn moment_form(column: &ColumnDescriptor) -> Option<CellForm> {
    let form = |seconds: f64, per: f64| Some(CellForm::Moment { seconds, per });
    match column.logical_type_ref() {
        Some(LogicalType::Date) => return form(86_400.0, 1.0),
        Some(LogicalType::Timestamp(stamp)) => {
            return match stamp.unit {
                TimeUnit::MILLIS => form(1.0, 1e3),
                TimeUnit::MICROS => form(1.0, 1e6),
                TimeUnit::NANOS => form(1.0, 1e9),
            };
        }
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::DATE => form(86_400.0, 1.0),
        ConvertedType::TIMESTAMP_MILLIS => form(1.0, 1e3),
        ConvertedType::TIMESTAMP_MICROS => form(1.0, 1e6),
        _ => None,
    }
}

type Push<'a> = &'a mut dyn FnMut(usize, CellValue<'_>) -> Result<()>;

/// The next rows of a column.
struct ColumnBatch<'a> {
    location: &'a SourceLocation,
    column: &'a ParquetColumn,
    rows: usize,
    as_number: bool,
}

impl ColumnBatch<'_> {
    /// Reads the rows and pushes their cells.
    fn read(self, reader: &mut ColumnReader, push: Push<'_>) -> Result<()> {
        let ColumnBatch { location, column, rows, as_number } = self;
        let (form, present) = (column.form, column.present);
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                let batch = ValueBatch::read(location, reader, rows, present)?;
                let truth = |truth: &bool| if *truth { &b"true"[..] } else { b"false" };
                batch.cells(push, |value| {
                    if as_number {
                        CellValue::Number(f64::from(u8::from(*value)))
                    } else {
                        CellValue::Text(truth(value))
                    }
                })
            }
            ColumnReader::Int32ColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?.cells(push, |&value| {
                    let wide = if form == UNSIGNED {
                        i128::from(value.cast_unsigned())
                    } else {
                        i128::from(value)
                    };
                    integer(wide, form)
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?.cells(push, |&value| {
                    let wide = if form == UNSIGNED {
                        i128::from(value.cast_unsigned())
                    } else {
                        i128::from(value)
                    };
                    integer(wide, form)
                })
            }
            ColumnReader::FloatColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?
                    .cells(push, |&value| CellValue::Number(f64::from(value)))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?
                    .cells(push, |&value| CellValue::Number(value))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?
                    .cells(push, |value| bytes_cell(value.data(), form))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?
                    .cells(push, |value| bytes_cell(value.data(), form))
            }
            ColumnReader::Int96ColumnReader(reader) => {
                ValueBatch::read(location, reader, rows, present)?
                    .cells(push, |value| CellValue::Moment(value.to_nanos() as f64 / 1e9))
            }
        }
    }
}

const UNSIGNED: CellForm = CellForm::Integer { signed: false, scale: 0 };

fn integer<'a>(value: i128, form: CellForm) -> CellValue<'a> {
    match form {
        CellForm::Moment { seconds, per } => CellValue::Moment(value as f64 * seconds / per),
        CellForm::Integer { scale, .. } => CellValue::Number(value as f64 / 10_f64.powi(scale)),
        _ => CellValue::Number(value as f64),
    }
}

fn bytes_cell(bytes: &[u8], form: CellForm) -> CellValue<'_> {
    match form {
        CellForm::Decimal { scale } => {
            let Some(first) = bytes.first() else { return CellValue::Missing };
            // Two's complement, the highest byte first; a number this wide has lost its last digits
            // anyway.
            let start = f64::from(first.cast_signed());
            let value =
                bytes[1..].iter().fold(start, |value, &byte| value * 256.0 + f64::from(byte));
            CellValue::Number(value / 10_f64.powi(scale))
        }
        CellForm::Half => match bytes.try_into() {
            Ok(two) => CellValue::Number(half(u16::from_le_bytes(two))),
            Err(_) => CellValue::Missing,
        },
        _ => CellValue::Text(bytes),
    }
}

/// The value of a half-precision number (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1F);
    let fraction = f64::from(bits & 0x3FF) / 1024.0;
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

/// Values of some rows; levels tell which rows have one.
struct ValueBatch<V> {
    values: Vec<V>,
    levels: Vec<i16>,
    /// Level of a value that is there.
    present: i16,
    rows: usize,
}

impl<V> ValueBatch<V> {
    fn read<T: DataType<T = V>>(
        location: &SourceLocation,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        present: i16,
    ) -> Result<ValueBatch<V>> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let (records, _, _) = guard(location, || {
                reader.read_records(rows - read, Some(&mut levels), None, &mut values)
            })?;
            if records == 0 {
                return Err(damaged(location, "a column ends too early"));
            }
            read += records;
        }
        let nulls = |present: i16| levels.iter().filter(|level| **level != present).count();
        let missing = if present == 0 { 0 } else { nulls(present) };
        if values.len() + missing < rows {
            return Err(damaged(location, "a column has fewer values than rows"));
        }
        Ok(ValueBatch { values, levels, present, rows })
    }

    fn cells<'a>(&'a self, push: Push<'_>, cell: impl Fn(&'a V) -> CellValue<'a>) -> Result<()> {
        let mut values = self.values.iter();
        for row in 0..self.rows {
            // A column that cannot be null has no levels.
            let is_there = self.present == 0 || self.levels.get(row) == Some(&self.present);
            let value = if is_there { values.next() } else { None };
            push(row, value.map_or(CellValue::Missing, &cell))?;
        }
        Ok(())
    }
}

fn damaged(location: &SourceLocation, what: &str) -> Error {
    location.fault(format!("the Parquet data is damaged ({what})"), "write or fetch the file again")
}

/// Turns the library's errors into ours, and its panics too: a damaged file must not end the
/// program.
fn guard<T>(
    location: &SourceLocation,
    work: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ParquetError::NYI(what))) => Err(location.fault(
            format!("the Parquet file uses what is not supported here: {what}"),
            "write it again with snappy or zstd compression",
        )),
        Ok(Err(error)) => Err(damaged(location, &error.to_string())),
        Err(_) => Err(damaged(location, "it cannot be decoded")),
    }
}
