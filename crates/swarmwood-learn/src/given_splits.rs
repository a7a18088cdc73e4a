//! Splits that are given: the top of every tree, below which trees are grown as always.

use swarmwood_model::Test;

/// A split that is given.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenSplit {
    /// The feature of the schema.
    pub feature: usize,
    /// The test; rows that pass go right.
    pub test: Test,
    /// Whether missing values go right; `None` if each tree chooses their side.
    pub missing_right: Option<bool>,
    /// The given splits below it, left and right.
    pub children: [Option<usize>; 2],
}

/// The top of a tree, parents before children; empty if no split is given.
///
/// ```
/// use swarmwood_learn::given_splits::{GivenSplit, GivenSplits};
/// use swarmwood_model::Test;
///
/// let split = |feature, left| GivenSplit {
///     feature,
///     test: Test::Above(2.5),
///     missing_right: None,
///     children: [left, None],
/// };
/// let splits = GivenSplits::new(vec![split(3, Some(1)), split(0, None)]);
/// assert_eq!((splits.leaves(), splits.depth(), splits.features()), (3, 2, vec![0, 3]));
/// assert_eq!(splits.paths(), [vec![3], vec![3, 0]]);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GivenSplits {
    splits: Vec<GivenSplit>,
}

impl GivenSplits {
    /// No split.
    pub const NONE: GivenSplits = GivenSplits { splits: Vec::new() };

    /// The first split is the root; children must come after their parents.
    ///
    /// # Panics
    /// If a child comes before its parent.
    pub fn new(splits: Vec<GivenSplit>) -> Self {
        for (at, split) in splits.iter().enumerate() {
            let mut children = split.children.iter().flatten();
            assert!(children.all(|&child| child > at && child < splits.len()));
        }
        GivenSplits { splits }
    }

    /// Whether no split is given.
    pub fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    /// The splits, parents before children.
    pub fn splits(&self) -> &[GivenSplit] {
        &self.splits
    }

    /// Leaves of the top by itself.
    pub fn leaves(&self) -> usize {
        self.splits.len() + 1
    }

    /// Splits on the longest path.
    pub fn depth(&self) -> usize {
        self.paths().iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The features that are split on, ascending.
    pub fn features(&self) -> Vec<usize> {
        let mut features: Vec<usize> = self.splits.iter().map(|split| split.feature).collect();
        features.sort_unstable();
        features.dedup();
        features
    }

    /// The features from the root to each split, that of the split included.
    pub fn paths(&self) -> Vec<Vec<usize>> {
        let mut paths: Vec<Vec<usize>> = vec![Vec::new(); self.splits.len()];
        for (at, split) in self.splits.iter().enumerate() {
            paths[at].push(split.feature);
            for &child in split.children.iter().flatten() {
                paths[child] = paths[at].clone();
            }
        }
        paths
    }

    /// The thresholds of a feature, ascending.
    pub fn thresholds(&self, feature: usize) -> Vec<f64> {
        let of_feature = self.splits.iter().filter(|split| split.feature == feature);
        let mut thresholds: Vec<f64> = of_feature
            .filter_map(|split| match split.test {
                Test::Above(threshold) => Some(threshold),
                Test::In(_) => None,
            })
            .collect();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        thresholds
    }
}
