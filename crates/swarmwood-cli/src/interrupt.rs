//! Signals. Ctrl-C: the first one asks the run to stop, the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use swarmwood::learn::budget::Budget;

/// A write beyond the permitted size of a file fails with an error instead of ending the program,
/// so that nothing unfinished is left behind.
#[cfg(unix)]
pub fn report_file_size_limit() {
    // Any handler will do. Where none can be set, the limit keeps its usual meaning.
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Only Unix has a signal for the size of files.
#[cfg(not(unix))]
pub fn report_file_size_limit() {}

/// Whether a signal asked the run to stop. Until the flag is armed, Ctrl-C ends the program as
/// usual: there is nothing to save yet.
#[derive(Default)]
pub struct InterruptFlag {
    raised: Arc<AtomicBool>,
}

impl InterruptFlag {
    /// From now on the first Ctrl-C only raises the flag; a second one ends the program with code
    /// 130.
    pub fn arm(&self) {
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the second handler raises the flag that the first one reads.
            // Where a handler cannot be set, Ctrl-C keeps its usual meaning, which is better than
            // no run.
            let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&self.raised));
            let _ = flag::register(signal, Arc::clone(&self.raised));
        }
    }

    /// A budget that the flag interrupts.
    pub fn budget(&self) -> Budget {
        let raised = Arc::clone(&self.raised);
        Budget::unlimited().with_interrupt(move || raised.load(Ordering::Relaxed))
    }

    /// Whether a signal has arrived since the flag was armed.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}
