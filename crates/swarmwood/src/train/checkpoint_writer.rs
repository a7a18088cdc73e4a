//! Stores the state of a run between steps, and finds it again.

use swarmwood_search::Datum;

use super::Job;
use super::event_log::EventLog;
use crate::checkpoint::{Checkpoint, Identity, Keep, refused, snapshot};
use crate::message::Message;
use crate::write::remove_left_behind;
use crate::{Error, Result};

/// The checkpoints of one run.
pub(super) struct CheckpointWriter<'a> {
    keep: &'a Keep,
    identity: Identity,
}

impl<'a> CheckpointWriter<'a> {
    /// The checkpoints of a run. `pretrained` names the rules that came from a file.
    pub(super) fn new(keep: &'a Keep, job: &Job<'_>, pretrained: Option<u128>) -> Result<Self> {
        remove_left_behind(&keep.path);
        let mut identity = Identity::of(job.params, job.rows, job.valid)?;
        if let Some(print) = pretrained {
            identity.parameters.push(("pretrained".to_string(), format!("{print:032x}")));
        }
        Ok(CheckpointWriter { keep, identity })
    }

    /// Whether the state is to be stored after so many steps.
    pub(super) fn is_due(&self, step: usize) -> bool {
        step.is_multiple_of(self.keep.every.max(1))
    }

    /// The stored state, if there is one to go on from; `version` is the one that the method
    /// writes.
    pub(super) fn load(&self, version: u64, warnings: &mut Vec<Message>) -> Result<Option<Datum>> {
        let path = &self.keep.path;
        if !self.keep.resume {
            return Ok(None);
        }
        if !path.exists() {
            let message = format!(
                "there is no checkpoint {} yet; the run starts at the beginning",
                path.display()
            );
            warnings.push(message.into());
            return Ok(None);
        }
        let checkpoint = Checkpoint::load(path)?;
        let state = snapshot::decode(checkpoint.payload_for(&self.identity, path)?)
            .ok_or_else(|| self.unread())?;
        if state.field("payload").and_then(Datum::natural) != Ok(version) {
            return Err(self.unread());
        }
        Ok(Some(state))
    }

    /// The stored state of a search and its events, if there are some to go on from.
    pub(super) fn load_search(
        &self,
        version: u64,
        warnings: &mut Vec<Message>,
    ) -> Result<Option<(Datum, EventLog)>> {
        let Some(state) = self.load(version, warnings)? else { return Ok(None) };
        let search = state.field("search").ok().cloned();
        let events = state.field("events").ok().and_then(EventLog::load);
        search.zip(events).map(Some).ok_or_else(|| self.unread())
    }

    /// Stores a state.
    pub(super) fn save(&self, version: u64, fields: Vec<(&str, Datum)>) -> Result<()> {
        let fields = std::iter::once(("payload", Datum::Natural(version))).chain(fields);
        let state = Datum::Record(fields.map(|(name, value)| (name.to_string(), value)).collect());
        Checkpoint { identity: self.identity.clone(), payload: snapshot::encode(&state) }
            .save(&self.keep.path)
    }

    /// An error about the stored state.
    pub(super) fn refused(&self, message: impl Into<String>) -> Error {
        refused(&self.keep.path, message)
    }

    /// The error about a state that cannot be read.
    pub(super) fn unread(&self) -> Error {
        self.refused(
            "holds a state that this program cannot read; leave out --resume to start anew",
        )
    }
}
