//! What every learner is handed beside its data: threads to compute with, and the limits of the
//! run.

use crate::budget::Budget;
use crate::pool::Pool;

/// Threads and limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The threads that compute.
    pub pool: &'a Pool,
    /// What limits the run.
    pub budget: &'a Budget,
}

/// A pool and a budget for tests, from which a [`Context`] is borrowed.
#[cfg(test)]
pub(crate) struct TestContext {
    pub(crate) pool: Pool,
    pub(crate) budget: Budget,
}

#[cfg(test)]
impl TestContext {
    /// Without limits.
    pub(crate) fn new(threads: usize) -> Self {
        let pool = Pool::new(threads).expect("threads for a test");
        TestContext { pool, budget: Budget::unlimited() }
    }

    /// Interrupted as soon as the budget was asked so many times.
    pub(crate) fn interrupted_after(threads: usize, questions: usize) -> Self {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let ask = move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= questions;
        TestContext { budget: Budget::unlimited().with_interrupt(ask), ..TestContext::new(threads) }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context { pool: &self.pool, budget: &self.budget }
    }
}
