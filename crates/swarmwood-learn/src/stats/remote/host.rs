//! The end of the rows: shards in a process of their own, which answers messages.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::fit_state::{FitState, HostRows};
use super::message::{HostReply, ShardReply, ShardRequest, ShardWork};
use super::particle_fit::ParticleFit;
use super::rows::{RowPiece, assemble};
use crate::bins::{CODES, Layout};
use crate::dataset::{Dataset, Plan};
use crate::pool::Pool;
use crate::stats::backend::BackendError;
use crate::stats::codec::{of_bytes, to_bytes};

/// Fits that a host holds at most; a run has one or two at a time.
const MOST_FITS: usize = 64;

/// Holds consecutive shards of a data set, and the state of fits on them.
pub struct ShardHost {
    rows: HostRows,
    fits: BTreeMap<u32, HostFit>,
    pool: Pool,
}

/// The state of a fit.
enum HostFit {
    Trees(FitState),
    Particles(ParticleFit),
}

impl ShardHost {
    /// A host of some shards of the rows of a layout, from the pieces that
    /// [`encode_rows`](super::encode_rows) made of all rows; `rows` is the number of all rows.
    pub fn new(
        layout: Arc<Layout>,
        rows: usize,
        shards: Range<usize>,
        pieces: &[RowPiece],
        threads: usize,
    ) -> Result<ShardHost, BackendError> {
        let plan = Plan::new(rows);
        if shards.start >= shards.end || shards.end > plan.shards {
            let reason = format!("there are {} shards, not {shards:?}", plan.shards);
            return Err(BackendError::Lost { reason });
        }
        let first = shards.start;
        let binned = assemble(&layout, plan, shards, pieces)?;
        let shards = binned.into_iter().map(Arc::new).collect();
        ShardHost::of(HostRows { layout, plan, first, shards }, threads)
    }

    /// A host of some shards of a data set in this process.
    pub fn of_dataset(
        data: &Dataset,
        shards: Range<usize>,
        threads: usize,
    ) -> Result<ShardHost, BackendError> {
        let first = shards.start;
        let shards = data.shards[shards].to_vec();
        let (layout, plan) = (data.layout.clone(), data.plan);
        ShardHost::of(HostRows { layout, plan, first, shards }, threads)
    }

    fn of(rows: HostRows, threads: usize) -> Result<ShardHost, BackendError> {
        let pool = Pool::new(threads).map_err(|reason| BackendError::Lost { reason })?;
        Ok(ShardHost { rows, fits: BTreeMap::new(), pool })
    }

    /// Executes an encoded request; the encoded reply, which says so if the request was refused. A
    /// refused request may have been executed in part.
    pub fn handle(&mut self, message: &[u8]) -> Vec<u8> {
        let request = of_bytes::<ShardRequest>(message).map_err(BackendError::from);
        let reply = match request.and_then(|request| self.execute(request)) {
            Ok(replies) => HostReply::Replies { replies },
            Err(error) => HostReply::Refused { reason: error.to_string() },
        };
        to_bytes(&reply)
    }

    fn execute(&mut self, request: ShardRequest) -> Result<Vec<ShardReply>, BackendError> {
        let mut replies = Vec::with_capacity(request.work.len());
        for work in request.work {
            replies.push(self.execute_one(request.fit, work)?);
        }
        Ok(replies)
    }

    fn execute_one(&mut self, fit: u32, work: ShardWork) -> Result<ShardReply, BackendError> {
        match work {
            ShardWork::Open { objective, start, keep_derivatives, shards } => {
                let rows = &self.rows;
                let state = FitState::open(rows, &objective, &start, keep_derivatives, shards)?;
                self.begin(fit, HostFit::Trees(state))
            }
            ShardWork::OpenParticles { objective, start, trees, shards } => {
                let (rows, pool) = (&self.rows, &self.pool);
                let state = ParticleFit::open(rows, &objective, &start, &trees, shards, pool)?;
                self.begin(fit, HostFit::Particles(state))
            }
            ShardWork::Close {} => {
                self.fits.remove(&fit);
                Ok(ShardReply::Done {})
            }
            ShardWork::Codes {} => {
                let of_shard = |shard: &Arc<_>| -> Vec<u8> {
                    let shard: &crate::dataset::BinnedShard = shard;
                    shard.columns.concat()
                };
                Ok(ShardReply::Codes { shards: self.rows.shards.iter().map(of_shard).collect() })
            }
            ShardWork::SeenCodes {} => Ok(ShardReply::SeenCodes { columns: self.seen_codes() }),
            work => {
                let unknown =
                    BackendError::Unknown { work: work.name(), what: "fit", number: fit as usize };
                match self.fits.get_mut(&fit).ok_or(unknown)? {
                    HostFit::Trees(state) => state.execute(&self.rows, &work, &self.pool),
                    HostFit::Particles(state) => state.execute(&self.rows, &work, &self.pool),
                }
            }
        }
    }

    fn begin(&mut self, fit: u32, state: HostFit) -> Result<ShardReply, BackendError> {
        if self.fits.len() >= MOST_FITS {
            let reason = format!("a host holds at most {MOST_FITS} fits");
            return Err(BackendError::Lost { reason });
        }
        self.fits.insert(fit, state);
        Ok(ShardReply::Done {})
    }

    /// Which codes occur, by column.
    fn seen_codes(&self) -> Vec<Vec<bool>> {
        let of_column = |column: usize| {
            let mut seen = vec![false; CODES];
            let codes = self.rows.shards.iter().flat_map(|shard| &shard.columns[column]);
            codes.for_each(|&code| seen[usize::from(code)] = true);
            seen
        };
        self.pool.map(self.rows.layout.columns().len(), of_column)
    }
}
