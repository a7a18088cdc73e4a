//! Classification and regression trees (Breiman, Friedman, Olshen, Stone 1984): greedy growth to
//! purity, and the nested trees of minimal cost-complexity pruning.
//!
//! It is what a search over whole trees starts from and is compared with.

mod folds;
mod grow;
mod prune;
#[cfg(test)]
mod tests;
mod validate;

pub use folds::{Fold, deal};
pub use grow::{Growing, Limits, from_rows, grow, regrow};
pub use prune::{Path, Step};
pub use validate::{Choice, Validated, choose_alpha, errors, mean};
