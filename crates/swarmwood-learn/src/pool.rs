//! The one place that owns threads.
//!
//! Everything above asks a [`Pool`] to run independent tasks; the tasks and the order in which
//! their results are used never depend on how many threads there are.
//!
//! Growing a tree submits thousands of jobs of some twenty microseconds each. A general pool that
//! puts idle threads to sleep spends as long waking them; these threads spin for a while before they
//! sleep, and the submitting thread runs tasks itself, so that nothing ever waits for a thread that
//! has not woken up.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use primitives::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Builder, Condvar, JoinHandle, Mutex, MutexGuard,
    Ordering, PoisonError, spin_loop, yield_now,
};

/// Threads and locks of the standard library.
#[cfg(not(loom))]
mod primitives {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
    pub use std::thread::{Builder, JoinHandle, yield_now};
}

/// Those of loom, which runs a test in every interleaving: `fuzz/pool-model`.
#[cfg(loom)]
mod primitives {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use loom::thread::{Builder, JoinHandle, yield_now};
    pub use std::sync::PoisonError;
}

/// How often an idle thread polls before it sleeps: about a tenth of a millisecond.
const SPINS: usize = if cfg!(loom) { 1 } else { 2000 };

/// A fixed set of threads that belongs to one run.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<PoolState>,
    threads: Vec<JoinHandle<()>>,
}

/// Runs a task by its number.
type TaskFn = dyn Fn(usize) + Sync;

#[derive(Debug)]
struct PoolState {
    /// The number of the job in the upper half, the next task to claim in the lower.
    next: AtomicU64,
    job: Mutex<Option<PoolJob>>,
    done: AtomicUsize,
    /// Whether a job is running; one submitted meanwhile is run by its submitter alone.
    busy: AtomicBool,
    closed: AtomicBool,
    sleepers: AtomicUsize,
    wakeup: Condvar,
    wakeup_lock: Mutex<()>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    spins: usize,
}

#[derive(Clone, Copy)]
struct PoolJob {
    /// Valid until every task is done; see [`PoolState::submit`].
    work: *const TaskFn,
    number: u64,
    tasks: u64,
}

// SAFETY: the pointer leads to a function that may be called from any thread, and is followed only
// as `PoolState::run_tasks` says.
#[allow(unsafe_code)]
unsafe impl Send for PoolJob {}

impl std::fmt::Debug for PoolJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job {} of {} tasks", self.number, self.tasks)
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller's included; 0 asks for one per core.
    ///
    /// ```
    /// use swarmwood_learn::pool::Pool;
    /// let squares = Pool::new(2)?.map(4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(threads: usize) -> Result<Self, String> {
        Pool::counting_from(threads, 0)
    }

    /// A pool whose first job has the number after `first_job`.
    fn counting_from(threads: usize, first_job: u64) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = if threads == 0 { cores } else { threads };
        let shared = Arc::new(PoolState {
            next: AtomicU64::new(first_job << 32),
            job: Mutex::new(None),
            done: AtomicUsize::new(0),
            busy: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            wakeup: Condvar::new(),
            wakeup_lock: Mutex::new(()),
            panic: Mutex::new(None),
            // Threads that outnumber the cores would only take them from each other.
            spins: if threads <= cores { SPINS } else { 1 },
        });
        let mut pool = Pool { shared, threads: Vec::new() };
        for number in 1..threads {
            let shared = pool.shared.clone();
            let thread = Builder::new()
                .name(format!("swarmwood-{number}"))
                .spawn(move || shared.worker_loop());
            pool.threads
                .push(thread.map_err(|error| format!("cannot start {threads} threads: {error}"))?);
        }
        Ok(pool)
    }

    /// Number of threads, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `work(0), …, work(tasks - 1)`, each once, on whatever thread is free, and returns when
    /// all are done.
    fn run(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let alone =
            self.threads.is_empty() || tasks < 2 || self.shared.busy.swap(true, Ordering::Acquire);
        if alone {
            (0..tasks).for_each(work);
            return;
        }
        self.shared.submit(tasks, work);
        let panic = lock(&self.shared.panic).take();
        self.shared.busy.store(false, Ordering::Release);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// `work(0), work(1), …, work(count - 1)`, in that order in the result.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        self.each(&mut results, |at, result| *result = Some(work(at)));
        results.into_iter().map(|result| result.expect("every task has run")).collect()
    }

    /// Runs `work` on every item.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
        if self.threads.is_empty() || items.len() < 2 {
            items.iter_mut().enumerate().for_each(|(at, item)| work(at, item));
            return;
        }
        // Each lock is taken once, by the one thread that claimed the task.
        let cells: Vec<Mutex<&mut T>> = items.iter_mut().map(Mutex::new).collect();
        self.run(cells.len(), &|at| work(at, &mut lock(&cells[at])));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.wake_sleepers();
        for thread in self.threads.drain(..) {
            // The panic of a task was handed to its submitter.
            let _ = thread.join();
        }
    }
}

impl PoolState {
    /// Publishes a job, runs tasks of it, and waits for those that other threads took.
    fn submit(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: only the pointer's claimed lifetime changes. It is followed only for a claimed
        // task, a task can only be claimed while `next` carries this job's number, and this
        // function returns (the borrow ends) only when every task has been claimed and is done.
        #[allow(unsafe_code)]
        let work = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const TaskFn>(work)
        };
        let number = next_number(self.next.load(Ordering::Relaxed) >> 32);
        let job = PoolJob { work, number, tasks: tasks as u64 };
        self.done.store(0, Ordering::Relaxed);
        *lock(&self.job) = Some(job);
        self.next.store(number << 32, Ordering::SeqCst);
        self.wake_sleepers();
        self.run_tasks(&job);
        let mut spins = 0;
        while self.done.load(Ordering::Acquire) < tasks {
            spins += 1;
            if spins < SPINS { spin_loop() } else { yield_now() }
        }
        *lock(&self.job) = None;
    }

    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 || self.closed.load(Ordering::SeqCst) {
            // Taking the lock makes sure that a thread on its way to sleep either sees the job
            // or hears the wakeup.
            drop(lock(&self.wakeup_lock));
            self.wakeup.notify_all();
        }
    }

    /// Runs tasks until none is left.
    fn run_tasks(&self, job: &PoolJob) {
        while let Some(task) = self.claim(job) {
            // SAFETY: the task is claimed and not done, so `submit` has not returned and its borrow
            // is alive.
            #[allow(unsafe_code)]
            let work = unsafe { &*job.work };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(task))) {
                lock(&self.panic).get_or_insert(panic);
            }
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Claims the next task of a job; none if all are claimed or another job has come.
    fn claim(&self, job: &PoolJob) -> Option<usize> {
        let mut seen = self.next.load(Ordering::Acquire);
        loop {
            let (number, task) = (seen >> 32, seen & 0xFFFF_FFFF);
            if number != job.number || task >= job.tasks {
                return None;
            }
            match self.next.compare_exchange_weak(
                seen,
                seen + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(task as usize),
                Err(now) => seen = now,
            }
        }
    }

    /// The main loop of a thread of the pool.
    fn worker_loop(&self) {
        let mut seen_job = 0;
        while let Some(number) = self.wait_for_job(seen_job) {
            seen_job = number;
            // The job may have ended, or be a later one that is about to be published.
            let job = *lock(&self.job);
            if let Some(job) = job {
                self.run_tasks(&job);
            }
        }
    }

    /// Waits for a job with another number; none once the pool is closed.
    fn wait_for_job(&self, seen_job: u64) -> Option<u64> {
        for _ in 0..self.spins {
            if let Some(number) = self.published_job(seen_job) {
                return (!self.closed.load(Ordering::SeqCst)).then_some(number);
            }
            spin_loop();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = lock(&self.wakeup_lock);
        let number = loop {
            if let Some(number) = self.published_job(seen_job) {
                break number;
            }
            guard = self.wakeup.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        (!self.closed.load(Ordering::SeqCst)).then_some(number)
    }

    /// The number of the present job if it is another one, or if the pool is closed.
    fn published_job(&self, seen_job: u64) -> Option<u64> {
        let number = self.next.load(Ordering::SeqCst) >> 32;
        (number != seen_job || self.closed.load(Ordering::SeqCst)).then_some(number)
    }
}

/// Numbers of jobs wrap around: they need only differ from the one before.
fn next_number(number: u64) -> u64 {
    (number + 1) & 0xFFFF_FFFF
}

/// A lock whose holder panicked protects nothing that could be half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts `0..length` into at most `parts` ranges of nearly equal size.
pub fn even_ranges(length: usize, parts: usize) -> Vec<Range<usize>> {
    let parts = parts.clamp(1, length.max(1));
    (0..parts).map(|i| length * i / parts..length * (i + 1) / parts).collect()
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    /// Miri, which checks every access to memory, takes a thousand times as long.
    const JOBS: usize = if cfg!(miri) { 15 } else { 3000 };

    #[test]
    fn ranges_cover_everything_once() {
        for length in [0, 1, 7, 64] {
            for tasks in [1, 2, 5, 100] {
                let ranges = even_ranges(length, tasks);
                assert_eq!(
                    ranges.iter().flat_map(|r| r.clone()).collect::<Vec<_>>(),
                    (0..length).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn every_task_of_many_jobs_runs_once() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads).unwrap();
            for job in 0..JOBS {
                let tasks = job % 7;
                let mut counts = vec![0usize; tasks];
                pool.each(&mut counts, |at, count| *count += at + job);
                assert_eq!(
                    counts,
                    (0..tasks).map(|at| at + job).collect::<Vec<_>>(),
                    "{threads} {job}"
                );
            }
        }
    }

    #[test]
    fn the_numbers_of_jobs_wrap_around() {
        let pool = Pool::counting_from(3, 0xFFFF_FFFF - 20).unwrap();
        for job in 0..100 {
            assert_eq!(pool.map(5, |i| i + job), (job..job + 5).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sleeping_threads_wake_up_for_a_job() {
        let pool = Pool::new(2).unwrap();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(pool.map(100, |i| i * 3), (0..100).map(|i| i * 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_job_within_a_job_is_run() {
        let pool = Pool::new(2).unwrap();
        let sums = pool.map(8, |i| pool.map(8, |j| i * j).into_iter().sum::<usize>());
        assert_eq!(sums, (0..8).map(|i| i * 28).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_reaches_the_submitter_and_the_pool_goes_on() {
        let pool = Pool::new(3).unwrap();
        let caught =
            catch_unwind(AssertUnwindSafe(|| pool.map(20, |i| assert!(i != 13, "thirteen"))));
        assert!(caught.is_err());
        assert_eq!(pool.map(3, |i| i), [0, 1, 2]);
    }
}
