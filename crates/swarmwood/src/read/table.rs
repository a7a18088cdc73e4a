//! An opened table: its column names, and its rows poured into a frame.

use std::collections::HashMap;
use std::io::Read;

use super::frame::ChunkFrame;
use super::location::{SourceLocation, shown};
use super::number_format::{self, DecimalSign, FoundFormat, NumberFormat};
use super::source::{ReadMeter, SourceReader, TextInput, check_text, read_fault};
use super::split::{SplitError, Splitter};
use super::{ReadProgress, TextFormat, delimiter, encoding};
use crate::{Error, Result};

/// What a typed source says of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// Nothing; the cells tell.
    Untyped,
    /// Numbers.
    Number,
    /// Dates or timestamps.
    Date,
    /// Texts or booleans, which are categories even if they look like numbers.
    Text,
}

/// A table whose header has been read.
pub(super) enum OpenTable {
    /// Delimited text.
    Text(TextTable),
    /// A Parquet file.
    #[cfg(feature = "parquet")]
    Parquet(super::parquet::ParquetTable),
}

impl OpenTable {
    /// Reads the header.
    pub(super) fn open(opened: SourceReader, format: TextFormat) -> Result<OpenTable> {
        match opened {
            SourceReader::Text(input) => TextTable::open(input, format).map(OpenTable::Text),
            #[cfg(feature = "parquet")]
            SourceReader::Parquet(input) => {
                super::parquet::ParquetTable::open(input).map(OpenTable::Parquet)
            }
            #[cfg(not(feature = "parquet"))]
            SourceReader::Parquet(input) => {
                let help = "build with the feature 'parquet', or convert the file to CSV";
                Err(input.location.fault("this build cannot read Parquet", help))
            }
        }
    }

    /// The column names, each once and none empty.
    pub(super) fn names(&self) -> &[String] {
        match self {
            OpenTable::Text(table) => &table.names,
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(table) => table.names(),
        }
    }

    /// What the source says of a column's type.
    pub(super) fn column_type(&self, _position: usize) -> ColumnType {
        match self {
            OpenTable::Text(_) => ColumnType::Untyped,
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(table) => table.column_type(_position),
        }
    }

    /// How places in this table are named.
    pub(super) fn location(&self) -> &SourceLocation {
        match self {
            OpenTable::Text(table) => &table.location,
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(table) => table.location(),
        }
    }

    /// How much of the table has been read.
    pub(super) fn meter(&self) -> Option<ReadMeter> {
        match self {
            OpenTable::Text(table) => table.meter.clone(),
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(table) => Some(table.meter()),
        }
    }

    /// How its numbers are written.
    pub(super) fn number_format(&self) -> NumberFormat {
        match self {
            OpenTable::Text(table) => table.number_format,
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(_) => NumberFormat::default(),
        }
    }

    /// A warning about numbers that could be read in two ways.
    pub(super) fn ambiguity(&self) -> Option<&String> {
        match self {
            OpenTable::Text(table) => table.ambiguity.as_ref(),
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(_) => None,
        }
    }

    /// Warnings about the header, and about what was detected.
    pub(super) fn warnings(&self) -> &[String] {
        match self {
            OpenTable::Text(table) => &table.warnings,
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(_) => &[],
        }
    }

    /// Pours all rows into the frame, which is handed over whenever it is full and once at the end.
    pub(super) fn read(
        self,
        frame: &mut ChunkFrame,
        each: &mut dyn FnMut(&mut ChunkFrame) -> Result<ReadProgress>,
    ) -> Result<ReadProgress> {
        match self {
            OpenTable::Text(table) => table.read(frame, each),
            #[cfg(feature = "parquet")]
            OpenTable::Parquet(table) => table.read(frame, each),
        }
    }
}

/// A text file whose header has been read.
pub(super) struct TextTable {
    location: SourceLocation,
    names: Vec<String>,
    warnings: Vec<String>,
    number_format: NumberFormat,
    ambiguity: Option<String>,
    splitter: Splitter<Box<dyn Read>>,
    compressed: bool,
    meter: Option<ReadMeter>,
}

impl TextTable {
    fn open(input: TextInput, format: TextFormat) -> Result<TextTable> {
        let (input, guess) = encoding::decode(input, format.encoding)?;
        check_text(&input)?;
        let TextInput { location, mut head, rest, compressed, meter } = input;
        if head.starts_with(b"\xEF\xBB\xBF") {
            head.drain(..3);
        }
        let terminator =
            if !head.contains(&b'\n') && head.contains(&b'\r') { b'\r' } else { b'\n' };
        let delimiter = format.delimiter.unwrap_or_else(|| delimiter::find(&head, terminator));
        let found = match format.decimal {
            Some(decimal) => FoundFormat { decimal, ..FoundFormat::default() },
            None => number_format::find(&head, delimiter, terminator),
        };
        let mut splitter = Splitter::new(head, rest, delimiter, terminator);
        if !splitter.advance().map_err(|error| split_fault(&location, compressed, error))? {
            let help = "a line with the column names and lines with the values are needed";
            return Err(location.fault("the file is empty", help));
        }
        let mut warnings: Vec<String> = guess.into_iter().collect();
        let names = header(&splitter, &location, &mut warnings)?;
        let ambiguity = ambiguity(&found, &names, &location);
        warnings.extend(format_warnings(&found, &names, &location));
        warnings.extend(ambiguity.clone());
        let number_format = NumberFormat { decimal: found.decimal, thousands: format.thousands };
        Ok(TextTable {
            location,
            names,
            warnings,
            number_format,
            ambiguity,
            splitter,
            compressed,
            meter,
        })
    }

    fn read(
        mut self,
        frame: &mut ChunkFrame,
        each: &mut dyn FnMut(&mut ChunkFrame) -> Result<ReadProgress>,
    ) -> Result<ReadProgress> {
        let fault = |error| split_fault(&self.location, self.compressed, error);
        while self.splitter.advance().map_err(fault)? {
            if self.splitter.len() != self.names.len() {
                if self.splitter.is_blank() {
                    continue;
                }
                return Err(ragged(&self.location, &self.splitter, self.names.len()));
            }
            let splitter = &self.splitter;
            frame.push_row(|position| splitter.field(position), splitter.line())?;
            if frame.rows >= frame.chunk_rows && each(frame)? == ReadProgress::Stop {
                return Ok(ReadProgress::Stop);
            }
        }
        if frame.rows > 0 { each(frame) } else { Ok(ReadProgress::Continue) }
    }
}

/// Says how numbers are read that are not written plainly.
fn format_warnings(
    found: &FoundFormat,
    names: &[String],
    location: &SourceLocation,
) -> impl Iterator<Item = String> {
    let warn = |(position, cell): &(usize, String), message: String| {
        let (file, name) = (&location.file, &names[*position]);
        format!("{file}: column '{name}': '{}' {message}", shown(cell.as_bytes()))
    };
    let comma = found.decisive.as_ref().map(|column| {
        let message = "is read as a number with a decimal comma, and so are all columns; use \
                       --decimal . if that is wrong";
        warn(column, message.to_string())
    });
    let format = NumberFormat { decimal: found.decimal, thousands: None };
    let unit = found.with_unit.as_ref().map(|column| {
        let number = format.number(column.1.as_bytes()).unwrap_or(f64::NAN);
        warn(column, format!("is read as the number {number}"))
    });
    comma.into_iter().chain(unit)
}

/// A warning about numbers that could be read in two ways.
fn ambiguity(found: &FoundFormat, names: &[String], location: &SourceLocation) -> Option<String> {
    let (position, cell) = found.ambiguous.as_ref()?;
    let format = NumberFormat { decimal: found.decimal, thousands: None };
    let number = format.number(cell.as_bytes())?;
    let other = match found.decimal {
        DecimalSign::Point => ',',
        DecimalSign::Comma => '.',
    };
    Some(format!(
        "{}: column '{}': '{}' is read as {number}; use --decimal {other} if that is wrong",
        location.file,
        names[*position],
        shown(cell.as_bytes())
    ))
}

/// The names of the first record. A column without a name is called by its number.
fn header<R: Read>(
    splitter: &Splitter<R>,
    location: &SourceLocation,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>> {
    let line = splitter.line();
    let mut names = Vec::with_capacity(splitter.len());
    for position in 0..splitter.len() {
        let number = position + 1;
        let Ok(name) = std::str::from_utf8(splitter.field(position)) else {
            let message = format!("the name of column {number} is not UTF-8 text");
            let help = "name the encoding, such as --encoding windows-1252";
            return Err(location.row(line, message, help));
        };
        if name.is_empty() {
            let name = format!("column_{number}");
            warnings.push(format!(
                "{}: column {number} has no name and is called '{name}'; ignore it if it only numbers the rows \
                 (--ignore {name})",
                location.file
            ));
            names.push(name);
        } else {
            names.push(name.to_string());
        }
    }
    check_unique(&names, location, Some(line))?;
    Ok(names)
}

/// Columns must have distinct names.
pub(super) fn check_unique(
    names: &[String],
    location: &SourceLocation,
    line: Option<u64>,
) -> Result<()> {
    let mut first = HashMap::new();
    for (position, name) in names.iter().enumerate() {
        if let Some(earlier) = first.insert(name.as_str(), position) {
            let message =
                format!("columns {} and {} have the same name '{name}'", earlier + 1, position + 1);
            let help = "rename or remove one of them";
            return Err(match line {
                Some(line) => location.row(line, message, help),
                None => location.fault(message, help),
            });
        }
    }
    Ok(())
}

fn ragged<R: Read>(location: &SourceLocation, splitter: &Splitter<R>, expected: usize) -> Error {
    let (line, last) = (splitter.line(), splitter.last_line());
    let message = format!("{} fields where the header has {expected}", splitter.len());
    let help = if last > line {
        format!("the row runs over the lines {line} to {last}: is a quote left open?")
    } else {
        String::from(
            "add or remove fields, put quotes around text that holds the delimiter, or give the delimiter",
        )
    };
    location.row(line, message, help)
}

fn split_fault(location: &SourceLocation, compressed: bool, error: SplitError) -> Error {
    match error {
        SplitError::Read(error) => read_fault(location, compressed, error),
        SplitError::OpenQuote(line) => location.row(
            line,
            "a quote opens here and is never closed",
            "close it, or double a quote that is text",
        ),
        SplitError::AfterQuote(opened, closed) => {
            let message = format!(
                "the quoted field that opens on line {opened} goes on after its closing quote"
            );
            location.row(
                closed,
                message,
                "a quote before it is not closed, or a quote inside the field is not doubled",
            )
        }
        SplitError::LongRecord(line) => location.row(
            line,
            "a row starts here and does not end within 64 MB",
            "is a quote left open?",
        ),
    }
}
