//! From input columns to raw scores, leaf indices and predictions.
//!
//! Two ways lead to a raw score. The *walk* ([`Model::raw_row`]) follows one row from the root to a
//! leaf and is what the model means. The [`Predictor`] is a compiled model that takes whole blocks
//! of rows: each feature of a block is turned into one byte per row, the number of the model's
//! thresholds that lie below the value, and trees are evaluated on these bytes without a branch.
//! Both add the leaf values to the start value in the order of the trees, in `f64`, so their raw
//! scores are the same to the last bit, on every machine.
//!
//! **Invariant:** no threads, no I/O, and one module with `unsafe` (`kernels`).
//!
//! [`Model::raw_row`]: crate::Model::raw_row

mod block;
mod columns;
mod compile;
mod kernels;
mod link;
mod predictor;
mod walk;

#[cfg(test)]
mod tests;

pub use block::{Block, BlockError, ColumnView, FeatureValue, MISSING};
pub use link::{Prediction, Predictions};
pub use predictor::Predictor;

pub(crate) use block::level_counts;
pub(crate) use walk::known;
