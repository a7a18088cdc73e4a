//! Models that are compressed.

use swarmwood_learn::data::Chunk;
use swarmwood_model::{Link, Model, Schema, TargetKind};

use crate::Result;
use crate::predict::Scorer;

/// Rows that a teacher scores.
pub struct TeacherRows<'a> {
    /// The values.
    pub chunk: &'a Chunk,
    /// For each column the numbers of the rows of the data that the values are from, for teachers
    /// that have the data in another form.
    pub sources: &'a [Vec<u32>],
}

/// A model that is compressed: anything that gives raw scores for rows.
pub trait Teacher {
    /// The features of the rows, and what is predicted.
    fn schema(&self) -> &Schema;

    /// From raw scores to predictions.
    fn link(&self) -> Link;

    /// The name of the loss that the student is recorded with.
    fn objective(&self) -> &str {
        match self.link() {
            Link::Identity => "squared",
            Link::Exp => "poisson",
            Link::ExpM1 => "squared-log",
            Link::Sigmoid => "logistic",
            Link::Softmax => "softmax",
        }
    }

    /// Raw scores, row by row one per output.
    fn raw(&self, rows: &TeacherRows<'_>) -> Result<Vec<f64>>;

    /// Number of raw scores per row.
    fn outputs(&self) -> usize {
        match &self.schema().target.kind {
            TargetKind::Classes(classes) if classes.len() > 2 => classes.len(),
            _ => 1,
        }
    }
}

/// A model that was read from a file.
pub struct ModelTeacher<'a> {
    scorer: Scorer<'a>,
}

impl<'a> ModelTeacher<'a> {
    /// Compiles the model; 0 `threads` are one per core.
    pub fn new(model: &'a Model, threads: usize) -> Result<ModelTeacher<'a>> {
        Ok(ModelTeacher { scorer: Scorer::new(model, None, threads)? })
    }
}

impl Teacher for ModelTeacher<'_> {
    fn schema(&self) -> &Schema {
        &self.scorer.model().schema
    }

    fn link(&self) -> Link {
        self.scorer.model().link
    }

    fn objective(&self) -> &str {
        &self.scorer.model().objective
    }

    fn raw(&self, rows: &TeacherRows<'_>) -> Result<Vec<f64>> {
        self.scorer.raw(rows.chunk)
    }
}
