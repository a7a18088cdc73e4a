//! The book-keeping every engine needs: who was asked what, what came back, what is best.
//!
//! Outcomes wait here until the engine next asks for them with [`Ledger::settle`], and come out in id order. That is
//! what makes the order of arrival irrelevant: an engine that learns only from `settle` keeps that rule by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Best;
use crate::error::Error;
use crate::point::Point;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::trial::{Outcome, Trial};

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

    /// How many different configurations were asked.
    pub fn distinct(&self) -> usize {
        self.seen.len()
    }

    /// How many trials have no outcome yet.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether this configuration was asked before.
    pub fn has_seen(&self, point: &Point) -> bool {
        self.has_seen_print(point.fingerprint())
    }

    /// [`Ledger::has_seen`] for who has the fingerprint already, which is the dear part of a long point.
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
            let loss = outcome.loss();
            if let Some(loss) = loss
                && self.best.as_ref().is_none_or(|(id, least, _)| (loss, outcome.id()) < (*least, *id))
            {
                self.best = Some((outcome.id(), loss, point.clone()));
            }
            self.told.insert(outcome.id(), (point, loss));
        }
    }

    /// The outcomes told since the last call, in id order.
    pub fn settle(&mut self) -> Vec<Settled> {
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(id, (point, loss))| Settled { id, point, loss }).collect()
    }

    /// The smallest loss told; of equals the first trial.
    pub fn best(&self) -> Option<Best<'_>> {
        self.best.as_ref().map(|(id, loss, point)| Best { id: *id, loss: *loss, point })
    }

    /// The ledger as plain data.
    pub fn save(&self) -> Datum {
        let entry = |id: u64, point: &Point, loss: Option<f64>| {
            let loss = loss.into_iter().map(Datum::Real).collect();
            Datum::List(vec![Datum::Natural(id), Datum::point(point), Datum::List(loss)])
        };
        Datum::record([
            ("next", Datum::Natural(self.next)),
            ("open", Datum::List(self.open.iter().map(|(id, point)| entry(*id, point, None)).collect())),
            ("told", Datum::List(self.told.iter().map(|(id, (point, loss))| entry(*id, point, *loss)).collect())),
            ("best", Datum::List(self.best.iter().map(|(id, loss, point)| entry(*id, point, Some(*loss))).collect())),
            ("seen", Datum::List(self.seen.iter().map(|print| Datum::wide(*print)).collect())),
        ])
    }

    /// The ledger that [`Ledger::save`] stored.
    pub fn load(data: &Datum, space: &Space) -> Result<Self, Error> {
        let entry = |datum: &Datum| -> Result<(u64, (Point, Option<f64>)), Error> {
            let [id, point, loss] = datum.tuple()?;
            let loss = loss.list()?.first().map(Datum::real).transpose()?;
            Ok((id.natural()?, (point.to_point(space)?, loss)))
        };
        let entries = |name: &str| data.field(name)?.list()?.iter().map(entry).collect::<Result<Vec<_>, Error>>();
        let ledger = Ledger {
            next: data.field("next")?.natural()?,
            open: entries("open")?.into_iter().map(|(id, (point, _))| (id, point)).collect(),
            told: entries("told")?.into_iter().collect(),
            best: entries("best")?.pop().and_then(|(id, (point, loss))| Some((id, loss?, point))),
            seen: data.field("seen")?.list()?.iter().map(Datum::to_wide).collect::<Result<_, _>>()?,
        };
        let newest = [ledger.open.keys().last(), ledger.told.keys().last()].into_iter().flatten().max();
        if newest.is_some_and(|id| *id >= ledger.next) {
            return Err(Error::Snapshot("holds a trial that was never asked; it is damaged".to_owned()));
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
        let (a, b, c) =
            (Outcome::Value { id: 0, loss: 2.0 }, Outcome::Failed { id: 1 }, Outcome::Value { id: 3, loss: 2.0 });
        let mut forward = ledger_with(5);
        forward.tell(&[a, b, c]);
        let mut backward = ledger_with(5);
        backward.tell(&[c, Outcome::Failed { id: 77 }]);
        backward.tell(&[b, Outcome::Value { id: 1, loss: 0.0 }]);
        backward.tell(&[a]);
        assert_eq!(forward, backward);
        assert_eq!(forward.best().map(|best| (best.id, best.loss)), Some((0, 2.0)));
        let ids: Vec<(u64, Option<f64>)> = forward.settle().iter().map(|s| (s.id, s.loss)).collect();
        assert_eq!(ids, [(0, Some(2.0)), (1, None), (3, Some(2.0))]);
        assert_eq!((forward.settle().len(), forward.open()), (0, 2));
    }

    #[test]
    fn a_ledger_survives_storage_and_refuses_nonsense() {
        let mut ledger = ledger_with(6);
        ledger.tell(&[Outcome::Value { id: 2, loss: -1.5 }, Outcome::Value { id: 4, loss: f64::NAN }]);
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
