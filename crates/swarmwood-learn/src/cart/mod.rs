//! Classification and regression trees (Breiman, Friedman, Olshen, Stone 1984): greedy growth to
//! purity (by impurity, or by the gain ratio of C4.5), minimal cost-complexity pruning, and the choice of a pruned tree by cross-validation.
//!
//! It is the starting point and the baseline of the search over whole trees.

mod cross_validate;
mod folds;
mod gain_ratio;
mod grow;
mod prune;
#[cfg(test)]
mod tests;

pub use cross_validate::{PruningChoice, PruningConfig, PruningScore, choose_alpha, fit_cart};
pub(crate) use cross_validate::{row_errors, weighted_mean};
pub use folds::{TreeFold, stratified_folds};
pub use gain_ratio::RuleSelection;
pub(crate) use grow::features_below;
pub use grow::{CartGrower, TreeLimits};
pub use prune::PruningPath;
