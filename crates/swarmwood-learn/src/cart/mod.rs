//! Classification and regression trees (Breiman, Friedman, Olshen, Stone 1984): greedy growth to
//! purity, minimal cost-complexity pruning, and the choice of a pruned tree by cross-validation.
//!
//! It is the starting point and the baseline of the search over whole trees.

mod cross_validate;
mod folds;
mod grow;
mod prune;
#[cfg(test)]
mod tests;

pub use cross_validate::{
    CartFit, PruningChoice, PruningConfig, PruningScore, choose_alpha, fit_cart, row_errors,
    weighted_mean,
};
pub use folds::{TreeFold, stratified_folds};
pub use grow::{CartGrower, TreeLimits};
pub use prune::{PruningPath, PruningStep};
