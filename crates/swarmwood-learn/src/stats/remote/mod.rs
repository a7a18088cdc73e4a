//! Rows in other processes: the shards of a data set are held by hosts, and a fit sends them
//! messages.
//!
//! A [`ShardHost`] holds consecutive shards, binned; it counts, sums and moves their rows and decides
//! nothing. The [`RemoteBackends`] of a run open fits on all hosts at once. The driver keeps what
//! learners ask about (histograms of nodes, the search for splits) and merges what hosts reply:
//! integers in any order, floating-point sums in the order of shards. Which shards a host has
//! therefore changes no bit of a result.
//!
//! A [`HostTransport`] carries messages. A host that is lost is made again from its source, and the fit
//! sends it all work since its beginning that changed a shard ([`replay`]): shards are
//! deterministic, and models are small.

mod backend;
mod check;
mod factory;
mod fit_state;
mod growth;
mod host;
mod layout_codec;
mod message;
mod particle_fit;
mod particles;
mod replay;
mod rows;
#[cfg(test)]
pub(crate) mod test_hosts;
#[cfg(test)]
mod tests;

pub use factory::{HostTransport, RemoteBackends, Traffic, TransportError};
pub use host::ShardHost;
pub use rows::{RowDeal, RowPiece, decode_layout, encode_layout, encode_rows};
