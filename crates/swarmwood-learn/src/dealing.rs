//! Rows dealt to folds for cross-validation: at random, and rows alike in turns to different folds.

use std::cmp::Ordering;

use swarmwood_search::rng::Stream;

/// The fold that every row was dealt to.
#[derive(Debug, Clone)]
pub struct Dealing {
    fold: Vec<u32>,
}

impl Dealing {
    /// Draws the order; rows that `alike` orders are dealt in that order, so that every fold gets
    /// its share of each kind.
    ///
    /// ```
    /// use swarmwood_learn::dealing::Dealing;
    /// use swarmwood_search::rng::Stream;
    ///
    /// let class = [0, 1, 0, 1, 0, 0, 1, 0, 1];
    /// let dealing = Dealing::new(9, 3, Stream::new(1, 2, 3), |a, b| class[a].cmp(&class[b]));
    /// let (fit, judged) = (dealing.rows_but(0), dealing.rows_of(0));
    /// assert_eq!((fit.len(), judged.len()), (6, 3));
    /// assert!(judged.iter().all(|row| !fit.contains(row)));
    /// assert!((0..3).all(|fold| dealing.rows_of(fold).iter().any(|&row| class[row] == 1)));
    /// ```
    pub fn new(
        rows: usize,
        folds: usize,
        mut stream: Stream,
        alike: impl Fn(usize, usize) -> Ordering,
    ) -> Self {
        let mut order: Vec<usize> = (0..rows).collect();
        stream.shuffle(&mut order);
        order.sort_by(|&a, &b| alike(a, b));
        let mut fold = vec![0; rows];
        order.into_iter().enumerate().for_each(|(at, row)| fold[row] = (at % folds) as u32);
        Dealing { fold }
    }

    /// The rows of a fold, ascending.
    pub fn rows_of(&self, fold: usize) -> Vec<usize> {
        self.pick(|of_row| of_row == fold)
    }

    /// The rows of all other folds, ascending.
    pub fn rows_but(&self, fold: usize) -> Vec<usize> {
        self.pick(|of_row| of_row != fold)
    }

    fn pick(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| wanted(self.fold[row] as usize)).collect()
    }
}
