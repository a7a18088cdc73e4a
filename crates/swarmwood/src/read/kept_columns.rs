//! Input columns that are copied beside predictions.

use super::frame::Slot;
use super::layout;
use super::location::SourceLocation;
use crate::Result;

/// Which input columns are copied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeepColumns {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl KeepColumns {
    /// The positions of the columns, in the order of the input.
    pub(super) fn positions(
        &self,
        names: &[String],
        location: &SourceLocation,
    ) -> Result<Vec<usize>> {
        match self {
            KeepColumns::None => Ok(Vec::new()),
            KeepColumns::All => Ok((0..names.len()).collect()),
            KeepColumns::Named(wanted) => {
                let mut positions = layout::find_all(names, wanted, "kept", location)?;
                positions.sort_unstable();
                positions.dedup();
                Ok(positions)
            }
        }
    }
}

/// The texts of the copied columns, of the rows of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptCells {
    /// The names of the columns, in the order of the input.
    pub names: Vec<String>,
    /// By column, one text per row.
    pub columns: Vec<Vec<String>>,
    /// Where the columns are in the input.
    pub(super) positions: Vec<usize>,
}

impl KeptCells {
    /// No rows of these columns yet.
    pub(super) fn new(slots: impl Iterator<Item = Slot>) -> KeptCells {
        let mut kept = KeptCells::default();
        for Slot { position, name } in slots {
            kept.names.push(name);
            kept.positions.push(position);
            kept.columns.push(Vec::new());
        }
        kept
    }

    /// Adds a cell of a column.
    pub(super) fn push(&mut self, column: usize, text: &[u8]) {
        self.columns[column].push(String::from_utf8_lossy(text).into_owned());
    }

    /// The cells so far; the columns go on empty.
    pub(super) fn take(&mut self) -> KeptCells {
        let empty = KeptCells {
            names: self.names.clone(),
            columns: vec![Vec::new(); self.columns.len()],
            positions: self.positions.clone(),
        };
        std::mem::replace(self, empty)
    }
}
