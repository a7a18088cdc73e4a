//! Stratified folds for cross-validation.

use std::cmp::Ordering;

use swarmwood_search::rng::Stream;

/// The fold of every row.
#[derive(Debug, Clone)]
pub struct FoldSplit {
    fold: Vec<u32>,
}

impl FoldSplit {
    /// Assigns rows to folds at random. Rows are sorted by `stratum` and assigned in turn, so that
    /// every fold gets the same share of each stratum (class, or range of the target).
    pub fn new(
        rows: usize,
        folds: usize,
        mut stream: Stream,
        stratum: impl Fn(usize, usize) -> Ordering,
    ) -> Self {
        let mut order: Vec<usize> = (0..rows).collect();
        stream.shuffle(&mut order);
        order.sort_by(|&a, &b| stratum(a, b));
        FoldSplit::in_turn(&order, folds)
    }

    /// Assigns rows, numbered from 0 without gaps, to folds in turn along an order of the caller.
    pub fn in_turn(order: &[usize], folds: usize) -> Self {
        let mut fold = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &row)| fold[row] = (at % folds) as u32);
        FoldSplit { fold }
    }

    /// The fold of every row.
    pub fn fold_of_row(&self) -> Vec<usize> {
        self.fold.iter().map(|&fold| fold as usize).collect()
    }

    /// The rows of a fold, ascending.
    pub fn test_rows(&self, fold: usize) -> Vec<usize> {
        self.filter(|of_row| of_row == fold)
    }

    /// The rows of all other folds, ascending.
    pub fn train_rows(&self, fold: usize) -> Vec<usize> {
        self.filter(|of_row| of_row != fold)
    }

    fn filter(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| wanted(self.fold[row] as usize)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_tested_once_and_every_fold_has_its_share_of_each_class() {
        let class = [0, 1, 0, 1, 0, 0, 1, 0, 1];
        let split = FoldSplit::new(9, 3, Stream::new(1, 2, 3), |a, b| class[a].cmp(&class[b]));
        let mut tested: Vec<usize> = (0..3).flat_map(|fold| split.test_rows(fold)).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..9).collect::<Vec<_>>());

        for fold in 0..3 {
            let (train, test) = (split.train_rows(fold), split.test_rows(fold));
            assert_eq!((train.len(), test.len()), (6, 3));
            assert!(test.iter().all(|row| !train.contains(row)));
            assert!(test.iter().any(|&row| class[row] == 1));
        }
    }
}
