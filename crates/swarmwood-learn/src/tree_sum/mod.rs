//! A sum of a few small trees under a budget of splits: the most readable model of its accuracy.
//!
//! FIGS (Tan, Singh, Nasseri, Agarwal, Yu 2022) grows such a sum greedily: the best split of any leaf
//! of any tree, or of a new root, with the other trees as they are. Here all leaf values and the
//! intercept are fitted together after every change (`leaf_fit.rs`), splits are compared by their
//! joint gain (`split_scan.rs`), and the greedy sum is only the start of a search that removes splits
//! and adds others (`search.rs`, `moves.rs`). Cross-validation chooses how long to search, the ridge,
//! and whether one tree ([`tree_search`](crate::tree_search)) is better than a sum (`select.rs`).
//!
//! Three or more classes share their trees; a leaf has one value per class (`class_fit.rs`).

mod class_fit;
mod leaf_fit;
mod model;
mod moves;
mod normal_equations;
mod rows;
mod search;
mod select;
mod split_scan;
mod test_loss;
#[cfg(test)]
mod tests;

pub use model::TreeSumFit;
pub use select::{TreeSumCandidate, TreeSumReport, fit};

/// Number of iterations of the search by default.
pub const DEFAULT_ITERATIONS: usize = 300;

/// What a sum of trees may be made of, and how it is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSumConfig {
    /// Maximum number of splits of all trees together.
    pub splits: usize,
    /// Minimum number of rows in a leaf.
    pub min_leaf: usize,
    /// Number of bins of a numerical column.
    pub bins: usize,
    /// Number of iterations of the search; 0 is greedy growth alone.
    pub iterations: usize,
    /// Whether one tree is a candidate too.
    pub with_one_tree: bool,
    /// Number of folds of the cross-validation.
    pub folds: usize,
    /// Seed of the random streams.
    pub seed: u64,
}
