//! What every learner is handed beside its data: threads to compute with, and the limits of the
//! run.

use crate::budget::Budget;
use crate::pool::Pool;

/// Threads and limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The threads that compute.
    pub pool: &'a Pool,
    /// What limits the run.
    pub budget: &'a Budget,
}
