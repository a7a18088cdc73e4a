//! Parquet files give the same rows as the CSV of the same table.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::super::{matching, scoring};
use super::*;

#[derive(Debug, Clone)]
enum Values {
    Double(Vec<Option<f64>>),
    Int(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
    Boolean(Vec<Option<bool>>),
}

/// The values that are there, and for every row whether it has one.
fn split<T: Clone, U>(values: &[Option<T>], into: impl Fn(T) -> U) -> (Vec<U>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().cloned().map(into).collect(), levels)
}

impl Values {
    fn slice(&self, rows: std::ops::Range<usize>) -> Values {
        match self {
            Values::Double(values) => Values::Double(values[rows].to_vec()),
            Values::Int(values) => Values::Int(values[rows].to_vec()),
            Values::Text(values) => Values::Text(values[rows].to_vec()),
            Values::Boolean(values) => Values::Boolean(values[rows].to_vec()),
        }
    }

    fn schema(&self, name: &str) -> String {
        match self {
            Values::Double(_) => format!("optional double {name};"),
            Values::Int(_) => format!("optional int64 {name};"),
            Values::Text(_) => format!("optional binary {name} (UTF8);"),
            Values::Boolean(_) => format!("optional boolean {name};"),
        }
    }

    fn cell(&self, row: usize) -> String {
        match self {
            Values::Double(values) => values[row].map(|value| value.to_string()),
            Values::Int(values) => values[row].map(|value| value.to_string()),
            Values::Text(values) => values[row].as_ref().map(|text| format!("\"{text}\"")),
            Values::Boolean(values) => values[row].map(|value| value.to_string()),
        }
        .unwrap_or_default()
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>) {
        let mut column = group.next_column().unwrap().unwrap();
        match (column.untyped(), self) {
            (ColumnWriter::DoubleColumnWriter(writer), Values::Double(values)) => {
                let (values, levels) = split(values, |value| value);
                writer.write_batch(&values, Some(&levels), None).unwrap();
            }
            (ColumnWriter::Int64ColumnWriter(writer), Values::Int(values)) => {
                let (values, levels) = split(values, |value| value);
                writer.write_batch(&values, Some(&levels), None).unwrap();
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
                let (values, levels) = split(values, |text| ByteArray::from(text.into_bytes()));
                writer.write_batch(&values, Some(&levels), None).unwrap();
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Boolean(values)) => {
                let (values, levels) = split(values, |value| value);
                writer.write_batch(&values, Some(&levels), None).unwrap();
            }
            _ => panic!("the schema and the values differ"),
        }
        column.close().unwrap();
    }
}

fn properties(compression: Compression) -> Arc<WriterProperties> {
    Arc::new(WriterProperties::builder().set_compression(compression).build())
}

fn parquet_of(
    table: &[(&str, Values)],
    rows: usize,
    group_rows: usize,
    compression: Compression,
) -> Vec<u8> {
    let fields: String = table.iter().map(|(name, values)| values.schema(name)).collect();
    let schema = Arc::new(parse_message_type(&format!("message t {{ {fields} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, properties(compression)).unwrap();
    for first in (0..rows).step_by(group_rows) {
        let mut group = writer.next_row_group().unwrap();
        for (_, values) in table {
            values.slice(first..rows.min(first + group_rows)).write(&mut group);
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn csv_of(table: &[(&str, Values)], rows: usize) -> String {
    let mut text = table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",") + "\n";
    for row in 0..rows {
        text += &(table.iter().map(|(_, values)| values.cell(row)).collect::<Vec<_>>().join(",")
            + "\n");
    }
    text
}

fn example(rows: usize) -> Vec<(&'static str, Values)> {
    let each = 0..rows;
    let number = |row: usize| (row % 7 != 2).then(|| (row * row % 1000) as f64 / 8.0);
    vec![
        ("d", Values::Double(each.clone().map(number).collect())),
        (
            "i",
            Values::Int(each.clone().map(|row| (row % 5 != 1).then(|| row as i64 - 50)).collect()),
        ),
        (
            "k",
            Values::Text(
                each.clone().map(|row| (row % 9 != 4).then(|| format!("k{}", row % 13))).collect(),
            ),
        ),
        (
            "b",
            Values::Boolean(
                each.clone().map(|row| (row % 4 != 3).then_some(row % 3 == 0)).collect(),
            ),
        ),
        (
            "y",
            Values::Text(
                each.map(|row| (row % 10 != 9).then(|| format!("c{}", row % 2))).collect(),
            ),
        ),
    ]
}

#[test]
fn parquet_equals_csv() {
    let rows = 40_000;
    let table = example(rows);
    let text = training(csv_of(&table, rows), &target("y")).unwrap();
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())]
    {
        let bytes = parquet_of(&table, rows, 15_000, compression);
        let file = training(bytes, &target("y")).unwrap();
        assert_eq!(text.schema, file.schema);
        assert_eq!(comparable(&whole(&text)), comparable(&whole(&file)));
    }
}

#[test]
fn parquet_streams_from_a_file() {
    let rows = 3000;
    let bytes = parquet_of(&example(rows), rows, 1000, Compression::SNAPPY);
    let path = std::env::temp_dir().join(format!("swarmwood-read-{}.parquet", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let limits = RetentionLimits { bytes: 0, ..RetentionLimits::default() };
    let streamed = super::super::schema_inference::read_training(
        RereadableSource::new(&Source::File(path.clone()), 1 << 20).unwrap(),
        &target("y"),
        limits,
    )
    .unwrap();
    assert!(streamed.is_streamed());
    let memory = training(bytes, &target("y")).unwrap();
    assert_eq!(comparable(&whole(&memory)), comparable(&whole(&streamed)));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_model_of_one_format_reads_the_other() {
    let rows = 60;
    let table = example(rows);
    let schema = training(csv_of(&table, rows), &target("y")).unwrap().schema;
    let bytes = source(parquet_of(&table, rows, 60, Compression::SNAPPY));
    let matched = matching(&bytes, &schema, &target("y")).unwrap();
    assert!(
        matched.warnings.iter().all(|warning| warning.contains("no target")),
        "{:?}",
        matched.warnings
    );
    let mut scored = 0;
    scoring(&bytes, &schema, &ReadOptions::default(), &mut |chunk| {
        scored += chunk.rows;
        Ok(())
    })
    .unwrap();
    assert_eq!(scored, rows);
}

#[test]
fn a_place_in_a_parquet_file_is_a_row() {
    let values = vec![Some(1.0), Some(f64::INFINITY), Some(2.0)];
    let table = [("a", Values::Double(values.clone())), ("y", Values::Double(values))];
    let message = failure(training(parquet_of(&table, 3, 3, Compression::SNAPPY), &target("y")));
    assert!(message.contains("column 'y': row 2: the target 'inf' is infinite"), "{message}");
}

/// A file with one row and columns of odd types.
fn odd(schema: &str, write: impl Fn(&mut SerializedRowGroupWriter<'_, &mut Vec<u8>>)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message t {{ {schema} }}")).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut bytes, schema, properties(Compression::SNAPPY)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn write_i32(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, values: &[i32]) {
    let mut column = group.next_column().unwrap().unwrap();
    let ColumnWriter::Int32ColumnWriter(writer) = column.untyped() else { panic!("not an int32") };
    writer.write_batch(values, None, None).unwrap();
    column.close().unwrap();
}

fn write_i64(group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>, values: &[i64]) {
    let mut column = group.next_column().unwrap().unwrap();
    let ColumnWriter::Int64ColumnWriter(writer) = column.untyped() else { panic!("not an int32") };
    writer.write_batch(values, None, None).unwrap();
    column.close().unwrap();
}

#[test]
fn dates_and_timestamps_are_expanded() {
    let schema = "required int32 day (DATE); required int64 at (TIMESTAMP(MILLIS,true)); \
                  required int32 y;";
    let bytes = odd(schema, |group| {
        write_i32(group, &[19_782, 19_783]);
        write_i64(group, &[1_709_208_000_000, 1_709_211_600_500]);
        write_i32(group, &[0, 1]);
    });
    let rows = training(bytes, &target("y")).unwrap();
    let names: Vec<&str> =
        rows.schema.features.iter().map(|feature| feature.name.as_str()).collect();
    let day = ["day.month", "day.day_of_week", "day.elapsed"];
    assert_eq!(names, [&day[..], &["at.hour", "at.elapsed"]].concat());
    let chunk = whole(&rows);
    assert_eq!(numbers(&chunk, 0), [2.0, 3.0]);
    assert_eq!(numbers(&chunk, 3), [12.0, 13.0]);

    // A text file of the same dates fits the model.
    let text =
        "y,at,day\n0,2024-02-29T12:00:00Z,2024-02-29\n1,2024-02-29T14:00:00.5+01:00,2024-03-01\n";
    let same = matching(&source(text), &rows.schema, &ReadOptions::default()).unwrap();
    assert_eq!(comparable(&whole(&same)), comparable(&chunk));
}

#[test]
fn times_of_day_are_refused_unless_they_are_ignored() {
    let schema = "required int32 t (TIME(MILLIS,true)); required int32 a; required int32 y;";
    let bytes = odd(schema, |group| {
        write_i32(group, &[1, 2]);
        write_i32(group, &[1, 2]);
        write_i32(group, &[0, 1]);
    });
    let message = failure(training(bytes.clone(), &target("y")));
    assert!(message.contains("column 't': a column of times of day cannot be used"), "{message}");
    let rows = training(bytes, &ReadOptions { ignore: vec!["t".into()], ..target("y") }).unwrap();
    assert_eq!(whole(&rows).target, [0.0, 1.0]);
}

#[test]
fn decimals_and_unsigned_numbers_have_their_value() {
    let bytes = odd(
        "required int32 d (DECIMAL(9,2)); required int32 u (UINT_32); required int32 y;",
        |group| {
            write_i32(group, &[12345, -50]);
            write_i32(group, &[-1, 7]);
            write_i32(group, &[0, 1]);
        },
    );
    let chunk = whole(&training(bytes, &target("y")).unwrap());
    assert_eq!(numbers(&chunk, 0), [123.45, -0.5]);
    assert_eq!(numbers(&chunk, 1), [f64::from(u32::MAX), 7.0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A damaged file is an error or other data, never a panic.
    #[test]
    fn damage_is_survived(at in 0.0..1.0_f64, flip in 1_u8.., cut in 0.0..1.0_f64) {
        let mut bytes = parquet_of(&example(200), 200, 100, Compression::SNAPPY);
        let keep = (bytes.len() as f64 * cut) as usize;
        let truncated = bytes[..keep.max(4)].to_vec();
        prop_assert!(training(truncated, &target("y")).is_err());
        let at = 4 + ((bytes.len() - 5) as f64 * at) as usize;
        bytes[at] ^= flip;
        let _ = training(bytes, &target("y"));
    }
}
