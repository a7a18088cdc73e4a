//! Runs an engine and records its trials.

use crate::engine::Engine;
use crate::point::Point;
use crate::space::Space;
use crate::trial::{Trial, TrialResult};

/// A smooth loss of the position in the unit cube with one minimum, plus a small function of the
/// fingerprint so that no two points tie.
pub(super) fn loss(space: &Space, point: &Point) -> f64 {
    let smooth: f64 = space.encode(point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    smooth + 1e-6 * (point.fingerprint() % 1000) as f64
}

/// The correct result of a trial.
pub(super) fn value(space: &Space, trial: &Trial) -> TrialResult {
    TrialResult::Complete { id: trial.id, loss: loss(space, &trial.point) }
}

/// Asks and tells `rounds` times, with all results before the next ask, and returns all trials.
/// `answer` reports the results of a batch.
pub(super) fn play(
    engine: &mut dyn Engine,
    rounds: usize,
    batch: usize,
    mut answer: impl FnMut(&mut dyn Engine, &[Trial]),
) -> Vec<Trial> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let trials = engine.ask(batch);
        answer(engine, &trials);
        all.extend(trials);
    }
    all
}

/// [`play`] with the correct results of a batch in one call.
pub(super) fn play_all(
    engine: &mut dyn Engine,
    space: &Space,
    rounds: usize,
    batch: usize,
) -> Vec<Trial> {
    play(engine, rounds, batch, |engine, trials| {
        let results: Vec<TrialResult> = trials.iter().map(|trial| value(space, trial)).collect();
        engine.tell(&results);
    })
}

/// An error that says where two runs differ.
pub(super) fn same(expected: &[Trial], got: &[Trial], what: &str) -> Result<(), String> {
    if let Some(i) = expected.iter().zip(got).position(|(a, b)| a != b) {
        return Err(format!("{what}: trial {i} was {:?} and became {:?}", expected[i], got[i]));
    }
    if expected.len() != got.len() {
        return Err(format!("{what}: {} trials became {}", expected.len(), got.len()));
    }
    Ok(())
}
