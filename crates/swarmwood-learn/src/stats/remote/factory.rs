//! Backends for rows that hosts hold.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::backend::{Remote, shards_of};
use super::message::{HostReply, ObjectiveName, ShardReply, ShardRequest, ShardWork};
use super::particles::RemoteParticles;
use crate::bins::{CODES, Layout};
use crate::context::Context;
use crate::dataset::{BinnedShard, Dataset, Plan};
use crate::objective::ObjectiveConfig;
use crate::pool::even_ranges;
use crate::stats::backend::{Backend, BackendError};
use crate::stats::codec::{of_bytes, to_bytes};
use crate::stats::factory::{BackendFactory, LocalBackends, TrainingSet};
use crate::stats::linear::LinearSet;
use crate::stats::message::BackendOptions;
use crate::stats::particles::{ParticleData, ParticleSet};

/// How often one message is sent to hosts that were made again; a run whose hosts are lost time after
/// time ends.
const MOST_ATTEMPTS: usize = 20;

/// Carries messages to the hosts of shards, each a [`ShardHost`](super::ShardHost) somewhere.
pub trait HostTransport: Sync {
    /// Sends a message to each of some hosts, named by their numbers, and waits for all replies; in
    /// the order of the messages.
    fn exchange(&self, messages: &[(usize, Vec<u8>)]) -> Vec<Result<Vec<u8>, TransportError>>;

    /// Makes a host again from its source, wherever there is room. It knows no fit.
    fn rebuild(&self, host: usize) -> Result<(), TransportError>;
}

/// Why a host did not reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// It is gone, and can be made again.
    Lost,
    /// The run cannot go on.
    Failed {
        /// Why, and what to do.
        reason: String,
    },
}

/// Messages and bytes so far, those to all hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Rounds: a message to every host and its reply.
    pub rounds: u64,
    /// Messages to hosts.
    pub messages: u64,
    /// Bytes of messages and replies.
    pub bytes: u64,
    /// Hosts that were made again.
    pub rebuilt: u64,
}

/// Makes backends for one data set whose shards hosts hold. Other data sets, such as parts of this
/// one, are handled in this process.
pub struct RemoteBackends<'t> {
    transport: &'t dyn HostTransport,
    pub(super) layout: Arc<Layout>,
    pub(super) plan: Plan,
    pub(super) objective: ObjectiveName,
    pub(super) hosts: Vec<Range<usize>>,
    fits: AtomicU32,
    /// How often each host was made again.
    generations: Mutex<Vec<u32>>,
    rounds: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl<'t> RemoteBackends<'t> {
    /// Backends for the rows of a data set, which `hosts` hosts hold as [`RemoteBackends::shards`]
    /// says.
    pub fn new(
        transport: &'t dyn HostTransport,
        data: &Dataset,
        hosts: usize,
        objective: &ObjectiveConfig,
    ) -> Self {
        let hosts = Self::shards(data.rows(), hosts);
        RemoteBackends {
            transport,
            layout: data.layout.clone(),
            plan: data.plan,
            objective: ObjectiveName {
                name: objective.name().to_string(),
                parameter: objective.parameter(),
                classes: objective.classes(),
            },
            generations: Mutex::new(vec![0; hosts.len()]),
            hosts,
            fits: AtomicU32::new(0),
            rounds: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The shards of each of at most so many hosts, given the number of all rows. There are no more
    /// hosts than shards.
    pub fn shards(rows: usize, hosts: usize) -> Vec<Range<usize>> {
        even_ranges(Plan::new(rows).shards, hosts)
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            rounds: self.rounds.load(Ordering::Relaxed),
            messages: self.messages.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            rebuilt: self.generations().iter().map(|&count| u64::from(count)).sum(),
        }
    }

    /// The data set with the codes of all rows, fetched from the hosts.
    pub fn fetch(&self, data: &Dataset) -> Result<Dataset, BackendError> {
        let mut seen = vec![None; self.hosts.len()];
        let replies = self.send(0, &mut seen, &|_| Vec::new(), &[ShardWork::Codes {}])?;
        let sizes = self.plan.sizes();
        let mut shards = Vec::with_capacity(sizes.len());
        for reply in replies.into_iter().flatten() {
            let ShardReply::Codes { shards: codes } = reply else {
                return Err(BackendError::Reply { work: "Codes" });
            };
            for codes in codes {
                let rows = *sizes.get(shards.len()).ok_or(BackendError::Reply { work: "Codes" })?;
                if codes.len() != rows * self.layout.columns().len() {
                    return Err(BackendError::Reply { work: "Codes" });
                }
                let columns = codes.chunks_exact(rows.max(1)).map(<[u8]>::to_vec).collect();
                shards.push(BinnedShard::new(columns, rows));
            }
        }
        if shards.len() != sizes.len() {
            return Err(BackendError::Reply { work: "Codes" });
        }
        Ok(data.with_shards(shards))
    }

    /// The data set with what is known of the codes of all rows: which ones occur.
    pub fn examine(&self, data: Dataset) -> Result<Dataset, BackendError> {
        let mut seen = vec![None; self.hosts.len()];
        let replies = self.send(0, &mut seen, &|_| Vec::new(), &[ShardWork::SeenCodes {}])?;
        let mut all = vec![[false; CODES]; self.layout.columns().len()];
        for reply in replies.into_iter().flatten() {
            let ShardReply::SeenCodes { columns } = reply else {
                return Err(BackendError::Reply { work: "SeenCodes" });
            };
            for (all, column) in all.iter_mut().zip(columns) {
                all.iter_mut().zip(column).for_each(|(all, seen)| *all |= seen);
            }
        }
        Ok(data.with_seen_codes(all))
    }

    /// Scores of all training rows, in row order, one vector per output.
    pub(super) fn gathered(
        &self,
        replies: Vec<ShardReply>,
        outputs: usize,
    ) -> Result<Vec<Vec<f32>>, BackendError> {
        let shards = shards_of(replies, |reply| match reply {
            ShardReply::Scores { shards } => Some(shards),
            _ => None,
        })?;
        let (plan, sizes) = (self.plan, self.plan.sizes());
        let fits = |(scores, rows): (&Vec<f32>, &usize)| scores.len() == rows * outputs;
        if shards.len() != sizes.len() || !shards.iter().zip(&sizes).all(fits) {
            return Err(BackendError::Reply { work: "GatherScores" });
        }
        let of_output = |output: usize| {
            let part = |(scores, &rows): (&'_ Vec<f32>, &usize)| {
                scores[output * rows..(output + 1) * rows].to_vec()
            };
            let parts: Vec<Vec<f32>> = shards.iter().zip(&sizes).map(part).collect();
            plan.gather(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        Ok((0..outputs).map(of_output).collect())
    }

    /// The next name of a fit.
    pub(super) fn new_fit(&self) -> u32 {
        self.fits.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends work to all hosts; their replies. A host that does not know the fit is first sent what
    /// `past` says. `seen` notes which hosts know it.
    pub(super) fn send(
        &self,
        fit: u32,
        seen: &mut [Option<u32>],
        past: &dyn Fn(usize) -> Vec<ShardWork>,
        work: &[ShardWork],
    ) -> Result<Vec<Vec<ShardReply>>, BackendError> {
        let mut replies: Vec<Option<Vec<ShardReply>>> = vec![None; self.hosts.len()];
        for _ in 0..MOST_ATTEMPTS {
            let waiting: Vec<usize> =
                (0..replies.len()).filter(|&host| replies[host].is_none()).collect();
            if waiting.is_empty() {
                return Ok(replies.into_iter().flatten().collect());
            }
            let generations = self.generations().clone();
            let message = |&host: &usize| {
                let is_known = seen[host] == Some(generations[host]);
                let mut all = if is_known { Vec::new() } else { past(host) };
                let skipped = all.len();
                all.extend_from_slice(work);
                ((host, to_bytes(&ShardRequest { fit, work: all })), skipped)
            };
            let (messages, skipped): (Vec<(usize, Vec<u8>)>, Vec<usize>) =
                waiting.iter().map(message).unzip();
            let answers = self.transport.exchange(&messages);
            self.count(&messages, &answers);
            if answers.len() != messages.len() {
                return Err(BackendError::Reply { work: "a message" });
            }

            let mut lost = Vec::new();
            for ((host, answer), skipped) in waiting.into_iter().zip(answers).zip(skipped) {
                match answer {
                    Ok(bytes) => {
                        let all = replies_of(&bytes, skipped + work.len())?;
                        replies[host] = Some(all.into_iter().skip(skipped).collect());
                        seen[host] = Some(generations[host]);
                    }
                    Err(TransportError::Lost) => lost.push(host),
                    Err(TransportError::Failed { reason }) => {
                        return Err(BackendError::Lost { reason });
                    }
                }
            }
            lost.into_iter().try_for_each(|host| self.rebuild(host))?;
        }
        let reason = format!("hosts of rows were lost {MOST_ATTEMPTS} times in a row");
        Err(BackendError::Lost { reason })
    }

    /// Tells all hosts to forget a fit; hosts that are gone have.
    pub(super) fn close(&self, fit: u32, seen: &[Option<u32>]) {
        let message = to_bytes(&ShardRequest { fit, work: vec![ShardWork::Close {}] });
        let generations = self.generations().clone();
        let known = (0..seen.len()).filter(|&host| seen[host] == Some(generations[host]));
        let messages: Vec<(usize, Vec<u8>)> = known.map(|host| (host, message.clone())).collect();
        if !messages.is_empty() {
            let answers = self.transport.exchange(&messages);
            self.count(&messages, &answers);
        }
    }

    fn rebuild(&self, host: usize) -> Result<(), BackendError> {
        self.generations()[host] += 1;
        match self.transport.rebuild(host) {
            // A host that is lost again is noticed by the next message.
            Ok(()) | Err(TransportError::Lost) => Ok(()),
            Err(TransportError::Failed { reason }) => Err(BackendError::Lost { reason }),
        }
    }

    fn generations(&self) -> MutexGuard<'_, Vec<u32>> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, messages: &[(usize, Vec<u8>)], answers: &[Result<Vec<u8>, TransportError>]) {
        let sent: usize = messages.iter().map(|(_, message)| message.len()).sum();
        let received: usize = answers.iter().flatten().map(Vec::len).sum();
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.messages.fetch_add(messages.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add((sent + received) as u64, Ordering::Relaxed);
    }

    /// Whether these are the rows that hosts hold.
    fn holds(&self, data: &Dataset) -> bool {
        data.plan == self.plan && Arc::ptr_eq(&data.layout, &self.layout)
    }
}

fn replies_of(bytes: &[u8], count: usize) -> Result<Vec<ShardReply>, BackendError> {
    match of_bytes::<HostReply>(bytes)? {
        HostReply::Replies { replies } if replies.len() == count => Ok(replies),
        HostReply::Replies { .. } => Err(BackendError::Reply { work: "a message" }),
        HostReply::Refused { reason } => {
            let reason = format!("a host refused a message: {reason}");
            Err(BackendError::Lost { reason })
        }
    }
}

impl BackendFactory for RemoteBackends<'_> {
    fn open<'a>(
        &'a self,
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        if !self.holds(set.data) {
            return LocalBackends.open(set, options, context);
        }
        if set.objective.takes_all_rows() {
            return Err(BackendError::Unsupported { work: "a custom loss" });
        }
        Ok(Box::new(Remote::new(self, set, options, context)))
    }

    fn open_linear<'a>(
        &'a self,
        set: LinearSet<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        LocalBackends.open_linear(set)
    }

    fn open_particles<'a>(
        &'a self,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        match set.data {
            ParticleData::OneByte(coded) if self.holds(coded.data) => {
                if set.objective.takes_all_rows() {
                    return Err(BackendError::Unsupported { work: "a custom loss" });
                }
                Ok(Box::new(RemoteParticles::new(self, coded, set, context)))
            }
            _ => LocalBackends.open_particles(set, context),
        }
    }
}
