//! Predictions of held-out rows with their targets, in memory, for metrics and intervals.

use swarmwood_learn::data::Chunk;
use swarmwood_learn::metric::classes::Confusion;
use swarmwood_learn::metric::ranking::RankedScores;
use swarmwood_learn::metric::reliability::Reliability;
use swarmwood_learn::metric::{LearningTask, Tally};
use swarmwood_learn::objective::ObjectiveConfig;
use swarmwood_model::Model;
use swarmwood_model::predict::Predictions;

use super::{spec, task_of};
use crate::Result;
use crate::predict::Scorer;
use crate::read::Rows;

/// Rows that a model was not trained on, with its predictions.
#[derive(Debug, Clone)]
pub struct HeldOutRows {
    task: LearningTask,
    spec: Option<ObjectiveConfig>,
    /// The decision threshold of the model.
    threshold: Option<f64>,
    /// Numbers per row: one, or one per class.
    width: usize,
    predicted: Vec<f64>,
    target: Vec<f64>,
    weight: Vec<f64>,
}

impl HeldOutRows {
    /// Predicts the rows. `threads` is 0 for one per core.
    pub fn predict(model: &Model, rows: &Rows, threads: usize) -> Result<HeldOutRows> {
        let scorer = Scorer::new(model, None, threads)?;
        let mut held = HeldOutRows::empty(model);
        rows.for_each_chunk(&mut |chunk: &Chunk| {
            held.push(scorer.predictions(chunk)?, chunk);
            Ok(())
        })?;
        Ok(held)
    }

    /// Rows with raw scores, which need not be those of the model that they are turned into
    /// predictions with.
    pub fn of_raw(model: &Model, raw: &[f64], chunk: &Chunk) -> HeldOutRows {
        let mut held = HeldOutRows::empty(model);
        held.push(model.predictions(raw), chunk);
        held
    }

    fn empty(model: &Model) -> HeldOutRows {
        let (task, classes) = task_of(model);
        HeldOutRows {
            task,
            spec: spec(model, classes),
            threshold: model.calibration.threshold,
            width: classes.max(1),
            predicted: Vec::new(),
            target: Vec::new(),
            weight: Vec::new(),
        }
    }

    fn push(&mut self, predictions: Predictions, chunk: &Chunk) {
        match predictions {
            Predictions::Numbers(numbers) => self.predicted.extend(numbers),
            Predictions::Classes { probabilities, .. } => self.predicted.extend(probabilities),
        }
        self.target.extend_from_slice(&chunk.target);
        self.weight.extend_from_slice(&chunk.weight);
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.target.len()
    }

    /// How many classes there are; none for numbers.
    pub fn classes(&self) -> usize {
        if let LearningTask::Classes(classes) = self.task { classes } else { 0 }
    }

    /// What happened: numbers, or indices of classes.
    pub fn targets(&self) -> &[f64] {
        &self.target
    }

    /// Every metric that the rows define, each row taken so many times; rows taken no times are
    /// left out.
    pub fn metrics(&self, times: impl Fn(usize) -> f64) -> Vec<(&'static str, f64)> {
        let mut tally = Tally::new(self.task, self.spec.as_ref()).with_threshold(self.threshold);
        for (row, times) in
            (0..self.rows()).map(|row| (row, times(row))).filter(|(_, times)| *times > 0.0)
        {
            tally.add(self.predicted(row), &[self.target[row]], &[times * self.weight(row)]);
        }
        tally.finish()
    }

    /// What was predicted beside what happened, for calibration and residuals.
    pub fn pairs(&self) -> Reliability {
        let mut pairs = Reliability::default();
        for row in 0..self.rows() {
            match self.classes() {
                0 => pairs.add(self.predicted(row)[0], self.target[row], self.weight(row)),
                _ => pairs.add_classes(self.predicted(row), self.target[row], self.weight(row)),
            }
        }
        pairs
    }

    /// True classes against predicted ones; empty for numbers.
    pub fn confusion(&self) -> Confusion {
        let mut table = Confusion::new(self.classes()).with_threshold(self.threshold);
        for row in (0..self.rows()).filter(|_| self.classes() > 0) {
            table.add(self.predicted(row), self.target[row], self.weight(row));
        }
        table
    }

    /// The rows in the order of the chance that they are of a class; none for numbers.
    pub fn ranks(&self, class: usize) -> RankedScores {
        let mut ranks = RankedScores::default();
        for row in (0..self.rows()).filter(|_| class < self.classes()) {
            ranks.add(
                self.predicted(row)[class],
                self.target[row] == class as f64,
                self.weight(row),
            );
        }
        ranks
    }

    /// What was predicted for a row: a number, or the probability of each class.
    pub fn predicted(&self, row: usize) -> &[f64] {
        &self.predicted[row * self.width..(row + 1) * self.width]
    }

    /// The weight of a row.
    pub fn weight(&self, row: usize) -> f64 {
        self.weight.get(row).copied().unwrap_or(1.0)
    }
}
