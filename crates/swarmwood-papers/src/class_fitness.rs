//! The fitness of the predictions of a tree or a grid, from the class weights of each leaf or cell.
//!
//! Accuracy, or "a mixture of sensitivity and specificity" (Jun, Cho, Lee 2012, section 2): for two
//! classes a weighted mean of the recall of both classes, for more classes the mean recall. All are
//! the same sum: the weight of correctly predicted rows times a factor per class.

use swarmwood_learn::rank_table::{RankTable, RankTarget};

/// What a swarm maximises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FitnessMeasure {
    /// The share of rows that are predicted correctly.
    Accuracy,
    /// The mean recall of the classes.
    Recall {
        /// The weight of the second of two classes (sensitivity); the rest is that of the first
        /// (specificity).
        sensitivity: f64,
    },
}

impl FitnessMeasure {
    /// The name of the measure for users.
    pub fn name(self) -> &'static str {
        match self {
            FitnessMeasure::Accuracy => "accuracy",
            FitnessMeasure::Recall { .. } => "recall",
        }
    }
}

/// A fitness measure for given rows.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassFitness {
    /// The factor of each class.
    factors: Vec<f64>,
    /// The sum if all rows are predicted correctly.
    all: f64,
}

impl ClassFitness {
    /// The fitness of predictions of these rows; `None` if their target is a number.
    ///
    /// ```
    /// use swarmwood_learn::data::Chunk;
    /// use swarmwood_papers::class_fitness::{ClassFitness, FitnessMeasure};
    /// use swarmwood_learn::rank_table::RankTable;
    /// let chunk = Chunk { target: vec![0.0, 0.0, 0.0, 1.0], rows: 4, ..Chunk::default() };
    /// let rows = RankTable::new(&chunk, &[], Some(2), 100);
    /// // All rows in one leaf that predicts the first class.
    /// let accuracy = ClassFitness::new(&rows, FitnessMeasure::Accuracy).unwrap();
    /// assert_eq!(accuracy.fitness(accuracy.contribution(&[3.0, 1.0], 0)), 0.75);
    /// let recall = ClassFitness::new(&rows, FitnessMeasure::Recall { sensitivity: 0.5 }).unwrap();
    /// assert_eq!(recall.fitness(recall.contribution(&[3.0, 1.0], 0)), 0.5);
    /// ```
    pub fn new(table: &RankTable, fitness: FitnessMeasure) -> Option<Self> {
        let RankTarget::Classes { of_row, count } = table.target() else { return None };
        let mut totals = vec![0.0; *count];
        (0..).zip(of_row).for_each(|(row, &class)| totals[usize::from(class)] += table.weight(row));
        let part = |class: usize| match fitness {
            FitnessMeasure::Accuracy => totals[class],
            FitnessMeasure::Recall { .. } if totals[class] <= 0.0 => 0.0,
            FitnessMeasure::Recall { sensitivity } if *count == 2 => {
                [1.0 - sensitivity, sensitivity][class]
            }
            FitnessMeasure::Recall { .. } => 1.0,
        };
        let all: f64 = (0..*count).map(part).sum();
        // For accuracy all factors are 1, so that sums of counts are exact.
        let factor =
            |class: usize| if totals[class] > 0.0 { part(class) / totals[class] } else { 0.0 };
        Some(ClassFitness { factors: (0..*count).map(factor).collect(), all })
    }

    /// The contribution of a leaf or cell with these class weights that predicts `class`.
    #[inline]
    pub fn contribution(&self, counts: &[f64], class: usize) -> f64 {
        counts[class] * self.factors[class]
    }

    /// The fitness, given the sum of all contributions.
    pub fn fitness(&self, sum: f64) -> f64 {
        if self.all > 0.0 { (sum / self.all).min(1.0) } else { 0.0 }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.factors.len()
    }
}

/// The class with the largest weight; the first of equals.
#[inline]
pub fn majority(counts: &[f64]) -> usize {
    let mut best = 0;
    for (class, &count) in counts.iter().enumerate() {
        if count > counts[best] {
            best = class;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_learn::data::Chunk;

    fn rows(target: &[f64], weight: &[f64], classes: usize) -> RankTable {
        let chunk = Chunk {
            target: target.to_vec(),
            weight: weight.to_vec(),
            rows: target.len(),
            ..Chunk::default()
        };
        RankTable::new(&chunk, &[], Some(classes), 10)
    }

    #[test]
    fn sensitivity_and_specificity_are_mixed_as_said() {
        // Four negative rows, two positive; one place with (3, 1) called negative, one with (1, 1)
        // called positive.
        let table = rows(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0], &[], 2);
        let class_fitness =
            ClassFitness::new(&table, FitnessMeasure::Recall { sensitivity: 0.3 }).unwrap();
        let found = class_fitness.fitness(
            class_fitness.contribution(&[3.0, 1.0], 0) + class_fitness.contribution(&[1.0, 1.0], 1),
        );
        assert!((found - (0.7 * 3.0 / 4.0 + 0.3 * 1.0 / 2.0)).abs() < 1e-15);
    }

    #[test]
    fn a_class_without_rows_takes_no_part() {
        let table = rows(&[0.0, 0.0, 2.0], &[1.0, 1.0, 6.0], 4);
        for fitness in [FitnessMeasure::Accuracy, FitnessMeasure::Recall { sensitivity: 0.5 }] {
            let class_fitness = ClassFitness::new(&table, fitness).unwrap();
            let all = class_fitness.contribution(&[2.0, 0.0, 0.0, 0.0], 0)
                + class_fitness.contribution(&[0.0, 0.0, 6.0, 0.0], 2);
            assert!(
                (class_fitness.fitness(all) - 1.0).abs() < 1e-15
                    && class_fitness.contribution(&[0.0; 4], 1) == 0.0,
                "{fitness:?}"
            );
        }
        assert_eq!(majority(&[1.0, 2.0, 2.0]), 1);
    }
}
