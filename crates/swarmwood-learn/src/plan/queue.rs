//! A queue of tasks for plans that are not known beforehand: candidates are added and cancelled
//! while the tasks of others run, on threads that exist as long as the queue.
//!
//! The folds of a candidate are tasks, handed out in order. Some are confirmed: their results are
//! needed whatever the others are. Idle threads take the confirmed tasks of the oldest candidates
//! first, then, rather than wait, tasks that may turn out superfluous. Results arrive in any order.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Task, TaskRows, run_task};
use crate::budget::Budget;

/// The result of a task of a [`TaskQueue`].
#[derive(Debug, Clone, PartialEq)]
pub struct TaskResult<R> {
    /// The task.
    pub task: Task,
    /// Its value, or why it failed; a panic is a failure.
    pub value: Result<R, String>,
    /// How long it took.
    pub seconds: f64,
}

/// Tasks that wait for a thread, and results that wait to be fetched.
///
/// ```
/// use std::time::Duration;
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::plan::{Task, TaskQueue};
///
/// let square = |_: &Task, x: &u64, _: &Budget| Ok(x * x);
/// let nine = TaskQueue::run(2, &Budget::unlimited(), square, |queue| {
///     queue.push(7, 3, 0..1, 1);
///     loop {
///         if let Some(result) = queue.wait(Duration::from_secs(1)).pop() {
///             return result.value;
///         }
///     }
/// });
/// assert_eq!(nine, Ok(Ok(9)));
/// ```
pub struct TaskQueue<C, R> {
    threads: usize,
    state: Mutex<QueueState<C, R>>,
    /// Notified when there is a task, or the queue is closed.
    task_added: Condvar,
    /// Notified when there is a result.
    result_added: Condvar,
    /// Interrupts every running task.
    budget: Budget,
}

struct QueueState<C, R> {
    candidates: BTreeMap<usize, QueuedCandidate<C>>,
    results: Vec<TaskResult<R>>,
    closed: bool,
}

struct QueuedCandidate<C> {
    value: Arc<C>,
    /// The folds that have not been handed out.
    remaining: Range<usize>,
    /// Folds below this one are confirmed.
    confirmed: usize,
    /// The number of running tasks.
    running: usize,
    cancelled: Arc<AtomicBool>,
}

/// A task that a thread has taken.
struct QueuedTask<C> {
    task: Task,
    value: Arc<C>,
    cancelled: Arc<AtomicBool>,
}

impl<C: Send + Sync, R: Send> TaskQueue<C, R> {
    /// Runs `lead` on this thread while others run the tasks that it adds. When this returns, all
    /// tasks have been interrupted and the threads have ended, also after a panic. An interrupted
    /// `budget` interrupts all tasks. The error is that no thread can be started.
    pub fn run<T>(
        threads: usize,
        budget: &Budget,
        run: impl Fn(&Task, &C, &Budget) -> Result<R, String> + Sync,
        lead: impl FnOnce(&TaskQueue<C, R>) -> T,
    ) -> Result<T, String> {
        // The queue interrupts its tasks without cancelling the caller's budget.
        let caller = budget.clone();
        let queue = TaskQueue {
            threads: threads.max(1),
            state: Mutex::new(QueueState {
                candidates: BTreeMap::new(),
                results: Vec::new(),
                closed: false,
            }),
            task_added: Condvar::new(),
            result_added: Condvar::new(),
            budget: Budget::unlimited().with_interrupt(move || caller.is_interrupted()),
        };

        std::thread::scope(|scope| {
            // Closes the queue also where `lead` panics, or the scope would never end.
            let _closing = CloseOnDrop(&queue);
            for started in 0..queue.threads {
                let thread = std::thread::Builder::new().name(format!("task-{started}"));
                let spawned = thread.spawn_scoped(scope, || queue.work(&run));
                if let Err(error) = spawned
                    && started == 0
                {
                    return Err(format!("cannot start a thread: {error}"));
                }
            }
            Ok(lead(&queue))
        })
    }

    /// How many tasks can run at a time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Adds some folds of a candidate; those below `confirmed` are needed in any case.
    pub fn push(&self, candidate: usize, value: C, folds: Range<usize>, confirmed: usize) {
        let entry = QueuedCandidate {
            value: Arc::new(value),
            remaining: folds,
            confirmed,
            running: 0,
            cancelled: Arc::new(AtomicBool::new(false)),
        };
        lock(&self.state).candidates.insert(candidate, entry);
        self.task_added.notify_all();
    }

    /// Confirms the folds of a candidate below this one.
    pub fn confirm(&self, candidate: usize, folds: usize) {
        if let Some(entry) = lock(&self.state).candidates.get_mut(&candidate) {
            entry.confirmed = entry.confirmed.max(folds);
        }
        self.task_added.notify_all();
    }

    /// Removes a candidate; its running tasks are interrupted and have no results.
    pub fn cancel(&self, candidate: usize) {
        if let Some(entry) = lock(&self.state).candidates.remove(&candidate) {
            entry.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Removes all candidates and interrupts all running tasks; later ones are not run either.
    pub fn cancel_all(&self) {
        self.budget.cancel();
        lock(&self.state).candidates.clear();
    }

    /// The results since the last call; waits for the first one, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) -> Vec<TaskResult<R>> {
        let state = lock(&self.state);
        let empty = |state: &mut QueueState<C, R>| state.results.is_empty();
        let waited = self.result_added.wait_timeout_while(state, timeout, empty);
        std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).0.results)
    }

    /// The loop of a thread.
    fn work(&self, run: &(impl Fn(&Task, &C, &Budget) -> Result<R, String> + Sync)) {
        while let Some(QueuedTask { task, value, cancelled }) = self.next_task() {
            let queue = self.budget.clone();
            let budget = Budget::unlimited().with_interrupt(move || {
                queue.is_interrupted() || cancelled.load(Ordering::Relaxed)
            });

            let started = Instant::now();
            let caught = run_task(&budget, || {
                catch_unwind(AssertUnwindSafe(|| run(&task, &value, &budget)))
                    .unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))))
            });
            let seconds = started.elapsed().as_secs_f64();

            let mut state = lock(&self.state);
            if let Some(entry) = state.candidates.get_mut(&task.candidate) {
                entry.running -= 1;
            }
            if let Some(value) = caught {
                state.results.push(TaskResult { task, value, seconds });
                self.result_added.notify_all();
            }
        }
    }

    /// Waits for a task; `None` once the queue is closed.
    fn next_task(&self) -> Option<QueuedTask<C>> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(task) = state.take() {
                return Some(task);
            }
            state = self.task_added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<C, R> QueueState<C, R> {
    fn take(&mut self) -> Option<QueuedTask<C>> {
        let confirmed = |entry: &QueuedCandidate<C>| entry.remaining.start < entry.confirmed;
        // If none of its tasks is running, it will be known in a moment whether this one is needed.
        let may_be_needed = |entry: &QueuedCandidate<C>| entry.running > 0;
        let find = |fits: &dyn Fn(&QueuedCandidate<C>) -> bool| {
            let mut candidates = self.candidates.iter();
            candidates.find(|(_, e)| !e.remaining.is_empty() && fits(e)).map(|(id, _)| *id)
        };

        let candidate = find(&confirmed).or_else(|| find(&may_be_needed))?;
        let entry = self.candidates.get_mut(&candidate)?;
        let fold = entry.remaining.next()?;
        entry.running += 1;
        Some(QueuedTask {
            task: Task { candidate, rows: TaskRows::Fold(fold) },
            value: Arc::clone(&entry.value),
            cancelled: Arc::clone(&entry.cancelled),
        })
    }
}

struct CloseOnDrop<'q, C: Send + Sync, R: Send>(&'q TaskQueue<C, R>);

impl<C: Send + Sync, R: Send> Drop for CloseOnDrop<'_, C, R> {
    fn drop(&mut self) {
        self.0.cancel_all();
        lock(&self.0.state).closed = true;
        self.0.task_added.notify_all();
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Every change under the lock is complete, so a panic of its holder leaves nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    const WAIT: Duration = Duration::from_secs(10);

    fn fold(task: &Task) -> usize {
        match task.rows {
            TaskRows::Fold(fold) => fold,
            TaskRows::All => usize::MAX,
        }
    }

    /// Waits for so many results and sorts them by candidate and fold.
    fn collect(queue: &TaskQueue<u64, u64>, count: usize) -> Vec<TaskResult<u64>> {
        let mut all = Vec::new();
        while all.len() < count {
            all.extend(queue.wait(WAIT));
        }
        all.sort_by_key(|result| (result.task.candidate, fold(&result.task)));
        all
    }

    #[test]
    fn every_task_has_one_result_with_any_number_of_threads() {
        for threads in [1, 2, 8] {
            let run = |task: &Task, value: &u64, _: &Budget| {
                // Later folds are faster, so that results overtake each other.
                std::thread::sleep(Duration::from_micros(300 / (fold(task) as u64 + 1)));
                Ok(value * 10 + fold(task) as u64)
            };
            let results = TaskQueue::run(threads, &Budget::unlimited(), run, |queue| {
                (0..20).for_each(|id| queue.push(id, id as u64, 0..4, 4));
                collect(queue, 80)
            });
            let values: Vec<_> = results.unwrap().into_iter().map(|r| r.value.unwrap()).collect();
            let expected: Vec<u64> =
                (0..20).flat_map(|id| (0..4).map(move |f| id * 10 + f)).collect();
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn tasks_are_added_while_others_run() {
        let run = |_: &Task, value: &u64, _: &Budget| Ok(*value);
        let sum = TaskQueue::run(3, &Budget::unlimited(), run, |queue| {
            queue.push(0, 1, 0..1, 1);
            let mut sum = 0;
            for next in 1..40 {
                let result = collect(queue, 1).remove(0);
                sum += result.value.unwrap();
                queue.push(next, sum, 0..1, 1);
            }
            sum
        });
        assert_eq!(sum, Ok(1 << 38));
    }

    #[test]
    fn a_panic_is_a_failure_and_the_thread_goes_on() {
        let run = |task: &Task, _: &u64, _: &Budget| match task.candidate {
            0 => panic!("planted"),
            1 => Err("refused".to_string()),
            _ => Ok(5),
        };
        let results = TaskQueue::run(1, &Budget::unlimited(), run, |queue| {
            (0..3).for_each(|id| queue.push(id, 0, 0..1, 1));
            collect(queue, 3)
        });
        let values: Vec<_> = results.unwrap().into_iter().map(|result| result.value).collect();
        let failed = |text: &str| Err(text.to_string());
        assert_eq!(values, [failed("panicked: planted"), failed("refused"), Ok(5)]);
    }

    #[test]
    fn unconfirmed_tasks_wait_while_none_of_their_candidate_runs() {
        let ran = AtomicUsize::new(0);
        let run = |_: &Task, _: &u64, _: &Budget| {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(0)
        };
        let folds = TaskQueue::run(1, &Budget::unlimited(), run, |queue| {
            queue.push(0, 0, 2..6, 3);
            queue.push(1, 0, 0..1, 1);
            let first = collect(queue, 2);
            let before = ran.load(Ordering::Relaxed);
            queue.confirm(0, 4);
            let second = collect(queue, 1);
            (before, fold(&first[0].task), fold(&second[0].task))
        });
        assert_eq!(folds, Ok((2, 2, 3)));
    }

    #[test]
    fn a_cancelled_candidate_is_interrupted_and_has_no_result() {
        let started = AtomicUsize::new(0);
        let run = |task: &Task, _: &u64, budget: &Budget| {
            started.fetch_add(1, Ordering::Relaxed);
            while task.candidate == 0 && !budget.is_interrupted() {
                std::thread::yield_now();
            }
            Ok(task.candidate as u64)
        };
        let results = TaskQueue::run(1, &Budget::unlimited(), run, |queue| {
            queue.push(0, 0, 0..5, 5);
            while started.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            queue.cancel(0);
            queue.push(1, 0, 0..1, 1);
            collect(queue, 1)
        });
        let results = results.unwrap();
        assert_eq!((results.len(), results[0].task.candidate), (1, 1));
        assert_eq!(started.load(Ordering::Relaxed), 2, "a task of a cancelled candidate was run");
    }

    #[test]
    fn no_thread_is_left_behind() {
        /// Counts the threads that are inside a task.
        struct Inside<'a>(&'a AtomicUsize);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let inside = AtomicUsize::new(0);
        let run = |_: &Task, _: &u64, budget: &Budget| {
            inside.fetch_add(1, Ordering::SeqCst);
            let _inside = Inside(&inside);
            while !budget.is_interrupted() {
                std::thread::yield_now();
            }
            Ok(0)
        };
        let begin = |queue: &TaskQueue<u64, u64>| {
            queue.push(0, 0, 0..9, 9);
            while inside.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
        };

        let budget = Budget::unlimited();
        TaskQueue::run(2, &budget, run, begin).unwrap();
        assert_eq!(inside.load(Ordering::SeqCst), 0, "after the lead returned");
        assert!(!budget.is_interrupted(), "the caller's budget is not cancelled");

        let panicked = catch_unwind(AssertUnwindSafe(|| {
            TaskQueue::run(2, &budget, run, |queue| {
                begin(queue);
                panic!("planted")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(inside.load(Ordering::SeqCst), 0, "after a panic");

        let cancelled = TaskQueue::run(2, &budget, run, |queue| {
            begin(queue);
            budget.cancel();
            while inside.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            queue.push(1, 0, 0..1, 1);
            queue.wait(Duration::from_millis(20))
        });
        assert_eq!(cancelled, Ok(Vec::new()), "interrupted tasks have no results");
    }
}
