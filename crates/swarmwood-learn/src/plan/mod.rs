//! Tasks of a run, and the log that stores their results and replays them.
//!
//! A search that compares candidates is a list of tasks: a candidate fitted to the rows of a fold,
//! or to all rows. Tasks that do not depend on each other run side by side: those of a list that is
//! known beforehand on the pool ([`run_tasks`]), those that are added and cancelled as results
//! arrive on a [`TaskQueue`], those that are plain data also in other processes ([`TaskRunner`]). The
//! result of every finished task goes to a [`TaskLog`] under a key
//! that is the same in every run with the same data and parameters. A resumed run executes the same
//! code, and a task whose result is in the log is not run again: resuming is replaying, so that a
//! resumed run ends like one that was never interrupted.

mod log;
mod queue;
mod runner;

pub use log::{MOST_WORK, PlanObserver, TaskLog};
pub use queue::{TaskQueue, TaskResult};
pub use runner::TaskRunner;

use crate::budget::Budget;
use crate::context::Context;

/// The rows that a candidate is fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskRows {
    /// All rows but those of a fold, which it is scored on.
    Fold(usize),
    /// All rows.
    All,
}

/// One fit of one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// The candidate, by its number in the caller's list.
    pub candidate: usize,
    /// The rows that it is fitted to.
    pub rows: TaskRows,
}

impl Task {
    /// The tasks of a cross-validation: every candidate on every fold, candidate after candidate.
    ///
    /// ```
    /// use swarmwood_learn::plan::{Task, TaskRows};
    ///
    /// let tasks = Task::cross_validation(2, 3);
    /// assert_eq!(tasks.len(), 6);
    /// assert_eq!(tasks[4], Task { candidate: 1, rows: TaskRows::Fold(1) });
    /// ```
    pub fn cross_validation(candidates: usize, folds: usize) -> Vec<Task> {
        let of_candidate =
            |candidate| (0..folds).map(move |fold| Task { candidate, rows: TaskRows::Fold(fold) });
        (0..candidates).flat_map(of_candidate).collect()
    }
}

/// Runs independent tasks on the threads of the pool; results come in the order of the tasks.
/// `None` if a task was interrupted.
pub fn run_tasks<R: Send>(
    context: Context<'_>,
    tasks: &[Task],
    run: impl Fn(&Task) -> R + Sync,
) -> Option<Vec<R>> {
    let results = context.pool.map(tasks.len(), |at| run_task(context.budget, || run(&tasks[at])));
    results.into_iter().collect()
}

/// Runs one task. `None` if the budget was interrupted before it or while it ran: the result of a
/// task that was cut short means nothing.
fn run_task<R>(budget: &Budget, run: impl FnOnce() -> R) -> Option<R> {
    let result = (!budget.is_interrupted()).then(run);
    result.filter(|_| !budget.is_interrupted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::pool::Pool;

    #[test]
    fn interrupted_tasks_have_no_results() {
        let (pool, budget) = (Pool::new(2).unwrap(), Budget::unlimited());
        let context = Context { pool: &pool, budget: &budget };
        let tasks = Task::cross_validation(3, 5);
        let fold = |task: &Task| match task.rows {
            TaskRows::Fold(fold) => task.candidate * 10 + fold,
            TaskRows::All => usize::MAX,
        };
        let results = run_tasks(context, &tasks, fold).unwrap();
        assert_eq!((results[0], results[7], results.len()), (0, 12, 15));
        let cancelling = |task: &Task| {
            if fold(task) == 13 {
                budget.cancel();
            }
        };
        assert_eq!(run_tasks(context, &tasks, cancelling), None);
    }
}
