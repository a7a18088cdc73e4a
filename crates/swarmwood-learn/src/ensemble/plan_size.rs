//! How much is compared, for a number of classes: a round has one tree per output, so that every fit
//! takes as many times longer. With many classes fewer candidates are compared, on fewer folds.

use std::ops::{Range, RangeInclusive};

use super::EnsembleShape;
use super::cross_validation::FOLDS;

/// Below this many rows the split into folds is repeated.
const FEW_ROWS: usize = 2_000;
const REPEATS: usize = 2;

/// Below this many rows all folds are used, above it two: fits then differ by less than their
/// noise.
const MANY_ROWS: usize = 30_000;

/// From this many outputs on, shapes are first compared by one greedy candidate each.
const SEVERAL_OUTPUTS: usize = 8;

/// From this many outputs on, only the best shape is searched.
const MANY_OUTPUTS: usize = 16;

/// Leaves of a tree that suits many outputs best. Greedy boosting may be better with other trees;
/// searches of these are better still.
const MEDIUM_LEAVES: RangeInclusive<usize> = 8..=16;

/// Of several shapes, those whose first search strategy is compared, for classes and for numbers. All
/// strategies of the best one are compared.
const SHAPES_OF_CLASSES: usize = 2;
const SHAPES_OF_NUMBERS: usize = 3;

/// Searches that come to the second rung of successive halving, of a shape that was given and of one
/// that was chosen.
const KEPT_OF_ONLY: usize = 3;
const KEPT_OF_CHOSEN: usize = 2;

/// Strategies of the best shape that are compared in a reduced plan: with dropout and without.
pub const REDUCED_STRATEGIES: usize = 2;

/// The size of the comparison of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanSize {
    outputs: usize,
    classes: bool,
}

impl PlanSize {
    /// The size for a number of outputs, which may be those of classes.
    pub fn new(outputs: usize, classes: bool) -> Self {
        PlanSize { outputs, classes }
    }

    /// Whether there are so many outputs that only a part of the candidates is compared.
    pub fn is_reduced(self) -> bool {
        self.outputs >= SEVERAL_OUTPUTS
    }

    /// Whether there are so many outputs that only one search is afforded.
    fn has_many_outputs(self) -> bool {
        self.outputs >= MANY_OUTPUTS
    }

    /// The shapes to compare, of those that there are.
    pub fn shapes(self, all: &[EnsembleShape]) -> Vec<EnsembleShape> {
        let is_medium = |shape: &&EnsembleShape| MEDIUM_LEAVES.contains(&shape.max_leaves);
        let medium: Vec<EnsembleShape> = all.iter().filter(is_medium).copied().collect();
        if self.has_many_outputs() && medium.len() > 1 { medium } else { all.to_vec() }
    }

    /// Greedy candidates of the best shape that follow its first one, in a reduced plan.
    pub fn more_greedy(self) -> usize {
        usize::from(self.is_reduced() && !self.has_many_outputs())
    }

    /// Of several shapes, how many are searched.
    pub fn shapes_searched(self, shapes: usize) -> usize {
        let wanted = match self.classes {
            _ if self.has_many_outputs() => 1,
            true => SHAPES_OF_CLASSES,
            false => SHAPES_OF_NUMBERS,
        };
        wanted.min(shapes)
    }

    /// Of so many shapes, how many searches come to the second rung.
    pub fn searches_kept(self, shapes: usize) -> usize {
        if shapes > 1 { KEPT_OF_CHOSEN } else { KEPT_OF_ONLY }
    }

    /// The folds of each rung of successive halving: all candidates are fitted to the folds of the
    /// first rung, and only the better ones to those of the next.
    pub fn rungs(self, rows: usize) -> Vec<Range<usize>> {
        match rows {
            0..FEW_ROWS if self.is_reduced() => vec![0..2, 2..FOLDS],
            _ if self.is_reduced() => std::iter::once(0..1).collect(),
            0..FEW_ROWS => vec![0..2, 2..FOLDS, FOLDS..REPEATS * FOLDS],
            FEW_ROWS..MANY_ROWS => vec![0..1, 1..3, 3..FOLDS],
            _ => vec![0..1, 1..2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_outputs_never_mean_more_work() {
        let work = |outputs: usize| {
            let size = PlanSize::new(outputs, true);
            let folds = |rows| size.rungs(rows).last().map_or(0, |rung| rung.end);
            (size.shapes_searched(5), folds(1_000), folds(10_000), folds(100_000))
        };
        assert_eq!(work(1), (2, 10, 5, 2));
        assert_eq!(work(7), work(1));
        assert_eq!(work(10), (2, 5, 1, 1));
        assert_eq!(work(26), (1, 5, 1, 1));
    }
}
