//! What every engine that makes one point at a time must keep, beside the contract.

use super::*;
use crate::contract::{Breach, Subject, check, spaces};

/// The contract of all engines.
pub(crate) fn abides<M: Method + 'static>(settings: &dyn Fn() -> M::Settings) {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(Steady::<M>::new(space, settings(), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(Steady::<M>::resume(space, snapshot)?)),
    };
    if let Err(breaches) = check(&subject) {
        panic!("{}", breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n"));
    }
}

/// Every seventh trial fails.
fn outcome(space: &Space, trial: &Trial) -> Outcome {
    let smooth: f64 = space.encode(&trial.point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    match trial.id % 7 {
        3 => Outcome::Failed { id: trial.id },
        _ => Outcome::Value {
            id: trial.id,
            loss: smooth + 1e-3 * (trial.point.fingerprint() % 10) as f64,
        },
    }
}

/// A long search interrupted at every trial, and damaged snapshots, which must be refused or go on.
pub(crate) fn harness<M: Method>(settings: &dyn Fn() -> M::Settings) {
    for (name, space) in spaces() {
        let mut whole = Steady::<M>::new(&space, settings(), 5).unwrap();
        let mut parts = Steady::<M>::new(&space, settings(), 5).unwrap();
        for i in 0..120 {
            let (expected, got) = (whole.ask(1), parts.ask(1));
            assert_eq!(expected, got, "{name}, resumed at trial {i}");
            let told: Vec<Outcome> = expected.iter().map(|trial| outcome(&space, trial)).collect();
            whole.tell(&told);
            parts.tell(&told);
            parts = Steady::resume(&space, &parts.snapshot()).unwrap();
        }
        if name == "mixed" {
            damage::<M>(&space, &whole.snapshot());
        }
    }
}

fn damage<M: Method>(space: &Space, good: &Snapshot) {
    let (mut tried, mut refused) = (0, 0);
    for state in crate::generational::tests::damaged(&good.state) {
        tried += 1;
        match Steady::<M>::resume(space, &Snapshot { state, ..good.clone() }) {
            Ok(mut engine) => {
                for _ in 0..30 {
                    let trials = engine.ask(3);
                    assert!(trials.iter().all(|trial| space.contains(&trial.point)));
                    engine.tell(
                        &trials.iter().map(|trial| outcome(space, trial)).collect::<Vec<_>>(),
                    );
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 20 && refused > tried / 4, "{refused} of {tried}");
}
