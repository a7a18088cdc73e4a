//! The suite must accept correct engines and catch every kind of fault.

use super::generations::ToyStrategy;
use super::*;
use crate::engine::{BestTrial, Capabilities, Engine};
use crate::point::PointValue;
use crate::random::RandomSearch;
use crate::snapshot::Datum;
use crate::trial::{ExternalTrial, Trial, TrialResult};

#[test]
fn random_search_keeps_every_rule() {
    let subject = EngineUnderTest {
        start: &|space, seed| Ok(Box::new(RandomSearch::new(space, seed)?)),
        resume: &|space, snapshot| Ok(Box::new(RandomSearch::resume(space, snapshot)?)),
    };
    if let Err(violations) = check(&subject) {
        panic!(
            "{}",
            violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

#[test]
fn an_engine_that_learns_and_waits_keeps_every_rule() {
    let subject = EngineUnderTest {
        start: &|space, seed| Ok(Box::new(ToyStrategy::new(space, seed)?)),
        resume: &|space, snapshot| Ok(Box::new(ToyStrategy::resume(space, snapshot)?)),
    };
    if let Err(violations) = check(&subject) {
        panic!(
            "{}",
            violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

/// The fault of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PlantedFault {
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
    inner: RandomSearch,
    fault: PlantedFault,
    space: Space,
    asks: u64,
    last: Option<TrialResult>,
    first: Option<Trial>,
    forged: Option<(u64, f64, crate::point::Point)>,
}

impl Faulty {
    fn new(space: &Space, seed: u64, fault: PlantedFault) -> Result<Self, Error> {
        let capabilities = Capabilities {
            real: false,
            list: false,
            choice: false,
            conditional: false,
            ..Capabilities::ALL
        };
        capabilities.check("faulty", space)?;
        let seed = if fault == PlantedFault::IgnoresTheSeed { 0 } else { seed };
        let inner = RandomSearch::new(space, seed)?;
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

    fn resume(space: &Space, snapshot: &Snapshot, fault: PlantedFault) -> Result<Self, Error> {
        let mut engine = Faulty::new(space, 17, fault)?;
        match fault {
            PlantedFault::RestartsOnResume => drop(RandomSearch::resume(space, snapshot)?),
            PlantedFault::ForgetsOthersOnResume => {
                let mut state = snapshot.clone();
                if let Datum::Record(fields) = &mut state.state
                    && let Datum::Record(trial_log) = &mut fields[1].1
                {
                    trial_log.retain(|(name, _)| name != "external");
                }
                engine.inner =
                    RandomSearch::resume(space, &state).or(RandomSearch::new(space, 17))?;
            }
            PlantedFault::ResumesAnything => {
                engine.inner =
                    RandomSearch::resume(space, snapshot).or(RandomSearch::new(space, 1))?
            }
            _ => engine.inner = RandomSearch::resume(space, snapshot)?,
        }
        Ok(engine)
    }
}

impl Engine for Faulty {
    fn capabilities(&self) -> Capabilities {
        let terminates = self.fault == PlantedFault::ComesBack;
        Capabilities {
            real: false,
            list: false,
            choice: false,
            conditional: false,
            terminates,
            ..Capabilities::ALL
        }
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        self.asks += 1;
        let wanted = match self.fault {
            PlantedFault::GivesTooMany if at_most > 0 => at_most + 1,
            PlantedFault::GivesTooFew => at_most.min(5),
            PlantedFault::Deadlocks if self.asks > 30 => 0,
            PlantedFault::ComesBack if self.asks == 41 => 0, // the first ask of the rule with no trial open
            PlantedFault::StumblesOverHugeLosses if matches!(self.last, Some(TrialResult::Complete { loss, .. }) if loss > 1e200) => {
                0
            }
            PlantedFault::StopsAtFailures
                if matches!(self.last, Some(TrialResult::Failed { .. })) =>
            {
                0
            }
            _ => at_most,
        };
        let mut trials = self.inner.ask(wanted);
        for trial in &mut trials {
            match (self.fault, self.last) {
                (PlantedFault::LeavesTheSpace, _) => {
                    trial.point.0[0] = PointValue::Integer(i64::MAX)
                }
                (PlantedFault::RepeatsIds, _) => trial.id = 0,
                (PlantedFault::CountsAsks, _) => trial.id += self.asks % 2 * (self.asks > 3) as u64,
                (PlantedFault::RepeatsPoints, _) => {
                    trial.point = self.first.get_or_insert_with(|| trial.clone()).point.clone();
                }
                (PlantedFault::FollowsTheLastTold, Some(TrialResult::Complete { loss, .. }))
                    if self.space.size().is_none() =>
                {
                    trial.point.0[0] = PointValue::Integer((loss * 1e6) as i64 % 1000);
                }
                _ => (),
            }
        }
        trials
    }

    fn tell(&mut self, results: &[TrialResult]) {
        self.last = results.last().copied().or(self.last);
        for result in results {
            let cheats = match result {
                TrialResult::Complete { loss, .. } => match self.fault {
                    PlantedFault::TrustsNan => !loss.is_finite(),
                    PlantedFault::ListensTwice => *loss == -9.0,
                    _ => false,
                },
                TrialResult::Failed { .. } => false,
            };
            if cheats {
                self.forged = Some((result.id(), -9.0, self.space.decode(&[])));
            }
        }
        self.inner.tell(results);
    }

    fn add_trial(&mut self, trial: ExternalTrial) {
        match (self.fault, trial) {
            (PlantedFault::IgnoresOthers, _) => (),
            (PlantedFault::AsksWhatOthersAsked, ExternalTrial::Running { .. }) => (),
            (_, trial) => self.inner.add_trial(trial),
        }
    }

    fn best(&self) -> Option<BestTrial<'_>> {
        if let Some((id, loss, point)) = &self.forged {
            return Some(BestTrial { id: *id, loss: *loss, point });
        }
        self.inner.best().filter(|_| self.fault != PlantedFault::ForgetsTheBest || self.asks < 3)
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.inner.snapshot();
        if self.fault == PlantedFault::CountsAsks
            && let Datum::Record(fields) = &mut snapshot.state
        {
            fields.push(("asks".to_owned(), Datum::Natural(self.asks)));
        }
        snapshot
    }
}

fn violations_of(fault: PlantedFault) -> Vec<&'static str> {
    let subject = EngineUnderTest {
        start: &|space, seed| Ok(Box::new(Faulty::new(space, seed, fault)?)),
        resume: &|space, snapshot| Ok(Box::new(Faulty::resume(space, snapshot, fault)?)),
    };
    check(&subject).err().unwrap_or_default().iter().map(|violation| violation.rule).collect()
}

#[test]
fn every_fault_is_caught_by_the_rule_against_it() {
    for (fault, rule) in [
        (PlantedFault::LeavesTheSpace, "points lie in the space and ids increase"),
        (PlantedFault::RepeatsIds, "points lie in the space and ids increase"),
        (
            PlantedFault::GivesTooMany,
            "never more points than asked for, and as many with the batch capability",
        ),
        (
            PlantedFault::GivesTooFew,
            "never more points than asked for, and as many with the batch capability",
        ),
        (PlantedFault::CountsAsks, "asking for nothing changes nothing"),
        (
            PlantedFault::FollowsTheLastTold,
            "the order and grouping of results between two asks do not matter",
        ),
        (PlantedFault::ForgetsTheBest, "the best trial has the smallest loss"),
        (PlantedFault::TrustsNan, "failed trials are results without a loss"),
        (PlantedFault::ListensTwice, "unknown and repeated ids are ignored"),
        (PlantedFault::RestartsOnResume, "a resumed search equals an uninterrupted one"),
        (PlantedFault::ResumesAnything, "a snapshot that does not match is refused"),
        (
            PlantedFault::Deadlocks,
            "late results are accepted, and without running trials the search continues",
        ),
        (
            PlantedFault::ComesBack,
            "late results are accepted, and without running trials the search continues",
        ),
        (
            PlantedFault::RepeatsPoints,
            "with the distinct capability no point comes twice, and the search ends when all were asked",
        ),
        (PlantedFault::IgnoresTheSeed, "another seed gives another run in a large space"),
        (PlantedFault::StumblesOverHugeLosses, "losses of any size, and equal ones, are accepted"),
        (
            PlantedFault::IgnoresOthers,
            "external trials are seen, may be the best, and do not affect ids",
        ),
        (
            PlantedFault::AsksWhatOthersAsked,
            "with the distinct capability no external point is asked",
        ),
        (
            PlantedFault::ForgetsOthersOnResume,
            "a search resumed with external trials equals an uninterrupted one",
        ),
        (PlantedFault::StopsAtFailures, "failed trials are results without a loss"),
    ] {
        let caught = violations_of(fault);
        assert!(caught.contains(&rule), "{fault:?} was caught by {caught:?}");
    }
}

#[test]
fn an_engine_that_accepts_nothing_is_caught() {
    let refuse =
        |_: &Space| Error::Unsupported { engine: "none", parameter: "x".to_owned(), kind: "any" };
    let subject = EngineUnderTest {
        start: &|space, _| Err(refuse(space)),
        resume: &|space, _| Err(refuse(space)),
    };
    let violations = check(&subject).unwrap_err();
    assert_eq!(violations.len(), 1);
    assert_eq!(
        violations[0].to_string(),
        "accepts at least one test space (space 'all'): refused every one of them"
    );
}
