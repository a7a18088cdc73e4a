//! The swarm against the contract, a plain loop, planted optima and damaged snapshots.

use std::collections::HashSet;

use super::*;
use crate::contract::{Breach, Subject, check};
use crate::point::Point;
use crate::random::Random;
use crate::snapshot::Datum;

/// In how many places a sequence differs from the planted one.
fn wrong(point: &Point, planted: &[u32]) -> f64 {
    sequence(point).unwrap().iter().zip(planted).filter(|(a, b)| a != b).count() as f64
}

/// A loss without any structure, many ties included.
fn rugged(point: &Point) -> f64 {
    (point.fingerprint() % 97) as f64
}

/// Asks `batch` at a time and answers at once, `rounds` times or until the end; returns all trials.
fn run(
    engine: &mut dyn Engine,
    batch: usize,
    rounds: usize,
    loss: impl Fn(&Point) -> f64,
) -> Vec<Trial> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let trials = engine.ask(batch);
        if trials.is_empty() {
            break;
        }
        let told: Vec<Outcome> = trials
            .iter()
            .map(|trial| Outcome::Value { id: trial.id, loss: loss(&trial.point) })
            .collect();
        engine.tell(&told);
        all.extend(trials);
    }
    all
}

fn swarm(length: usize, table: u32, settings: Settings, seed: u64) -> PsoDiscrete {
    PsoDiscrete::new(&sequence_space(length, table).unwrap(), settings, seed).unwrap()
}

fn keeps_every_rule(settings: &dyn Fn(&Space) -> Settings) {
    let subject = Subject {
        start: &|space, seed| Ok(Box::new(PsoDiscrete::new(space, settings(space), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(PsoDiscrete::resume(space, snapshot)?)),
    };
    if let Err(breaches) = check(&subject) {
        panic!("{}", breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn the_published_swarm_keeps_every_rule() {
    keeps_every_rule(&|_| Settings::default());
    keeps_every_rule(&|_| Settings { population: 3, ..Settings::default() });
    keeps_every_rule(&|_| Settings { population: 1, ..Settings::default() });
}

#[test]
fn every_option_keeps_every_rule() {
    keeps_every_rule(&|_| Settings { population: 5, memo: true, ..Settings::default() });
    keeps_every_rule(&|_| Settings {
        population: 4,
        mutation: 0.2,
        adaptive: true,
        ..Settings::default()
    });
    keeps_every_rule(&|_| Settings {
        population: 4,
        mutation: 0.2,
        adaptive: true,
        memo: true,
        ..Settings::default()
    });
    keeps_every_rule(&|_| Settings {
        population: 6,
        generations: Some(4),
        memo: true,
        ..Settings::default()
    });
    keeps_every_rule(&|space| {
        let fits = space.params().iter().all(|param| param.domain.values() == Some(4));
        let groups = fits.then(|| Groups::of_sizes(&[1, 3]));
        let given = space.nth(0).into_iter().collect();
        Settings { population: 5, groups, given, mutation: 0.1, ..Settings::default() }
    });
}

/// Algorithms 2 to 4 as one plain loop over vectors.
fn plain_loop(
    table: u64,
    length: usize,
    settings: &Settings,
    seed: u64,
    generations: u64,
) -> Vec<Vec<u64>> {
    let space = sequence_space(length, table as u32).unwrap();
    let loss = |position: &[u64]| rugged(&decode(&space, position));
    let mut asked = Vec::new();
    let mut particles: Vec<Vec<u64>> = Vec::new();
    for i in 0..settings.population as u64 {
        let mut stream = Stream::new(seed, 0, i);
        particles.push((0..length).map(|_| stream.below(table)).collect());
    }
    let mut own = particles.clone();
    let mut global = particles[0].clone();
    for generation in 1..=generations {
        asked.extend(particles.iter().cloned());
        for (i, position) in particles.iter().enumerate() {
            if loss(position) < loss(&own[i]) {
                own[i] = position.clone();
            }
            if loss(position) < loss(&global) {
                global = position.clone();
            }
        }
        for (i, position) in particles.iter_mut().enumerate() {
            let mut stream = Stream::new(seed, generation, i as u64);
            let start = position.clone();
            for d in 0..length {
                if start[d] != own[i][d] && stream.unit() < settings.alpha {
                    position[d] = own[i][d];
                }
            }
            for d in 0..length {
                if start[d] != global[d] && stream.unit() < settings.beta {
                    position[d] = global[d];
                }
            }
        }
    }
    asked
}

#[test]
fn the_engine_equals_the_plain_loop() {
    for seed in 0..20 {
        let settings = Settings {
            population: 7,
            alpha: 0.3,
            beta: 0.5,
            generations: Some(15),
            ..Settings::default()
        };
        let mut engine = swarm(6, 9, settings.clone(), seed);
        let asked = run(&mut engine, 4, usize::MAX, rugged);
        let asked: Vec<Vec<u64>> =
            asked.iter().map(|trial| encode(&engine.space, &trial.point)).collect();
        assert_eq!(asked, plain_loop(9, 6, &settings, seed, 15), "seed {seed}");
        assert_eq!(engine.generation(), 15);
    }
}

#[test]
fn the_size_of_the_batches_changes_nothing() {
    let trials = |batch| {
        let settings = Settings {
            population: 10,
            mutation: 0.1,
            adaptive: true,
            memo: true,
            ..Settings::default()
        };
        run(
            &mut swarm(5, 4, Settings { generations: Some(30), ..settings }, 3),
            batch,
            usize::MAX,
            rugged,
        )
    };
    let one = trials(1);
    assert!(one.len() > 10);
    for batch in [2, 7, 10, 1000] {
        assert_eq!(trials(batch), one);
    }
}

#[test]
fn without_mutation_a_dimension_holds_only_what_some_particle_started_with() {
    let strangers = |mutation| {
        let settings =
            Settings { population: 8, generations: Some(20), mutation, ..Settings::default() };
        let trials = run(&mut swarm(10, 1000, settings, 5), 8, usize::MAX, rugged);
        let (first, later) = trials.split_at(8);
        let known =
            |d: usize, trial: &Trial| first.iter().any(|start| start.point[d] == trial.point[d]);
        later
            .iter()
            .flat_map(|trial| (0..10).map(move |d| (d, trial)))
            .filter(|(d, trial)| !known(*d, trial))
            .count()
    };
    assert_eq!(strangers(0.0), 0);
    let (few, all) = (strangers(0.1), strangers(1.0));
    assert!(few > 100 && few < 1000 && all > 1480, "{few} and {all} of 1520 values");
}

#[test]
fn the_memo_spares_evaluations_and_changes_nothing_else() {
    let mut spared = 0;
    for seed in 0..10 {
        let settings = Settings {
            population: 12,
            adaptive: true,
            generations: Some(40),
            ..Settings::default()
        };
        let mut plain = swarm(6, 5, settings.clone(), seed);
        let mut memo = swarm(6, 5, Settings { memo: true, ..settings }, seed);
        let plain_trials = run(&mut plain, 12, usize::MAX, rugged);
        let memo_trials = run(&mut memo, 5, usize::MAX, rugged);

        let mut seen = HashSet::new();
        let firsts: Vec<&Point> = plain_trials.iter().map(|trial| &trial.point).collect();
        let firsts: Vec<&Point> =
            firsts.into_iter().filter(|point| seen.insert(point.fingerprint())).collect();
        let asked: Vec<&Point> = memo_trials.iter().map(|trial| &trial.point).collect();
        assert_eq!(asked, firsts, "each position once, in the order of the plain run");

        let (plain_history, memo_history) = (plain.take_statistics(), memo.take_statistics());
        let last = memo_history.last().unwrap();
        for (a, b) in plain_history.iter().zip(&memo_history) {
            assert_eq!(Statistics { evaluations: 0, ..*a }, Statistics { evaluations: 0, ..*b });
        }
        assert!(
            memo_history.len() == 40 || last.diversity == 0.0,
            "it ends early only when nothing can move"
        );
        assert_eq!(last.evaluations as usize, memo_trials.len());
        assert_eq!(last.evaluations + last.repeats, 12 * memo_history.len() as u64);
        assert_eq!(plain.repeats() as usize, plain_trials.len() - firsts.len());
        spared += plain.repeats();
    }
    assert!(spared > 10, "{spared}");
}

#[test]
fn a_converged_swarm_with_a_memo_ends() {
    let mut engine = swarm(4, 3, Settings { memo: true, ..Settings::default() }, 1);
    let trials = run(&mut engine, 50, 10_000, |point| wrong(point, &[0, 1, 2, 0]));
    assert!(trials.len() <= 81 && engine.ask(9).is_empty());
    assert_eq!(engine.best().map(|best| best.loss), Some(0.0));
    let resumed = PsoDiscrete::resume(&engine.space, &engine.snapshot()).unwrap();
    assert!(resumed.over && resumed.snapshot() == engine.snapshot());
    // With mutation every position is known sooner or later, and patience ends the run.
    let mut restless =
        swarm(2, 2, Settings { memo: true, mutation: 0.5, ..Settings::default() }, 1);
    assert_eq!(run(&mut restless, 50, 10_000, rugged).len(), 4);
    // A lone particle stands on all bests at once: it is stuck, unless it mutates.
    let lone = |mutation| {
        swarm(6, 1000, Settings { population: 1, memo: true, mutation, ..Settings::default() }, 1)
    };
    assert_eq!(run(&mut lone(0.0), 1, 20, rugged).len(), 1);
    assert_eq!(run(&mut lone(0.5), 1, 20, rugged).len(), 20);
}

#[test]
fn a_limit_of_generations_is_kept() {
    let mut engine =
        swarm(8, 50, Settings { population: 9, generations: Some(7), ..Settings::default() }, 1);
    assert_eq!(run(&mut engine, 4, 10_000, rugged).len(), 63);
    assert_eq!(
        (engine.generation(), engine.take_statistics().len(), engine.ask(1).len()),
        (7, 7, 0)
    );
    assert!(
        engine.capabilities().ends && !swarm(8, 50, Settings::default(), 1).capabilities().ends
    );
    let mut resumed = PsoDiscrete::resume(&engine.space, &engine.snapshot()).unwrap();
    assert!(resumed.ask(1).is_empty(), "the end survives storage");
}

#[test]
fn given_positions_come_first_and_groups_shape_the_rest() {
    let given = vec![point_of(&[1, 2, 3]), point_of(&[3, 2, 1])];
    let groups = Some(Groups::of_sizes(&[1, 99]));
    let mut engine = swarm(
        3,
        100,
        Settings { population: 500, given: given.clone(), groups, ..Settings::default() },
        1,
    );
    let trials = engine.ask(500);
    assert_eq!([&trials[0].point, &trials[1].point], [&given[0], &given[1]]);
    let zeros: usize =
        trials[2..].iter().map(|trial| 3 - wrong(&trial.point, &[0, 0, 0]) as usize).sum();
    assert!((650..850).contains(&zeros), "half of 1494 and not a hundredth: {zeros}");
}

#[test]
fn statistics_say_what_happened() {
    let given = [[0, 0], [0, 1], [2, 2]].map(|sequence| point_of(&sequence)).to_vec();
    let settings = Settings { population: 3, given, alpha: 0.0, beta: 1.0, ..Settings::default() };
    let mut engine = swarm(2, 5, settings, 1);
    let ids: Vec<u64> = engine.ask(3).iter().map(|trial| trial.id).collect();
    engine.tell(&[Outcome::Value { id: ids[0], loss: 5.0 }, Outcome::Failed { id: ids[1] }]);
    assert!(
        engine.ask(3).is_empty() && engine.take_statistics().is_empty(),
        "one answer is missing"
    );
    engine.tell(&[Outcome::Value { id: ids[2], loss: 2.0 }]);
    let next = engine.ask(3);
    assert!(
        next.iter().all(|trial| trial.point == point_of(&[2, 2])),
        "certain to go to the global best"
    );
    let expected = Statistics {
        generation: 0,
        best: Some(2.0),
        mean: Some(3.5),
        diversity: 5.0 / 3.0, // pairs differ in 1, 2 and 2 places
        factor: Some(1.0),
        alpha: 0.0,
        beta: 1.0,
        evaluations: 3,
        repeats: 0,
        failures: 1,
    };
    assert_eq!(engine.take_statistics(), [expected]);
    assert_eq!(engine.repeats(), 3, "all of the second generation");
    next.iter().for_each(|trial| engine.tell(&[Outcome::Failed { id: trial.id }]));
    engine.ask(1);
    let second = engine.take_statistics()[0];
    assert_eq!(
        (second.best, second.mean, second.factor, second.failures),
        (Some(2.0), None, Some(0.0), 3)
    );
}

#[test]
fn while_everything_fails_positions_are_drawn_anew() {
    let settings = Settings { population: 4, memo: true, ..Settings::default() };
    let mut engine = swarm(6, 1000, settings, 1);
    let mut seen = HashSet::new();
    for _ in 0..5 {
        let trials = engine.ask(4);
        assert!(
            trials.len() == 4 && trials.iter().all(|trial| seen.insert(trial.point.fingerprint()))
        );
        trials.iter().for_each(|trial| engine.tell(&[Outcome::Failed { id: trial.id }]));
    }
    assert_eq!(
        engine.take_statistics().last().map(|last| (last.best, last.factor)),
        Some((None, None))
    );
}

#[test]
fn adaptive_weights_move_and_published_ones_do_not() {
    let weights = |adaptive| {
        let mut engine =
            swarm(10, 30, Settings { adaptive, generations: Some(30), ..Settings::default() }, 2);
        run(&mut engine, 50, usize::MAX, |point| wrong(point, &[7; 10]));
        engine.take_statistics().iter().map(|row| (row.alpha, row.beta)).collect::<Vec<_>>()
    };
    assert!(weights(false).iter().all(|pair| *pair == (0.45, 0.45)));
    let moving = weights(true);
    assert_eq!(moving[0], (0.45, 0.45), "the run starts as published");
    assert!(moving.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(
        moving.iter().all(|(a, b)| (0.3375..=0.5625).contains(a) && (0.3375..=0.5625).contains(b))
    );
}

/// A planted sequence, found by copying: equal numbers of evaluations for the swarm and for random
/// search. Without mutation values die out before they are found to be good, so the swarm stops
/// short (the paper's limitation 2).
#[test]
fn the_swarm_finds_planted_optima_and_beats_random_search() {
    let (planted, space) = ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], sequence_space(10, 12).unwrap());
    let best = |engine: &mut dyn Engine| {
        let trials = run(engine, 50, 100, |point| wrong(point, &planted));
        assert_eq!(trials.len(), 5000);
        engine.best().unwrap().loss
    };
    let (mut published_finds, mut mutating_finds) = (0, 0);
    for seed in 0..20 {
        let random = best(&mut Random::new(&space, seed).unwrap());
        let published = best(&mut PsoDiscrete::new(&space, Settings::default(), seed).unwrap());
        let mutation = Settings { mutation: 0.02, ..Settings::default() };
        let mutating = best(&mut PsoDiscrete::new(&space, mutation, seed).unwrap());
        assert!(
            published < random && mutating < random,
            "seed {seed}: {published}, {mutating} against {random}"
        );
        published_finds += i32::from(published == 0.0);
        mutating_finds += i32::from(mutating == 0.0);
    }
    assert!(
        mutating_finds == 20 && published_finds < 20,
        "{published_finds} and {mutating_finds} of 20 seeds"
    );
}

/// Few enough values that the published swarm, too, finds the one best of 4⁶ sequences, with a
/// twentieth of the trials.
#[test]
fn the_published_swarm_finds_small_optima() {
    let planted = [3, 1, 0, 1, 2, 2];
    let mut finds = 0;
    for seed in 0..20 {
        let mut engine = swarm(
            6,
            4,
            Settings { memo: true, generations: Some(50), ..Settings::default() },
            seed,
        );
        let trials = run(&mut engine, 50, usize::MAX, |point| wrong(point, &planted));
        assert!(trials.len() <= 204, "{}", trials.len());
        finds += i32::from(engine.best().is_some_and(|best| best.loss == 0.0));
    }
    assert_eq!(finds, 20);
}

/// Reals in steps, conditions, and everything together: the swarm still finds good places, and
/// hidden indices survive.
#[test]
fn mixed_spaces_are_searched() {
    let (_, space) =
        crate::contract::spaces().into_iter().find(|(name, _)| *name == "mixed").unwrap();
    let loss = |point: &Point| space.encode(point).iter().map(|u| (u - 0.3).powi(2)).sum::<f64>();
    let settings = Settings { population: 20, mutation: 0.1, memo: true, ..Settings::default() };
    let mut engine = PsoDiscrete::new(&space, settings, 3).unwrap();
    for round in 0..30 {
        let trials = engine.ask(20);
        let told: Vec<Outcome> = trials
            .iter()
            .map(|trial| Outcome::Value { id: trial.id, loss: loss(&trial.point) })
            .collect();
        engine.tell(&told);
        let resumed = PsoDiscrete::resume(&space, &engine.snapshot()).unwrap();
        assert_eq!(resumed.positions, engine.positions, "round {round}");
        engine = resumed;
    }
    let best = engine.best().unwrap().loss;
    assert!(best < 0.15, "{best}");
}

/// Replaces every part of the data by something else, one at a time.
fn damaged(data: &Datum) -> Vec<Datum> {
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
        }
        Datum::Natural(_) => all.push(Datum::Natural(u64::MAX)),
        Datum::Real(_) => all.push(Datum::Real(f64::NAN)),
        _ => (),
    }
    all
}

#[test]
fn damaged_snapshots_give_errors_or_swarms_but_no_panic() {
    let settings = Settings { population: 6, memo: true, adaptive: true, ..Settings::default() };
    let mut engine = swarm(
        3,
        4,
        Settings { groups: Some(Groups::of_sizes(&[1, 3])), generations: Some(20), ..settings },
        1,
    );
    run(&mut engine, 4, 5, rugged);
    engine.ask(1);
    let good = engine.snapshot();
    let (mut tried, mut refused) = (0, 0);
    for state in damaged(&good.state) {
        tried += 1;
        match PsoDiscrete::resume(&engine.space, &Snapshot { state, ..good.clone() }) {
            Ok(mut swarm) => drop(run(&mut swarm, 5, 30, rugged)),
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 60 && refused > tried / 2, "{refused} of {tried}");
}
