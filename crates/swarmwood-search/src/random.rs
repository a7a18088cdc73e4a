//! Random search: the baseline of all other engines.
//!
//! Every point is drawn independently, each parameter uniformly over its values or its scale, and
//! no point is asked twice (Bergstra and Bengio, "Random search for hyper-parameter optimization",
//! JMLR 2012; without repeats).
//!
//! Trial `t` draws from the stream `(seed, t, 0)` until a point comes up that was not asked yet
//! (`sample_unseen`).

use crate::engine::{BestTrial, Capabilities, Engine, EngineSpec, boxed};
use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot};
use crate::space::Space;
use crate::trial::{ExternalTrial, Trial, TrialResult};
use crate::trial_log::TrialLog;
use crate::unseen::sample_unseen;

/// Version 1 had other field names.
const VERSION: u64 = 2;

/// The registration of [`RandomSearch`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: RandomSearch::NAME,
    summary: "random search without repeats: the baseline",
    options: &[],
    build: |space, seed, _| boxed(RandomSearch::new(space, seed)),
    resume: |space, snapshot| boxed(RandomSearch::resume(space, snapshot)),
};

/// Random search without repeats.
#[derive(Debug, Clone)]
pub struct RandomSearch {
    space: Space,
    seed: u64,
    trial_log: TrialLog,
}

impl RandomSearch {
    /// The name in the registry and in snapshots.
    pub const NAME: &str = "random";

    /// A new search.
    pub fn new(space: &Space, seed: u64) -> Result<Self, Error> {
        Capabilities::ALL.check(Self::NAME, space)?;
        Ok(RandomSearch { space: space.clone(), seed, trial_log: TrialLog::new() })
    }

    /// Resumes the search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(Self::NAME, VERSION, space)?;
        let seed = snapshot.state.field("seed")?.natural()?;
        let trial_log = TrialLog::load(snapshot.state.renamed_field("trials", "ledger")?, space)?;
        Ok(RandomSearch { space: space.clone(), seed, trial_log })
    }
}

impl Engine for RandomSearch {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most > 0 {
            self.trial_log.take_finished(); // random search ignores results
        }
        let draw = |_| {
            let mut stream = Stream::new(self.seed, self.trial_log.next_id(), 0);
            sample_unseen(&self.space, &self.trial_log, &mut stream)
                .map(|point| self.trial_log.create_trial(point))
        };
        (0..at_most).map_while(draw).collect()
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
        Snapshot {
            engine: Self::NAME.to_owned(),
            version: VERSION,
            space: self.space.fingerprint(),
            state: Datum::record([
                ("seed", Datum::Natural(self.seed)),
                ("trials", self.trial_log.save()),
            ]),
        }
    }
}
