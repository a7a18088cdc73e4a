//! A counting allocator: how much memory an execution needs at its peak.
//!
//! **Unsafe code.** The trait of allocators; every call goes to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The most since the last [`start`].
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// An allocation beyond this is refused, which ends the process before it ends the machine.
const MOST: usize = 4 << 30;

/// The system's allocator, counted.
#[derive(Debug)]
pub struct CountingAllocator;

fn add(size: usize) -> bool {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
    live <= MOST
}

// SAFETY: every block comes from the system's allocator and goes back to it with its own layout.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !add(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !add(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !add(size) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(block, layout) }
    }
}

/// A measurement of memory from here on.
#[derive(Debug, Clone, Copy)]
pub struct MemoryMark(usize);

/// Starts a measurement.
pub fn start() -> MemoryMark {
    let live = LIVE.load(Ordering::Relaxed);
    PEAK.store(live, Ordering::Relaxed);
    MemoryMark(live)
}

impl MemoryMark {
    /// Bytes that were in use at the peak, beyond those at the start.
    pub fn peak(self) -> usize {
        PEAK.load(Ordering::Relaxed).saturating_sub(self.0)
    }

    /// Bytes that are in use now, beyond those at the start.
    pub fn growth(self) -> usize {
        LIVE.load(Ordering::Relaxed).saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_vector_is_seen() {
        let mark = start();
        let bytes = std::hint::black_box(vec![1_u8; 3 << 20]);
        assert!(mark.peak() >= bytes.len());
    }
}
