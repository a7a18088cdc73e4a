//! Parquet files, which are refused at once unless magic bytes, the length of the footer and most of
//! the footer are right: mutations change single bytes of the footer or of the pages and keep the
//! frame.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use swarmwood::search::rng::Stream;

use super::tables::read_training;
use crate::mutate::{below, mutate_bytes};
use crate::target::FuzzTarget;

/// Parquet files.
pub const PARQUET: FuzzTarget = FuzzTarget {
    name: "parquet",
    description: "rows of a Parquet file to train on",
    seeds,
    mutators: &[mutate_footer, mutate_footer, mutate_pages],
    repair: Some(repair),
    describe: None,
    run: |input| {
        let Some((&first, bytes)) = input.split_first() else { return false };
        read_training(first, bytes)
    },
};

const MAGIC: &[u8] = b"PAR1";

/// The types of columns that readers know, and some that they refuse.
const SCHEMAS: [&str; 5] = [
    "required double y; optional int64 a; optional binary b (UTF8);",
    "required boolean y; required float a; optional int32 b (INTEGER(16,true)); optional double w;",
    "optional binary y (UTF8); optional int32 a (DATE); optional int64 b (TIMESTAMP_MICROS);",
    "required int32 y; optional fixed_len_byte_array(4) a (DECIMAL(5,2)); required int96 b;",
    "required int64 y; repeated int32 a; optional binary b;",
];

/// An encoding for the column `a` of each schema, beside dictionaries.
const ENCODINGS: [Encoding; 5] = [
    Encoding::DELTA_BINARY_PACKED,
    Encoding::BYTE_STREAM_SPLIT,
    Encoding::DELTA_BINARY_PACKED,
    Encoding::PLAIN,
    Encoding::PLAIN,
];

fn seeds() -> Vec<Vec<u8>> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let compressions = [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd];
    let mut seeds = Vec::new();
    for (at, schema) in SCHEMAS.iter().enumerate() {
        for (version, compression) in compressions.iter().enumerate() {
            let encoding = (version == 1).then_some(ENCODINGS[at]);
            let Some(file) = write_file(schema, *compression, version == 0, encoding) else {
                continue;
            };
            seeds.push([&[(at % 3) as u8 + 4 * u8::from(at == 1)], &file[..]].concat());
        }
    }
    seeds
}

/// A file with such columns.
fn write_file(
    schema: &str,
    compression: Compression,
    is_first_version: bool,
    encoding: Option<Encoding>,
) -> Option<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&format!("message t {{ {schema} }}")).ok()?);
    let version = match is_first_version {
        true => WriterVersion::PARQUET_1_0,
        false => WriterVersion::PARQUET_2_0,
    };
    let mut properties = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_dictionary_enabled(encoding.is_none())
        .set_created_by(String::new());
    if let Some(encoding) = encoding {
        let column = parquet::schema::types::ColumnPath::from("a");
        properties = properties.set_column_encoding(column, encoding);
    }

    let mut bytes = Vec::new();
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).ok()?;
    for rows in [5, 3] {
        let mut group = writer.next_row_group().ok()?;
        while let Some(mut column) = group.next_column().ok()? {
            write_column(column.untyped(), rows)?;
            column.close().ok()?;
        }
        group.close().ok()?;
    }
    writer.close().ok()?;
    Some(bytes)
}

/// Some values; the second row of a column that may have nulls is one.
fn write_column(column: &mut ColumnWriter<'_>, rows: usize) -> Option<()> {
    macro_rules! write {
        ($writer:expr, $value:expr) => {{
            let levels: Vec<i16> = (0..rows).map(|row| i16::from(row != 1)).collect();
            let all: Vec<_> = (0..rows).map($value).collect();
            let optional = $writer.get_descriptor().max_def_level() > 0;
            let repeated = $writer.get_descriptor().max_rep_level() > 0;
            let levels = optional.then_some(&levels[..]);
            let zeros = vec![0_i16; rows];
            let values = if optional { &all[1..] } else { &all[..] };
            $writer.write_batch(values, levels, repeated.then_some(&zeros[..])).ok()?;
        }};
    }
    match column {
        ColumnWriter::BoolColumnWriter(writer) => write!(writer, |row| row % 2 == 0),
        ColumnWriter::Int32ColumnWriter(writer) => write!(writer, |row| row as i32 * 7),
        ColumnWriter::Int64ColumnWriter(writer) => write!(writer, |row| row as i64 * 1000),
        ColumnWriter::FloatColumnWriter(writer) => write!(writer, |row| row as f32 / 2.0),
        ColumnWriter::DoubleColumnWriter(writer) => write!(writer, |row| row as f64 / 3.0),
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            write!(writer, |row| ByteArray::from(["red", "green", ""][row % 3]));
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            write!(writer, |row| ByteArray::from(vec![0, 0, 1, row as u8]).into());
        }
        ColumnWriter::Int96ColumnWriter(writer) => {
            write!(writer, |row| parquet::data_type::Int96::from(vec![row as u32, 0, 2_440_588]));
        }
    }
    Some(())
}

/// The range of the footer's metadata.
fn footer(input: &[u8]) -> Option<std::ops::Range<usize>> {
    let end = input.len().checked_sub(8)?;
    let length = u32::from_le_bytes(input[end..end + 4].try_into().ok()?) as usize;
    Some(end.checked_sub(length).filter(|&start| start > 4)?..end)
}

fn mutate_part(input: &mut Vec<u8>, part: std::ops::Range<usize>, stream: &mut Stream) {
    let mut bytes = input[part.clone()].to_vec();
    if below(stream, 3) == 0 {
        mutate_bytes(&mut bytes, &[], stream);
    } else if !bytes.is_empty() {
        let at = below(stream, bytes.len());
        // The compact protocol has small numbers, lengths and types in single bytes.
        bytes[at] = match below(stream, 3) {
            0 => bytes[at] ^ 1 << below(stream, 8),
            1 => bytes[at].wrapping_add(below(stream, 5) as u8).wrapping_sub(2),
            _ => stream.next_u32() as u8,
        };
    }
    input.splice(part, bytes);
}

fn mutate_footer(input: &mut Vec<u8>, stream: &mut Stream) {
    if let Some(part) = footer(input) {
        let length = part.len();
        mutate_part(input, part.clone(), stream);
        // The footer may be longer or shorter now.
        let end = input.len() - 8;
        let new_length = (end - part.start) as u32;
        if new_length as usize != length {
            input[end..end + 4].copy_from_slice(&new_length.to_le_bytes());
        }
    }
}

fn mutate_pages(input: &mut Vec<u8>, stream: &mut Stream) {
    if let Some(part) = footer(input) {
        let at = 5 + below(stream, part.start.saturating_sub(5));
        let end = part.start.min(at + 1);
        mutate_part(input, at.min(end)..end, stream);
    }
}

/// Puts the magic bytes at both ends back, and a length of the footer that fits into the file.
// The type of all repairs.
#[allow(clippy::ptr_arg)]
fn repair(input: &mut Vec<u8>) {
    if input.len() < 13 {
        return;
    }
    input[1..5].copy_from_slice(MAGIC);
    let end = input.len();
    input[end - 4..].copy_from_slice(MAGIC);
    if footer(input).is_none() {
        let length = (end - 13).min(200) as u32;
        input[end - 8..end - 4].copy_from_slice(&length.to_le_bytes());
    }
}
