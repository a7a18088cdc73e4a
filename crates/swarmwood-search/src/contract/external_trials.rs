//! The rules about external trials.

use std::collections::HashSet;

use super::EngineUnderTest;
use super::playback::{loss, play_all, same, value};
use super::rules::{ensure, start};
use crate::engine::Engine;
use crate::point::{Point, PointValue};
use crate::rng::Stream;
use crate::space::Space;
use crate::trial::{ExternalTrial, FIRST_EXTERNAL_ID, TrialResult};

/// Different points, at most `count` and at most half of all there are.
fn others(space: &Space, count: usize) -> Vec<Point> {
    let count = space.size().map_or(count as u128, |size| (size / 2).min(count as u128)) as usize;
    let mut seen = HashSet::new();
    let drawn = (0..1000).map(|i| space.draw(&mut Stream::new(99, i, 0)));
    drawn.filter(|point| seen.insert(point.fingerprint())).take(count).collect()
}

/// Adds external trials of all kinds: running, running then complete, complete, failed, with a loss
/// that is not finite, and outside the space.
fn add_all(engine: &mut dyn Engine, space: &Space, points: &[Point]) {
    for (i, point) in points.iter().enumerate() {
        let done = |loss| ExternalTrial::Complete { point: point.clone(), loss };
        if i % 5 < 2 {
            engine.add_trial(ExternalTrial::Running { point: point.clone() });
        }
        match i % 5 {
            0 => (),
            1 | 2 => engine.add_trial(done(Some(loss(space, point)))),
            3 => engine.add_trial(done(None)),
            _ => engine.add_trial(done(Some(f64::NAN))),
        }
    }
    let outside = Point(vec![PointValue::Integer(i64::MAX); space.len() + 1]);
    engine.add_trial(ExternalTrial::Running { point: outside.clone() });
    engine.add_trial(ExternalTrial::Complete { point: outside, loss: Some(-1e9) });
}

pub(super) fn accepted(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 25)?;
    let before = engine.snapshot();
    let outside = Point(vec![PointValue::Integer(i64::MAX); space.len() + 1]);
    engine.add_trial(ExternalTrial::Complete { point: outside, loss: Some(-1e9) });
    ensure(engine.snapshot() == before, || {
        "a configuration outside the space left a trace".to_owned()
    })?;
    let points = others(space, 12);
    add_all(engine.as_mut(), space, &points);
    let trials = play_all(engine.as_mut(), space, 6, 4);
    ensure(trials.iter().all(|trial| trial.id < FIRST_EXTERNAL_ID), || {
        "an own trial has an adopted id".to_owned()
    })?;
    ensure(trials.windows(2).all(|pair| pair[0].id < pair[1].id), || "ids do not grow".to_owned())?;
    ensure(trials.iter().all(|trial| space.contains(&trial.point)), || {
        "a point lies outside".to_owned()
    })?;
    let adopted = points
        .iter()
        .enumerate()
        .filter(|(i, _)| [1, 2].contains(&(i % 5)))
        .map(|(_, point)| point);
    let all = trials.iter().map(|trial| &trial.point).chain(adopted);
    let least = all.map(|point| loss(space, point)).fold(f64::INFINITY, f64::min);
    let best = engine.best().map(|best| best.loss);
    ensure(best == least.is_finite().then_some(least), || {
        format!("best is {best:?}, the smallest loss is {least}")
    })?;
    let point = space.draw(&mut Stream::new(99, 0, 1));
    engine.add_trial(ExternalTrial::Complete { point: point.clone(), loss: Some(-5.0) });
    let best =
        engine.best().map(|best| (best.loss, best.point.clone(), best.id >= FIRST_EXTERNAL_ID));
    ensure(best == Some((-5.0, point, true)), || {
        format!("an adopted loss of -5 is the smallest, best is {best:?}")
    })
}

/// Adds external trials between asks and tells, interrupts after each, and varies the order of
/// results and external trials.
pub(super) fn resumed(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut whole = start(subject, space, 27)?;
    let mut parts = start(subject, space, 27)?;
    for (round, points) in others(space, 24).chunks(4).enumerate() {
        let expected = whole.ask(4);
        same(&expected, &parts.ask(4), &format!("resumed in round {round}"))?;
        let results: Vec<TrialResult> = expected.iter().map(|trial| value(space, trial)).collect();
        whole.tell(&results);
        add_all(whole.as_mut(), space, points);
        add_all(parts.as_mut(), space, points);
        parts.tell(&results);
        ensure(whole.best() == parts.best(), || format!("the best differs in round {round}"))?;
        let snapshot = parts.snapshot();
        parts = (subject.resume)(space, &snapshot)
            .map_err(|error| format!("did not resume: {error}"))?;
        ensure(parts.snapshot() == snapshot, || {
            "the snapshot of a resumed engine differs".to_owned()
        })?;
    }
    same(&whole.ask(4), &parts.ask(4), "resumed at the end")
}

pub(super) fn never_asked(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 29)?;
    if !engine.capabilities().distinct {
        return Ok(());
    }
    let points = others(space, 100);
    let (early, late) = points.split_at(points.len() / 2);
    add_all(engine.as_mut(), space, early);
    let mut seen: HashSet<u128> = early.iter().map(Point::fingerprint).collect();
    for round in 0..60 {
        if round == 1 {
            add_all(engine.as_mut(), space, late);
            seen.extend(late.iter().map(Point::fingerprint));
        }
        for trial in play_all(engine.as_mut(), space, 1, 3) {
            let is_new = seen.insert(trial.point.fingerprint());
            ensure(is_new, || format!("{:?} was asked although it was known", trial.point))?;
        }
    }
    match space.size() {
        Some(size) if size <= 100 => ensure(seen.len() as u128 == size, || {
            format!("only {} of {size} configurations came", seen.len())
        }),
        _ => Ok(()),
    }
}
