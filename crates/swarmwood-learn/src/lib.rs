//! Learners over binned shards of rows.

pub mod bins;
pub mod cart;
pub mod data;
pub mod dataset;
pub mod event;
pub mod greedy;
pub mod grown;
pub mod kernels;
pub mod leaf_loss;
pub mod linear;
pub mod metric;
pub mod objective;
pub mod particle;
pub mod pool;
pub mod published;
pub mod ranked;
pub mod ridge;
pub mod rule_table;
pub mod shard;
pub mod sketch;
pub mod split;
pub mod swarm;
pub mod sweep;
pub mod tree_search;
pub mod workers;
