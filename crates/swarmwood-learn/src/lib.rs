//! Learners over binned shards of rows.

pub mod binned_tree;
pub mod bins;
pub mod budget;
pub mod cart;
pub mod context;
pub mod data;
pub mod dataset;
pub mod ensemble;
pub mod ensemble_fit;
pub mod event;
pub mod fold_split;
pub mod greedy;
pub mod kernels;
pub mod leaf_loss;
pub mod linear;
pub mod metric;
pub mod objective;
pub mod plan;
pub mod pool;
pub mod rank_table;
pub mod rank_tree;
pub mod ridge;
pub mod split;
pub mod stats;
mod task_batches;
mod threshold_scan;
pub mod tree_search;
