//! Predictions as CSV (RFC 4180): one header, one line per row.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;

use swarmwood_learn::pool::{Pool, even_ranges};

use super::columns::{ChunkResults, ColumnContent, PredictionColumn, TableNames, without_formula};
use super::table::TableEncoder;

/// Rows as lines of text.
pub(super) struct CsvEncoder {
    columns: Vec<PredictionColumn>,
    /// The names of the classes as they are in a set.
    classes: Vec<String>,
    /// The names of classes and features as fields.
    fields: TableNames,
    /// Whether the header is written. It comes with the first rows, so that a source that cannot be
    /// read leaves no output at all.
    begun: bool,
    /// Whether texts that a spreadsheet would take for formulas are made harmless.
    is_safe: bool,
}

impl CsvEncoder {
    pub(super) fn new(
        columns: Vec<PredictionColumn>,
        names: TableNames,
        is_safe: bool,
    ) -> CsvEncoder {
        let quoted = |names: &[String]| names.iter().map(|name| field(name)).collect();
        let fields =
            TableNames { classes: quoted(&names.classes), features: quoted(&names.features) };
        CsvEncoder { columns, classes: names.classes, fields, begun: false, is_safe }
    }

    /// The header, the first time.
    fn header(&mut self) -> Option<Vec<u8>> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        let name = |column: &PredictionColumn| match column.content {
            ColumnContent::Kept(_) => self.copied(&column.name),
            _ => field(&column.name),
        };
        let fields: Vec<String> = self.columns.iter().map(name).collect();
        Some((fields.join(",") + "\n").into_bytes())
    }

    /// A text of the input as a field.
    fn copied(&self, text: &str) -> String {
        if self.is_safe { field(&without_formula(text)) } else { field(text) }
    }

    fn lines(&self, results: &ChunkResults<'_>, rows: Range<usize>) -> Vec<u8> {
        let mut text = String::with_capacity(rows.len() * 24);
        for row in rows {
            for (at, column) in self.columns.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                self.push_cell(&mut text, results, row, column.content);
            }
            text.push('\n');
        }
        text.into_bytes()
    }

    /// Writing to a `String` cannot fail, so that its results are dropped.
    fn push_cell(
        &self,
        text: &mut String,
        results: &ChunkResults<'_>,
        row: usize,
        content: ColumnContent,
    ) {
        let _ = match content {
            ColumnContent::Kept(at) => {
                text.push_str(&self.copied(&results.kept[at][row]));
                Ok(())
            }
            ColumnContent::Label => {
                let class = results.classes[row] as usize;
                text.push_str(self.fields.classes.get(class).map_or("", String::as_str));
                Ok(())
            }
            ColumnContent::Value(at) => write!(text, "{}", results.value(row, at)),
            ColumnContent::IntervalEnd(end) => write!(text, "{}", results.interval_end(row, end)),
            ColumnContent::ClassSet => {
                let names: Vec<&str> =
                    results.class_set(row).map(|class| self.classes[class].as_str()).collect();
                text.push_str(&field(&names.join(";")));
                Ok(())
            }
            ColumnContent::LeafOf(tree) => write!(text, "{}", results.leaf(row, tree)),
            ColumnContent::Reason(at) => {
                if let Some((feature, _)) = results.reason(row, at) {
                    text.push_str(&self.fields.features[feature]);
                }
                Ok(())
            }
            ColumnContent::ReasonContribution(at) => match results.reason(row, at) {
                Some((_, contribution)) => write!(text, "{contribution}"),
                None => Ok(()),
            },
        };
    }
}

impl TableEncoder for CsvEncoder {
    fn encode(&mut self, results: &ChunkResults<'_>, pool: &Pool) -> io::Result<Vec<Vec<u8>>> {
        let header = self.header();
        let ranges = even_ranges(results.rows, pool.threads());
        let lines = pool.map(ranges.len(), |range| self.lines(results, ranges[range].clone()));
        Ok(header.into_iter().chain(lines).collect())
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.header().unwrap_or_default())
    }
}

/// A field, quoted where it must be.
pub(super) fn field(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if plain { text.to_string() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
