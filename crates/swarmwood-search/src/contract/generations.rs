//! An engine as different from random search as can be, to prove that the contract has room for it:
//! it learns, works in generations, waits for the last answer of each, may repeat itself, and knows
//! reals only.

use crate::engine::{Best, Capabilities, Engine};
use crate::error::Error;
use crate::ledger::Ledger;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};

const SIZE: u64 = 6;

/// A minimal evolution strategy: every generation is scattered around the best point so far, ever
/// closer.
pub(super) struct Generations {
    space: Space,
    seed: u64,
    ledger: Ledger,
    /// Trials of the current generation that were asked.
    asked: u64,
    /// Outcomes of the current generation that were settled.
    settled: u64,
    generation: u64,
    centre: Option<Vec<f64>>,
    least: f64,
}

const NAME: &str = "generations";

fn abilities() -> Capabilities {
    Capabilities {
        integer: false,
        list: false,
        choice: false,
        conditional: false,
        batch: false,
        distinct: false,
        ..Capabilities::ALL
    }
}

impl Generations {
    pub(super) fn new(space: &Space, seed: u64) -> Result<Self, Error> {
        abilities().check(NAME, space)?;
        let (space, ledger) = (space.clone(), Ledger::new());
        let least = f64::INFINITY;
        Ok(Generations {
            space,
            seed,
            ledger,
            asked: 0,
            settled: 0,
            generation: 0,
            centre: None,
            least,
        })
    }

    pub(super) fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(NAME, 1, space)?;
        let state = &snapshot.state;
        let natural = |name: &str| state.field(name)?.natural();
        let centre = state
            .field("centre")?
            .list()?
            .iter()
            .map(Datum::real)
            .collect::<Result<Vec<f64>, Error>>()?;
        Ok(Generations {
            space: space.clone(),
            seed: natural("seed")?,
            ledger: Ledger::load(state.field("ledger")?, space)?,
            asked: natural("asked")?,
            settled: natural("settled")?,
            generation: natural("generation")?,
            centre: (!centre.is_empty()).then_some(centre),
            least: state.field("least")?.real()?,
        })
    }

    fn learn(&mut self) {
        for settled in self.ledger.settle() {
            self.settled += 1;
            if let Some(loss) = settled.loss.filter(|loss| *loss < self.least) {
                self.least = loss;
                self.centre = Some(self.space.encode(&settled.point));
            }
        }
        if self.settled == SIZE {
            (self.asked, self.settled) = (0, 0);
            self.generation += 1;
        }
    }

    fn position(&self, item: u64) -> Vec<f64> {
        let mut stream = Stream::new(self.seed, self.generation, item);
        let width = 0.3 * 0.8f64.powi(self.generation as i32);
        match &self.centre {
            Some(centre) => centre.iter().map(|u| u + width * stream.normal()).collect(),
            None => (0..self.space.len()).map(|_| stream.unit()).collect(),
        }
    }
}

impl Engine for Generations {
    fn capabilities(&self) -> Capabilities {
        abilities()
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.learn();
        let count = (SIZE - self.asked).min(at_most as u64);
        let first = self.asked;
        self.asked += count;
        (first..first + count)
            .map(|item| self.ledger.issue(self.space.decode(&self.position(item))))
            .collect()
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
        let centre = self.centre.iter().flatten().map(|u| Datum::Real(*u)).collect();
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("ledger", self.ledger.save()),
            ("asked", Datum::Natural(self.asked)),
            ("settled", Datum::Natural(self.settled)),
            ("generation", Datum::Natural(self.generation)),
            ("centre", Datum::List(centre)),
            ("least", Datum::Real(self.least)),
        ]);
        Snapshot { engine: NAME.to_owned(), version: 1, space: self.space.fingerprint(), state }
    }
}
