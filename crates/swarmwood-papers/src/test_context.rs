//! Threads, limits and rows for tests.

use std::sync::atomic::{AtomicUsize, Ordering};

use swarmwood_learn::bins::Layout;
use swarmwood_learn::bins::distinct::DistinctValues;
use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::pool::Pool;
use swarmwood_learn::rule::Code;
use swarmwood_model::Feature;

/// A pool and a budget from which a [`Context`] is borrowed.
pub(crate) struct TestContext {
    pub(crate) pool: Pool,
    pub(crate) budget: Budget,
}

impl TestContext {
    /// Without limits.
    pub(crate) fn new(threads: usize) -> Self {
        let pool = Pool::new(threads).expect("threads for a test");
        TestContext { pool, budget: Budget::unlimited() }
    }

    /// Interrupted as soon as the budget was asked so many times.
    pub(crate) fn interrupted_after(threads: usize, questions: usize) -> Self {
        let asked = AtomicUsize::new(0);
        let ask = move || asked.fetch_add(1, Ordering::Relaxed) >= questions;
        let budget = Budget::unlimited().with_interrupt(ask);
        TestContext { budget, ..TestContext::new(threads) }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context { pool: &self.pool, budget: &self.budget }
    }
}

/// Rows with a code for every distinct value.
pub(crate) fn distinct<C: Code>(chunk: &Chunk, features: &[Feature]) -> Dataset<C> {
    let values = |column: &Column| {
        let mut values = DistinctValues::default();
        values.extend(column);
        values
    };
    let pool = Pool::new(1).expect("a thread for a test");
    let values: Vec<DistinctValues> = chunk.columns.iter().map(values).collect();
    let layout = Layout::fit_distinct(|at| chunk.columns[at].clone(), features, &values, &pool);
    Dataset::with_codes(chunk, layout, &pool)
}
