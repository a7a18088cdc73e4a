//! The thread pool of `swarmwood-learn` with the threads, locks and atomic numbers of loom, which
//! runs each test in all interleavings of a few threads, up to a number of preemptions, and with all
//! values that the memory model lets a thread see: `make sanitize`.

#![cfg(loom)]

#[allow(dead_code)]
#[path = "../../../crates/swarmwood-learn/src/pool.rs"]
mod pool;

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::pool::Pool;

    /// More preemptions take minutes.
    fn explore(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(test);
    }

    #[test]
    fn every_task_runs_once_in_jobs_that_follow_each_other() {
        explore(3, || {
            let pool = Pool::new(2).unwrap();
            for job in 0..2 {
                assert_eq!(pool.map(2, |task| task + job), [job, job + 1]);
            }
        });
    }

    #[test]
    fn three_threads_share_a_job() {
        explore(1, || {
            let pool = Pool::new(3).unwrap();
            assert_eq!(pool.map(3, |task| task * task), [0, 1, 4]);
        });
    }

    #[test]
    fn a_job_within_a_job_is_run() {
        explore(2, || {
            let pool = Pool::new(2).unwrap();
            let sums = pool.map(2, |task| pool.map(2, |inner| task + inner).iter().sum::<usize>());
            assert_eq!(sums, [1, 3]);
        });
    }

    #[test]
    fn a_pool_without_jobs_ends() {
        explore(4, || drop(Pool::new(2).unwrap()));
    }

    #[test]
    fn a_panic_reaches_the_submitter() {
        std::panic::set_hook(Box::new(|_| {}));
        explore(2, || {
            let pool = Pool::new(2).unwrap();
            let caught = catch_unwind(AssertUnwindSafe(|| pool.map(2, |task| assert_ne!(task, 1))));
            assert!(caught.is_err());
        });
    }
}
