//! Random search: the yardstick of all other engines.
//!
//! Every trial is drawn independently, each parameter evenly over its values or its scale, and no
//! configuration is asked twice (Bergstra and Bengio, "Random search for hyper-parameter
//! optimization", JMLR 2012; without repeats).
//!
//! Trial `t` draws from the stream `(seed, t, 0)` until it meets a configuration that was not asked
//! yet ([`fresh`]).

use crate::engine::{Best, Capabilities, Engine};
use crate::error::Error;
use crate::fresh::fresh;
use crate::ledger::Ledger;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};

const VERSION: u64 = 1;

/// Random search without repeats.
#[derive(Debug, Clone)]
pub struct Random {
    space: Space,
    seed: u64,
    ledger: Ledger,
}

impl Random {
    /// The name in registries and snapshots.
    pub const NAME: &str = "random";

    /// A new search.
    pub fn new(space: &Space, seed: u64) -> Result<Self, Error> {
        Capabilities::ALL.check(Self::NAME, space)?;
        Ok(Random { space: space.clone(), seed, ledger: Ledger::new() })
    }

    /// The search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(Self::NAME, VERSION, space)?;
        let seed = snapshot.state.field("seed")?.natural()?;
        let ledger = Ledger::load(snapshot.state.field("ledger")?, space)?;
        Ok(Random { space: space.clone(), seed, ledger })
    }
}

impl Engine for Random {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most > 0 {
            self.ledger.settle(); // a random search learns nothing
        }
        let draw = |_| {
            let mut stream = Stream::new(self.seed, self.ledger.next_id(), 0);
            fresh(&self.space, &self.ledger, &mut stream).map(|point| self.ledger.issue(point))
        };
        (0..at_most).map_while(draw).collect()
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
        Snapshot {
            engine: Self::NAME.to_owned(),
            version: VERSION,
            space: self.space.fingerprint(),
            state: Datum::record([
                ("seed", Datum::Natural(self.seed)),
                ("ledger", self.ledger.save()),
            ]),
        }
    }
}
