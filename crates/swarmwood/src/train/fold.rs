//! One fit among many of the same rows: bins are made once and shared, a fit has one thread, and
//! what comes of it are metrics of rows that were left out.
//!
//! Everything else is the code path of [`super::train`]: the same settings, losses and learners.

use swarmwood_learn::data::Chunk;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::pool::Pool;
use swarmwood_learn::{greedy, objective};
use swarmwood_model::Body;

use super::{Job, aims, binning, linear, trees};
use crate::params::Params;
use crate::read::Rows;
use crate::{Error, Result};

/// What a fit came to on the rows that it did not see.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoldFit {
    /// Metrics of the task, by name.
    pub(crate) metrics: Vec<(&'static str, f64)>,
    /// Rounds in the model, after early stopping.
    pub(crate) rounds: usize,
}

/// Runs `work` with a job on these rows; a loss of numbers may be cut for two classes.
fn with_job<T>(
    rows: &Rows,
    params: &Params,
    pool: &Pool,
    work: impl FnOnce(&Job<'_>) -> Result<T>,
) -> Result<T> {
    let (spec, metric) = aims(params, &rows.schema.target.kind, true)?;
    let objective = objective::make(&spec);
    work(&Job {
        rows,
        valid: None,
        params,
        spec,
        objective: &*objective,
        metric,
        pool,
        until: None,
        halt: None,
    })
}

/// The rows in bins, for any number of fits with the same `max_bin`.
pub(crate) fn bins(rows: &Rows, params: &Params, pool: &Pool) -> Result<Dataset> {
    with_job(rows, params, pool, |job| binning::training(job, None))
}

/// All rows as they were read, for the linear booster.
pub(crate) fn values(rows: &Rows) -> Result<Chunk> {
    super::gather(rows)
}

/// Refuses targets outside the domain of the loss.
pub(crate) fn check_targets(
    rows: &Rows,
    params: &Params,
    target: &[f64],
    pool: &Pool,
) -> Result<()> {
    with_job(rows, params, pool, |job| job.check_targets(target.iter().copied()))
}

/// Trees on `data`, measured on `test`, which is binned alike; `rows` tell of features and target.
/// `halt` ends it.
pub(crate) fn fit_trees(
    rows: &Rows,
    (data, test): (&Dataset, &Dataset),
    params: &Params,
    pool: &Pool,
    halt: &dyn Fn() -> bool,
) -> Result<FoldFit> {
    with_job(rows, params, pool, |job| {
        trees::check_memory(params, data)?;
        // Nobody hears of the training loss, which costs a pass over the rows.
        let settings = greedy::Settings { tell_every: 0, ..trees::settings(job) };
        let mut halted = false;
        let fit = greedy::train(
            data,
            Some(test),
            job.objective,
            &settings,
            pool,
            &mut stop_if(halt, &mut halted),
        );
        if halted {
            return Err(Error::Run("halted".to_string()));
        }
        let model = job.model(fit.base, Body::Trees(fit.members));
        let known = (&test.target, &test.weight);
        Ok(FoldFit {
            metrics: trees::measure(job.tally(), &model, &fit.valid_scores, fit.shift, known),
            rounds: fit.rounds,
        })
    })
}

/// The linear booster on `data`, measured on `test`.
pub(crate) fn fit_linear(
    rows: &Rows,
    (data, test): (&Chunk, &Chunk),
    params: &Params,
    pool: &Pool,
    halt: &dyn Fn() -> bool,
) -> Result<FoldFit> {
    with_job(rows, params, pool, |job| {
        let mut halted = false;
        let fitted = linear::fit(job, data, Some(test), &mut stop_if(halt, &mut halted))?;
        if halted {
            return Err(Error::Run("halted".to_string()));
        }
        let rounds = fitted.rounds;
        let model = job.model(fitted.base, Body::Linear(fitted.outputs));
        Ok(FoldFit { metrics: linear::measure(job, &model, test)?, rounds })
    })
}

/// A listener that does nothing but stop.
fn stop_if<'a>(
    halt: &'a dyn Fn() -> bool,
    halted: &'a mut bool,
) -> impl FnMut(&Event) -> Flow + 'a {
    move |_| {
        *halted |= halt();
        if *halted { Flow::Stop } else { Flow::Continue }
    }
}
