//! Ctrl-C: the first one asks politely, the second one leaves at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use swarmwood::train::Halt;

/// Whether somebody asked to stop. Until it is armed, Ctrl-C ends the program as usual: there is
/// nothing to keep yet.
#[derive(Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on the first Ctrl-C only raises the flag; a second one ends the program with code
    /// 130.
    pub fn arm(&self) {
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the second handler raises the flag that the first one looks at.
            // Where a handler cannot be set, Ctrl-C keeps its usual meaning, which is better than
            // no run.
            let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&self.raised));
            let _ = flag::register(signal, Arc::clone(&self.raised));
        }
    }

    /// The same question for who works while others wait.
    pub fn halt(&self) -> Halt {
        let raised = Arc::clone(&self.raised);
        Halt::new(move || raised.load(Ordering::Relaxed))
    }

    /// Whether Ctrl-C was pressed since the flag was armed.
    pub fn raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}
