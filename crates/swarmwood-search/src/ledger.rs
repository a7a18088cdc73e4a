//! The book-keeping every engine needs: who was asked what, what came back, what is best.
//!
//! Outcomes wait here until the engine next asks for them with [`Ledger::settle`], and come out in
//! id order. That is what makes the order of arrival irrelevant: an engine that learns only from
//! `settle` keeps that rule by itself. Trials of others ([`Ledger::adopt`]) get ids of their own
//! and come out after them.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Best;
use crate::error::Error;
use crate::point::Point;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::trial::{Adopted, FIRST_ADOPTED, Outcome, Trial};

/// A trial whose outcome is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The trial.
    pub id: u64,
    /// Its configuration.
    pub point: Point,
    /// Its loss; `None` if it failed.
    pub loss: Option<f64>,
}

/// Open trials, outcomes not yet settled, configurations seen, and the best trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    next: u64,
    open: BTreeMap<u64, Point>,
    told: BTreeMap<u64, (Point, Option<f64>)>,
    best: Option<(u64, f64, Point)>,
    /// Fingerprints rather than points: sixteen bytes a trial however many parameters there are.
    seen: BTreeSet<u128>,
    /// What others are working on, by fingerprint.
    foreign: BTreeMap<u128, Point>,
    /// How many finished trials of others there were.
    adopted: u64,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// The id the next trial will get.
    pub fn next_id(&self) -> u64 {
        self.next
    }

    /// How many different configurations were asked or adopted.
    pub fn distinct(&self) -> usize {
        self.seen.len()
    }

    /// How many of the own trials have no outcome yet.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The configurations somebody is working on: the own open trials in id order, then those of
    /// others.
    pub fn pending(&self) -> impl Iterator<Item = &Point> {
        self.open.values().chain(self.foreign.values())
    }

    /// Whether this configuration was asked or adopted before.
    pub fn has_seen(&self, point: &Point) -> bool {
        self.has_seen_print(point.fingerprint())
    }

    /// [`Ledger::has_seen`] for who has the fingerprint already, which is the dear part of a long
    /// point.
    pub(crate) fn has_seen_print(&self, print: u128) -> bool {
        self.seen.contains(&print)
    }

    /// Opens a trial.
    pub fn issue(&mut self, point: Point) -> Trial {
        let print = point.fingerprint();
        self.issue_print(point, print)
    }

    /// [`Ledger::issue`] for who has the fingerprint already.
    pub(crate) fn issue_print(&mut self, point: Point, print: u128) -> Trial {
        let id = self.next;
        self.next += 1;
        self.seen.insert(print);
        self.open.insert(id, point.clone());
        Trial { id, point }
    }

    /// Takes outcomes in any order; those of unknown or already answered trials are ignored.
    pub fn tell(&mut self, outcomes: &[Outcome]) {
        for outcome in outcomes {
            let Some(point) = self.open.remove(&outcome.id()) else { continue };
            self.note(outcome.id(), point, outcome.loss());
        }
    }

    /// Takes a trial of somebody else; one outside the space is ignored.
    pub fn adopt(&mut self, space: &Space, trial: Adopted) {
        if !space.contains(trial.point()) {
            return;
        }
        let print = trial.point().fingerprint();
        self.seen.insert(print);
        match trial {
            Adopted::Open { point } => {
                self.foreign.insert(print, point);
            }
            Adopted::Done { point, loss } => {
                self.foreign.remove(&print);
                let id = FIRST_ADOPTED.saturating_add(self.adopted);
                self.adopted = self.adopted.saturating_add(1);
                self.note(id, point, loss.filter(|loss| loss.is_finite()));
            }
        }
    }

    fn note(&mut self, id: u64, point: Point, loss: Option<f64>) {
        if let Some(loss) = loss
            && self.best.as_ref().is_none_or(|(first, least, _)| (loss, id) < (*least, *first))
        {
            self.best = Some((id, loss, point.clone()));
        }
        self.told.insert(id, (point, loss));
    }

    /// The outcomes told since the last call, in id order: those of adopted trials come last.
    pub fn settle(&mut self) -> Vec<Settled> {
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(id, (point, loss))| Settled { id, point, loss }).collect()
    }

    /// The smallest loss told; of equals the first trial.
    pub fn best(&self) -> Option<Best<'_>> {
        self.best.as_ref().map(|(id, loss, point)| Best { id: *id, loss: *loss, point })
    }

    /// The ledger as plain data. Adopted trials have a field only where there are some: an engine
    /// that works alone is stored as it always was.
    pub fn save(&self) -> Datum {
        let entry = |id: u64, point: &Point, loss: Option<f64>| {
            let loss = loss.into_iter().map(Datum::Real).collect();
            Datum::List(vec![Datum::Natural(id), Datum::point(point), Datum::List(loss)])
        };
        let mut data = Datum::record([
            ("next", Datum::Natural(self.next)),
            (
                "open",
                Datum::List(self.open.iter().map(|(id, point)| entry(*id, point, None)).collect()),
            ),
            (
                "told",
                Datum::List(
                    self.told.iter().map(|(id, (point, loss))| entry(*id, point, *loss)).collect(),
                ),
            ),
            (
                "best",
                Datum::List(
                    self.best
                        .iter()
                        .map(|(id, loss, point)| entry(*id, point, Some(*loss)))
                        .collect(),
                ),
            ),
            ("seen", Datum::List(self.seen.iter().map(|print| Datum::wide(*print)).collect())),
        ]);
        if let Datum::Record(fields) = &mut data
            && (self.adopted > 0 || !self.foreign.is_empty())
        {
            let foreign = Datum::List(self.foreign.values().map(Datum::point).collect());
            fields.push((
                "adopted".to_owned(),
                Datum::List(vec![Datum::Natural(self.adopted), foreign]),
            ));
        }
        data
    }

    /// The ledger that [`Ledger::save`] stored.
    pub fn load(data: &Datum, space: &Space) -> Result<Self, Error> {
        let entry = |datum: &Datum| -> Result<(u64, (Point, Option<f64>)), Error> {
            let [id, point, loss] = datum.tuple()?;
            let loss = loss.list()?.first().map(Datum::real).transpose()?;
            Ok((id.natural()?, (point.to_point(space)?, loss)))
        };
        let entries = |name: &str| {
            data.field(name)?.list()?.iter().map(entry).collect::<Result<Vec<_>, Error>>()
        };
        let (adopted, foreign) = match data.field("adopted") {
            Ok(datum) => {
                let [adopted, foreign] = datum.tuple()?;
                let foreign = foreign.list()?.iter().map(|point| point.to_point(space));
                (adopted.natural()?, foreign.collect::<Result<Vec<Point>, Error>>()?)
            }
            Err(_) => (0, Vec::new()),
        };
        let ledger = Ledger {
            next: data.field("next")?.natural()?,
            open: entries("open")?.into_iter().map(|(id, (point, _))| (id, point)).collect(),
            told: entries("told")?.into_iter().collect(),
            best: entries("best")?.pop().and_then(|(id, (point, loss))| Some((id, loss?, point))),
            seen: data
                .field("seen")?
                .list()?
                .iter()
                .map(Datum::to_wide)
                .collect::<Result<_, _>>()?,
            foreign: foreign.into_iter().map(|point| (point.fingerprint(), point)).collect(),
            adopted,
        };
        let end = FIRST_ADOPTED.saturating_add(ledger.adopted);
        let known = |id: &u64| *id < ledger.next || (FIRST_ADOPTED..end).contains(id);
        if ledger.next > FIRST_ADOPTED || !ledger.open.keys().chain(ledger.told.keys()).all(known) {
            return Err(Error::Snapshot(
                "holds a trial that was never asked; it is damaged".to_owned(),
            ));
        }
        Ok(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Value;
    use crate::space::Param;

    fn space() -> Space {
        Space::new(vec![Param::integer("i", 0, 99)]).unwrap()
    }

    fn ledger_with(points: i64) -> Ledger {
        let mut ledger = Ledger::new();
        (0..points).for_each(|i| drop(ledger.issue(Point(vec![Value::Integer(i)]))));
        ledger
    }

    #[test]
    fn outcomes_settle_in_id_order_whatever_the_order_of_arrival() {
        let (a, b, c) = (
            Outcome::Value { id: 0, loss: 2.0 },
            Outcome::Failed { id: 1 },
            Outcome::Value { id: 3, loss: 2.0 },
        );
        let mut forward = ledger_with(5);
        forward.tell(&[a, b, c]);
        let mut backward = ledger_with(5);
        backward.tell(&[c, Outcome::Failed { id: 77 }]);
        backward.tell(&[b, Outcome::Value { id: 1, loss: 0.0 }]);
        backward.tell(&[a]);
        assert_eq!(forward, backward);
        assert_eq!(forward.best().map(|best| (best.id, best.loss)), Some((0, 2.0)));
        let ids: Vec<(u64, Option<f64>)> =
            forward.settle().iter().map(|s| (s.id, s.loss)).collect();
        assert_eq!(ids, [(0, Some(2.0)), (1, None), (3, Some(2.0))]);
        assert_eq!((forward.settle().len(), forward.open()), (0, 2));
    }

    #[test]
    fn trials_of_others_are_known_and_come_after_the_own() {
        let at = |i| Point(vec![Value::Integer(i)]);
        let mut ledger = ledger_with(2);
        ledger.adopt(&space(), Adopted::Open { point: at(7) });
        ledger.adopt(&space(), Adopted::Open { point: at(8) });
        ledger.adopt(&space(), Adopted::Open { point: at(100) }); // outside
        assert_eq!(ledger.pending().cloned().collect::<Vec<_>>().len(), 4);
        ledger.adopt(&space(), Adopted::Done { point: at(7), loss: Some(0.5) });
        ledger.adopt(&space(), Adopted::Done { point: at(9), loss: Some(f64::NAN) });
        ledger.tell(&[Outcome::Value { id: 1, loss: 0.5 }, Outcome::Value { id: 0, loss: 1.0 }]);
        assert_eq!((ledger.distinct(), ledger.open(), ledger.next_id()), (5, 0, 2));
        assert!(ledger.has_seen(&at(8)) && ledger.has_seen(&at(9)) && !ledger.has_seen(&at(100)));
        assert_eq!(ledger.pending().collect::<Vec<_>>(), [&at(8)]);
        assert_eq!(ledger.best().map(|best| best.id), Some(1), "of equals the own one");
        assert_eq!(Ledger::load(&ledger.save(), &space()), Ok(ledger.clone()));
        let settled: Vec<(u64, Option<f64>)> =
            ledger.settle().iter().map(|s| (s.id, s.loss)).collect();
        assert_eq!(
            settled,
            [(0, Some(1.0)), (1, Some(0.5)), (FIRST_ADOPTED, Some(0.5)), (FIRST_ADOPTED + 1, None)]
        );
        let Datum::Record(mut fields) = ledger.save() else { panic!() };
        fields[5].1 = Datum::Natural(1);
        assert!(Ledger::load(&Datum::Record(fields), &space()).is_err());
    }

    #[test]
    fn a_ledger_survives_storage_and_refuses_nonsense() {
        let mut ledger = ledger_with(6);
        ledger.tell(&[
            Outcome::Value { id: 2, loss: -1.5 },
            Outcome::Value { id: 4, loss: f64::NAN },
        ]);
        let data = ledger.save();
        assert_eq!(Ledger::load(&data, &space()), Ok(ledger));
        let Datum::Record(fields) = &data else { panic!() };
        for i in 0..fields.len() {
            let mut damaged = fields.clone();
            damaged[i].1 = Datum::Text("x".to_owned());
            assert!(Ledger::load(&Datum::Record(damaged), &space()).is_err(), "{}", fields[i].0);
        }
        let mut early = fields.clone();
        early[0].1 = Datum::Natural(3);
        assert!(Ledger::load(&Datum::Record(early), &space()).is_err());
        let narrow = Space::new(vec![Param::integer("i", 0, 1)]).unwrap();
        assert!(Ledger::load(&data, &narrow).is_err());
    }
}
