//! Swarmwood's own format, version 1: JSON as described in `docs/model-format.md`.
//!
//! Writing is deterministic to the byte, and numbers are written so that they are read back to the
//! bit. Version 1 can be read forever; a change of the schema is a new version with its own types,
//! converted to the model from there.

use crate::check::ModelError;
use crate::ensemble::Model;

mod read;
mod tables;
mod write;

#[cfg(test)]
mod tests;

/// The value of the key `format`.
pub const FORMAT: &str = "swarmwood";

/// The version this module writes, and the newest it reads.
pub const VERSION: u64 = 1;

/// Why bytes are not a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes are no JSON, or not of the schema.
    #[error(
        "line {line}, column {column}: {message}; the file is damaged or not a swarmwood model"
    )]
    Syntax {
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// The bytes are JSON of something else.
    #[error("not a swarmwood model: the key `format` must be \"swarmwood\", found \"{found}\"")]
    OtherFormat {
        /// What the key holds.
        found: String,
    },
    /// The model was written by a newer program.
    #[error(
        "the model has format version {found}, but this program reads versions up to {VERSION}; update swarmwood"
    )]
    NewerVersion {
        /// The version of the file.
        found: u64,
    },
    /// There never was such a version.
    #[error("format version {found} does not exist; versions start at 1")]
    UnknownVersion {
        /// The version of the file.
        found: u64,
    },
    /// A table of a tree has the wrong length or holds something out of range.
    #[error("tree {tree}: `{key}` {problem}")]
    Tree {
        /// Which tree, counted from 0.
        tree: usize,
        /// Which table.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A part that belongs to the kind of thing described is missing, or one that does not belong
    /// is there.
    #[error("{place}: {problem}")]
    Part {
        /// Where.
        place: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file is another library's and cannot be read.
    #[error("{library} model: {problem}")]
    Foreign {
        /// Which library wrote it.
        library: &'static str,
        /// What is wrong with it or not supported, and how to mend it.
        problem: String,
    },
    /// The file is well formed, but what it describes is no model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The model as JSON, the same bytes for the same model.
///
/// A model that does not pass [`Model::check`] is refused: what cannot be read must not be written.
///
/// ```
/// # use swarmwood_model::*;
/// # let model = Model {
/// #     schema: Schema {
/// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
/// #         target: Target { name: "price".into(), kind: TargetKind::Number },
/// #     },
/// #     link: Link::Identity,
/// #     objective: "squared".into(),
/// #     base: vec![0.1 + 0.2],
/// #     body: Body::Trees(vec![]),
/// #     provenance: Provenance::default(),
/// # };
/// let json = format::to_json(&model)?;
/// assert_eq!(format::from_json(json.as_bytes()), Ok(model));
/// # Ok::<(), ModelError>(())
/// ```
pub fn to_json(model: &Model) -> Result<String, ModelError> {
    model.check()?;
    Ok(write::write(model))
}

/// The model that JSON describes. It has passed [`Model::check`].
pub fn from_json(bytes: &[u8]) -> Result<Model, FormatError> {
    let model = read::read(bytes)?;
    model.check()?;
    Ok(model)
}
