//! Runs a search over sequences of rules: its iterations, its events, and its checkpoints, from
//! which it resumes where one left off.

use std::time::Instant;

use swarmwood_learn::event::{Event, Stage};
use swarmwood_papers::particle::{Evaluator, ParticleError};
use swarmwood_papers::swarm_boosting::{IterativeEngine, SwarmError, SwarmFit, SwarmRun};
use swarmwood_search::Snapshot;

use super::checkpoint_writer::CheckpointWriter;
use super::event_log::EventLog;
use crate::checkpoint::snapshot;
use crate::error::DataError;
use crate::message::Message;
use crate::params::{Growth, Params};
use crate::{Error, Result};

/// The version of the payload of these methods.
const PAYLOAD: u64 = 3;

/// What a search starts from.
pub(super) struct SequenceSearch<'a, B> {
    pub(super) evaluator: Evaluator<'a>,
    /// Makes the run, unless it is resumed.
    pub(super) begin: B,
}

/// A run that has begun, or why it could not.
pub(super) type BeginResult<'a, E> = std::result::Result<SwarmRun<'a, E>, SwarmError>;

/// Runs to the end, or until the budget is spent.
pub(super) fn run_search<'a, E: IterativeEngine>(
    params: &Params,
    start: SequenceSearch<'a, impl FnOnce(Evaluator<'a>) -> BeginResult<'a, E>>,
    checkpoints: Option<&CheckpointWriter<'_>>,
    observer: &mut dyn FnMut(&Event),
    warnings: &mut Vec<Message>,
) -> Result<(SwarmFit, EventLog)> {
    let iterations = params.iterations;
    let stored = checkpoints.map(|checkpoints| load(checkpoints, warnings)).transpose()?.flatten();
    let (mut run, mut events) = match stored {
        Some((snapshot, events)) => {
            let evaluations = events.costs().0;
            let resumed = SwarmRun::<E>::resume(start.evaluator, &snapshot, evaluations);
            let unfit = |error: SwarmError| match checkpoints {
                Some(checkpoints) => checkpoints.refused(error.to_string()),
                None => fault(error),
            };
            (resumed.map_err(unfit)?, events)
        }
        None => {
            let run = (start.begin)(start.evaluator);
            (run.map_err(fault)?, EventLog::default())
        }
    };
    let event = |step, search, elapsed| Event {
        search: Some(search),
        elapsed,
        ..Event::new(Stage::SWARM, step, iterations)
    };
    let (started, before) = (Instant::now(), events.replay(observer));
    while let Some((step, search)) = run.step(checkpoints.is_some()).map_err(fault)? {
        // A stored state has the limit of its engine; a forged one would go on for ever.
        if step > iterations
            && let Some(checkpoints) = checkpoints
        {
            return Err(checkpoints.unread());
        }
        // A resumed run repeats the last stored iteration.
        if step <= events.steps() {
            continue;
        }
        let elapsed = before + started.elapsed().as_secs_f64();
        let event = event(step, search, elapsed);
        events.push(&event);
        observer(&event);
        if let Some(checkpoints) = checkpoints.filter(|checkpoints| checkpoints.is_due(step)) {
            save(checkpoints, &run, &events)?;
        }
    }
    if let Some(checkpoints) = checkpoints {
        save(checkpoints, &run, &events)?;
    }
    let stopped = run.is_interrupted();
    if !stopped && events.steps() < iterations {
        let done = events.steps();
        let message = format!(
            "the swarm converged after {done} of {iterations} iterations: no particle can move"
        );
        warnings.push(message.into());
    }
    if params.local_search && params.growth == Growth::Oblivious && !stopped {
        let elapsed = || before + started.elapsed().as_secs_f64();
        descend(&mut run, elapsed, observer)?;
    }
    Ok((run.finish().map_err(fault)?, events))
}

/// Replaces rules of the best particle until that brings nothing, or until the listener has enough.
/// The state that was stored last is the swarm's end: a run that is interrupted here descends
/// again, the same way.
fn descend<E: IterativeEngine>(
    run: &mut SwarmRun<'_, E>,
    elapsed: impl Fn() -> f64,
    observer: &mut dyn FnMut(&Event),
) -> Result<()> {
    while let Some((step, search)) = run.descend().map_err(fault)? {
        let visit = Event::new(Stage::LOCAL_SEARCH, step, step);
        observer(&Event { search: Some(search), elapsed: elapsed(), ..visit });
    }
    Ok(())
}

fn fault(error: SwarmError) -> Error {
    match error {
        SwarmError::NoRules => Error::Data(Box::new(DataError {
            file: "the training rows".to_string(),
            message: error.to_string().into(),
            help: "add rows or features whose values differ".into(),
            ..DataError::default()
        })),
        SwarmError::Particle(ParticleError::Backend(error)) => error.into(),
        other => Error::Run(other.to_string()),
    }
}

/// The stored state of a swarm, if there is one to go on from.
fn load(
    checkpoints: &CheckpointWriter<'_>,
    warnings: &mut Vec<Message>,
) -> Result<Option<(Snapshot, EventLog)>> {
    let Some(state) = checkpoints.load(PAYLOAD, warnings)? else { return Ok(None) };
    let swarm = state.field("swarm").ok().and_then(snapshot::of_datum);
    let events = state.field("events").ok().and_then(EventLog::load);
    swarm.zip(events).map(Some).ok_or_else(|| checkpoints.unread())
}

/// Stores the state after the last iteration that was evaluated. Where nothing was, the stored
/// state is the newest.
fn save<E: IterativeEngine>(
    checkpoints: &CheckpointWriter<'_>,
    run: &SwarmRun<'_, E>,
    events: &EventLog,
) -> Result<()> {
    let Some(swarm) = run.snapshot() else { return Ok(()) };
    checkpoints
        .save(PAYLOAD, vec![("events", events.save()), ("swarm", snapshot::to_datum(&swarm))])
}
