//! What limits a run: cancellation, a deadline, and a number of work units.
//!
//! One [`Budget`] is handed down to every loop that can last. A run that nobody interrupts and that
//! has no work limit never sees it say no, so asking changes no result.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Asked from any thread whether the run is to end.
type Interrupt = Box<dyn Fn() -> bool + Send + Sync>;

/// The limits of a run. Clones share their state, and asking is cheap enough for inner loops.
///
/// ```
/// use swarmwood_learn::budget::Budget;
///
/// let budget = Budget::unlimited().with_work_limit(2);
/// budget.spend(2);
/// assert!(budget.is_exhausted() && !budget.is_interrupted());
/// budget.cancel();
/// assert!(budget.is_interrupted());
/// ```
#[derive(Clone)]
pub struct Budget {
    limits: Arc<Limits>,
    work: Arc<WorkAccount>,
}

/// What ends a run at once.
#[derive(Default)]
struct Limits {
    cancelled: AtomicBool,
    deadline: Option<Instant>,
    interrupts: Vec<Interrupt>,
}

/// Work units done, and how many are allowed.
#[derive(Debug, Default)]
struct WorkAccount {
    limit: Option<u64>,
    spent: AtomicU64,
}

impl Budget {
    /// A budget that never ends by itself.
    pub fn unlimited() -> Budget {
        Budget { limits: Arc::default(), work: Arc::default() }
    }

    /// The same budget with a deadline. To be called before the budget is shared.
    #[must_use]
    pub fn with_deadline(self, at: Instant) -> Budget {
        self.change_limits(|limits| limits.deadline = Some(at))
    }

    /// The same budget with a limit of work units: trees grown, or candidates evaluated. It counts
    /// from zero.
    #[must_use]
    pub fn with_work_limit(self, units: u64) -> Budget {
        Budget {
            work: Arc::new(WorkAccount { limit: Some(units), ..WorkAccount::default() }),
            ..self
        }
    }

    /// The same budget, ended as soon as `ask` says yes. To be called before the budget is shared.
    #[must_use]
    pub fn with_interrupt(self, ask: impl Fn() -> bool + Send + Sync + 'static) -> Budget {
        self.change_limits(|limits| limits.interrupts.push(Box::new(ask)))
    }

    fn change_limits(self, change: impl FnOnce(&mut Limits)) -> Budget {
        let mut limits =
            Arc::into_inner(self.limits).expect("limits are set before the budget is shared");
        change(&mut limits);
        Budget { limits: Arc::new(limits), work: self.work }
    }

    /// Ends the run: every loop that asks stops with what it has.
    pub fn cancel(&self) {
        self.limits.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run was cancelled or its deadline has passed. Once this is true it stays so.
    pub fn is_interrupted(&self) -> bool {
        if self.limits.cancelled.load(Ordering::Relaxed) {
            return true;
        }
        let over = self.limits.deadline.is_some_and(|at| Instant::now() >= at)
            || self.limits.interrupts.iter().any(|ask| ask());
        if over {
            self.cancel();
        }
        over
    }

    /// Whether [`Budget::is_interrupted`] has said yes to anybody so far. Unlike that, it does not
    /// look at the clock: a run that ended by itself was not interrupted, however late it is now.
    pub fn was_interrupted(&self) -> bool {
        self.limits.cancelled.load(Ordering::Relaxed)
    }

    /// Whether the deadline, if there is one, has passed.
    pub fn deadline_passed(&self) -> bool {
        self.limits.deadline.is_some_and(|at| Instant::now() >= at)
    }

    /// Whether the run was interrupted or has no work units left.
    pub fn is_exhausted(&self) -> bool {
        self.remaining() == Some(0) || self.is_interrupted()
    }

    /// Counts work that was done.
    pub fn spend(&self, units: u64) {
        self.work.spent.fetch_add(units, Ordering::Relaxed);
    }

    /// Work units done.
    pub fn spent(&self) -> u64 {
        self.work.spent.load(Ordering::Relaxed)
    }

    /// Work units left; `None` without a limit.
    pub fn remaining(&self) -> Option<u64> {
        self.work.limit.map(|limit| limit.saturating_sub(self.spent()))
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::unlimited()
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("cancelled", &self.limits.cancelled)
            .field("deadline", &self.limits.deadline)
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_deadline_an_interrupt_and_a_cancellation_each_end_a_run_for_good() {
        let late = Budget::unlimited().with_deadline(Instant::now() + Duration::from_secs(3600));
        assert!(!late.is_interrupted() && !late.deadline_passed());
        let over = Budget::unlimited().with_deadline(Instant::now());
        assert!(over.deadline_passed() && !over.was_interrupted(), "nobody was told yet");
        assert!(over.is_interrupted() && over.was_interrupted());

        let flag = Arc::new(AtomicBool::new(false));
        let asked = flag.clone();
        let budget = Budget::unlimited().with_interrupt(move || asked.load(Ordering::Relaxed));
        assert!(!budget.is_interrupted());
        flag.store(true, Ordering::Relaxed);
        assert!(budget.is_interrupted());
        flag.store(false, Ordering::Relaxed);
        assert!(budget.is_interrupted(), "an interruption is not taken back");

        let shared = late.clone();
        shared.cancel();
        assert!(late.is_interrupted());
    }

    #[test]
    fn work_is_counted_by_all_clones_and_starts_anew_with_a_new_limit() {
        let all = Budget::unlimited();
        let task = all.clone().with_work_limit(3);
        task.clone().spend(2);
        assert_eq!(
            (task.spent(), task.remaining(), all.spent(), all.remaining()),
            (2, Some(1), 0, None)
        );
        task.spend(5);
        assert!(task.is_exhausted() && !task.is_interrupted() && !all.is_exhausted());
    }
}
