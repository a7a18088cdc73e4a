//! What every engine that makes one point at a time must keep, beside the contract.

use super::*;
use crate::contract::{ContractViolation, EngineUnderTest, check, spaces};

/// The contract of all engines.
pub(crate) fn assert_contract<M: SteadyStateMethod + 'static>(config: &dyn Fn() -> M::Config) {
    let subject = EngineUnderTest {
        start: &|space, seed| Ok(Box::new(SteadyStateEngine::<M>::new(space, config(), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(SteadyStateEngine::<M>::resume(space, snapshot)?)),
    };
    if let Err(violations) = check(&subject) {
        panic!(
            "{}",
            violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

/// Every seventh trial fails.
fn result(space: &Space, trial: &Trial) -> TrialResult {
    let smooth: f64 = space.encode(&trial.point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    match trial.id % 7 {
        3 => TrialResult::Failed { id: trial.id },
        _ => TrialResult::Complete {
            id: trial.id,
            loss: smooth + 1e-3 * (trial.point.fingerprint() % 10) as f64,
        },
    }
}

/// A long search interrupted at every trial, and damaged snapshots, which must be refused or go on.
pub(crate) fn assert_resumable<M: SteadyStateMethod>(config: &dyn Fn() -> M::Config) {
    for (name, space) in spaces() {
        let mut whole = SteadyStateEngine::<M>::new(&space, config(), 5).unwrap();
        let mut parts = SteadyStateEngine::<M>::new(&space, config(), 5).unwrap();
        for i in 0..120 {
            let (expected, got) = (whole.ask(1), parts.ask(1));
            assert_eq!(expected, got, "{name}, resumed at trial {i}");
            let results: Vec<TrialResult> =
                expected.iter().map(|trial| result(&space, trial)).collect();
            whole.tell(&results);
            parts.tell(&results);
            parts = SteadyStateEngine::resume(&space, &parts.snapshot()).unwrap();
        }
        if name == "mixed" {
            assert_damage_is_refused::<M>(&space, &whole.snapshot());
        }
    }
}

fn assert_damage_is_refused<M: SteadyStateMethod>(space: &Space, good: &Snapshot) {
    let (mut tried, mut refused) = (0, 0);
    for state in crate::generational::tests::damaged_variants(&good.state) {
        tried += 1;
        match SteadyStateEngine::<M>::resume(space, &Snapshot { state, ..good.clone() }) {
            Ok(mut engine) => {
                for _ in 0..30 {
                    let trials = engine.ask(3);
                    assert!(trials.iter().all(|trial| space.contains(&trial.point)));
                    engine
                        .tell(&trials.iter().map(|trial| result(space, trial)).collect::<Vec<_>>());
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 20 && refused > tried / 4, "{refused} of {tried}");
}
