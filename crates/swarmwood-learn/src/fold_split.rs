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
    ///
    /// ```
    /// use swarmwood_learn::fold_split::FoldSplit;
    /// use swarmwood_search::rng::Stream;
    ///
    /// let class = [0, 1, 0, 1, 0, 0, 1, 0, 1];
    /// let split = FoldSplit::new(9, 3, Stream::new(1, 2, 3), |a, b| class[a].cmp(&class[b]));
    /// let (train, test) = (split.train_rows(0), split.test_rows(0));
    /// assert_eq!((train.len(), test.len()), (6, 3));
    /// assert!(test.iter().all(|row| !train.contains(row)));
    /// assert!((0..3).all(|fold| split.test_rows(fold).iter().any(|&row| class[row] == 1)));
    /// ```
    pub fn new(
        rows: usize,
        folds: usize,
        mut stream: Stream,
        stratum: impl Fn(usize, usize) -> Ordering,
    ) -> Self {
        let mut order: Vec<usize> = (0..rows).collect();
        stream.shuffle(&mut order);
        order.sort_by(|&a, &b| stratum(a, b));
        let mut fold = vec![0; rows];
        order.into_iter().enumerate().for_each(|(at, row)| fold[row] = (at % folds) as u32);
        FoldSplit { fold }
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
