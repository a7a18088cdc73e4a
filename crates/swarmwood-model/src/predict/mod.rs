//! From input columns to raw scores, leaf indices and predictions.
//!
//! There are two ways to compute a raw score. The *traversal* ([`Model::raw_row`]) follows one row
//! from the root to a leaf and defines what a model predicts. The [`Predictor`] is a compiled model
//! for blocks of rows: each feature of a block is encoded as one byte per row, the number of the
//! model's thresholds below the value, and trees are evaluated on these bytes without branches.
//! Both add the leaf values to the start value in the order of the trees, in `f64`, so their raw
//! scores are the same to the last bit, on every machine.
//!
//! **Invariant:** no threads, no I/O, and one module with `unsafe` (`kernels`).
//!
//! [`Model::raw_row`]: crate::Model::raw_row

mod block;
mod columns;
mod compile;
mod interval;
mod kernels;
mod link;
mod predictor;
mod traverse;

#[cfg(test)]
mod tests;

pub use block::{Block, BlockError, ColumnView, FeatureValue, MISSING};
pub use link::{Prediction, Predictions};
pub use predictor::Predictor;

pub(crate) use block::level_counts;
pub(crate) use traverse::unknown_to_missing;
