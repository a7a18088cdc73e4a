//! Metrics of predicted classes and their probabilities, collected row by row. `None` means that a
//! metric is not defined.

use super::mean::Mean;
use super::ranking::RankedScores;

/// The predicted class: the most probable one, and of equally probable ones the first. With two
/// classes this is the second one exactly if its probability is above one half.
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
pub(super) fn class_of(target: f64, classes: usize) -> Option<usize> {
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
    /// Two classes: the second one is predicted where its probability is greater; else the most
    /// probable class is.
    threshold: Option<f64>,
}

impl Confusion {
    /// Nothing counted yet.
    pub fn new(classes: usize) -> Self {
        Confusion { classes, cells: vec![0.0; classes * classes], total: 0.0, threshold: None }
    }

    /// The same where the second of two classes is predicted if its probability is greater than a
    /// threshold.
    #[must_use]
    pub fn with_threshold(self, threshold: Option<f64>) -> Self {
        Confusion { threshold: threshold.filter(|_| self.classes == 2), ..self }
    }

    /// Counts a row, given its probabilities.
    pub fn add(&mut self, probabilities: &[f64], target: f64, weight: f64) {
        self.total += weight;
        if let Some(class) = class_of(target, self.classes) {
            let predicted = match self.threshold {
                Some(threshold) => usize::from(probabilities[1] > threshold),
                None => most_probable(probabilities),
            };
            self.cells[class * self.classes + predicted] += weight;
        }
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
        Mean::of(
            (0..self.classes).filter(|&k| self.of_class(k) > 0.0).filter_map(|k| self.recall(k)),
        )
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
        Mean::of((0..self.classes).filter(seen).filter_map(|class| self.f1(class)))
    }
}

/// `-ln p` of the true class. A probability below the smallest step from one (2.2e-16) counts as
/// that step, so that one impossible row does not hide all others.
fn log_loss(probabilities: &[f64], target: f64) -> f64 {
    let class = class_of(target, probabilities.len());
    let p = class.map_or(0.0, |class| probabilities[class] / probabilities.iter().sum::<f64>());
    -p.max(f64::EPSILON).ln()
}

/// The squared error of the probabilities, whose mean is the Brier score. Of two classes only the
/// positive one is taken; of more, the errors of all are summed.
fn squared_error(probabilities: &[f64], target: f64) -> f64 {
    let class = class_of(target, probabilities.len());
    let error = |k: usize| (probabilities[k] - f64::from(class == Some(k))).powi(2);
    if probabilities.len() == 2 { error(1) } else { (0..probabilities.len()).map(error).sum() }
}

/// The metrics of every classification.
#[derive(Debug, Clone)]
pub(super) struct Classes {
    count: usize,
    table: Confusion,
    log_loss: Mean,
    brier: Mean,
    /// One for the positive of two classes, otherwise one a class, each against the rest.
    ranks: Vec<RankedScores>,
}

impl Classes {
    pub(super) fn new(count: usize) -> Self {
        let ranks = vec![RankedScores::default(); if count == 2 { 1 } else { count }];
        Classes {
            count,
            table: Confusion::new(count),
            log_loss: Mean::default(),
            brier: Mean::default(),
            ranks,
        }
    }

    pub(super) fn with_threshold(self, threshold: Option<f64>) -> Self {
        Classes { table: self.table.with_threshold(threshold), ..self }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn add(&mut self, probabilities: &[f64], target: f64, weight: f64) {
        self.table.add(probabilities, target, weight);
        self.log_loss.add(log_loss(probabilities, target), weight);
        self.brier.add(squared_error(probabilities, target), weight);
        let first = if self.count == 2 { 1 } else { 0 };
        for (class, ranks) in (first..).zip(&mut self.ranks) {
            ranks.add(probabilities[class], target == class as f64, weight);
        }
    }

    /// With more than two classes, `auc` is the mean over the classes that occur.
    pub(super) fn finish(self) -> Vec<(&'static str, Option<f64>)> {
        let table = self.table;
        let mut metrics = vec![
            ("accuracy", table.accuracy()),
            ("balanced_accuracy", table.balanced_accuracy()),
            ("logloss", self.log_loss.get()),
            ("brier", self.brier.get()),
            ("auc", Mean::of(self.ranks.into_iter().filter_map(RankedScores::auc))),
        ];
        if self.count == 2 {
            metrics.extend([
                ("f1", table.f1(1)),
                ("precision", table.precision(1)),
                ("recall", table.recall(1)),
            ]);
        } else {
            metrics.push(("macro_f1", table.macro_f1()));
        }
        metrics
    }
}
