//! Runs a search with a log of its tasks, from the beginning or from a checkpoint, and stores the
//! log on the way.

use std::time::Instant;

use swarmwood_learn::event::Event;
use swarmwood_learn::plan::TaskLog;
use swarmwood_search::Datum;

use super::Job;
use super::checkpoint_writer::CheckpointWriter;
use super::event_log::EventLog;
use crate::message::Message;
use crate::{Error, Result};

/// The version of the payload of the checkpoints of these searches.
const PAYLOAD: u64 = 1;

/// The error of a log that does not belong to a search.
pub(super) fn refused(
    checkpoints: Option<&CheckpointWriter<'_>>,
    error: &swarmwood_search::Error,
) -> Error {
    match checkpoints {
        Some(checkpoints) => checkpoints.refused(error.to_string()),
        None => Error::Run(error.to_string()),
    }
}

/// Runs `search` with a log. Events of an earlier run are replayed first.
pub(super) fn run_logged<R>(
    job: &Job<'_>,
    checkpoints: Option<&CheckpointWriter<'_>>,
    warnings: &mut Vec<Message>,
    observer: &mut dyn FnMut(&Event),
    search: impl FnOnce(&mut TaskLog<'_>) -> Result<R>,
) -> Result<R> {
    let started = Instant::now();
    let past = checkpoints
        .map(|checkpoints| checkpoints.load_search(PAYLOAD, warnings))
        .transpose()?
        .flatten();
    let (state, mut events) = past.unzip();
    let events: &mut EventLog = events.get_or_insert_default();
    let before = events.replay(observer);

    let (mut steps, mut fault) = (0, None);
    let mut observer = |event: &Event, state: &dyn Fn() -> Datum| {
        let elapsed = before + started.elapsed().as_secs_f64();
        let event = Event { elapsed, ..event.clone() };
        events.push(&event);
        steps += 1;
        if let Some(checkpoints) = checkpoints.filter(|checkpoints| checkpoints.is_due(steps)) {
            let fields = vec![("events", events.save()), ("search", state())];
            fault = fault.take().or(checkpoints.save(PAYLOAD, fields).err());
        }
        observer(&event);
        if fault.is_some() {
            job.budget.cancel();
        }
    };
    let mut log = TaskLog::new(state.as_ref(), &mut observer)
        .map_err(|error| refused(checkpoints, &error))?;
    let found = search(&mut log);
    match fault {
        Some(fault) => Err(fault),
        None => found,
    }
}
