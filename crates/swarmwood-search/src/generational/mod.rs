//! Framework for generational engines: all points of a round are evaluated before the next round is
//! generated.
//!
//! A [`GenerationalMethod`] computes the positions of a round, in the unit cube, from the losses of
//! the previous one; [`GenerationalEngine`] turns it into an [`Engine`] and does the rest: trials,
//! results, the initial point, termination, snapshots. A round is usually a generation; a method
//! may also insert rounds of its own between two generations.
//!
//! Asynchronous evaluation. A round may be asked for in batches of any size, and its results may
//! arrive in any order, between or after the asks. While points of the round are left, an ask
//! returns them. When none are left but results are missing, it returns nothing: the engine waits.
//! The first ask after the last result starts the next round. Hence no result is ever too late, the
//! batch size does not change the search, and while no trial is running an ask returns at least one
//! point until the search has ended. If there are more workers than points in a round, some of them
//! idle at its end; a population that is a multiple of their number keeps all of them busy.
//!
//! The initial point, if the configuration has one, is asked before all others, so that among equal
//! losses it stays the best. Random numbers come from the streams `(seed, round, item)`.

#[cfg(test)]
pub(crate) mod tests;

use crate::engine::{BestTrial, Capabilities, Engine};
use crate::error::Error;
use crate::point::Point;
use crate::position_matrix::PositionMatrix;
use crate::rng::Stream;
use crate::snapshot::{Datum, Snapshot, damaged};
use crate::space::Space;
use crate::trial::{ExternalTrial, Trial, TrialResult};
use crate::trial_log::TrialLog;

/// Version 1 had other field names.
const VERSION: u64 = 2;

/// The random streams of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundSeed {
    /// The seed of the search.
    pub seed: u64,
    /// The number of the round, counted from 0.
    pub number: u64,
}

impl RoundSeed {
    /// The random stream of an item: a particle, a member of the population.
    pub fn stream(&self, item: usize) -> Stream {
        Stream::new(self.seed, self.number, item as u64)
    }

    /// The random stream of the round as a whole.
    pub fn whole(&self) -> Stream {
        Stream::new(self.seed, self.number, u64::MAX)
    }
}

/// The losses of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundLosses<'a> {
    /// One loss per position, in order; `None` where the trial failed.
    pub losses: &'a [Option<f64>],
    /// In the first round the initial point and its loss, if there is one and it did not fail.
    pub start: Option<(&'a [f64], f64)>,
}

/// A method that evaluates round after round.
pub trait GenerationalMethod: Sized + Send {
    /// The engine's name in the registry and in snapshots.
    const NAME: &'static str;
    /// Its configuration.
    type Config;
    /// The point to evaluate before all others.
    fn initial_point(config: &Self::Config) -> Option<&Point>;
    /// Checks the configuration and generates the first round.
    fn new(space: &Space, config: Self::Config, round: RoundSeed) -> Result<Self, Error>;
    /// The positions of the current round, in the unit cube.
    fn positions(&self) -> &PositionMatrix;
    /// Learns from the losses of a round and generates the next one, whose random streams are
    /// those of `next`; `false` if the search has ended.
    fn advance(&mut self, results: RoundLosses<'_>, next: RoundSeed) -> bool;
    /// Whether the search may end.
    fn terminates(&self) -> bool;
    /// Everything but the space, as plain data.
    fn save(&self) -> Datum;
    /// The method that [`GenerationalMethod::save`] stored.
    fn load(space: &Space, data: &Datum) -> Result<Self, Error>;
}

/// The engine of a [`GenerationalMethod`].
#[derive(Debug, Clone)]
pub struct GenerationalEngine<M> {
    space: Space,
    seed: u64,
    trial_log: TrialLog,
    round: u64,
    /// The initial point, during the first round.
    start: Option<Point>,
    /// The results of this round, that of the initial point first: missing, failed, or a loss.
    losses: Vec<Option<Option<f64>>>,
    /// Id of the first trial of this round; the others follow in order.
    first: u64,
    /// Number of trials of this round that were asked.
    asked: usize,
    finished: bool,
    method: M,
}

impl<M: GenerationalMethod> GenerationalEngine<M> {
    /// The name in the registry and in snapshots.
    pub const NAME: &'static str = M::NAME;

    /// A new search.
    pub fn new(space: &Space, config: M::Config, seed: u64) -> Result<Self, Error> {
        let start = M::initial_point(&config).cloned();
        let method = M::new(space, config, RoundSeed { seed, number: 0 })?;
        let (space, trial_log) = (space.clone(), TrialLog::new());
        let losses = vec![None; usize::from(start.is_some()) + method.positions().len()];
        Ok(GenerationalEngine {
            space,
            seed,
            trial_log,
            round: 0,
            start,
            losses,
            first: 0,
            asked: 0,
            finished: false,
            method,
        })
    }

    /// Resumes the search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(M::NAME, VERSION, space)?;
        let state = &snapshot.state;
        let natural = |name: &str| state.field(name)?.natural();
        let loss = |datum: &Datum| datum.list()?.first().map(Datum::to_optional).transpose();
        let engine = GenerationalEngine {
            space: space.clone(),
            seed: natural("seed")?,
            trial_log: TrialLog::load(state.renamed_field("trials", "ledger")?, space)?,
            round: state.field("round")?.counter()?,
            start: state
                .field("start")?
                .list()?
                .first()
                .map(|start| start.to_point(space))
                .transpose()?,
            losses: state
                .renamed_field("losses", "answers")?
                .list()?
                .iter()
                .map(loss)
                .collect::<Result<_, Error>>()?,
            first: natural("first")?,
            asked: state.field("asked")?.count()?,
            finished: state.renamed_field("finished", "over")?.to_flag()?,
            method: M::load(space, state.field("method")?)?,
        };

        if engine.losses.len() != engine.round_size() {
            return Err(damaged("another number of losses than positions"));
        }
        let next = engine.first.checked_add(engine.asked as u64);
        if next != Some(engine.trial_log.next_id()) || engine.asked > engine.losses.len() {
            return Err(damaged("trials that belong to no round"));
        }
        Ok(engine)
    }

    /// The method and its state.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// Number of completed rounds. The first ask after the last result completes a round.
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// Whether the search has ended.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Number of trials in this round.
    fn round_size(&self) -> usize {
        if self.finished {
            0
        } else {
            usize::from(self.start.is_some()) + self.method.positions().len()
        }
    }

    /// Collects the results that arrived, and starts the next round once this one is complete.
    fn collect_results(&mut self) {
        for finished in self.trial_log.take_finished() {
            let index =
                finished.id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
            if let Some(loss) = index.and_then(|index| self.losses.get_mut(index)) {
                *loss = Some(finished.loss);
            }
        }
        if !self.finished && self.asked == self.losses.len() && self.trial_log.running() == 0 {
            self.complete_round();
        }
    }

    fn complete_round(&mut self) {
        let losses: Vec<Option<f64>> = self.losses.iter().map(|loss| loss.flatten()).collect();
        let start = self.start.take().map(|start| self.space.encode(&start));
        let (first, losses) = losses.split_at(usize::from(start.is_some()));
        let start = start.as_deref().zip(first.first().copied().flatten());

        self.round = self.round.saturating_add(1);
        let next = RoundSeed { seed: self.seed, number: self.round };
        self.finished = !self.method.advance(RoundLosses { losses, start }, next);

        self.losses.clear();
        self.losses.resize(self.round_size(), None);
        self.first = self.trial_log.next_id();
        self.asked = 0;
    }

    /// The point of a trial of this round.
    fn point(&self, index: usize) -> Point {
        match &self.start {
            Some(start) if index == 0 => start.clone(),
            start => {
                self.space.decode(self.method.positions().row(index - usize::from(start.is_some())))
            }
        }
    }
}

impl<M: GenerationalMethod> Engine for GenerationalEngine<M> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            distinct: false,
            terminates: self.method.terminates(),
            ..Capabilities::ALL
        }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.collect_results();

        let indices = self.asked..self.asked.saturating_add(at_most).min(self.losses.len());
        self.asked = indices.end;
        let ask = |index| {
            let point = self.point(index);
            self.trial_log.create_trial(point)
        };
        indices.map(ask).collect()
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
        let loss = |loss: &Option<Option<f64>>| {
            Datum::List(loss.map(Datum::optional).into_iter().collect())
        };
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("trials", self.trial_log.save()),
            ("round", Datum::Natural(self.round)),
            ("start", Datum::List(self.start.iter().map(Datum::point).collect())),
            ("losses", Datum::List(self.losses.iter().map(loss).collect())),
            ("first", Datum::Natural(self.first)),
            ("asked", Datum::Natural(self.asked as u64)),
            ("finished", Datum::flag(self.finished)),
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
