//! Engines that work in rounds: all points of a round are evaluated before the next round is made.
//!
//! A [`Method`] knows how positions of the unit cube follow from the losses of the round before;
//! [`Generational`] makes an [`Engine`] of it and keeps everything that is the same for all:
//! trials, answers, the start, the end, snapshots.
//!
//! Generations and asynchronous tells go together like this. A round may be asked for in pieces of
//! any size, and its answers may come in any order, between or after the asks; they are collected.
//! An ask that finds points of the round left gives those. An ask that finds none left, but answers
//! missing, gives nothing: the engine waits. The first ask after the last answer makes the next
//! round. So no answer is ever too late, the size of batches changes nothing, and with no trial
//! open there is always a point to ask until the search is over. Workers that outnumber a round
//! idle at its end; a population that is a multiple of their number keeps them busy.
//!
//! A start position is asked first of all, and no position that the method makes comes before it:
//! of equally good ones it stays the best. Random numbers come from the streams
//! `(seed, round, item)`.

#[cfg(test)]
pub(crate) mod tests;

use crate::engine::{Best, Capabilities, Engine};
use crate::error::{Error, Fault};
use crate::ledger::Ledger;
use crate::point::Point;
use crate::rng::Stream;
use crate::rows::Rows;
use crate::snapshot::{Datum, Snapshot, damaged};
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};

const VERSION: u64 = 1;
/// The most members a population may have.
const MOST: usize = 1_000_000;

/// A round, as the source of its random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The seed of the search.
    pub seed: u64,
    /// Which round, counted from 0.
    pub number: u64,
}

impl Round {
    /// The random numbers of an item: a particle, a member of a population.
    pub fn stream(&self, item: usize) -> Stream {
        Stream::new(self.seed, self.number, item as u64)
    }

    /// The random numbers of the round as a whole.
    pub fn whole(&self) -> Stream {
        Stream::new(self.seed, self.number, u64::MAX)
    }
}

/// What came of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told<'a> {
    /// The loss of every position, in their order; `None` where the trial failed.
    pub losses: &'a [Option<f64>],
    /// In the first round the start position and its loss, if one was given and did not fail.
    pub start: Option<(&'a [f64], f64)>,
}

/// How the positions of one round follow from those before.
pub trait Method: Sized + Send {
    /// The name in registries and snapshots.
    const NAME: &'static str;
    /// What can be set.
    type Settings;
    /// The position to evaluate before all others.
    fn given(settings: &Self::Settings) -> Option<&Point>;
    /// Checks the settings and makes the first round.
    fn begin(space: &Space, settings: Self::Settings, round: Round) -> Result<Self, Error>;
    /// The positions of the present round, in the unit cube.
    fn positions(&self) -> &Rows;
    /// Learns from a round and makes the next one, whose random numbers `next` gives; `false` if
    /// the search is over.
    fn advance(&mut self, told: Told<'_>, next: Round) -> bool;
    /// Whether the search may end by itself.
    fn ends(&self) -> bool;
    /// Everything but the space, as plain data.
    fn save(&self) -> Datum;
    /// The method that [`Method::save`] stored.
    fn load(space: &Space, data: &Datum) -> Result<Self, Error>;
}

/// The engine of a [`Method`].
#[derive(Debug, Clone)]
pub struct Generational<M> {
    space: Space,
    seed: u64,
    ledger: Ledger,
    round: u64,
    /// The start position, while its round lasts.
    start: Option<Point>,
    /// What came of the trials of this round, the start first: nothing yet, a failure, or a loss.
    answers: Vec<Option<Option<f64>>>,
    /// The first trial of this round; the others follow in order.
    first: u64,
    /// How many of this round were asked.
    asked: usize,
    over: bool,
    method: M,
}

impl<M: Method> Generational<M> {
    /// The name in registries and snapshots.
    pub const NAME: &'static str = M::NAME;

    /// A new search.
    pub fn new(space: &Space, settings: M::Settings, seed: u64) -> Result<Self, Error> {
        let start = M::given(&settings).cloned();
        let method = M::begin(space, settings, Round { seed, number: 0 })?;
        let (space, ledger) = (space.clone(), Ledger::new());
        let answers = vec![None; usize::from(start.is_some()) + method.positions().len()];
        Ok(Generational {
            space,
            seed,
            ledger,
            round: 0,
            start,
            answers,
            first: 0,
            asked: 0,
            over: false,
            method,
        })
    }

    /// The search that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        snapshot.check(M::NAME, VERSION, space)?;
        let state = &snapshot.state;
        let natural = |name: &str| state.field(name)?.natural();
        let answer = |datum: &Datum| datum.list()?.first().map(Datum::to_optional).transpose();
        let engine = Generational {
            space: space.clone(),
            seed: natural("seed")?,
            ledger: Ledger::load(state.field("ledger")?, space)?,
            round: natural("round")?,
            start: state
                .field("start")?
                .list()?
                .first()
                .map(|start| start.to_point(space))
                .transpose()?,
            answers: state
                .field("answers")?
                .list()?
                .iter()
                .map(answer)
                .collect::<Result<_, Error>>()?,
            first: natural("first")?,
            asked: state.field("asked")?.count()?,
            over: state.field("over")?.to_flag()?,
            method: M::load(space, state.field("method")?)?,
        };
        if engine.answers.len() != engine.size() {
            return Err(damaged("another number of answers than positions"));
        }
        let next = engine.first.checked_add(engine.asked as u64);
        if next != Some(engine.ledger.next_id()) || engine.asked > engine.answers.len() {
            return Err(damaged("trials that belong to no round"));
        }
        Ok(engine)
    }

    /// The method, to see how it stands.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// How many rounds are complete. A round is completed by the first ask after its last answer.
    pub fn rounds(&self) -> u64 {
        self.round
    }

    /// Whether the search has ended.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// How many trials this round has.
    fn size(&self) -> usize {
        if self.over {
            0
        } else {
            usize::from(self.start.is_some()) + self.method.positions().len()
        }
    }

    /// Takes what was told, and goes on to the next round once all of this one is known.
    fn learn(&mut self) {
        for settled in self.ledger.settle() {
            let turn =
                settled.id.checked_sub(self.first).and_then(|turn| usize::try_from(turn).ok());
            if let Some(answer) = turn.and_then(|turn| self.answers.get_mut(turn)) {
                *answer = Some(settled.loss);
            }
        }
        if !self.over && self.asked == self.answers.len() && self.ledger.open() == 0 {
            self.complete();
        }
    }

    fn complete(&mut self) {
        let losses: Vec<Option<f64>> = self.answers.iter().map(|answer| answer.flatten()).collect();
        let start = self.start.take().map(|start| self.space.encode(&start));
        let (first, losses) = losses.split_at(usize::from(start.is_some()));
        let start = start.as_deref().zip(first.first().copied().flatten());
        self.round = self.round.saturating_add(1);
        let next = Round { seed: self.seed, number: self.round };
        self.over = !self.method.advance(Told { losses, start }, next);
        self.answers.clear();
        self.answers.resize(self.size(), None);
        self.first = self.ledger.next_id();
        self.asked = 0;
    }

    /// The point of a trial of this round.
    fn point(&self, turn: usize) -> Point {
        match &self.start {
            Some(start) if turn == 0 => start.clone(),
            start => {
                self.space.decode(self.method.positions().row(turn - usize::from(start.is_some())))
            }
        }
    }
}

impl<M: Method> Engine for Generational<M> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            distinct: false,
            ends: self.method.ends(),
            ..Capabilities::ALL
        }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.learn();
        let turns = self.asked..self.asked.saturating_add(at_most).min(self.answers.len());
        self.asked = turns.end;
        let ask = |turn| {
            let point = self.point(turn);
            self.ledger.issue(point)
        };
        turns.map(ask).collect()
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
        let answer = |answer: &Option<Option<f64>>| {
            Datum::List(answer.map(Datum::optional).into_iter().collect())
        };
        let state = Datum::record([
            ("seed", Datum::Natural(self.seed)),
            ("ledger", self.ledger.save()),
            ("round", Datum::Natural(self.round)),
            ("start", Datum::List(self.start.iter().map(Datum::point).collect())),
            ("answers", Datum::List(self.answers.iter().map(answer).collect())),
            ("first", Datum::Natural(self.first)),
            ("asked", Datum::Natural(self.asked as u64)),
            ("over", Datum::flag(self.over)),
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

/// Collects the faults of settings, so that all are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, setting: &str, message: String) {
        self.0.push(Fault { parameter: setting.to_owned(), message });
    }

    /// What all methods let set: how many members, how many generations, and where to start.
    pub(crate) fn check_run(
        &mut self,
        population: Option<usize>,
        least: usize,
        generations: Option<u64>,
        start: Option<(&Point, &Space)>,
    ) {
        if let Some(population) =
            population.filter(|population| !(least..=MOST).contains(population))
        {
            self.add("population", format!("must lie within {least} and {MOST}, not {population}"));
        }
        if generations == Some(0) {
            self.add(
                "generations",
                "must be at least 1; the initial population is the first generation".to_owned(),
            );
        }
        if start.is_some_and(|(start, space)| !space.contains(start)) {
            self.add("start", "lies outside the space".to_owned());
        }
    }

    /// A number that must lie within bounds.
    pub(crate) fn check_within(&mut self, setting: &str, value: f64, low: f64, high: f64) {
        if !(low..=high).contains(&value) {
            self.add(setting, format!("must lie within {low} and {high}, not {value}"));
        }
    }

    /// All faults as one error.
    pub(crate) fn report(self, engine: &'static str) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Settings { engine, faults: self.0 }) }
    }
}

/// The error of a snapshot whose settings no engine would have accepted.
pub(crate) fn unsound(error: Error) -> Error {
    Error::Snapshot(format!("holds settings that make no sense: {error}"))
}
