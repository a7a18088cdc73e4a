//! The one place that looks at the time.

use std::time::{Duration, Instant};

use swarmwood_learn::event::Flow;

/// A time limit as an extra stop, which no learner knows of.
pub(super) struct Clock {
    started: Instant,
    pub(super) until: Option<Instant>,
    pub(super) expired: bool,
}

impl Clock {
    pub(super) fn new(seconds: f64) -> Self {
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
        Clock {
            started: Instant::now(),
            until: limit.and_then(|limit| Instant::now().checked_add(limit)),
            expired: false,
        }
    }

    /// Seconds since training began.
    pub(super) fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub(super) fn check(&mut self, flow: Flow) -> Flow {
        self.expired = self.is_over();
        if self.expired { Flow::Stop } else { flow }
    }
}
