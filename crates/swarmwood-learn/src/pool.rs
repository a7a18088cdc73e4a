//! The one place that owns threads.
//!
//! Everything above asks a [`Pool`] to run independent pieces of work; the pieces and the order in
//! which their results are used never depend on how many threads there are.
//!
//! Growing a tree asks thousands of questions of some twenty microseconds each. A general pool that
//! puts idle threads to sleep spends as long waking them; these threads watch for work a while
//! before they sleep, and the asking thread takes pieces itself, so nothing ever waits for a thread
//! that has not woken up.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How often an idle thread looks for work before it sleeps: about a tenth of a millisecond.
const LOOKS: usize = 2000;

/// A fixed set of threads that belongs to one run.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    hurry: Option<Hurry>,
}

/// Who is asked whether there is a hurry.
#[derive(Clone)]
struct Hurry(Arc<dyn Fn() -> bool + Send + Sync>);

impl std::fmt::Debug for Hurry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hurry")
    }
}

/// A piece of work by its number.
type Work = dyn Fn(usize) + Sync;

#[derive(Debug)]
struct Shared {
    /// The number of the question in the upper half, the next piece to take in the lower.
    next: AtomicU64,
    question: Mutex<Option<Question>>,
    done: AtomicUsize,
    /// Whether a question is being answered; a second one asked meanwhile is answered by its asker
    /// alone.
    busy: AtomicBool,
    closed: AtomicBool,
    sleepers: AtomicUsize,
    bell: Condvar,
    bell_lock: Mutex<()>,
    fault: Mutex<Option<Box<dyn Any + Send>>>,
    looks: usize,
}

#[derive(Clone, Copy)]
struct Question {
    /// Valid until every piece is done; see [`Shared::ask`].
    work: *const Work,
    number: u64,
    pieces: u64,
}

// SAFETY: the pointer leads to a function that may be called from any thread, and is followed only
// as `Shared::answer` says.
#[allow(unsafe_code)]
unsafe impl Send for Question {}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "question {} of {} pieces", self.number, self.pieces)
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller's included; 0 asks for one a core.
    ///
    /// ```
    /// use swarmwood_learn::pool::Pool;
    /// let squares = Pool::new(2)?.map(4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(threads: usize) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = if threads == 0 { cores } else { threads };
        let shared = Arc::new(Shared {
            next: AtomicU64::new(0),
            question: Mutex::new(None),
            done: AtomicUsize::new(0),
            busy: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bell: Condvar::new(),
            bell_lock: Mutex::new(()),
            fault: Mutex::new(None),
            // Threads that outnumber the cores would only take them from each other.
            looks: if threads <= cores { LOOKS } else { 1 },
        });
        let mut pool = Pool { shared, threads: Vec::new(), hurry: None };
        for number in 1..threads {
            let shared = pool.shared.clone();
            let thread = std::thread::Builder::new()
                .name(format!("swarmwood-{number}"))
                .spawn(move || shared.serve());
            pool.threads
                .push(thread.map_err(|error| format!("cannot start {threads} threads: {error}"))?);
        }
        Ok(pool)
    }

    /// The same pool, with somebody to ask whether there is a hurry. A yes must stay one.
    ///
    /// ```
    /// use swarmwood_learn::pool::Pool;
    /// let pool = Pool::new(1)?.with_hurry(|| true);
    /// assert!(pool.hurried() && pool.alone()?.hurried() && !Pool::new(1)?.hurried());
    /// # Ok::<(), String>(())
    /// ```
    #[must_use]
    pub fn with_hurry(mut self, ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.hurry = Some(Hurry(Arc::new(ask)));
        self
    }

    /// A pool of the calling thread alone, in a hurry when this one is.
    pub fn alone(&self) -> Result<Self, String> {
        let mut alone = Pool::new(1)?;
        alone.hurry.clone_from(&self.hurry);
        Ok(alone)
    }

    /// Whether whoever waits for the run has no patience left. Work that would take long by itself
    /// asks now and then, and ends with what it has: a smaller tree, some of the particles. A
    /// listener's stop, in contrast, lets it end well. Runs that nobody interrupts are never in a
    /// hurry, so that asking changes no result.
    pub fn hurried(&self) -> bool {
        self.hurry.as_ref().is_some_and(|hurry| (hurry.0)())
    }

    /// Number of threads, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `work(0), …, work(pieces - 1)`, each once, on whatever thread is free, and returns when
    /// all are done.
    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        let alone =
            self.threads.is_empty() || pieces < 2 || self.shared.busy.swap(true, Ordering::Acquire);
        if alone {
            (0..pieces).for_each(work);
            return;
        }
        self.shared.ask(pieces, work);
        let fault = lock(&self.shared.fault).take();
        self.shared.busy.store(false, Ordering::Release);
        if let Some(fault) = fault {
            resume_unwind(fault);
        }
    }

    /// `work(0), work(1), …, work(count - 1)`, in that order in the result.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        self.each(&mut results, |at, result| *result = Some(work(at)));
        results.into_iter().map(|result| result.expect("every piece has run")).collect()
    }

    /// Runs `work` on every item.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
        if self.threads.is_empty() || items.len() < 2 {
            items.iter_mut().enumerate().for_each(|(at, item)| work(at, item));
            return;
        }
        // Each lock is taken once, by the one thread that got the piece.
        let cells: Vec<Mutex<&mut T>> = items.iter_mut().map(Mutex::new).collect();
        self.run(cells.len(), &|at| work(at, &mut lock(&cells[at])));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.shared.ring();
        for thread in self.threads.drain(..) {
            // A thread's faults were handed to the asker; there is nothing more to say about them
            // here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Publishes a question, takes pieces of it, and waits for those that others took.
    fn ask(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: only the pointer's claimed lifetime changes. It is followed only for a claimed
        // piece, a piece can only be claimed while `next` carries this question's number, and this
        // function returns (the borrow ends) only when every piece has been claimed and is done.
        #[allow(unsafe_code)]
        let work =
            unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const Work>(work) };
        let number = (self.next.load(Ordering::Relaxed) >> 32) + 1;
        let question = Question { work, number, pieces: pieces as u64 };
        self.done.store(0, Ordering::Relaxed);
        *lock(&self.question) = Some(question);
        self.next.store(number << 32, Ordering::SeqCst);
        self.ring();
        self.answer(&question);
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < pieces {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        *lock(&self.question) = None;
    }

    fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 || self.closed.load(Ordering::SeqCst) {
            // Taking the lock makes sure that a thread on its way to sleep either sees the question
            // or hears the bell.
            drop(lock(&self.bell_lock));
            self.bell.notify_all();
        }
    }

    /// Takes pieces until none is left.
    fn answer(&self, question: &Question) {
        while let Some(piece) = self.claim(question) {
            // SAFETY: the piece is claimed and not done, so `ask` has not returned and its borrow
            // is alive.
            #[allow(unsafe_code)]
            let work = unsafe { &*question.work };
            if let Err(fault) = catch_unwind(AssertUnwindSafe(|| work(piece))) {
                lock(&self.fault).get_or_insert(fault);
            }
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// The next piece of this very question; none if it is used up or another question has come.
    fn claim(&self, question: &Question) -> Option<usize> {
        let mut seen = self.next.load(Ordering::Acquire);
        loop {
            let (number, piece) = (seen >> 32, seen & 0xFFFF_FFFF);
            if number != question.number || piece >= question.pieces {
                return None;
            }
            match self.next.compare_exchange_weak(
                seen,
                seen + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(piece as usize),
                Err(now) => seen = now,
            }
        }
    }

    /// What a thread of the pool does all its life.
    fn serve(&self) {
        let mut answered = 0;
        while self.wait_for_news(answered) {
            let question = *lock(&self.question);
            // A question that ended before it was read leaves its number behind, so that it is not
            // waited for again.
            answered = self.next.load(Ordering::Acquire) >> 32;
            if let Some(question) = question {
                answered = question.number;
                self.answer(&question);
            }
        }
    }

    /// Waits for a question with another number; false once the pool is closed.
    fn wait_for_news(&self, answered: u64) -> bool {
        let news = || {
            self.next.load(Ordering::SeqCst) >> 32 != answered || self.closed.load(Ordering::SeqCst)
        };
        for _ in 0..self.looks {
            if news() {
                return !self.closed.load(Ordering::SeqCst);
            }
            std::hint::spin_loop();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = lock(&self.bell_lock);
        while !news() {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        !self.closed.load(Ordering::SeqCst)
    }
}

/// A lock whose holder panicked protects nothing that could be half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool that is in a hurry from a question on.
#[cfg(test)]
pub fn hurried_after(threads: usize, questions: usize) -> Pool {
    let asked = AtomicUsize::new(0);
    Pool::new(threads)
        .expect("threads for a test")
        .with_hurry(move || asked.fetch_add(1, Ordering::Relaxed) >= questions)
}

/// Cuts `0..length` into at most `pieces` ranges of nearly equal size.
pub fn even_ranges(length: usize, pieces: usize) -> Vec<Range<usize>> {
    let pieces = pieces.clamp(1, length.max(1));
    (0..pieces).map(|i| length * i / pieces..length * (i + 1) / pieces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_once() {
        for length in [0, 1, 7, 64] {
            for pieces in [1, 2, 5, 100] {
                let ranges = even_ranges(length, pieces);
                assert_eq!(
                    ranges.iter().flat_map(|r| r.clone()).collect::<Vec<_>>(),
                    (0..length).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn every_piece_runs_once_however_often_it_is_asked() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads).unwrap();
            for question in 0..3000usize {
                let pieces = question % 7;
                let mut counts = vec![0usize; pieces];
                pool.each(&mut counts, |at, count| *count += at + question);
                assert_eq!(
                    counts,
                    (0..pieces).map(|at| at + question).collect::<Vec<_>>(),
                    "{threads} {question}"
                );
            }
        }
    }

    #[test]
    fn threads_that_fell_asleep_still_answer() {
        let pool = Pool::new(2).unwrap();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(pool.map(100, |i| i * 3), (0..100).map(|i| i * 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_question_within_a_question_is_answered() {
        let pool = Pool::new(2).unwrap();
        let sums = pool.map(8, |i| pool.map(8, |j| i * j).into_iter().sum::<usize>());
        assert_eq!(sums, (0..8).map(|i| i * 28).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_reaches_the_asker_and_the_pool_goes_on() {
        let pool = Pool::new(3).unwrap();
        let fault =
            catch_unwind(AssertUnwindSafe(|| pool.map(20, |i| assert!(i != 13, "thirteen"))));
        assert!(fault.is_err());
        assert_eq!(pool.map(3, |i| i), [0, 1, 2]);
    }
}
