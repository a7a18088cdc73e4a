//! Tests of several engines.

pub(crate) mod functions;
mod tuning;
