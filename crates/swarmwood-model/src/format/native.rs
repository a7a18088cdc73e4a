//! Swarmwood's own format, versions 1 to 3: JSON as described in `docs/model-format.md`.
//!
//! The same model always gives the same bytes, and numbers are written so that reading restores
//! every bit. All versions can be read forever. Version 2 adds vector trees, version 3 what belongs
//! to decisions, dates, counts of training rows and targets of several columns; a model without them
//! is written as the older version.

use crate::check::ModelError;
use crate::ensemble::Model;

mod read;
mod tables;
mod write;

#[cfg(test)]
mod tests;

/// The value of the key `format`.
const FORMAT: &str = "swarmwood";

/// The newest version that this module reads.
const VERSION: u64 = 3;

/// Why bytes cannot be read as a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes are not JSON, or do not match the schema.
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
    /// The bytes are JSON of another format.
    #[error("not a swarmwood model: the key `format` must be \"swarmwood\", found \"{found}\"")]
    OtherFormat {
        /// The value of the key.
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
    /// There is no such version.
    #[error("format version {found} does not exist; versions start at 1")]
    UnknownVersion {
        /// The version of the file.
        found: u64,
    },
    /// A list of a tree has the wrong length or contains a value that is out of range.
    #[error("tree {tree}: `{key}` {problem}")]
    Tree {
        /// Which tree, counted from 0.
        tree: usize,
        /// Which list.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A required part is missing, or one that is not allowed is present.
    #[error("{location}: {problem}")]
    Part {
        /// Which part of the file.
        location: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file was written by another library and cannot be imported.
    #[error("{library} model: {problem}")]
    Foreign {
        /// Which library wrote it.
        library: &'static str,
        /// What is wrong or not supported, and what to do about it.
        problem: String,
    },
    /// The file is well formed, but the model violates an invariant.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Whether a model has what only version 3 can express.
fn needs_version_3(model: &Model) -> bool {
    let Model { calibration, schema, provenance, .. } = model;
    let has_columns = !schema.target.kind.columns().is_empty();
    let has_stats = !provenance.stats.is_empty();
    !calibration.is_empty() || !schema.dates.is_empty() || has_stats || has_columns
}

/// Writes a model as JSON; the same model always gives the same bytes.
///
/// A model that does not pass [`Model::check`] is refused, because it could not be read again.
///
/// ```
/// # use swarmwood_model::*;
/// # let model = Model {
/// #     schema: Schema {
/// #         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
/// #         target: Target { name: "price".into(), kind: TargetKind::Number },
/// #         dates: Vec::new(),
/// #     },
/// #     link: Link::Identity,
/// #     objective: "squared".into(),
/// #     base: vec![0.1 + 0.2],
/// #     body: Body::Trees(vec![]),
/// #     provenance: Provenance::default(),
/// #     calibration: Calibration::default(),
/// # };
/// let json = format::to_json(&model)?;
/// assert_eq!(format::from_json(json.as_bytes()), Ok(model));
/// # Ok::<(), ModelError>(())
/// ```
pub fn to_json(model: &Model) -> Result<String, ModelError> {
    model.check()?;
    Ok(write::write(model))
}

/// Reads a model from JSON. The result has passed [`Model::check`].
pub fn from_json(bytes: &[u8]) -> Result<Model, FormatError> {
    let model = read::read(bytes)?;
    model.check()?;
    Ok(model)
}
