//! Predictions as Parquet: one row group per chunk, so that memory holds the rows of one chunk.
//!
//! Copied columns are strings, numbers are doubles, leaves are integers, labels and names of features are strings, the
//! prediction set is a list of strings. Only reasons can be missing.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use swarmwood_learn::pool::Pool;

use super::columns::{ChunkResults, ColumnContent, PredictionColumn, TableNames};
use super::table::TableEncoder;

type ParquetResult<T> = std::result::Result<T, ParquetError>;

/// Rows as row groups. The writer of the crate writes to memory, from where every row group is taken
/// as soon as it is complete.
pub(super) struct ParquetEncoder {
    columns: Vec<PredictionColumn>,
    classes: Vec<ByteArray>,
    features: Vec<ByteArray>,
    writer: SerializedFileWriter<Vec<u8>>,
}

impl ParquetEncoder {
    pub(super) fn new(columns: Vec<PredictionColumn>, names: TableNames) -> io::Result<Self> {
        let fields = columns.iter().map(field).collect::<ParquetResult<Vec<TypePtr>>>()?;
        let schema = Type::group_type_builder("predictions").with_fields(fields).build()?;
        let properties = Arc::new(properties(&columns));
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
        let texts = |names: Vec<String>| {
            names.into_iter().map(|name| ByteArray::from(Bytes::from(name))).collect()
        };
        Ok(ParquetEncoder {
            columns,
            classes: texts(names.classes),
            features: texts(names.features),
            writer,
        })
    }

    fn take(&mut self) -> Vec<u8> {
        // The writer counts the bytes itself, so that the places in the footer stay right.
        std::mem::take(self.writer.inner_mut())
    }
}

impl TableEncoder for ParquetEncoder {
    fn encode(&mut self, results: &ChunkResults<'_>, _: &Pool) -> io::Result<Vec<Vec<u8>>> {
        let names = (&self.classes[..], &self.features[..]);
        let mut group = self.writer.next_row_group()?;
        for column in &self.columns {
            write_column(&mut group, &ColumnCells::new(results, column.content, names))?;
        }
        group.close()?;
        Ok(vec![self.take()])
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        self.writer.finish()?;
        Ok(self.take())
    }
}

/// The values of a column that are there, and how they belong to the rows where that is not plain.
struct ColumnCells {
    values: CellValues,
    /// Whether each value is there.
    definition: Option<Vec<i16>>,
    /// 0 where a row begins.
    repetition: Option<Vec<i16>>,
}

enum CellValues {
    Numbers(Vec<f64>),
    Integers(Vec<i32>),
    Texts(Vec<ByteArray>),
}

impl ColumnCells {
    fn new(
        results: &ChunkResults<'_>,
        content: ColumnContent,
        (classes, features): (&[ByteArray], &[ByteArray]),
    ) -> ColumnCells {
        let rows = 0..results.rows;
        let reasons = |at: usize| rows.clone().filter_map(move |row| results.reason(row, at));
        let values = match content {
            ColumnContent::Kept(at) => {
                let text = |text: &String| ByteArray::from(text.as_str());
                CellValues::Texts(results.kept[at].iter().map(text).collect())
            }
            ColumnContent::Label => {
                let label = |&class: &u32| classes.get(class as usize).cloned().unwrap_or_default();
                CellValues::Texts(results.classes.iter().map(label).collect())
            }
            ColumnContent::Value(at) => {
                CellValues::Numbers(rows.clone().map(|row| results.value(row, at)).collect())
            }
            ColumnContent::IntervalEnd(end) => CellValues::Numbers(
                rows.clone().map(|row| results.interval_end(row, end)).collect(),
            ),
            ColumnContent::LeafOf(tree) => {
                let leaf = |row| results.leaf(row, tree).cast_signed();
                CellValues::Integers(rows.clone().map(leaf).collect())
            }
            ColumnContent::ClassSet => return ColumnCells::class_sets(results, classes),
            ColumnContent::Reason(at) => {
                CellValues::Texts(reasons(at).map(|(name, _)| features[name].clone()).collect())
            }
            ColumnContent::ReasonContribution(at) => {
                CellValues::Numbers(reasons(at).map(|(_, contribution)| contribution).collect())
            }
        };

        let definition = match content {
            ColumnContent::Reason(at) | ColumnContent::ReasonContribution(at) => {
                Some(rows.map(|row| i16::from(results.reason(row, at).is_some())).collect())
            }
            _ => None,
        };
        ColumnCells { values, definition, repetition: None }
    }

    /// A list per row: its first entry has repetition level 0, the others 1; an empty list has one
    /// entry that is not there.
    fn class_sets(results: &ChunkResults<'_>, classes: &[ByteArray]) -> ColumnCells {
        let (mut texts, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..results.rows {
            let before = texts.len();
            for class in results.class_set(row) {
                repetition.push(i16::from(texts.len() > before));
                definition.push(1);
                texts.push(classes[class].clone());
            }
            if texts.len() == before {
                repetition.push(0);
                definition.push(0);
            }
        }
        ColumnCells {
            values: CellValues::Texts(texts),
            definition: Some(definition),
            repetition: Some(repetition),
        }
    }
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: &ColumnCells,
) -> ParquetResult<()> {
    let mismatch = || ParquetError::General("the columns differ from the schema".to_string());
    let mut column = group.next_column()?.ok_or_else(mismatch)?;
    let (definition, repetition) = (cells.definition.as_deref(), cells.repetition.as_deref());
    match (column.untyped(), &cells.values) {
        (ColumnWriter::DoubleColumnWriter(writer), CellValues::Numbers(numbers)) => {
            writer.write_batch(numbers, definition, repetition)?
        }
        (ColumnWriter::Int32ColumnWriter(writer), CellValues::Integers(integers)) => {
            writer.write_batch(integers, definition, repetition)?
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), CellValues::Texts(texts)) => {
            writer.write_batch(texts, definition, repetition)?
        }
        _ => return Err(mismatch()),
    };
    column.close()
}

/// The type of a column.
fn field(column: &PredictionColumn) -> ParquetResult<TypePtr> {
    const REQUIRED: Repetition = Repetition::REQUIRED;
    const OPTIONAL: Repetition = Repetition::OPTIONAL;
    let (physical, repetition) = match column.content {
        ColumnContent::Value(_) | ColumnContent::IntervalEnd(_) => (PhysicalType::DOUBLE, REQUIRED),
        ColumnContent::ReasonContribution(_) => (PhysicalType::DOUBLE, OPTIONAL),
        ColumnContent::LeafOf(_) => (PhysicalType::INT32, REQUIRED),
        ColumnContent::Kept(_) | ColumnContent::Label => return text_field(&column.name, REQUIRED),
        ColumnContent::Reason(_) => return text_field(&column.name, OPTIONAL),
        ColumnContent::ClassSet => {
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![text_field("element", REQUIRED)?])
                .build()?;
            let set = Type::group_type_builder(&column.name)
                .with_repetition(REQUIRED)
                .with_converted_type(ConvertedType::LIST)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()?;
            return Ok(Arc::new(set));
        }
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(builder.with_repetition(repetition).build()?))
}

fn text_field(name: &str, repetition: Repetition) -> ParquetResult<TypePtr> {
    let builder = Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_converted_type(ConvertedType::UTF8)
        .with_logical_type(Some(LogicalType::String));
    Ok(Arc::new(builder.build()?))
}

/// Dictionaries for names only: predictions seldom repeat. No index of pages, which would grow with
/// the rows until the file is complete.
fn properties(columns: &[PredictionColumn]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("swarmwood {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false);
    for column in columns {
        let path = match column.content {
            ColumnContent::Label | ColumnContent::Reason(_) => vec![column.name.clone()],
            ColumnContent::ClassSet => {
                vec![column.name.clone(), "list".to_string(), "element".to_string()]
            }
            _ => continue,
        };
        builder = builder.set_column_dictionary_enabled(ColumnPath::new(path), true);
    }
    builder.build()
}
