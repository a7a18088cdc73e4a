//! What executes work.

use super::codec::CodecError;
use super::message::{Reply, Work};

/// Executes work on rows that its caller never sees.
pub trait Backend {
    /// Executes work in order; one reply per work. A message that fails may have been executed in
    /// part, and the fit it belongs to is over.
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError>;

    /// How many leaves leaf-wise growth may split with one message. Those beyond the best one are
    /// guesses, and some are in vain: a backend whose messages cost next to nothing says 1. The
    /// number changes no tree.
    fn splits_per_message(&self) -> usize {
        1
    }
}

/// Why a backend could not execute work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// An id, slot or output that does not exist.
    #[error("{work} names {what} {number}, which does not exist")]
    Unknown {
        /// The work.
        work: &'static str,
        /// What kind of thing.
        what: &'static str,
        /// Its number.
        number: usize,
    },
    /// Work that this backend does not do.
    #[error("this backend does not execute {work}")]
    Unsupported {
        /// The work.
        work: &'static str,
    },
    /// A reply of the wrong kind, or a wrong number of replies.
    #[error("the reply to {work} is of another kind")]
    Reply {
        /// The work.
        work: &'static str,
    },
    /// A message that cannot be decoded.
    #[error("a message cannot be decoded: {0}")]
    Codec(#[from] CodecError),
    /// The rows can no longer be reached.
    #[error("the rows cannot be reached: {reason}")]
    Lost {
        /// What happened.
        reason: String,
    },
}
