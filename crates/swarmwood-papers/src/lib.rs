//! Methods as published: one tree by a particle swarm over the thresholds of a grid, over a matrix
//! of symbols, or over the split points of a model.

pub mod class_fitness;
mod engine_loop;
pub mod full_tree;
#[cfg(test)]
mod test_context;
pub mod threshold_grid;
