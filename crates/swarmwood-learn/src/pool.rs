//! The one place that owns threads.
//!
//! Everything above asks a [`Pool`] to run independent pieces of work; the pieces and the order in which their results
//! are used never depend on how many threads there are.

use std::ops::Range;

use rayon::prelude::*;

/// A fixed set of threads that belongs to one run.
#[derive(Debug)]
pub struct Pool {
    inner: Option<rayon::ThreadPool>,
    threads: usize,
}

impl Pool {
    /// A pool of `threads` threads; 0 asks for one a core. One thread means the caller's own.
    ///
    /// ```
    /// use swarmwood_learn::pool::Pool;
    /// let squares = Pool::new(2)?.map(4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn new(threads: usize) -> Result<Self, String> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            given => given,
        };
        if threads == 1 {
            return Ok(Pool { inner: None, threads });
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("swarmwood-{i}"))
            .build()
            .map(|inner| Pool { inner: Some(inner), threads })
            .map_err(|error| format!("cannot start {threads} threads: {error}"))
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` on a thread of the pool, so that the calls inside it need not hop there one by one.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.inner {
            Some(inner) => inner.install(work),
            None => work(),
        }
    }

    /// `work(0), work(1), …, work(count - 1)`, in that order in the result.
    pub fn map<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        match &self.inner {
            Some(inner) => inner.install(|| (0..count).into_par_iter().map(work).collect()),
            None => (0..count).map(work).collect(),
        }
    }

    /// Runs `work` on every item.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Sync + Send) {
        match &self.inner {
            Some(inner) if items.len() > 1 => {
                inner.install(|| items.par_iter_mut().enumerate().for_each(|(i, item)| work(i, item)));
            }
            _ => items.iter_mut().enumerate().for_each(|(i, item)| work(i, item)),
        }
    }
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
                assert_eq!(ranges.iter().flat_map(|r| r.clone()).collect::<Vec<_>>(), (0..length).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn results_keep_their_order_whatever_the_threads() {
        let one = Pool::new(1).unwrap().map(100, |i| i * 3);
        assert_eq!(Pool::new(4).unwrap().map(100, |i| i * 3), one);
    }
}
