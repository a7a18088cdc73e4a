//! What every engine that works in rounds must keep, beside the contract.

use super::*;
use crate::contract::{ContractViolation, EngineUnderTest, check, spaces};

/// The first configuration of a space, as a start.
pub(crate) fn plain_start(space: &Space) -> Option<Point> {
    Some(space.decode(&vec![0.1; space.len()]))
}

/// The contract of all engines.
pub(crate) fn assert_contract<M: GenerationalMethod + 'static>(
    config: &dyn Fn(&Space) -> M::Config,
) {
    let subject = EngineUnderTest {
        start: &|space, seed| {
            Ok(Box::new(GenerationalEngine::<M>::new(space, config(space), seed)?))
        },
        resume: &|space, snapshot| Ok(Box::new(GenerationalEngine::<M>::resume(space, snapshot)?)),
    };
    if let Err(violations) = check(&subject) {
        panic!(
            "{}",
            violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

fn loss(space: &Space, point: &Point) -> f64 {
    let smooth: f64 = space.encode(point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    smooth + 1e-3 * (point.fingerprint() % 10) as f64
}

/// Every seventh trial fails.
fn result(space: &Space, trial: &Trial) -> TrialResult {
    match trial.id % 7 {
        3 => TrialResult::Failed { id: trial.id },
        _ => TrialResult::Complete { id: trial.id, loss: loss(space, &trial.point) },
    }
}

/// Asks in batches and answers at once until there are so many trials, or the end.
fn play(engine: &mut dyn Engine, space: &Space, batch: usize, trials: usize) -> Vec<Trial> {
    let mut all = Vec::new();
    while all.len() < trials {
        let asked = engine.ask(batch.min(trials - all.len()));
        if asked.is_empty() {
            break;
        }
        let results: Vec<TrialResult> = asked.iter().map(|trial| result(space, trial)).collect();
        engine.tell(&results);
        all.extend(asked);
    }
    all
}

/// Batches of any size, interruption in any state over many rounds, the start first, and damaged
/// snapshots.
pub(crate) fn assert_resumable<M: GenerationalMethod>(config: &dyn Fn(&Space) -> M::Config) {
    for (name, space) in spaces() {
        let new = |seed| GenerationalEngine::<M>::new(&space, config(&space), seed).unwrap();
        let whole = play(&mut new(5), &space, 1, 120);
        for batch in [2, 7, 1000] {
            assert_eq!(
                play(&mut new(5), &space, batch, 120),
                whole,
                "{name} in batches of {batch}"
            );
        }
        if let Some(start) = M::initial_point(&config(&space)) {
            assert_eq!(whole[0].point, *start, "{name}");
        }
        let mut parts = new(5);
        for (i, expected) in whole.iter().enumerate() {
            let trials = parts.ask(1);
            assert_eq!(trials.first(), Some(expected), "{name}, resumed at trial {i}");
            if i % 2 == 0 {
                parts = GenerationalEngine::resume(&space, &parts.snapshot()).unwrap();
            }
            parts.tell(&[result(&space, expected)]);
            if i % 3 == 0 {
                parts = GenerationalEngine::resume(&space, &parts.snapshot()).unwrap();
            }
        }
        if name == "mixed" {
            assert_damage_is_refused(&space, &new);
        }
    }
}

/// Replaces every part of the data by something else, one at a time.
pub(crate) fn damaged_variants(data: &Datum) -> Vec<Datum> {
    let mut all = vec![Datum::Text("x".to_owned())];
    match data {
        Datum::Record(fields) => {
            for (i, (_, inner)) in fields.iter().enumerate() {
                for bad in damaged_variants(inner) {
                    let mut fields = fields.clone();
                    fields[i].1 = bad;
                    all.push(Datum::Record(fields));
                }
            }
        }
        Datum::List(items) if !items.is_empty() => {
            for bad in damaged_variants(&items[0]) {
                let mut items = items.clone();
                items[0] = bad;
                all.push(Datum::List(items));
            }
            all.push(Datum::List(items[1..].to_vec()));
            all.push(Datum::List(items.iter().chain(&items[..1]).cloned().collect()));
        }
        Datum::Natural(_) => all.extend([Datum::Natural(u64::MAX), Datum::Natural(0)]),
        Datum::Real(_) => all.extend([f64::NAN, 1e308, -1e308, 0.0].map(Datum::Real)),
        _ => (),
    }
    all
}

fn assert_damage_is_refused<M: GenerationalMethod>(
    space: &Space,
    new: &dyn Fn(u64) -> GenerationalEngine<M>,
) {
    let mut engine = new(1);
    play(&mut engine, space, 3, 40);
    engine.ask(1);
    let good = engine.snapshot();
    let (mut tried, mut refused) = (0, 0);
    for state in damaged_variants(&good.state) {
        tried += 1;
        match GenerationalEngine::<M>::resume(space, &Snapshot { state, ..good.clone() }) {
            Ok(mut engine) => {
                // A trial may be open that nobody knows of; lost trials are told as failed.
                engine.tell(&(0..60).map(|id| TrialResult::Failed { id }).collect::<Vec<_>>());
                let trials = play(&mut engine, space, 5, 60);
                assert!(trials.iter().all(|trial| space.contains(&trial.point)));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 60 && refused > tried / 4, "{refused} of {tried}");
}
