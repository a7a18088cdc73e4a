//! One function per rule. Each starts a new engine and returns what was observed if the rule is
//! violated.

use std::collections::HashSet;

use super::playback::{loss, play, play_all, same, value};
use super::{EngineUnderTest, external_trials};
use crate::engine::Engine;
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::{Param, Space};
use crate::trial::{Trial, TrialResult};

type ContractRule = fn(&EngineUnderTest<'_>, &Space) -> Result<(), String>;

/// All rules, with the sentence that a violation shows.
pub(super) const RULES: &[(&str, ContractRule)] = &[
    ("points lie in the space and ids increase", bounds),
    ("the same seed gives the same run", determinism),
    ("another seed gives another run in a large space", seeds_matter),
    ("asking for nothing changes nothing", ask_nothing),
    ("never more points than asked for, and as many with the batch capability", batches),
    ("the order and grouping of results between two asks do not matter", tell_order),
    ("late results are accepted, and without running trials the search continues", late_tells),
    ("failed trials are results without a loss", failures),
    ("losses of any size, and equal ones, are accepted", odd_losses),
    ("unknown and repeated ids are ignored", stray_ids),
    ("the best trial has the smallest loss", best_is_smallest),
    ("a resumed search equals an uninterrupted one", resume_anywhere),
    ("a snapshot that does not match is refused", refuse_misfits),
    ("external trials are seen, may be the best, and do not affect ids", external_trials::accepted),
    ("a search resumed with external trials equals an uninterrupted one", external_trials::resumed),
    ("with the distinct capability no external point is asked", external_trials::never_asked),
    (
        "with the distinct capability no point comes twice, and the search ends when all were asked",
        exhaustion,
    ),
];

/// The rules that are cheap and depend on how an engine is configured.
pub(super) fn options_rules() -> impl Iterator<Item = (&'static str, ContractRule)> {
    let tests: [ContractRule; 6] =
        [bounds, determinism, tell_order, odd_losses, best_is_smallest, resume_anywhere];
    RULES
        .iter()
        .copied()
        .filter(move |(_, test)| tests.iter().any(|one| std::ptr::fn_addr_eq(*one, *test)))
}

const ROUNDS: usize = 12;
const BATCH: usize = 4;

pub(super) fn start(
    subject: &EngineUnderTest<'_>,
    space: &Space,
    seed: u64,
) -> Result<Box<dyn Engine>, String> {
    (subject.start)(space, seed).map_err(|error| format!("did not start: {error}"))
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn bounds(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    for batch in [1, BATCH, 33] {
        let mut engine = start(subject, space, 3)?;
        let trials = play_all(engine.as_mut(), space, ROUNDS, batch);
        if let Some(stray) = trials.iter().find(|trial| !space.contains(&trial.point)) {
            return Err(format!("{:?} lies outside", stray.point));
        }
        ensure(trials.windows(2).all(|pair| pair[0].id < pair[1].id), || {
            "ids do not grow".to_owned()
        })?;
    }
    Ok(())
}

fn determinism(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let playback =
        || Ok::<_, String>(play_all(start(subject, space, 5)?.as_mut(), space, ROUNDS, BATCH));
    same(&playback()?, &playback()?, "second run")
}

fn seeds_matter(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    if space.size().is_some_and(|size| size < 1_000_000) {
        return Ok(()); // two seeds may well agree by chance
    }
    let playback = |seed| {
        Ok::<_, String>(play_all(start(subject, space, seed)?.as_mut(), space, ROUNDS, BATCH))
    };
    ensure(playback(1)? != playback(2)?, || "seeds 1 and 2 gave the same points".to_owned())
}

fn ask_nothing(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 3)?;
    for _ in 0..4 {
        let before = engine.snapshot();
        ensure(engine.ask(0).is_empty(), || "ask(0) gave points".to_owned())?;
        ensure(engine.snapshot() == before, || "ask(0) changed the state".to_owned())?;
        play_all(engine.as_mut(), space, 1, BATCH);
    }
    Ok(())
}

fn batches(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    for asked in [1, 2, 7, 64] {
        let mut engine = start(subject, space, 3)?;
        let got = engine.ask(asked).len();
        ensure(got <= asked && got > 0, || {
            format!("ask({asked}) of a new engine gave {got} points")
        })?;
        let capabilities = engine.capabilities();
        let left = match space.size() {
            Some(size) if capabilities.distinct => usize::try_from(size).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        ensure(!capabilities.batch || capabilities.terminates || got == asked.min(left), || {
            format!("ask({asked}) gave {got} points in spite of the batch capability")
        })?;
    }
    Ok(())
}

fn tell_order(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut plain = start(subject, space, 7)?;
    let expected = play_all(plain.as_mut(), space, ROUNDS, 6);
    let mut shuffled = start(subject, space, 7)?;
    let mut round = 0;
    let got = play(shuffled.as_mut(), ROUNDS, 6, |engine, trials| {
        let mut results: Vec<TrialResult> =
            trials.iter().map(|trial| value(space, trial)).collect();
        Stream::new(0, round, 0).shuffle(&mut results);
        round += 1;
        let middle = results.len() / 2;
        engine.tell(&results[..middle]);
        engine.tell(&[]);
        results[middle..].iter().for_each(|result| engine.tell(&[*result]));
    });
    same(&expected, &got, "results in another order")?;
    ensure(plain.best() == shuffled.best(), || {
        "with results in another order, another trial is best".to_owned()
    })
}

/// Leaves the oldest trial running for five rounds at a time, and reports the others in reverse
/// order; then reports all and expects more points.
fn late_tells(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 9)?;
    let mut open: Vec<Trial> = Vec::new();
    let mut least = f64::INFINITY;
    let mut asked = HashSet::new();
    for round in 0..40 {
        let trials = engine.ask(3);
        asked.extend(trials.iter().map(|trial| trial.point.fingerprint()));
        open.extend(trials);
        let keep = open.len().min(usize::from(round % 6 != 5));
        for trial in open.drain(keep..).rev() {
            least = least.min(loss(space, &trial.point));
            engine.tell(&[value(space, &trial)]);
        }
        let best = engine.best().map(|best| best.loss);
        ensure(best == least.is_finite().then_some(least), || {
            format!("best is {best:?}, the smallest loss was {least}")
        })?;
    }
    for trial in open.drain(..) {
        engine.tell(&[value(space, &trial)]);
    }
    let exhausted = engine.capabilities().distinct
        && space.size().is_some_and(|size| asked.len() as u128 >= size);
    let ended = engine.ask(1).is_empty();
    ensure(!ended || exhausted || engine.capabilities().terminates, || {
        "no trial is running and yet no point comes".to_owned()
    })?;
    ensure(!ended || engine.ask(BATCH).is_empty(), || "continued after it had ended".to_owned())
}

fn failures(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 11)?;
    let trials = play(engine.as_mut(), ROUNDS, BATCH, |engine, trials| {
        let results: Vec<TrialResult> =
            trials.iter().map(|trial| TrialResult::Failed { id: trial.id }).collect();
        engine.tell(&results);
    });
    ensure(engine.best().is_none(), || "there is a best trial although all failed".to_owned())?;
    let enough = space.size().map_or(ROUNDS as u128, |size| size.min(ROUNDS as u128));
    let ended = may_end_early(engine.as_ref(), space) && !trials.is_empty();
    ensure(ended || trials.len() as u128 >= enough, || {
        format!("stopped after {} failed trials", trials.len())
    })?;

    // A third of the trials fails; whether reported as failed or as a loss that is not finite, the
    // run must be the same.
    let partly = |failure: fn(u64) -> TrialResult| {
        let mut engine = start(subject, space, 12)?;
        let trials = play(engine.as_mut(), ROUNDS, BATCH, |engine, trials| {
            let answer = |trial: &Trial| {
                if trial.id.is_multiple_of(3) { failure(trial.id) } else { value(space, trial) }
            };
            engine.tell(&trials.iter().map(answer).collect::<Vec<_>>());
        });
        let best = engine.best().map(|best| (best.id, best.loss));
        Ok::<_, String>((trials, best))
    };
    let (said, best) = partly(|id| TrialResult::Failed { id })?;
    for odd in [
        |id| TrialResult::Complete { id, loss: f64::NAN },
        |id| TrialResult::Complete { id, loss: f64::INFINITY },
        |id| TrialResult::Complete { id, loss: f64::NEG_INFINITY },
    ] {
        let (trials, odd_best) = partly(odd)?;
        same(&said, &trials, "failures reported as losses that are not finite")?;
        ensure(best == odd_best, || format!("best is {odd_best:?} and not {best:?}"))?;
    }
    Ok(())
}

/// Losses at the limits of the number range, and losses that are all equal: differences and means
/// overflow or vanish, and the search must continue nevertheless.
fn odd_losses(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let huge = |id: u64| [f64::MAX, -f64::MAX, 1e300, f64::MIN_POSITIVE, -0.0][(id % 5) as usize];
    for (what, odd) in [("huge", &huge as &dyn Fn(u64) -> f64), ("equal", &|_| 7.0)] {
        let mut engine = start(subject, space, 23)?;
        let few = space.size().is_some_and(|size| size <= (8 * ROUNDS * BATCH) as u128);
        let terminates =
            engine.capabilities().terminates || (engine.capabilities().distinct && few);
        let mut least = f64::INFINITY;
        for round in 0..8 * ROUNDS {
            let trials = engine.ask(BATCH);
            ensure(terminates || !trials.is_empty(), || {
                format!("no point in round {round} after {what} losses")
            })?;
            for trial in &trials {
                ensure(space.contains(&trial.point), || {
                    format!("{:?} lies outside after {what} losses", trial.point)
                })?;
                least = least.min(odd(trial.id));
                engine.tell(&[TrialResult::Complete { id: trial.id, loss: odd(trial.id) }]);
            }
            let best = engine.best().map(|best| best.loss);
            ensure(best == Some(least), || {
                format!("best is {best:?}, the smallest loss was {least}")
            })?;
        }
    }
    Ok(())
}

fn stray_ids(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut plain = start(subject, space, 13)?;
    let expected = play_all(plain.as_mut(), space, ROUNDS, BATCH);
    let mut disturbed = start(subject, space, 13)?;
    let got = play(disturbed.as_mut(), ROUNDS, BATCH, |engine, trials| {
        engine.tell(&[
            TrialResult::Complete { id: u64::MAX, loss: -9.0 },
            TrialResult::Failed { id: u64::MAX - 1 },
        ]);
        for trial in trials {
            let again = TrialResult::Complete { id: trial.id, loss: -9.0 };
            engine.tell(&[value(space, trial), again, TrialResult::Failed { id: trial.id }]);
            engine.tell(&[again]);
        }
    });
    same(&expected, &got, "with stray outcomes")?;
    ensure(plain.best() == disturbed.best(), || "a stray outcome became the best".to_owned())
}

fn best_is_smallest(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 15)?;
    ensure(engine.best().is_none(), || "there is a best trial before any outcome".to_owned())?;
    let trials = play_all(engine.as_mut(), space, ROUNDS, BATCH);
    let mut expected: Option<(f64, &Trial)> = None;
    for trial in &trials {
        let loss = loss(space, &trial.point);
        if expected.is_none_or(|(least, _)| loss < least) {
            expected = Some((loss, trial));
        }
    }
    let got = engine.best().map(|best| (best.loss, best.id, best.point.clone()));
    let expected = expected.map(|(loss, trial)| (loss, trial.id, trial.point.clone()));
    ensure(got == expected, || format!("{got:?} instead of {expected:?}"))
}

/// Interrupts in every state: after an ask (all running), after a tell (results not used yet), and
/// with one trial running.
fn resume_anywhere(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let again = |engine: &dyn Engine| -> Result<Box<dyn Engine>, String> {
        let snapshot = engine.snapshot();
        let resumed = (subject.resume)(space, &snapshot)
            .map_err(|error| format!("did not resume: {error}"))?;
        ensure(resumed.snapshot() == snapshot, || {
            "the snapshot of a resumed engine differs".to_owned()
        })?;
        ensure(resumed.best() == engine.best(), || "the best changed on resuming".to_owned())?;
        Ok(resumed)
    };
    let mut whole = start(subject, space, 17)?;
    let mut parts = again(start(subject, space, 17)?.as_ref())?;
    let mut held: Option<Trial> = None;
    for round in 0..ROUNDS {
        let expected = whole.ask(BATCH);
        let got = parts.ask(BATCH);
        same(&expected, &got, &format!("resumed in round {round}"))?;
        parts = again(parts.as_ref())?;
        let mut answered = expected;
        let last = answered.pop();
        answered.extend(std::mem::replace(&mut held, last));
        let results: Vec<TrialResult> = answered.iter().map(|trial| value(space, trial)).collect();
        whole.tell(&results);
        parts.tell(&results);
        ensure(whole.best() == parts.best(), || format!("the best differs in round {round}"))?;
        parts = again(parts.as_ref())?;
    }
    Ok(())
}

fn refuse_misfits(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 19)?;
    play_all(engine.as_mut(), space, 3, BATCH);
    engine.ask(BATCH);
    let good = engine.snapshot();
    let refuses = |what: &str, space: &Space, change: &dyn Fn(&mut crate::snapshot::Snapshot)| {
        let mut bad = good.clone();
        change(&mut bad);
        ensure((subject.resume)(space, &bad).is_err(), || format!("resumed from a snapshot {what}"))
    };
    refuses("of another engine", space, &|bad| bad.engine.push('x'))?;
    refuses("of a newer version", space, &|bad| bad.version = u64::MAX)?;
    refuses("without content", space, &|bad| bad.state = Datum::List(Vec::new()))?;
    refuses("whose record is empty", space, &|bad| bad.state = Datum::Record(Vec::new()))?;
    let mut params = space.params().to_vec();
    params.push(Param::integer("one more", 0, 1));
    let wider = Space::new(params).map_err(|error| error.to_string())?;
    refuses("of another space", &wider, &|_| ())
}

/// An engine that terminates may do so on an uncountable space.
fn may_end_early(engine: &dyn Engine, space: &Space) -> bool {
    engine.capabilities().terminates && engine.capabilities().distinct && space.size().is_none()
}

fn exhaustion(subject: &EngineUnderTest<'_>, space: &Space) -> Result<(), String> {
    let mut engine = start(subject, space, 21)?;
    if !engine.capabilities().distinct {
        return Ok(());
    }
    let limit = space.size().map_or(400, |size| size.min(400)) as usize;
    let mut seen = HashSet::new();
    let mut rounds = 0;
    while seen.len() < limit && rounds < 2 * limit {
        rounds += 1;
        let trials = play_all(engine.as_mut(), space, 1, 3);
        if let Some(twice) = trials.iter().find(|trial| !seen.insert(trial.point.fingerprint())) {
            return Err(format!("{:?} was asked twice", twice.point));
        }
    }
    ensure(may_end_early(engine.as_ref(), space) || seen.len() >= limit, || {
        format!("only {} of {limit} configurations came", seen.len())
    })?;
    if space.size().is_some_and(|size| size <= 400) {
        let extra = play_all(engine.as_mut(), space, 3, BATCH);
        ensure(extra.is_empty(), || format!("{} more after all were asked", extra.len()))?;
        ensure(engine.best().is_some(), || "the best is gone after the end".to_owned())?;
    }
    Ok(())
}
