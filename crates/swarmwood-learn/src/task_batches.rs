//! Independent tasks that run side by side in batches, whose results are stored and replayed.

use swarmwood_search::{Datum, Error};

use crate::context::Context;
use crate::event::Event;
use crate::plan::TaskLog;

/// A list of independent tasks by number.
pub(crate) struct TaskBatches<'t, R> {
    /// Number of tasks.
    pub(crate) count: usize,
    /// Number of tasks that run before their results are stored.
    pub(crate) batch: usize,
    /// The stable key of a task.
    pub(crate) key: &'t dyn Fn(usize) -> String,
    /// A result as it is stored.
    pub(crate) save: &'t dyn Fn(&R) -> Datum,
    /// The result of a task that was stored.
    pub(crate) load: &'t dyn Fn(usize, &Datum) -> Result<R, Error>,
    /// The event after so many tasks.
    pub(crate) event: &'t dyn Fn(usize) -> Event,
}

impl<R: Send> TaskBatches<'_, R> {
    /// The result of every task; `None` for tasks that were not run because the budget was
    /// interrupted. Results of an interrupted batch are returned, but not stored: they may have been
    /// cut short.
    pub(crate) fn run(
        &self,
        context: Context<'_>,
        log: &mut TaskLog<'_>,
        run: impl Fn(usize) -> R + Sync,
    ) -> Result<Vec<Option<R>>, Error> {
        let mut results = Vec::with_capacity(self.count);
        while results.len() < self.count {
            let at = results.len();
            let Some((stored, _)) = log.recall(&(self.key)(at))? else { break };
            results.push(Some((self.load)(at, &stored)?));
        }

        while results.len() < self.count {
            let first = results.len();
            let size = self.batch.clamp(1, self.count - first);
            // Later tasks tend to take longer, and threads are used best if those start first.
            let mut done = context.pool.map(size, |at| {
                let task = first + size - 1 - at;
                (!context.budget.is_interrupted()).then(|| run(task))
            });
            done.reverse();
            if context.budget.is_interrupted() {
                results.extend(done);
                results.resize_with(self.count, || None);
                break;
            }
            for (at, result) in (first..).zip(done) {
                if let Some(result) = &result {
                    log.record(&(self.key)(at), 1, (self.save)(result));
                    log.notify(&(self.event)(at + 1));
                }
                results.push(result);
            }
        }
        Ok(results)
    }
}
