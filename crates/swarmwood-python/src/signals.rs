//! Ctrl-C and exceptions of callbacks while another thread works.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use swarmwood::learn::budget::Budget;
use swarmwood::learn::pool::Pool;
use swarmwood::{Error, Result};

/// The time between two checks of Python's signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Watches for Ctrl-C and for exceptions of the callback while another thread trains.
#[derive(Default)]
pub struct SignalMonitor {
    cancelled: AtomicBool,
    exception: Mutex<Option<PyErr>>,
    finished: Mutex<bool>,
    wake: Condvar,
}

impl SignalMonitor {
    /// A budget that ends when the run is cancelled.
    pub fn budget(self: &Arc<Self>) -> Budget {
        let monitor = Arc::clone(self);
        Budget::unlimited().with_interrupt(move || monitor.is_cancelled())
    }

    /// The first exception.
    pub fn take_exception(&self) -> Option<PyErr> {
        lock(&self.exception).take()
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Cancels the run if `outcome` is an exception, and keeps the first one.
    pub fn check(&self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            lock(&self.exception).get_or_insert(error);
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Checks Python's signals periodically until the work is finished. Only the thread that Python
    /// called receives them.
    fn watch(&self) {
        let mut finished = lock(&self.finished);
        while !*finished {
            finished = self
                .wake
                .wait_timeout(finished, SIGNAL_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            self.check(Python::attach(|py| py.check_signals()));
        }
    }

    fn finish(&self) {
        *lock(&self.finished) = true;
        self.wake.notify_all();
    }
}

/// Locks a mutex; the values here are consistent even if a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on another thread while this one checks for signals.
pub fn with_signal_checks<T: Send>(
    monitor: &SignalMonitor,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let caller = std::thread::current().id();
    let (work, result) = (Mutex::new(Some(work)), Mutex::new(None));
    let pool = Pool::new(2).map_err(Error::Run)?;

    // Two tasks for two threads: the one that is not the caller works. If that thread takes both
    // tasks, there is nothing left to wait for.
    pool.map(2, |_| {
        if std::thread::current().id() == caller {
            return monitor.watch();
        }
        if let Some(work) = lock(&work).take() {
            let guard = FinishGuard(monitor);
            *lock(&result) = Some(work());
            drop(guard);
        }
    });

    let result = lock(&result).take();
    result.unwrap_or_else(|| Err(Error::Run("the run ended without a result".to_string())))
}

/// Reports the end of the work to the monitor, even if that is a panic.
struct FinishGuard<'a>(&'a SignalMonitor);

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}
