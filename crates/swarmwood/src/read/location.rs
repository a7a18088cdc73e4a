//! Locations in the data, for messages.

use crate::Error;
use crate::error::DataError;
use crate::message::Message;

/// The name of a source and the unit of its positions.
#[derive(Debug, Clone)]
pub(super) struct SourceLocation {
    /// The file, or `standard input`.
    pub(super) file: String,
    /// Lines of a text file; rows of a Parquet file, which has no lines.
    pub(super) unit: PositionUnit,
}

/// What a position counts, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionUnit {
    /// Lines, the header included.
    Line,
    /// Rows, which start after the header.
    Row,
}

impl SourceLocation {
    /// A fault of the whole file.
    pub(super) fn fault(&self, message: impl Into<Message>, help: impl Into<Message>) -> Error {
        self.build(None, None, message.into(), help.into())
    }

    /// A fault of a column.
    pub(super) fn column(
        &self,
        column: &str,
        message: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Error {
        self.build(None, Some(column), message.into(), help.into())
    }

    /// A fault of a row.
    pub(super) fn row(
        &self,
        at: u64,
        message: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Error {
        self.build(Some(at), None, message.into(), help.into())
    }

    /// A fault of one cell.
    pub(super) fn cell(
        &self,
        at: u64,
        column: &str,
        message: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Error {
        self.build(Some(at), Some(column), message.into(), help.into())
    }

    /// A position in words, for warnings.
    pub(super) fn name(&self, at: u64) -> String {
        match self.unit {
            PositionUnit::Line => format!("line {at}"),
            PositionUnit::Row => format!("row {at}"),
        }
    }

    fn build(
        &self,
        at: Option<u64>,
        column: Option<&str>,
        message: Message,
        help: Message,
    ) -> Error {
        let (line, row) = match self.unit {
            PositionUnit::Line => (at, None),
            PositionUnit::Row => (None, at),
        };

        Error::Data(Box::new(DataError {
            file: self.file.clone(),
            line,
            row,
            column: column.map(String::from),
            message,
            help,
        }))
    }
}

/// A cell's text as it can be shown: broken characters replaced, long texts cut.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// The first few of a list of names, and how many more there are.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const MOST: usize = 20;
    let mut list: Vec<String> =
        names.iter().take(MOST).map(|name| format!("'{}'", name.as_ref())).collect();
    if names.len() > MOST {
        list.push(format!("… ({} more)", names.len() - MOST));
    }
    list.join(", ")
}
