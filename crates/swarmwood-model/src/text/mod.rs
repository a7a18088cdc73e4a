//! Models as readable text: a summary, and trees as indented splits.

mod summary;
mod trees;

#[cfg(test)]
mod tests;

pub use summary::{BodyKind, Summary};
pub use trees::TextOptions;

pub(crate) use trees::printable;
