//! Plays an engine and writes down what happened.

use crate::engine::Engine;
use crate::point::Point;
use crate::space::Space;
use crate::trial::{Outcome, Trial};

/// A smooth loss of the position in the unit cube with one lowest place, plus a trace of the
/// point's name so that no two points tie.
pub(super) fn loss(space: &Space, point: &Point) -> f64 {
    let smooth: f64 = space.encode(point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
    smooth + 1e-6 * (point.fingerprint() % 1000) as f64
}

/// The honest outcome of a trial.
pub(super) fn value(space: &Space, trial: &Trial) -> Outcome {
    Outcome::Value { id: trial.id, loss: loss(space, &trial.point) }
}

/// Asks and tells `rounds` times, every trial answered before the next ask, and returns all trials.
/// `answer` makes the outcomes of a batch; it is called with the batch in order of asking.
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

/// [`play`] with honest outcomes, told in one go.
pub(super) fn play_fair(
    engine: &mut dyn Engine,
    space: &Space,
    rounds: usize,
    batch: usize,
) -> Vec<Trial> {
    play(engine, rounds, batch, |engine, trials| {
        let outcomes: Vec<Outcome> = trials.iter().map(|trial| value(space, trial)).collect();
        engine.tell(&outcomes);
    })
}

/// Where two runs part, in words.
pub(super) fn same(expected: &[Trial], got: &[Trial], what: &str) -> Result<(), String> {
    if let Some(i) = expected.iter().zip(got).position(|(a, b)| a != b) {
        return Err(format!("{what}: trial {i} was {:?} and became {:?}", expected[i], got[i]));
    }
    if expected.len() != got.len() {
        return Err(format!("{what}: {} trials became {}", expected.len(), got.len()));
    }
    Ok(())
}
