//! Boosted trees whose structure is searched: the default method.

use std::time::Instant;

use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::event::{Event, Flow};
use swarmwood_learn::greedy;
use swarmwood_learn::swarm::{self, Frame, Progress, Settings};
use swarmwood_model::Body;

use super::trees::{KEPT_BYTES, by_row, constant_columns};
use super::{Job, Trained, binning};
use crate::params::{Growth, Params};
use crate::{Error, Result};

/// Leaves of a tree that `total_leaves` may be spent on.
const TREE_SIZES: [usize; 5] = [32, 64, 16, 8, 4];

/// Bins and trains.
pub fn train(job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
    let started = Instant::now();
    let (data, valid) = binning::bin(job)?;
    job.check_targets(&data.target)?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let warnings = constant_columns(job, &data);
    let started = Instant::now();
    let mut listen = |progress: &Progress| {
        watch(&Event { round: progress.done, rounds: progress.of, train: progress.loss, valid: None })
    };
    let settings = settings(job.params);
    let found = swarm::train(&data, valid.as_ref(), job.objective, &settings, job.pool, &mut listen);
    let found = found.map_err(Error::Run)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let model = job.model(found.base, Body::Trees(found.members));
    // The bins have done their work; metrics want their memory.
    let answers = |data: Dataset| (data.target, data.weight);
    let ((target, weight), valid) = (answers(data), valid.map(answers));
    let train_metrics = job.metrics(&model, &by_row(&found.train_scores, found.shift), &target, &weight);
    let valid_metrics = valid.map_or(Vec::new(), |(target, weight)| {
        job.metrics(&model, &by_row(&found.valid_scores, found.shift), &target, &weight)
    });
    Ok(Trained {
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        rounds: found.report.frame.trees,
        train_metrics,
        valid_metrics,
        search: Some(found.report),
        warnings,
    })
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
        // Trees that grow level by level get the levels that their leaves need.
        depth: match (params.depth, params.growth) {
            (0, Growth::Depth | Growth::Oblivious) => max_leaves.max(2).next_power_of_two().ilog2() as usize,
            (depth, _) => depth,
        },
        max_leaves,
        seed: params.seed,
        memory: KEPT_BYTES,
    };
    let frames = match params.total_leaves {
        0 => vec![frame(params.trees, most_leaves(params))],
        total => {
            let fitting: Vec<usize> = TREE_SIZES.into_iter().filter(|&leaves| leaves <= total).collect();
            fitting.into_iter().map(|leaves| frame(total / leaves, leaves)).collect()
        }
    };
    Settings { frames, budget: params.budget }
}

/// Leaves of a tree; where only a depth is given, what it allows.
fn most_leaves(params: &Params) -> usize {
    let by_depth = if (1..=16).contains(&params.depth) { 1 << params.depth } else { usize::MAX };
    match params.max_leaves {
        0 => by_depth.min(1 << 16),
        most => most.min(by_depth),
    }
}
