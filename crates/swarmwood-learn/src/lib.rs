//! Learners over binned shards of rows.

pub mod data;
pub mod event;
pub mod kernels;
pub mod linear;
pub mod metric;
pub mod objective;
