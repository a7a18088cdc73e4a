//! How work is executed, where that can be chosen: the instructions of kernels, and whether messages
//! to the rows pass through bytes. Neither may change a bit of a result.
//!
//! With the feature `test-hooks` tests choose; the choice holds for the whole process. No
//! released program has the feature, and without it everything here is a constant.

/// The widest vector instructions that kernels may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionLimit {
    /// The baseline of the architecture.
    Plain,
    /// AVX2.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// Whether kernels may use such instructions, if the machine has them.
#[cfg(not(feature = "test-hooks"))]
#[inline(always)]
pub(crate) const fn allows(_: InstructionLimit) -> bool {
    true
}

#[cfg(feature = "test-hooks")]
pub(crate) use choice::{allows, uses_loopback};
#[cfg(feature = "test-hooks")]
pub use choice::{limit_instructions, route_through_loopback};

#[cfg(feature = "test-hooks")]
mod choice {
    use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

    use super::InstructionLimit;

    static LIMIT: AtomicU8 = AtomicU8::new(InstructionLimit::Avx512 as u8);
    static LOOPBACK: AtomicBool = AtomicBool::new(false);

    /// Limits the instructions of all kernels from here on.
    pub fn limit_instructions(limit: InstructionLimit) {
        LIMIT.store(limit as u8, Ordering::Relaxed);
    }

    /// Whether every message of backends that are opened from here on is encoded and decoded, as
    /// [`Loopback`](crate::stats::Loopback) does.
    pub fn route_through_loopback(is_routed: bool) {
        LOOPBACK.store(is_routed, Ordering::Relaxed);
    }

    pub(crate) fn allows(instructions: InstructionLimit) -> bool {
        instructions as u8 <= LIMIT.load(Ordering::Relaxed)
    }

    pub(crate) fn uses_loopback() -> bool {
        LOOPBACK.load(Ordering::Relaxed)
    }
}
