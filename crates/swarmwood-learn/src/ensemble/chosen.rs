//! The chosen candidate, and its scores of the training rows by models that have not seen them.

use swarmwood_model::Link;

use super::candidates::Candidate;
use super::cross_validation::{self, FOLDS, FoldPlan};
use crate::context::Context;
use crate::plan::{Task, TaskRows, run_tasks};
use crate::pool::Pool;
use crate::stats::{BackendError, TrainingSet};

/// The candidate that a search chose, and the factor on its raw scores.
#[derive(Debug, Clone)]
pub struct ChosenCandidate {
    pub(super) candidate: Candidate,
    pub(super) factor: f64,
}

impl ChosenCandidate {
    /// Raw scores of all training rows, row by row one per output, each by a fit of the candidate
    /// to the folds that the row is not in: those of the comparison (unless rows were drawn for it), fitted once more so that none
    /// of the candidates that lost needs to keep its scores. Fits are as in the comparison, without
    /// the pair search that may follow. `None` if there are too few rows or the run is interrupted.
    ///
    /// The fits are not charged to the work limit of the search.
    pub fn out_of_fold_scores(
        &self,
        set: TrainingSet<'_>,
        context: Context<'_>,
    ) -> Result<Option<Vec<f64>>, BackendError> {
        let rows = set.data.rows();
        let Some(one_thread) = Pool::new(1).ok().filter(|_| rows >= 2 * FOLDS) else {
            return Ok(None);
        };
        let classes = matches!(set.objective.link(), Link::Sigmoid | Link::Softmax);
        let seed = self.candidate.shape.seed;
        let plan = FoldPlan { classes, seed, most_rows: usize::MAX };
        let folds = plan.folds(set.data, FOLDS, context);
        if folds.is_empty() {
            return Ok(None);
        }

        let on_one_thread = Context { pool: &one_thread, ..context };
        let results = run_tasks(context, &Task::cross_validation(1, FOLDS), |task| {
            let TaskRows::Fold(fold) = task.rows else { unreachable!("all tasks have a fold") };
            cross_validation::fit_fold(&folds[fold], &self.candidate, set, on_one_thread)
        });
        let Some(results) = results else { return Ok(None) };

        let outputs = set.objective.outputs();
        let split = cross_validation::fold_split(set.data, classes, seed, 0);
        let mut scores = vec![0.0; rows * outputs];
        for (fold, result) in results.into_iter().enumerate() {
            let raw = result?.held_out.raw;
            for (row, raw) in split.test_rows(fold).into_iter().zip(raw.chunks_exact(outputs)) {
                let of_row = &mut scores[row * outputs..(row + 1) * outputs];
                of_row.iter_mut().zip(raw).for_each(|(score, raw)| *score = raw * self.factor);
            }
        }
        Ok(Some(scores))
    }
}
