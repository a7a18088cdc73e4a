//! What every engine that works in rounds must keep, beside the contract.

use super::*;
use crate::contract::{Breach, Subject, check, spaces};

/// The first configuration of a space, as a start.
pub(crate) fn plain_start(space: &Space) -> Option<Point> {
    Some(space.decode(&vec![0.1; space.len()]))
}

/// The contract of all engines.
pub(crate) fn abides<M: Method + 'static>(settings: &dyn Fn(&Space) -> M::Settings) {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(Generational::<M>::new(space, settings(space), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(Generational::<M>::resume(space, snapshot)?)),
    };
    if let Err(breaches) = check(&subject) {
        panic!("{}", breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n"));
    }
}

fn loss(space: &Space, point: &Point) -> f64 {
    let smooth: f64 = space.encode(point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    smooth + 1e-3 * (point.fingerprint() % 10) as f64
}

/// Every seventh trial fails.
fn outcome(space: &Space, trial: &Trial) -> Outcome {
    match trial.id % 7 {
        3 => Outcome::Failed { id: trial.id },
        _ => Outcome::Value { id: trial.id, loss: loss(space, &trial.point) },
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
        let told: Vec<Outcome> = asked.iter().map(|trial| outcome(space, trial)).collect();
        engine.tell(&told);
        all.extend(asked);
    }
    all
}

/// Batches of any size, interruption in any state over many rounds, the start first, and damaged
/// snapshots.
pub(crate) fn harness<M: Method>(settings: &dyn Fn(&Space) -> M::Settings) {
    for (name, space) in spaces() {
        let new = |seed| Generational::<M>::new(&space, settings(&space), seed).unwrap();
        let whole = play(&mut new(5), &space, 1, 120);
        for batch in [2, 7, 1000] {
            assert_eq!(
                play(&mut new(5), &space, batch, 120),
                whole,
                "{name} in batches of {batch}"
            );
        }
        if let Some(start) = M::given(&settings(&space)) {
            assert_eq!(whole[0].point, *start, "{name}");
        }
        let mut parts = new(5);
        for (i, expected) in whole.iter().enumerate() {
            let trials = parts.ask(1);
            assert_eq!(trials.first(), Some(expected), "{name}, resumed at trial {i}");
            if i % 2 == 0 {
                parts = Generational::resume(&space, &parts.snapshot()).unwrap();
            }
            parts.tell(&[outcome(&space, expected)]);
            if i % 3 == 0 {
                parts = Generational::resume(&space, &parts.snapshot()).unwrap();
            }
        }
        if name == "mixed" {
            damage(&space, &new);
        }
    }
}

/// Replaces every part of the data by something else, one at a time.
pub(crate) fn damaged(data: &Datum) -> Vec<Datum> {
    let mut all = vec![Datum::Text("x".to_owned())];
    match data {
        Datum::Record(fields) => {
            for (i, (_, inner)) in fields.iter().enumerate() {
                for bad in damaged(inner) {
                    let mut fields = fields.clone();
                    fields[i].1 = bad;
                    all.push(Datum::Record(fields));
                }
            }
        }
        Datum::List(items) if !items.is_empty() => {
            for bad in damaged(&items[0]) {
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

fn damage<M: Method>(space: &Space, new: &dyn Fn(u64) -> Generational<M>) {
    let mut engine = new(1);
    play(&mut engine, space, 3, 40);
    engine.ask(1);
    let good = engine.snapshot();
    let (mut tried, mut refused) = (0, 0);
    for state in damaged(&good.state) {
        tried += 1;
        match Generational::<M>::resume(space, &Snapshot { state, ..good.clone() }) {
            Ok(mut engine) => {
                // A trial may be open that nobody knows of; lost trials are told as failed.
                engine.tell(&(0..60).map(|id| Outcome::Failed { id }).collect::<Vec<_>>());
                let trials = play(&mut engine, space, 5, 60);
                assert!(trials.iter().all(|trial| space.contains(&trial.point)));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 60 && refused > tried / 4, "{refused} of {tried}");
}
