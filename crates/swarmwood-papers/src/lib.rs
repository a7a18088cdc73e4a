//! Published methods, on the interfaces of `swarmwood-learn`: boosted trees as sequences of rules
//! out of a table, and one tree by a particle swarm over the thresholds of a grid, over a matrix of
//! symbols, or over the split points of a model.

pub mod class_fitness;
mod engine_loop;
pub mod full_tree;
pub mod particle;
pub mod policy_gradient;
pub mod rule_table;
pub mod swarm_boosting;
#[cfg(test)]
mod test_context;
pub mod threshold_grid;
