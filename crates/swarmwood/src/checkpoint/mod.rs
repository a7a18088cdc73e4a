//! Checkpoints: the state of a run on disk, so that it can go on after an end that nobody planned.
//!
//! A checkpoint knows which run it belongs to (method, parameters, a fingerprint of the rows) and
//! refuses every other one; what the method needs to go on is its payload, bytes that only the
//! method understands. [`snapshot`] turns the state of a search engine into such bytes.
//!
//! The file is a line of text with the version, then length-prefixed fields, then a checksum over
//! everything before it. It is written to the side and renamed, so that a run killed while it
//! writes leaves the checkpoint before.

mod bytes;
pub mod snapshot;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use swarmwood_learn::data::{Chunk, Column};
use swarmwood_search::rng::fingerprint;

use crate::memory::read_file;
use crate::params::Params;
use crate::read::Rows;
use crate::write::write_atomically;
use crate::{Error, Result};
use bytes::{Reader, Writer, words};

/// The first line of every checkpoint, before its version.
const MAGIC: &[u8] = b"swarmwood checkpoint ";

/// The newest version, which is written.
const VERSION: u64 = 1;

/// Where and when a run stores its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The file.
    pub path: PathBuf,
    /// Steps from one checkpoint to the next, at least one.
    pub every: usize,
    /// Whether to go on from the file if it is there.
    pub resume: bool,
}

/// Which run a checkpoint belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The method.
    pub method: String,
    /// Everything that may change the model, by name.
    pub parameters: Vec<(String, String)>,
    /// The fingerprint of the rows.
    pub data: u128,
}

/// A run's state and the run it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which run.
    pub identity: Identity,
    /// What the method needs to go on.
    pub payload: Vec<u8>,
}

impl Identity {
    /// The identity of a run on these rows. The time limit may change from one start to the next;
    /// the number of threads is no part of a record anyway.
    pub fn of(params: &Params, rows: &Rows, valid: Option<&Rows>) -> Result<Self> {
        let entries = params.entries().into_iter().filter(|(name, _)| *name != "time_limit");
        let parameters = entries.map(|(name, value)| (name.to_string(), value)).collect();
        let parts = [Some(rows), valid]
            .into_iter()
            .flatten()
            .map(data_fingerprint)
            .collect::<Result<Vec<u128>>>()?;
        let data = joined(&parts);
        Ok(Identity { method: params.method.name().to_string(), parameters, data })
    }

    /// What is different, in words; `None` if nothing is.
    fn differs(&self, other: &Identity) -> Option<String> {
        if self.method != other.method {
            return Some(format!("method {}, not {}", self.method, other.method));
        }
        let of = |identity: &Identity, name: &str| {
            identity
                .parameters
                .iter()
                .find(|(own, _)| own == name)
                .map_or("unset".to_string(), |(_, value)| value.clone())
        };
        let names = self.parameters.iter().chain(&other.parameters).map(|(name, _)| name.as_str());
        let mut different: Vec<String> = names
            .filter(|name| of(self, name) != of(other, name))
            .map(|name| format!("{name} {}, not {}", of(self, name), of(other, name)))
            .collect();
        different.sort();
        different.dedup();
        if !different.is_empty() {
            return Some(different.join("; "));
        }
        (self.data != other.data).then(|| "other rows".to_string())
    }
}

impl Checkpoint {
    /// Writes the file; it appears whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes();
        write_atomically(path, |out| out.write_all(&bytes))
    }

    /// Reads a file; what is damaged, foreign or too new is an error that says so.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_file(path)?;
        Checkpoint::from_bytes(&bytes).map_err(|message| refused(path, message))
    }

    /// The payload, if the checkpoint belongs to this run.
    pub fn payload_for(&self, identity: &Identity, path: &Path) -> Result<&[u8]> {
        match self.identity.differs(identity) {
            None => Ok(&self.payload),
            Some(different) => Err(refused(
                path,
                format!(
                    "belongs to another run, with {different}; repeat the arguments it was made with, or leave out \
                     --resume to start anew"
                ),
            )),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.0.extend_from_slice(format!("{VERSION}\n").as_bytes());
        out.text(&self.identity.method);
        out.number(self.identity.parameters.len() as u64);
        for (name, value) in &self.identity.parameters {
            out.text(name);
            out.text(value);
        }
        out.wide(self.identity.data);
        out.bytes(&self.payload);
        let sum = fingerprint(words(&out.0));
        out.wide(sum);
        out.0
    }

    fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let rest =
            bytes.strip_prefix(MAGIC).ok_or("is no checkpoint of swarmwood; name another file")?;
        let end = rest.iter().take(20).position(|&byte| byte == b'\n');
        let version =
            end.and_then(|end| std::str::from_utf8(&rest[..end]).ok()?.parse::<u64>().ok());
        let damaged = || "is damaged; leave out --resume to start anew".to_string();
        let (Some(end), Some(version)) = (end, version) else { return Err(damaged()) };
        if version > VERSION {
            return Err(format!(
                "has version {version} but this program reads up to {VERSION}; use a newer program"
            ));
        }
        let body = bytes.len().checked_sub(size_of::<u128>()).ok_or_else(damaged)?;
        let sum = u128::from_le_bytes(bytes[body..].try_into().map_err(|_| damaged())?);
        if fingerprint(words(&bytes[..body])) != sum {
            return Err(damaged());
        }
        let start = MAGIC.len() + end + 1;
        Checkpoint::read(&mut Reader(&bytes[start..body])).ok_or_else(damaged)
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let method = from.text()?;
        let count = from.number()?;
        let mut parameters = Vec::new();
        for _ in 0..count {
            parameters.push((from.text()?, from.text()?));
        }
        let data = from.wide()?;
        let payload = from.bytes()?.to_vec();
        from.is_empty()
            .then_some(Checkpoint { identity: Identity { method, parameters, data }, payload })
    }
}

/// An error about a checkpoint.
pub fn refused(path: &Path, message: impl Into<String>) -> Error {
    Error::Checkpoint { path: path.to_path_buf(), message: message.into() }
}

/// A fingerprint of names, values, targets and weights, in their order.
fn data_fingerprint(rows: &Rows) -> Result<u128> {
    let mut parts = vec![fingerprint(words(format!("{:?}", rows.schema).as_bytes()))];
    if rows.cluster().is_some() {
        // Features are elsewhere. The sample and the targets tell rows apart well enough.
        let (target, weight) = rows.targets()?;
        let answers = Chunk { columns: Vec::new(), rows: target.len(), target, weight };
        parts.extend([chunk_fingerprint(&rows.sample()), chunk_fingerprint(&answers)]);
        return Ok(joined(&parts));
    }
    rows.for_each_chunk(&mut |chunk| {
        // Readers cut the same file at the same rows every time.
        parts.push(chunk_fingerprint(chunk));
        Ok(())
    })?;
    Ok(joined(&parts))
}

/// A fingerprint of fingerprints.
fn joined(parts: &[u128]) -> u128 {
    fingerprint(parts.iter().flat_map(|&part| [part as u64, (part >> 64) as u64]))
}

fn chunk_fingerprint(chunk: &Chunk) -> u128 {
    let numbers = |values: &[f64]| fingerprint(values.iter().map(|value| value.to_bits()));
    let column = |column: &Column| match column {
        Column::Number(values) => numbers(values),
        Column::Category(codes) => fingerprint(codes.iter().map(|&code| u64::from(code))),
    };
    let parts =
        chunk.columns.iter().map(column).chain([numbers(&chunk.target), numbers(&chunk.weight)]);
    joined(&parts.collect::<Vec<u128>>())
}
