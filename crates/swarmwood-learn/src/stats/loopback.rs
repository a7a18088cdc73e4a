//! A backend that encodes and decodes every message, both ways.

use std::sync::atomic::{AtomicU64, Ordering};

use super::backend::{Backend, BackendError};
use super::codec::{of_bytes, to_bytes};
use super::factory::{BackendFactory, LocalBackends, TrainingSet};
use super::linear::LinearSet;
use super::message::{BackendOptions, Reply, Work};
use super::particles::ParticleSet;
use crate::context::Context;

/// As a cluster would say, where a message costs more than a split in vain.
const SPLITS_PER_MESSAGE: usize = 16;

/// Passes every message around another backend through bytes: what does not survive that cannot
/// live in another process.
pub struct Loopback<'a> {
    inner: Box<dyn Backend + 'a>,
    traffic: &'a LoopbackTraffic,
}

/// Messages and bytes so far.
#[derive(Debug, Default)]
struct LoopbackTraffic {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Backend for Loopback<'_> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        let sent = to_bytes(&work.to_vec());
        let replies = self.inner.run(&of_bytes::<Vec<Work>>(&sent)?)?;
        let received = to_bytes(&replies);

        self.traffic.messages.fetch_add(1, Ordering::Relaxed);
        self.traffic.bytes.fetch_add((sent.len() + received.len()) as u64, Ordering::Relaxed);
        Ok(of_bytes(&received)?)
    }

    fn splits_per_message(&self) -> usize {
        SPLITS_PER_MESSAGE
    }
}

/// Makes [`Loopback`] backends around [`super::Local`] ones, and counts what passes through them.
#[derive(Debug, Default)]
pub struct LoopbackBackends {
    traffic: LoopbackTraffic,
}

impl LoopbackBackends {
    fn around<'a>(&'a self, inner: Box<dyn Backend + 'a>) -> Box<dyn Backend + 'a> {
        Box::new(Loopback { inner, traffic: &self.traffic })
    }

    /// Messages sent so far.
    pub fn messages(&self) -> u64 {
        self.traffic.messages.load(Ordering::Relaxed)
    }

    /// Bytes of all messages and replies so far.
    pub fn bytes(&self) -> u64 {
        self.traffic.bytes.load(Ordering::Relaxed)
    }
}

/// A backend behind a loopback that counts nothing.
#[cfg(feature = "test-hooks")]
pub(super) fn routed<'a>(inner: Box<dyn Backend + 'a>) -> Box<dyn Backend + 'a> {
    static UNCOUNTED: LoopbackTraffic =
        LoopbackTraffic { messages: AtomicU64::new(0), bytes: AtomicU64::new(0) };
    Box::new(Loopback { inner, traffic: &UNCOUNTED })
}

impl BackendFactory for LoopbackBackends {
    fn open<'a>(
        &'a self,
        set: TrainingSet<'a>,
        options: BackendOptions,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(self.around(LocalBackends.open(set, options, context)?))
    }

    fn open_linear<'a>(
        &'a self,
        set: LinearSet<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(self.around(LocalBackends.open_linear(set)?))
    }

    fn open_particles<'a>(
        &'a self,
        set: ParticleSet<'a>,
        context: Context<'a>,
    ) -> Result<Box<dyn Backend + 'a>, BackendError> {
        Ok(self.around(LocalBackends.open_particles(set, context)?))
    }
}
