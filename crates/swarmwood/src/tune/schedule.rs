//! The crew: threads that evaluate pieces of trials, and the desk where they take them.
//!
//! Whoever runs a study puts trials on the desk and takes results from it; the threads take pieces
//! of the oldest trials first, those before all that are needed whatever happens, then, rather than
//! idle, those that racing may make superfluous. What a trial comes to does not depend on that
//! order.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use swarmwood_learn::budget::Budget;
use swarmwood_search::{Point, Space};

use super::objective::{FoldResult, Proposal, TrialObjective};
use super::study::StudyLimits;
use crate::{Error, Result};

/// What came of a piece.
pub(super) struct FoldOutcome {
    pub id: u64,
    pub at: usize,
    pub result: std::result::Result<FoldResult, String>,
    pub seconds: f64,
}

/// Where trials lie until they are evaluated, and results until they are fetched.
pub(super) struct FoldQueue {
    pieces: usize,
    threads: usize,
    state: Mutex<QueueState>,
    /// Rings when there is work, or none will come any more.
    work: Condvar,
    /// Rings when there are results.
    news: Condvar,
    /// Interrupts every piece under way.
    budget: Budget,
}

#[derive(Default)]
struct QueueState {
    jobs: BTreeMap<u64, TrialJob>,
    results: Vec<FoldOutcome>,
    closed: bool,
}

/// A trial on the desk.
struct TrialJob {
    point: Arc<Point>,
    /// The next piece to hand out.
    next: usize,
    /// Pieces up to here are judged, and the trial goes on.
    judged: usize,
    /// Pieces up to here are needed in any case.
    certain: usize,
    /// Pieces under way.
    busy: usize,
    dropped: Arc<AtomicBool>,
}

/// A piece that a thread has taken.
struct FoldTask {
    id: u64,
    at: usize,
    point: Arc<Point>,
    dropped: Arc<AtomicBool>,
}

/// Runs `lead` on this thread while a crew of others evaluates what it puts on the desk. The crew
/// is gone when this returns, whatever happens.
pub(super) fn with_workers<T>(
    objective: &dyn TrialObjective,
    space: &Space,
    limits: &StudyLimits,
    lead: impl FnOnce(&FoldQueue) -> Result<T>,
) -> Result<T> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let threads = if limits.threads == 0 { cores } else { limits.threads };
    let desk = FoldQueue {
        pieces: objective.pieces().max(1),
        threads,
        state: Mutex::default(),
        work: Condvar::new(),
        news: Condvar::new(),
        // The run may end its evaluations without cancelling what the caller shares with others.
        budget: {
            let caller = limits.budget.clone();
            Budget::unlimited().with_interrupt(move || caller.is_interrupted())
        },
    };
    std::thread::scope(|scope| {
        // Closes the desk also where the lead panics, or the scope would wait for ever.
        let _closing = QueueGuard(&desk);
        for started in 0..threads {
            let crew = std::thread::Builder::new().name(format!("tune-{started}"));
            if let Err(fault) = crew.spawn_scoped(scope, || desk.serve(objective, space))
                && started == 0
            {
                return Err(Error::Run(format!("cannot start a thread: {fault}")));
            }
        }
        lead(&desk)
    })
}

struct QueueGuard<'a>(&'a FoldQueue);

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.0.halt();
        lock(&self.0.state).closed = true;
        self.0.work.notify_all();
    }
}

impl FoldQueue {
    /// How many pieces can be under way at a time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Puts a trial on the desk whose first pieces are judged already.
    pub fn put(&self, id: u64, point: &Point, judged: usize, certain: usize) {
        let job = TrialJob {
            point: Arc::new(point.clone()),
            next: judged,
            judged,
            certain,
            busy: 0,
            dropped: Arc::new(AtomicBool::new(false)),
        };
        lock(&self.state).jobs.insert(id, job);
        self.work.notify_all();
    }

    /// Says that pieces up to here were judged and the trial goes on.
    pub fn go_on(&self, id: u64, judged: usize) {
        if let Some(job) = lock(&self.state).jobs.get_mut(&id) {
            job.judged = judged;
        }
        self.work.notify_all();
    }

    /// Takes a trial away; pieces of it under way are asked to give up.
    pub fn drop(&self, id: u64) {
        if let Some(job) = lock(&self.state).jobs.remove(&id) {
            job.dropped.store(true, Ordering::Relaxed);
        }
    }

    /// Asks all pieces under way to give up, and hands out no more.
    pub fn halt(&self) {
        self.budget.cancel();
        lock(&self.state).jobs.clear();
    }

    /// The results since the last call; waits a while if there are none.
    pub fn results(&self, patience: Duration) -> Vec<FoldOutcome> {
        let state = lock(&self.state);
        let idle = |state: &mut QueueState| state.results.is_empty();
        let waited = self.news.wait_timeout_while(state, patience, idle);
        std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).0.results)
    }

    /// What a thread of the crew does all its life.
    fn serve(&self, objective: &dyn TrialObjective, space: &Space) {
        while let Some(unit) = self.next_unit() {
            let started = Instant::now();
            let (run, dropped) = (self.budget.clone(), Arc::clone(&unit.dropped));
            let budget = Budget::unlimited()
                .with_interrupt(move || run.is_interrupted() || dropped.load(Ordering::Relaxed));
            let proposal = Proposal { id: unit.id, space, point: &unit.point };
            let caught =
                catch_unwind(AssertUnwindSafe(|| objective.piece(&proposal, unit.at, &budget)));
            let result =
                caught.unwrap_or_else(|panic| Err(format!("panicked: {}", words_of(&*panic))));
            let mut state = lock(&self.state);
            if let Some(job) = state.jobs.get_mut(&unit.id) {
                job.busy -= 1;
            }
            // What was asked to give up says nothing about the configuration.
            if !budget.is_interrupted() {
                let seconds = started.elapsed().as_secs_f64();
                state.results.push(FoldOutcome { id: unit.id, at: unit.at, result, seconds });
                self.news.notify_all();
            }
        }
    }

    /// Waits for a piece; `None` once the desk is closed.
    fn next_unit(&self) -> Option<FoldTask> {
        let mut state = lock(&self.state);
        loop {
            if state.closed {
                return None;
            }
            if let Some(unit) = state.take(self.pieces) {
                return Some(unit);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl QueueState {
    fn take(&mut self, pieces: usize) -> Option<FoldTask> {
        let needed = |job: &TrialJob| job.next < job.certain || job.next == job.judged;
        // Where all earlier pieces are done, whether this one is needed will be known in a moment.
        let helps = |job: &TrialJob| job.busy > 0;
        let find = |fits: &dyn Fn(&TrialJob) -> bool| {
            self.jobs.iter().find(|(_, job)| job.next < pieces && fits(job)).map(|(id, _)| *id)
        };
        let id = find(&needed).or_else(|| find(&helps))?;
        let job = self.jobs.get_mut(&id)?;
        job.next += 1;
        job.busy += 1;
        Some(FoldTask {
            id,
            at: job.next - 1,
            point: Arc::clone(&job.point),
            dropped: Arc::clone(&job.dropped),
        })
    }
}

/// What a panic said.
fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// A lock whose holder panicked protects nothing that could be half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
