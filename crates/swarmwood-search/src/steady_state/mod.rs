//! Framework for steady-state engines: they propose one point at a time from all results so far,
//! never wait and never repeat a point.
//!
//! A [`SteadyStateMethod`] learns from finished trials and proposes the next point;
//! [`SteadyStateEngine`] turns it into an [`Engine`] and does the rest: trials, results, external
//! trials, snapshots. An ask first passes the results of finished trials to the method, in id
//! order, and then lets it propose points one after the other. The method sees which points are
//! being evaluated, those of the same ask included.
//!
//! Trial `t` draws from the random streams `(seed, t, 0)` and `(seed, t, 1)`.

#[cfg(test)]
pub(crate) mod tests;

use crate::engine::{BestTrial, Capabilities, Engine};
use crate::error::Error;
use crate::latin_hypercube;
use crate::point::Point;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{ExternalTrial, Trial, TrialResult};
use crate::trial_log::{FinishedTrial, TrialLog};
use crate::unseen::{is_exhausted, sample_unseen};

/// Version 1 had other field names.
const VERSION: u64 = 2;

/// What a method may use to propose a point.
#[derive(Debug, Clone, Copy)]
pub struct AskContext<'a> {
    /// The search space.
    pub space: &'a Space,
    /// All trials so far, external ones included.
    pub trial_log: &'a TrialLog,
    /// The seed of the search.
    pub seed: u64,
}

impl AskContext<'_> {
    /// The random stream of the point to propose.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.trial_log.next_id(), 0)
    }

    /// A random point that was not asked yet; `None` if there is none.
    pub fn sample_unseen(&self, stream: &mut Stream) -> Option<Point> {
        sample_unseen(self.space, self.trial_log, stream)
    }

    /// Whether every point of the space was asked.
    pub fn is_exhausted(&self) -> bool {
        is_exhausted(self.space, self.trial_log)
    }

    /// The next point of an initial design of `count` points (a Latin hypercube); a random point
    /// if that one was asked before. `None` once `count` points were asked.
    pub fn initial_design(&self, count: usize, stream: &mut Stream) -> Option<Point> {
        let index = usize::try_from(self.trial_log.next_id()).unwrap_or(usize::MAX);
        if self.trial_log.distinct_points() >= count {
            return None;
        }
        let position = latin_hypercube::position(self.seed, self.space.len(), count, index);
        let designed = (index < count)
            .then(|| self.space.decode(&position))
            .filter(|point| !self.trial_log.has_seen(point));
        designed.or_else(|| self.sample_unseen(stream))
    }

    /// The first proposal that was not asked yet; `propose` gets the number of failed attempts. A
    /// random point after `tries` attempts, `None` if every point was asked.
    pub fn first_unseen(
        &self,
        tries: usize,
        stream: &mut Stream,
        mut propose: impl FnMut(usize, &mut Stream) -> Point,
    ) -> Option<Point> {
        let proposed = (0..tries)
            .map(|before| propose(before, stream))
            .find(|point| !self.trial_log.has_seen(point));
        proposed.or_else(|| self.sample_unseen(stream))
    }
}

/// A method that proposes one point at a time.
pub trait SteadyStateMethod: Sized + Send {
    /// The engine's name in the registry and in snapshots.
    const NAME: &'static str;
    /// Its configuration.
    type Config;
    /// Checks the configuration and starts a search.
    fn new(space: &Space, config: Self::Config, seed: u64) -> Result<Self, Error>;
    /// Learns from a finished trial.
    fn observe(&mut self, space: &Space, seed: u64, finished: FinishedTrial);
    /// The next point, which must be one that was not asked yet; `None` if there is none, or if
    /// the search has ended.
    fn propose(&mut self, context: AskContext<'_>) -> Option<Point>;
    /// Whether the search may end before every point was asked.
    fn terminates(&self) -> bool {
        false
    }
    /// Everything but the space and the seed, as plain data.
    fn save(&self) -> Datum;
    /// The method that [`SteadyStateMethod::save`] stored.
    fn load(space: &Space, data: &Datum) -> Result<Self, Error>;
}

/// The engine of a [`SteadyStateMethod`].
#[derive(Debug, Clone)]
pub struct SteadyStateEngine<M> {
    space: Space,
    seed: u64,
    trial_log: TrialLog,
    method: M,
}

impl<M: SteadyStateMethod> SteadyStateEngine<M> {
    /// The name in the registry and in snapshots.
    pub const NAME: &'static str = M::NAME;

    /// A new search.
    pub fn new(space: &Space, config: M::Config, seed: u64) -> Result<Self, Error> {
        let method = M::new(space, config, seed)?;
        Ok(SteadyStateEngine { space: space.clone(), seed, trial_log: TrialLog::new(), method })
    }

    /// Resumes the search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(M::NAME, VERSION, space)?;
        let state = &snapshot.state;
        Ok(SteadyStateEngine {
            space: space.clone(),
            seed: state.field("seed")?.natural()?,
            trial_log: TrialLog::load(state.renamed_field("trials", "ledger")?, space)?,
            method: M::load(space, state.field("method")?)?,
        })
    }

    /// The method and its state.
    pub fn method(&self) -> &M {
        &self.method
    }
}

impl<M: SteadyStateMethod> Engine for SteadyStateEngine<M> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { terminates: self.method.terminates(), ..Capabilities::ALL }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        for finished in self.trial_log.take_finished() {
            self.method.observe(&self.space, self.seed, finished);
        }

        let propose = |_| {
            let context =
                AskContext { space: &self.space, trial_log: &self.trial_log, seed: self.seed };
            self.method.propose(context).map(|point| self.trial_log.create_trial(point))
        };
        (0..at_most).map_while(propose).collect()
    }

    fn tell(&mut self, results: &[TrialResult]) {
        self.trial_log.tell(results);
    }

    fn add_trial(&mut self, trial: ExternalTrial) {
        self.trial_log.add_external(&self.space, trial);
    }

    fn best(&self) -> Option<BestTrial<'_>> {
        self.trial_log.best()
    }

    fn snapshot(&self) -> Snapshot {
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("trials", self.trial_log.save()),
            ("method", self.method.save()),
        ]);
        Snapshot {
            engine: M::NAME.to_owned(),
            version: VERSION,
            space: self.space.fingerprint(),
            state,
        }
    }
}
