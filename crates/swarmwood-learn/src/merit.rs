//! How good the decisions of a tree or a grid are, from the classes of the rows that each place
//! holds.
//!
//! Accuracy, or "a mixture of sensitivity and specificity" (Jun, Cho, Lee 2012, section 2): of two
//! classes the share of each class's rows that is decided right, mixed; of more classes the mean of
//! those shares. All are the same sum, of the weight that is decided right times a number that
//! belongs to the class.

use crate::ranked::{Ranked, Target};

/// What is to be large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fitness {
    /// The share of rows whose class is right.
    Accuracy,
    /// The mean share of each class's rows that is right.
    Recall {
        /// The part of the second of two classes, the sensitivity; the rest is that of the first,
        /// the specificity.
        sensitivity: f64,
    },
}

impl Fitness {
    /// The name that users say.
    pub fn name(self) -> &'static str {
        match self {
            Fitness::Accuracy => "accuracy",
            Fitness::Recall { .. } => "recall",
        }
    }
}

/// A fitness of given rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Merit {
    /// What one right row of each class is worth.
    worth: Vec<f64>,
    /// What all rows are worth, if all are right.
    all: f64,
}

impl Merit {
    /// The fitness of decisions about these rows; none if their target is a number.
    ///
    /// ```
    /// use swarmwood_learn::data::Chunk;
    /// use swarmwood_learn::merit::{Fitness, Merit};
    /// use swarmwood_learn::ranked::Ranked;
    /// let chunk = Chunk { target: vec![0.0, 0.0, 0.0, 1.0], rows: 4, ..Chunk::default() };
    /// let rows = Ranked::new(&chunk, &[], Some(2), 100);
    /// // All rows in one place, which is called the first class.
    /// let accuracy = Merit::new(&rows, Fitness::Accuracy).unwrap();
    /// assert_eq!(accuracy.fitness(accuracy.of(&[3.0, 1.0], 0)), 0.75);
    /// let recall = Merit::new(&rows, Fitness::Recall { sensitivity: 0.5 }).unwrap();
    /// assert_eq!(recall.fitness(recall.of(&[3.0, 1.0], 0)), 0.5);
    /// ```
    pub fn new(table: &Ranked, fitness: Fitness) -> Option<Self> {
        let Target::Classes { of_row, count } = table.target() else { return None };
        let mut totals = vec![0.0; *count];
        (0..).zip(of_row).for_each(|(row, &class)| totals[usize::from(class)] += table.weight(row));
        let part = |class: usize| match fitness {
            Fitness::Accuracy => totals[class],
            Fitness::Recall { .. } if totals[class] <= 0.0 => 0.0,
            Fitness::Recall { sensitivity } if *count == 2 => {
                [1.0 - sensitivity, sensitivity][class]
            }
            Fitness::Recall { .. } => 1.0,
        };
        let all: f64 = (0..*count).map(part).sum();
        // Counts stay whole numbers where rows are counted, so that their sum is exact.
        let worth =
            |class: usize| if totals[class] > 0.0 { part(class) / totals[class] } else { 0.0 };
        Some(Merit { worth: (0..*count).map(worth).collect(), all })
    }

    /// What the rows of a place are worth that holds these weights of the classes and is called
    /// `decided`.
    #[inline]
    pub fn of(&self, counts: &[f64], decided: usize) -> f64 {
        counts[decided] * self.worth[decided]
    }

    /// The fitness of places that are worth so much together.
    pub fn fitness(&self, worth: f64) -> f64 {
        if self.all > 0.0 { (worth / self.all).min(1.0) } else { 0.0 }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.worth.len()
    }
}

/// The class with the most weight; of equals the first.
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
    use crate::data::Chunk;

    fn rows(target: &[f64], weight: &[f64], classes: usize) -> Ranked {
        let chunk = Chunk {
            target: target.to_vec(),
            weight: weight.to_vec(),
            rows: target.len(),
            ..Chunk::default()
        };
        Ranked::new(&chunk, &[], Some(classes), 10)
    }

    #[test]
    fn sensitivity_and_specificity_are_mixed_as_said() {
        // Four negative rows, two positive; one place with (3, 1) called negative, one with (1, 1)
        // called positive.
        let table = rows(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0], &[], 2);
        let merit = Merit::new(&table, Fitness::Recall { sensitivity: 0.3 }).unwrap();
        let found = merit.fitness(merit.of(&[3.0, 1.0], 0) + merit.of(&[1.0, 1.0], 1));
        assert!((found - (0.7 * 3.0 / 4.0 + 0.3 * 1.0 / 2.0)).abs() < 1e-15);
    }

    #[test]
    fn a_class_without_rows_takes_no_part() {
        let table = rows(&[0.0, 0.0, 2.0], &[1.0, 1.0, 6.0], 4);
        for fitness in [Fitness::Accuracy, Fitness::Recall { sensitivity: 0.5 }] {
            let merit = Merit::new(&table, fitness).unwrap();
            let all = merit.of(&[2.0, 0.0, 0.0, 0.0], 0) + merit.of(&[0.0, 0.0, 6.0, 0.0], 2);
            assert!(
                (merit.fitness(all) - 1.0).abs() < 1e-15 && merit.of(&[0.0; 4], 1) == 0.0,
                "{fitness:?}"
            );
        }
        assert_eq!(majority(&[1.0, 2.0, 2.0]), 1);
    }
}
