//! Random search: the yardstick of all other engines.
//!
//! Every trial is drawn independently, each parameter evenly over its values or its scale, and no configuration is asked
//! twice (Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 2012; without repeats).
//!
//! Trial `t` draws from the stream `(seed, t, 0)` until it meets a configuration that was not asked yet. When a small
//! space is nearly used up and draws keep failing, it walks through the numbered configurations from a random one on.

use crate::engine::{Best, Capabilities, Engine};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::point::Point;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};

/// After so many draws in vain the walk is cheaper.
const DRAWS: usize = 32;
/// A space without a count cannot be walked, only drawn from; it may have a few heavy configurations that were all asked
/// (a choice one of whose many labels has a real parameter), so it deserves patience.
const PATIENT_DRAWS: usize = 10_000;
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

    /// A configuration that was not asked yet; `None` if there is none.
    fn fresh(&self) -> Option<Point> {
        let size = self.space.size();
        if size.is_some_and(|size| self.ledger.distinct() as u128 >= size) {
            return None;
        }
        let mut stream = Stream::new(self.seed, self.ledger.next_id(), 0);
        let draws = if size.is_some() { DRAWS } else { PATIENT_DRAWS };
        let drawn = (0..draws).map(|_| self.space.draw(&mut stream)).find(|point| !self.ledger.has_seen(point));
        drawn.or_else(|| self.walk(size?, &mut stream))
    }

    /// Among one more configurations than were asked there is a new one, so the walk is short while the list is.
    fn walk(&self, size: u128, stream: &mut Stream) -> Option<Point> {
        let wide = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
        let start = wide % size;
        let steps = (self.ledger.distinct() as u128 + 1).min(size);
        (0..steps)
            .filter_map(|step| self.space.nth(add_modulo(start, step, size)))
            .find(|point| !self.ledger.has_seen(point))
    }
}

/// `(a + b) mod size` for `a, b < size`, also where the sum would not fit.
fn add_modulo(a: u128, b: u128, size: u128) -> u128 {
    if a >= size - b { a - (size - b) } else { a + b }
}

impl Engine for Random {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most > 0 {
            self.ledger.settle(); // a random search learns nothing
        }
        (0..at_most).map_while(|_| self.fresh().map(|point| self.ledger.issue(point))).collect()
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
            state: Datum::record([("seed", Datum::Natural(self.seed)), ("ledger", self.ledger.save())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn heavy_configurations_do_not_end_the_search() {
        let labels: Vec<String> = (0..60).map(|i| i.to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let space =
            Space::new(vec![Param::choice("c", &labels), Param::real("x", 0.0, 1.0).when("c", &["59"])]).unwrap();
        let mut engine = Random::new(&space, 1).unwrap();
        assert_eq!(engine.ask(500).len(), 500);
    }

    #[test]
    fn additions_wrap_at_the_size() {
        for size in [1u128, 2, 7] {
            for (a, b) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                assert_eq!(add_modulo(a, b, size), (a + b) % size);
            }
        }
        assert_eq!(add_modulo(u128::MAX - 1, u128::MAX - 1, u128::MAX), u128::MAX - 2);
    }
}
