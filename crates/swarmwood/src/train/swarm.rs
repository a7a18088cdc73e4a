//! Boosted trees whose structure is searched.

use std::time::Instant;

use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::greedy;
use swarmwood_learn::swarm::{self, Frame, Progress, Settings};
use swarmwood_model::Body;

use super::trees::{KEPT_BYTES, by_row, constant_columns};
use super::{Job, Trained, binning};
use crate::params::{Growth, Params};
use crate::{Error, Result};

/// Bins and trains.
pub fn train(job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
    let started = Instant::now();
    let (data, _) = binning::bin(job)?;
    job.check_targets(&data.target)?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let mut warnings = constant_columns(job, &data);
    let started = Instant::now();
    let settings = settings(job.params);
    let mut listen = |progress: &Progress| {
        watch(&Event { round: progress.done, rounds: progress.of, train: progress.loss, valid: None })
    };
    let found = swarm::train(&data, job.objective, &settings, job.pool, &mut listen).map_err(Error::Run)?;
    let train_seconds = started.elapsed().as_secs_f64();
    warnings.push(format!("{:?}", found.report));
    let rounds = found.report.frame.trees;
    let model = job.model(found.base, Body::Trees(found.members));
    let train_metrics = job.metrics(&model, &by_row(&found.train_scores, found.shift), &data.target, &data.weight);
    Ok(Trained { model, bin_seconds, train_seconds, rounds, train_metrics, valid_metrics: Vec::new(), warnings })
}

fn settings(params: &Params) -> Settings {
    let growth = match params.growth {
        Growth::Depth => greedy::Growth::Depth,
        Growth::Leaf => greedy::Growth::Leaf,
        Growth::Oblivious => greedy::Growth::Oblivious,
    };
    let frame = |trees: usize, max_leaves: usize| Frame {
        trees,
        growth,
        depth: params.depth,
        max_leaves,
        seed: params.seed,
        memory: KEPT_BYTES,
    };
    let frames = match params.total_leaves {
        0 => vec![frame(params.trees, params.leaf_limit())],
        total => [32, 16, 8, 4].iter().filter(|&&l| total >= l).map(|&leaves| frame(total / leaves, leaves)).collect(),
    };
    Settings { frames, budget: params.budget }
}
