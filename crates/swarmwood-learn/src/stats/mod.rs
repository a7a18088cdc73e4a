//! The boundary around the rows: learners of ensembles send [`Work`] and receive [`Reply`].
//!
//! Work and replies are plain data: sums, rules, trees, leaf values. Leaf assignments, scores,
//! derivatives, histograms and score snapshots stay behind the boundary and are addressed by ids
//! ([`TreeId`], [`SnapshotId`]). Scores of rows cross it once, at the end of a fit, for metrics
//! and out-of-fold evaluation ([`Work::GatherScores`]).
//!
//! A [`Backend`] executes work. [`Local`] runs it on the threads of this process without copying;
//! [`Loopback`] encodes and decodes every message around another backend, so that tests prove
//! that nothing but messages passes. A [`Client`] is a learner's end: it batches work that needs
//! no reply with the next request.

mod backend;
mod client;
mod codec;
mod evaluation;
mod factory;
mod linear;
mod local;
mod lookahead;
mod loopback;
mod message;
mod particles;
mod path_features;
mod remote;
mod shard;
#[cfg(test)]
mod tests;

pub use crate::kernels::particle::{LEVELS, path_to};
pub use backend::{Backend, BackendError};
pub use client::{Client, SnapshotHandle, Ticket, TreeHandle};
pub(crate) use client::{leaf_sums_of, quantiles_of};
pub use codec::CodecError;
pub use factory::{BackendFactory, InitialScores, LocalBackends, TrainingSet};
pub(crate) use linear::starts as linear_starts;
pub use linear::{LinearDataError, LinearSet};
pub use local::Local;
pub use lookahead::{FeatureSet, LookaheadSplit};
pub use loopback::{Loopback, LoopbackBackends};
pub use message::{
    BackendOptions, ColumnScale, DataDescription, LeafQuantile, LeafRows, LeafSlot, LeafSums,
    LinearColumn, NodeStats, ParticleFitness, Reply, RowSample, RowSet, SnapshotId, SplitCommand,
    SplitConstraints, SplitQuery, TreeId, Work,
};
pub use particles::{CodedData, ParticleCode, ParticleConfig, ParticleData, ParticleSet, TreeForm};
#[cfg(test)]
pub(crate) use remote::test_hosts;
pub use remote::{
    HostTransport, RemoteBackends, RowDeal, RowPiece, ShardHost, Traffic, TransportError,
    decode_layout, encode_layout, encode_rows,
};
