//! Engines that make one point at a time from all that is known, never wait and never repeat
//! themselves.
//!
//! A [`Method`] says what it learns from a settled trial and which configuration it would try next;
//! [`Steady`] makes an [`Engine`] of it and keeps everything that is the same for all: trials,
//! answers, others' trials, snapshots. An ask settles what was told, in id order, and then makes
//! its points one after the other; a method sees what is being worked on, and the points of the
//! same ask are among that.
//!
//! Trial `t` draws from the streams `(seed, t, 0)` and `(seed, t, 1)`.

#[cfg(test)]
pub(crate) mod tests;

use crate::engine::{Best, Capabilities, Engine};
use crate::error::Error;
use crate::fresh::{fresh, is_used_up};
use crate::ledger::{Ledger, Settled};
use crate::point::Point;
use crate::rng::Stream;
use crate::scatter;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};

const VERSION: u64 = 1;

/// The moment at which a point is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// What may be searched.
    pub space: &'a Space,
    /// What was asked, by this search and by others.
    pub ledger: &'a Ledger,
    /// The seed of the search.
    pub seed: u64,
}

impl Place<'_> {
    /// The random numbers of the point to make.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.ledger.next_id(), 0)
    }

    /// A random configuration that was not asked yet; `None` if there is none.
    pub fn fresh(&self, stream: &mut Stream) -> Option<Point> {
        fresh(self.space, self.ledger, stream)
    }

    /// Whether every configuration was asked.
    pub fn is_used_up(&self) -> bool {
        is_used_up(self.space, self.ledger)
    }

    /// The first of `count` points that are spread over the space and not asked yet; a random one
    /// if that was. `None` once so many configurations are known.
    pub fn opening(&self, count: usize, stream: &mut Stream) -> Option<Point> {
        let turn = usize::try_from(self.ledger.next_id()).unwrap_or(usize::MAX);
        if self.ledger.distinct() >= count {
            return None;
        }
        let position = scatter::position(self.seed, self.space.len(), count, turn);
        let spread = (turn < count)
            .then(|| self.space.decode(&position))
            .filter(|point| !self.ledger.has_seen(point));
        spread.or_else(|| self.fresh(stream))
    }

    /// The first of the proposals that was not asked yet, each made with the number of those
    /// before; a random configuration after `tries` in vain. `None` if all were asked.
    pub fn first_new(
        &self,
        tries: usize,
        stream: &mut Stream,
        mut propose: impl FnMut(usize, &mut Stream) -> Point,
    ) -> Option<Point> {
        let proposed = (0..tries)
            .map(|before| propose(before, stream))
            .find(|point| !self.ledger.has_seen(point));
        proposed.or_else(|| self.fresh(stream))
    }
}

/// What to try next, and what to learn from it.
pub trait Method: Sized + Send {
    /// The name in registries and snapshots.
    const NAME: &'static str;
    /// What can be set.
    type Settings;
    /// Checks the settings.
    fn begin(space: &Space, settings: Self::Settings, seed: u64) -> Result<Self, Error>;
    /// Takes what came of a trial.
    fn learn(&mut self, space: &Space, seed: u64, settled: Settled);
    /// A configuration that was not asked yet; `None` if there is none, or if the search is over
    /// for good.
    fn propose(&mut self, place: Place<'_>) -> Option<Point>;
    /// Whether the search may end before all configurations were asked.
    fn ends(&self) -> bool {
        false
    }
    /// Everything but the space and the seed, as plain data.
    fn save(&self) -> Datum;
    /// The method that [`Method::save`] stored.
    fn load(space: &Space, data: &Datum) -> Result<Self, Error>;
}

/// The engine of a [`Method`].
#[derive(Debug, Clone)]
pub struct Steady<M> {
    space: Space,
    seed: u64,
    ledger: Ledger,
    method: M,
}

impl<M: Method> Steady<M> {
    /// The name in registries and snapshots.
    pub const NAME: &'static str = M::NAME;

    /// A new search.
    pub fn new(space: &Space, settings: M::Settings, seed: u64) -> Result<Self, Error> {
        let method = M::begin(space, settings, seed)?;
        Ok(Steady { space: space.clone(), seed, ledger: Ledger::new(), method })
    }

    /// The search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(M::NAME, VERSION, space)?;
        let state = &snapshot.state;
        Ok(Steady {
            space: space.clone(),
            seed: state.field("seed")?.natural()?,
            ledger: Ledger::load(state.field("ledger")?, space)?,
            method: M::load(space, state.field("method")?)?,
        })
    }

    /// The method, to see how it stands.
    pub fn method(&self) -> &M {
        &self.method
    }
}

impl<M: Method> Engine for Steady<M> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { ends: self.method.ends(), ..Capabilities::ALL }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        for settled in self.ledger.settle() {
            self.method.learn(&self.space, self.seed, settled);
        }
        let make = |_| {
            let place = Place { space: &self.space, ledger: &self.ledger, seed: self.seed };
            self.method.propose(place).map(|point| self.ledger.issue(point))
        };
        (0..at_most).map_while(make).collect()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.ledger.tell(outcomes);
    }

    fn adopt(&mut self, trial: Adopted) {
        self.ledger.adopt(&self.space, trial);
    }

    fn best(&self) -> Option<Best<'_>> {
        self.ledger.best()
    }

    fn snapshot(&self) -> Snapshot {
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("ledger", self.ledger.save()),
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
