//! Metrics of predicted classes and their probabilities. `prediction` holds one probability a class, row after row; an
//! empty `weight` means that every row weighs one; `None` means that the metric is not defined.

use super::mean;

/// The predicted class: the most probable one, and of equally probable ones the first. With two classes this is the
/// second one exactly if its probability is above one half.
///
/// ```
/// assert_eq!(swarmwood_learn::metric::classes::most_probable(&[0.2, 0.4, 0.4]), 1);
/// ```
pub fn most_probable(probabilities: &[f64]) -> usize {
    let mut best = 0;
    for (class, p) in probabilities.iter().enumerate() {
        if *p > probabilities[best] {
            best = class;
        }
    }
    best
}

/// The class a target stands for, if it stands for one.
fn class_of(target: f64, classes: usize) -> Option<usize> {
    (target >= 0.0 && target < classes as f64).then_some(target as usize)
}

/// Weights of rows by true and predicted class.
#[derive(Debug, Clone, PartialEq)]
pub struct Confusion {
    classes: usize,
    /// True class after true class.
    cells: Vec<f64>,
    /// All rows, those whose target is none of the classes included.
    total: f64,
}

impl Confusion {
    /// Counts rows.
    pub fn new(classes: usize, prediction: &[f64], target: &[f64], weight: &[f64]) -> Self {
        let mut table = Confusion { classes, cells: vec![0.0; classes * classes], total: 0.0 };
        for (i, (row, &y)) in prediction.chunks_exact(classes.max(1)).zip(target).enumerate() {
            let weight = weight.get(i).copied().unwrap_or(1.0);
            table.total += weight;
            if let Some(class) = class_of(y, classes) {
                table.cells[class * classes + most_probable(row)] += weight;
            }
        }
        table
    }

    /// Weight of the rows of one class that were predicted as another (or the same).
    pub fn cell(&self, truth: usize, predicted: usize) -> f64 {
        self.cells[truth * self.classes + predicted]
    }

    fn of_class(&self, class: usize) -> f64 {
        (0..self.classes).map(|k| self.cell(class, k)).sum()
    }

    fn predicted_as(&self, class: usize) -> f64 {
        (0..self.classes).map(|k| self.cell(k, class)).sum()
    }

    /// A part of a whole that may be empty, which counts as zero; not defined without rows.
    fn share(&self, part: f64, whole: f64) -> Option<f64> {
        (self.total > 0.0).then_some(if whole > 0.0 { part / whole } else { 0.0 })
    }

    /// Share of the rows that were predicted right.
    pub fn accuracy(&self) -> Option<f64> {
        let right: f64 = (0..self.classes).map(|k| self.cell(k, k)).sum();
        (self.total > 0.0).then(|| right / self.total)
    }

    /// Mean recall of the classes that occur.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        mean((0..self.classes).filter(|&k| self.of_class(k) > 0.0).filter_map(|k| self.recall(k)), &[])
    }

    /// Share of a class's rows that were predicted as such; zero if it has none.
    pub fn recall(&self, class: usize) -> Option<f64> {
        self.share(self.cell(class, class), self.of_class(class))
    }

    /// Share of the rows predicted as a class that are of it; zero if there are none.
    pub fn precision(&self, class: usize) -> Option<f64> {
        self.share(self.cell(class, class), self.predicted_as(class))
    }

    /// Harmonic mean of precision and recall; zero if the class neither occurs nor is predicted.
    pub fn f1(&self, class: usize) -> Option<f64> {
        self.share(2.0 * self.cell(class, class), self.of_class(class) + self.predicted_as(class))
    }

    /// Mean [`Confusion::f1`] of the classes that occur or are predicted.
    pub fn macro_f1(&self) -> Option<f64> {
        let seen = |class: &usize| self.of_class(*class) + self.predicted_as(*class) > 0.0;
        mean((0..self.classes).filter(seen).filter_map(|class| self.f1(class)), &[])
    }
}

/// Mean of `-ln p` of the true class. A probability below the smallest step from one (2.2e-16) counts as that step, so
/// that one impossible row does not hide all others.
pub fn logloss(classes: usize, prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    let losses = prediction.chunks_exact(classes.max(1)).zip(target).map(|(row, &y)| {
        let p = class_of(y, classes).map_or(0.0, |class| row[class] / row.iter().sum::<f64>());
        -p.max(f64::EPSILON).ln()
    });
    mean(losses, weight)
}

/// Brier score: the mean squared error of the probabilities. Of two classes only the positive one is taken; of more,
/// the errors of all are summed.
pub fn brier(classes: usize, prediction: &[f64], target: &[f64], weight: &[f64]) -> Option<f64> {
    let errors = prediction.chunks_exact(classes.max(1)).zip(target).map(|(row, &y)| {
        let class = class_of(y, classes);
        let error = |k: usize| (row[k] - f64::from(class == Some(k))).powi(2);
        if classes == 2 { error(1) } else { (0..classes).map(error).sum() }
    });
    mean(errors, weight)
}
