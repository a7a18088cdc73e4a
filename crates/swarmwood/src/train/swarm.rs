//! Boosted trees whose structure is searched: the default method.

use std::time::Instant;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::event::{Event, Flow, Search, Stage};
use swarmwood_learn::greedy;
use swarmwood_learn::stats::TrainingSet;
use swarmwood_learn::swarm::{self, Ears, Found, Frame, Progress, SearchError, Settings};

use super::keeper::Keeper;
use super::options::patience;
use super::told::{SCORE, Told};
use super::trees::{Ended, KEPT_BYTES, constant_columns};
use super::{Job, Learner, Trained, binning};
use crate::message::Message;
use crate::params::{Growth, Method, Params};
use crate::{Error, Result};

/// Leaves of a tree that `total_leaves` may be spent on.
const TREE_SIZES: [usize; 5] = [32, 64, 16, 8, 4];

/// The version of the payload of this method's checkpoints.
const PAYLOAD: u64 = 2;

/// The learner `swarm`.
pub(super) struct EnsembleSearch;

impl Learner for EnsembleSearch {
    fn method(&self) -> Method {
        Method::SWARM
    }

    fn train(&self, job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
        train(job, watch)
    }
}

/// Bins and trains.
fn train(job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
    let started = Instant::now();
    let (data, valid) = binning::bin(job)?;
    job.check_targets(data.target.iter())?;
    let bin_seconds = started.elapsed().as_secs_f64();
    let mut warnings = constant_columns(job, &data);
    let started = Instant::now();
    let found = search(job, (&data, valid.as_ref()), watch, &mut warnings)?;
    let train_seconds = started.elapsed().as_secs_f64();
    let ended = Ended {
        base: found.base,
        members: found.members,
        train_scores: found.train_scores,
        valid_scores: found.valid_scores,
        shift: found.shift,
    };
    let (model, train_metrics, valid_metrics) = ended.measured(job, data, valid);
    Ok(Trained {
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        rounds: found.report.frame.trees,
        train_metrics,
        valid_metrics,
        search: Some(found.report),
        flight: None,
        tree: None,
        warnings,
        notes: Vec::new(),
    })
}

/// Searches, from the beginning or from a checkpoint.
fn search(
    job: &Job<'_>,
    (data, valid): (&Dataset, Option<&Dataset>),
    watch: &mut dyn FnMut(&Event) -> Flow,
    warnings: &mut Vec<Message>,
) -> Result<Found> {
    let started = Instant::now();
    let keeper = job.options.keep.as_ref().map(|keep| Keeper::new(keep, job, None)).transpose()?;
    let past = keeper.as_ref().map(|keeper| keeper.load(PAYLOAD, warnings)).transpose()?.flatten();
    let mut told = past
        .as_ref()
        .and_then(|past| past.field("told").ok())
        .and_then(Told::load)
        .unwrap_or_default();
    let before = told.tell_again(watch);
    let (mut steps, mut fault) = (0, None);
    let mut listen = |progress: &Progress<'_>| {
        let event = Event { elapsed: before + started.elapsed().as_secs_f64(), ..event(progress) };
        told.push(&event);
        let flow = watch(&event);
        steps += 1;
        if let Some(keeper) = keeper.as_ref().filter(|keeper| keeper.is_due(steps)) {
            fault = keeper
                .save(PAYLOAD, vec![("told", told.save()), ("search", (progress.state)())])
                .err();
        }
        if fault.is_some() { Flow::Stop } else { flow }
    };
    let settings = settings(job.params);
    let state = past.as_ref().and_then(|past| past.field("search").ok());
    let halt = || job.halted();
    let ears = Ears { watch: &mut listen, halt: &halt };
    let set = TrainingSet::new(data, valid, job.objective);
    let budget = match &job.options.halt {
        Some(halt) => Budget::unlimited().with_interrupt(halt.hurry(patience(job.params.method))),
        None => Budget::unlimited(),
    };
    let context = Context { pool: job.pool, budget: &budget };
    let found = swarm::train(set, &settings, context, state, ears);
    if let Some(fault) = fault {
        return Err(fault);
    }
    found.map_err(|error| match (error, &keeper) {
        (SearchError::State(message), Some(keeper)) => keeper.refused(message),
        (SearchError::State(message) | SearchError::Threads(message), _) => Error::Run(message),
        (SearchError::Backend(error), _) => error.into(),
    })
}

/// A step in the words of events.
fn event(progress: &Progress<'_>) -> Event {
    let comparing = progress.stage == swarm::Stage::Compare;
    let search = Search {
        measure: if comparing { SCORE } else { "loss" },
        best: if comparing { progress.best } else { progress.loss },
        // The start is boosting by halves: what it lacks of a whole fit says nothing.
        gain: progress.gain.filter(|_| progress.stage != swarm::Stage::Start),
        mean: None,
        diversity: None,
        factor: None,
        alpha: None,
        beta: None,
        evaluations: progress.work as u64,
        repeats: 0,
    };
    let event = Event::new(stage(progress.stage), progress.done, progress.of);
    Event { train: progress.loss, search: Some(search), ..event }
}

/// The stage in the words of events.
fn stage(stage: swarm::Stage) -> Stage {
    match stage {
        swarm::Stage::Compare => Stage::COMPARING,
        swarm::Stage::Start => Stage::BOOSTING,
        swarm::Stage::Sweeps => Stage::SWEEPS,
        swarm::Stage::Pairs => Stage::PAIRS,
    }
}

fn settings(params: &Params) -> Settings {
    let growth = match params.growth {
        Growth::Depth => greedy::Growth::Depth,
        Growth::Auto | Growth::Leaf => greedy::Growth::Leaf,
        Growth::Oblivious => greedy::Growth::Oblivious,
    };
    let frame = |trees: usize, max_leaves: usize| Frame {
        trees,
        growth,
        or_oblivious: params.growth == Growth::Auto,
        // Trees that grow level by level get the levels that their leaves need.
        depth: match (params.depth, params.growth) {
            (0, Growth::Depth | Growth::Oblivious) => {
                max_leaves.max(2).next_power_of_two().ilog2() as usize
            }
            (depth, _) => depth,
        },
        max_leaves,
        seed: params.seed,
        memory: KEPT_BYTES,
    };
    let frames = match params.total_leaves {
        0 => vec![frame(params.trees, most_leaves(params))],
        total => {
            let fitting: Vec<usize> =
                TREE_SIZES.into_iter().filter(|&leaves| leaves <= total).collect();
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
