//! What several engines are tested with.

pub(crate) mod functions;
mod tuning;
