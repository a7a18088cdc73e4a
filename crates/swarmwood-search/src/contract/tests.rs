//! The suite must accept an honest engine and catch every kind of cheat.

use super::generations::Generations;
use super::*;
use crate::engine::{Best, Capabilities};
use crate::point::Value;
use crate::random::Random;
use crate::snapshot::Datum;
use crate::trial::{Adopted, Outcome, Trial};

#[test]
fn random_search_keeps_every_rule() {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(Random::new(space, seed)?)),
        resume: &|space, snapshot| Ok(Box::new(Random::resume(space, snapshot)?)),
    };
    if let Err(breaches) = check(&subject) {
        panic!("{}", breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn an_engine_that_learns_and_waits_keeps_every_rule() {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(Generations::new(space, seed)?)),
        resume: &|space, snapshot| Ok(Box::new(Generations::resume(space, snapshot)?)),
    };
    if let Err(breaches) = check(&subject) {
        panic!("{}", breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n"));
    }
}

/// What is wrong with a faulty engine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    LeavesTheSpace,
    RepeatsIds,
    GivesTooMany,
    GivesTooFew,
    CountsAsks,
    FollowsTheLastTold,
    ForgetsTheBest,
    TrustsNan,
    ListensTwice,
    RestartsOnResume,
    ResumesAnything,
    Deadlocks,
    ComesBack,
    RepeatsPoints,
    IgnoresTheSeed,
    StopsAtFailures,
    StumblesOverHugeLosses,
    IgnoresOthers,
    AsksWhatOthersAsked,
    ForgetsOthersOnResume,
}

/// Random search with one fault, on integers only.
struct Faulty {
    inner: Random,
    fault: Fault,
    space: Space,
    asks: u64,
    last: Option<Outcome>,
    first: Option<Trial>,
    forged: Option<(u64, f64, crate::point::Point)>,
}

impl Faulty {
    fn new(space: &Space, seed: u64, fault: Fault) -> Result<Self, Error> {
        let abilities = Capabilities {
            real: false,
            list: false,
            choice: false,
            conditional: false,
            ..Capabilities::ALL
        };
        abilities.check("faulty", space)?;
        let seed = if fault == Fault::IgnoresTheSeed { 0 } else { seed };
        let inner = Random::new(space, seed)?;
        Ok(Faulty {
            inner,
            fault,
            space: space.clone(),
            asks: 0,
            last: None,
            first: None,
            forged: None,
        })
    }

    fn resume(space: &Space, snapshot: &Snapshot, fault: Fault) -> Result<Self, Error> {
        let mut engine = Faulty::new(space, 17, fault)?;
        match fault {
            Fault::RestartsOnResume => drop(Random::resume(space, snapshot)?),
            Fault::ForgetsOthersOnResume => {
                let mut state = snapshot.clone();
                if let Datum::Record(fields) = &mut state.state
                    && let Datum::Record(ledger) = &mut fields[1].1
                {
                    ledger.retain(|(name, _)| name != "adopted");
                }
                engine.inner = Random::resume(space, &state).or(Random::new(space, 17))?;
            }
            Fault::ResumesAnything => {
                engine.inner = Random::resume(space, snapshot).or(Random::new(space, 1))?
            }
            _ => engine.inner = Random::resume(space, snapshot)?,
        }
        Ok(engine)
    }
}

impl Engine for Faulty {
    fn capabilities(&self) -> Capabilities {
        let ends = self.fault == Fault::ComesBack;
        Capabilities {
            real: false,
            list: false,
            choice: false,
            conditional: false,
            ends,
            ..Capabilities::ALL
        }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        self.asks += 1;
        let wanted = match self.fault {
            Fault::GivesTooMany if at_most > 0 => at_most + 1,
            Fault::GivesTooFew => at_most.min(5),
            Fault::Deadlocks if self.asks > 30 => 0,
            Fault::ComesBack if self.asks == 41 => 0, // the first ask of the rule with no trial open
            Fault::StumblesOverHugeLosses if matches!(self.last, Some(Outcome::Value { loss, .. }) if loss > 1e200) => {
                0
            }
            Fault::StopsAtFailures if matches!(self.last, Some(Outcome::Failed { .. })) => 0,
            _ => at_most,
        };
        let mut trials = self.inner.ask(wanted);
        for trial in &mut trials {
            match (self.fault, self.last) {
                (Fault::LeavesTheSpace, _) => trial.point.0[0] = Value::Integer(i64::MAX),
                (Fault::RepeatsIds, _) => trial.id = 0,
                (Fault::CountsAsks, _) => trial.id += self.asks % 2 * (self.asks > 3) as u64,
                (Fault::RepeatsPoints, _) => {
                    trial.point = self.first.get_or_insert_with(|| trial.clone()).point.clone();
                }
                (Fault::FollowsTheLastTold, Some(Outcome::Value { loss, .. }))
                    if self.space.size().is_none() =>
                {
                    trial.point.0[0] = Value::Integer((loss * 1e6) as i64 % 1000);
                }
                _ => (),
            }
        }
        trials
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.last = outcomes.last().copied().or(self.last);
        for outcome in outcomes {
            let cheats = match outcome {
                Outcome::Value { loss, .. } => match self.fault {
                    Fault::TrustsNan => !loss.is_finite(),
                    Fault::ListensTwice => *loss == -9.0,
                    _ => false,
                },
                Outcome::Failed { .. } => false,
            };
            if cheats {
                self.forged = Some((outcome.id(), -9.0, self.space.decode(&[])));
            }
        }
        self.inner.tell(outcomes);
    }

    fn adopt(&mut self, trial: Adopted) {
        match (self.fault, trial) {
            (Fault::IgnoresOthers, _) => (),
            (Fault::AsksWhatOthersAsked, Adopted::Open { .. }) => (),
            (_, trial) => self.inner.adopt(trial),
        }
    }

    fn best(&self) -> Option<Best<'_>> {
        if let Some((id, loss, point)) = &self.forged {
            return Some(Best { id: *id, loss: *loss, point });
        }
        self.inner.best().filter(|_| self.fault != Fault::ForgetsTheBest || self.asks < 3)
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.inner.snapshot();
        if self.fault == Fault::CountsAsks
            && let Datum::Record(fields) = &mut snapshot.state
        {
            fields.push(("asks".to_owned(), Datum::Natural(self.asks)));
        }
        snapshot
    }
}

fn breaches_of(fault: Fault) -> Vec<&'static str> {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(Faulty::new(space, seed, fault)?)),
        resume: &|space, snapshot| Ok(Box::new(Faulty::resume(space, snapshot, fault)?)),
    };
    check(&subject).err().unwrap_or_default().iter().map(|breach| breach.rule).collect()
}

#[test]
fn every_cheat_is_caught_by_the_rule_against_it() {
    for (fault, rule) in [
        (Fault::LeavesTheSpace, "points lie in the space and ids grow"),
        (Fault::RepeatsIds, "points lie in the space and ids grow"),
        (
            Fault::GivesTooMany,
            "never more points than asked, and as many with the batch capability",
        ),
        (Fault::GivesTooFew, "never more points than asked, and as many with the batch capability"),
        (Fault::CountsAsks, "asking for nothing changes nothing"),
        (
            Fault::FollowsTheLastTold,
            "the order and grouping of outcomes between two asks do not matter",
        ),
        (Fault::ForgetsTheBest, "the best is the smallest loss told"),
        (Fault::TrustsNan, "failed trials are answers without a value"),
        (Fault::ListensTwice, "unknown and repeated ids are ignored"),
        (Fault::RestartsOnResume, "resumed is the same as uninterrupted"),
        (Fault::ResumesAnything, "a snapshot that does not fit is refused"),
        (Fault::Deadlocks, "late outcomes are taken, and without open trials the search goes on"),
        (Fault::ComesBack, "late outcomes are taken, and without open trials the search goes on"),
        (
            Fault::RepeatsPoints,
            "no configuration twice with the distinct capability, and an end when all were asked",
        ),
        (Fault::IgnoresTheSeed, "another seed gives another run in a large space"),
        (Fault::StumblesOverHugeLosses, "losses of any size, and equal ones, are taken"),
        (Fault::IgnoresOthers, "adopted trials are seen, may be the best, and disturb no ids"),
        (
            Fault::AsksWhatOthersAsked,
            "no adopted configuration is asked with the distinct capability",
        ),
        (Fault::ForgetsOthersOnResume, "resumed with adopted trials is the same as uninterrupted"),
        (Fault::StopsAtFailures, "failed trials are answers without a value"),
    ] {
        let caught = breaches_of(fault);
        assert!(caught.contains(&rule), "{fault:?} was caught by {caught:?}");
    }
}

#[test]
fn an_engine_that_accepts_nothing_is_caught() {
    let refuse = |_: &Space| Error::Unsupported {
        engine: "none",
        parameter: "x".to_owned(),
        ability: "any",
    };
    let subject =
        Subject { start: &|space, _| Err(refuse(space)), resume: &|space, _| Err(refuse(space)) };
    let breaches = check(&subject).unwrap_err();
    assert_eq!(breaches.len(), 1);
    assert_eq!(
        breaches[0].to_string(),
        "accepts at least one test space (space 'all'): refused every one of them"
    );
}
