//! Counters of edges, one byte each, that the compiler's coverage pass inserts.
//!
//! Without the pass there are no counters, and every function here does nothing.
//!
//! **Unsafe code.** The counters are an array of the linker's, whose bounds the instrumented code
//! passes to us before the program starts.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static FIRST: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Called by instrumented code with the bounds of the counters; the linker joins those of all
/// modules in one array.
///
/// # Safety
/// Called by the code that the compiler's pass inserts only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let count = (stop as usize).saturating_sub(start as usize);
    if count > COUNT.load(Ordering::Relaxed) {
        FIRST.store(start, Ordering::Relaxed);
        COUNT.store(count, Ordering::Relaxed);
    }
}

/// Number of counters; 0 without the pass.
pub fn counters() -> usize {
    COUNT.load(Ordering::Relaxed)
}

fn slice() -> &'static mut [u8] {
    let (first, count) = (FIRST.load(Ordering::Relaxed), counters());
    if first.is_null() {
        return &mut [];
    }
    // SAFETY: the array exists as long as the program. Other threads may count while it is read;
    // a count that is lost makes an input look less new than it is.
    unsafe { std::slice::from_raw_parts_mut(first, count) }
}

/// Sets all counters to zero.
pub fn clear() {
    slice().fill(0);
}

/// What has been taken by all executions so far: a bit per class of counts for every edge.
#[derive(Debug)]
pub struct SeenEdges(Vec<u8>);

impl SeenEdges {
    /// Nothing.
    pub fn new() -> Self {
        SeenEdges(vec![0; counters()])
    }

    /// Adds the counts since [`clear`]; the number of new bits.
    pub fn add(&mut self) -> usize {
        let mut new = 0;
        let counts = slice();
        for (counts, seen) in counts.chunks(64).zip(self.0.chunks_mut(64)) {
            // Most are zero.
            if counts.iter().all(|&count| count == 0) {
                continue;
            }
            for (&count, seen) in counts.iter().zip(seen) {
                let bit = count_class(count);
                if bit & !*seen != 0 {
                    *seen |= bit;
                    new += 1;
                }
            }
        }
        new
    }

    /// Number of edges that were taken.
    pub fn edges(&self) -> usize {
        self.0.iter().filter(|&&seen| seen != 0).count()
    }
}

impl Default for SeenEdges {
    fn default() -> Self {
        SeenEdges::new()
    }
}

/// Counts in classes, so that every further turn of a loop is not something new.
fn count_class(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128.. => 128,
    }
}
