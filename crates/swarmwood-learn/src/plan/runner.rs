//! Tasks that run somewhere else.

use swarmwood_search::Datum;

use crate::budget::Budget;

/// Runs tasks in other processes or on other machines. A task is plain data and names no row: who
/// runs it has the same rows and parameters. Tasks may run in any order and more than once, because
/// their results follow from themselves alone.
pub trait TaskRunner: Send + Sync {
    /// The results of tasks, in the order of the tasks; `None` if the budget was interrupted
    /// meanwhile. The error is that the tasks cannot be run.
    fn run(&self, tasks: &[Datum], budget: &Budget) -> Result<Option<Vec<Datum>>, String>;
}
