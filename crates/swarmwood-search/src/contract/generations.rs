//! A test engine that is as different from random search as possible: it learns, works in
//! generations, waits for the last result of each, may repeat points, and supports reals only.

use crate::engine::{BestTrial, Capabilities, Engine};
use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{ExternalTrial, Trial, TrialResult};
use crate::trial_log::TrialLog;

const SIZE: u64 = 6;

/// A minimal evolution strategy: every generation is sampled around the best point so far, with a
/// decreasing width.
pub(super) struct ToyStrategy {
    space: Space,
    seed: u64,
    trial_log: TrialLog,
    /// Trials of the current generation that were asked.
    asked: u64,
    /// Results of the current generation that were collected.
    finished: u64,
    generation: u64,
    centre: Option<Vec<f64>>,
    least: f64,
}

const NAME: &str = "generations";

fn supported() -> Capabilities {
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

impl ToyStrategy {
    pub(super) fn new(space: &Space, seed: u64) -> Result<Self, Error> {
        supported().check(NAME, space)?;
        let (space, trial_log) = (space.clone(), TrialLog::new());
        let least = f64::INFINITY;
        Ok(ToyStrategy {
            space,
            seed,
            trial_log,
            asked: 0,
            finished: 0,
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
        Ok(ToyStrategy {
            space: space.clone(),
            seed: natural("seed")?,
            trial_log: TrialLog::load(state.field("trials")?, space)?,
            asked: natural("asked")?,
            finished: natural("settled")?,
            generation: natural("generation")?,
            centre: (!centre.is_empty()).then_some(centre),
            least: state.field("least")?.real()?,
        })
    }

    fn collect_results(&mut self) {
        for finished in self.trial_log.take_finished() {
            self.finished += 1;
            if let Some(loss) = finished.loss.filter(|loss| *loss < self.least) {
                self.least = loss;
                self.centre = Some(self.space.encode(&finished.point));
            }
        }
        if self.finished == SIZE {
            (self.asked, self.finished) = (0, 0);
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

impl Engine for ToyStrategy {
    fn capabilities(&self) -> Capabilities {
        supported()
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.collect_results();
        let count = (SIZE - self.asked).min(at_most as u64);
        let first = self.asked;
        self.asked += count;
        (first..first + count)
            .map(|item| self.trial_log.create_trial(self.space.decode(&self.position(item))))
            .collect()
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
        let centre = self.centre.iter().flatten().map(|u| Datum::Real(*u)).collect();
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("trials", self.trial_log.save()),
            ("asked", Datum::Natural(self.asked)),
            ("settled", Datum::Natural(self.finished)),
            ("generation", Datum::Natural(self.generation)),
            ("centre", Datum::List(centre)),
            ("least", Datum::Real(self.least)),
        ]);
        Snapshot { engine: NAME.to_owned(), version: 1, space: self.space.fingerprint(), state }
    }
}
