//! Learners over binned shards of rows.

pub mod data;
pub mod metric;
pub mod objective;
