//! A boosted linear function.

use std::time::Instant;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::Event;
use swarmwood_learn::linear::{self, LinearConfig, LinearError, LinearFit};
use swarmwood_learn::stats::LinearSet;
use swarmwood_model::Body;

use super::{Job, TrainResult, gather, measure};
use crate::{Error, Result};

/// Trains on raw values, which must all be in memory.
pub(super) fn train(job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
    let started = Instant::now();
    let chunk = gather(job.rows)?;
    let valid = job.valid.map(gather).transpose()?;
    job.check_targets(chunk.target.iter().copied())?;
    let fitted = fit(job, &chunk, valid.as_ref(), observer)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let notes = job.round_notes(fitted.rounds, fitted.train.len());
    let model = job.model(fitted.base, Body::Linear(fitted.outputs));
    let train_metrics = measure(job, &model, &chunk)?;
    let valid_metrics =
        valid.as_ref().map(|valid| measure(job, &model, valid)).transpose()?.unwrap_or_default();
    Ok(TrainResult {
        model,
        params: job.params.clone(),
        bin_seconds: 0.0,
        train_seconds,
        rounds: fitted.rounds,
        train_metrics,
        valid_metrics,
        held_out: None,
        watched_metrics: Vec::new(),
        search: None,
        features: None,
        swarm: None,
        tree: None,
        warnings: Vec::new(),
        notes,
        columns: Vec::new(),
    })
}

/// Fits rows that are all in memory.
pub(super) fn fit(
    job: &Job<'_>,
    chunk: &Chunk,
    valid: Option<&Chunk>,
    observer: &mut dyn FnMut(&Event),
) -> Result<LinearFit> {
    let config = LinearConfig {
        rounds: job.params.trees,
        learning_rate: job.params.learning_rate,
        lambda: job.params.lambda,
        alpha: job.params.l1,
        early_stopping_rounds: job.params.early_stopping_rounds,
        metric: job.metric,
    };
    let set = LinearSet {
        metric: job.options.custom_metric.as_deref(),
        ..LinearSet::new(chunk, valid, &job.rows.schema, job.objective)
    };
    linear::train(set, &config, job.budget, observer).map_err(|error| match error {
        LinearError::Data(error) => Error::Run(error.to_string()),
        LinearError::Backend(error) => error.into(),
    })
}
