//! Models as files: one module a format. A format is a function from a model to bytes and one back; both are separate
//! from the model's types, and whatever a reader accepts has passed [`Model::check`](crate::Model::check).
//!
//! **Invariant:** the only serde of the crate lives below this module, and no reader panics or allocates more than a
//! small multiple of its input, whatever the input is.

pub mod native;

pub use native::{FormatError, from_json, to_json};
