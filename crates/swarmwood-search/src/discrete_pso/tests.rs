//! The swarm against the contract, a plain loop, planted optima and damaged snapshots.

use std::collections::HashSet;

use super::*;
use crate::contract::{ContractViolation, EngineUnderTest, check};
use crate::point::Point;
use crate::random::RandomSearch;
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
        let results: Vec<TrialResult> = trials
            .iter()
            .map(|trial| TrialResult::Complete { id: trial.id, loss: loss(&trial.point) })
            .collect();
        engine.tell(&results);
        all.extend(trials);
    }
    all
}

fn swarm(length: usize, table: u32, config: DiscretePsoConfig, seed: u64) -> DiscretePso {
    DiscretePso::new(&sequence_space(length, table).unwrap(), config, seed).unwrap()
}

fn keeps_every_rule(config: &dyn Fn(&Space) -> DiscretePsoConfig) {
    let subject = EngineUnderTest {
        start: &|space, seed| Ok(Box::new(DiscretePso::new(space, config(space), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(DiscretePso::resume(space, snapshot)?)),
    };
    if let Err(violations) = check(&subject) {
        panic!(
            "{}",
            violations.iter().map(ContractViolation::to_string).collect::<Vec<_>>().join("\n")
        );
    }
}

#[test]
fn the_published_swarm_keeps_every_rule() {
    keeps_every_rule(&|_| DiscretePsoConfig::default());
    keeps_every_rule(&|_| DiscretePsoConfig { population: 3, ..DiscretePsoConfig::default() });
    keeps_every_rule(&|_| DiscretePsoConfig { population: 1, ..DiscretePsoConfig::default() });
}

#[test]
fn every_option_keeps_every_rule() {
    keeps_every_rule(&|_| DiscretePsoConfig {
        population: 5,
        memo: true,
        ..DiscretePsoConfig::default()
    });
    keeps_every_rule(&|_| DiscretePsoConfig {
        population: 4,
        mutation: 0.2,
        adaptive: true,
        ..DiscretePsoConfig::default()
    });
    keeps_every_rule(&|_| DiscretePsoConfig {
        population: 4,
        mutation: 0.2,
        adaptive: true,
        memo: true,
        ..DiscretePsoConfig::default()
    });
    keeps_every_rule(&|_| DiscretePsoConfig {
        population: 6,
        generations: Some(4),
        memo: true,
        ..DiscretePsoConfig::default()
    });
    keeps_every_rule(&|space| {
        let fits = space.params().iter().all(|param| param.domain.values() == Some(4));
        let groups = fits.then(|| TableGroups::of_sizes(&[1, 3]));
        let initial_points = space.nth(0).into_iter().collect();
        DiscretePsoConfig {
            population: 5,
            groups,
            initial_points,
            mutation: 0.1,
            ..DiscretePsoConfig::default()
        }
    });
}

/// Algorithms 2 to 4 as one plain loop over vectors.
fn plain_loop(
    table: u64,
    length: usize,
    config: &DiscretePsoConfig,
    seed: u64,
    generations: u64,
) -> Vec<Vec<u64>> {
    let space = sequence_space(length, table as u32).unwrap();
    let loss = |position: &[u64]| rugged(&decode(&space, position));
    let mut asked = Vec::new();
    let mut particles: Vec<Vec<u64>> = Vec::new();
    for i in 0..config.population as u64 {
        let mut stream = Stream::new(seed, 0, i);
        particles.push((0..length).map(|_| stream.below(table)).collect());
    }
    let mut personal_bests = particles.clone();
    let mut global = particles[0].clone();
    for generation in 1..=generations {
        asked.extend(particles.iter().cloned());
        for (i, position) in particles.iter().enumerate() {
            if loss(position) < loss(&personal_bests[i]) {
                personal_bests[i] = position.clone();
            }
            if loss(position) < loss(&global) {
                global = position.clone();
            }
        }
        for (i, position) in particles.iter_mut().enumerate() {
            let mut stream = Stream::new(seed, generation, i as u64);
            let start = position.clone();
            for d in 0..length {
                if start[d] != personal_bests[i][d] && stream.unit() < config.alpha {
                    position[d] = personal_bests[i][d];
                }
            }
            for d in 0..length {
                if start[d] != global[d] && stream.unit() < config.beta {
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
        let config = DiscretePsoConfig {
            population: 7,
            alpha: 0.3,
            beta: 0.5,
            generations: Some(15),
            ..DiscretePsoConfig::default()
        };
        let mut engine = swarm(6, 9, config.clone(), seed);
        let asked = run(&mut engine, 4, usize::MAX, rugged);
        let asked: Vec<Vec<u64>> =
            asked.iter().map(|trial| encode(&engine.space, &trial.point)).collect();
        assert_eq!(asked, plain_loop(9, 6, &config, seed, 15), "seed {seed}");
        assert_eq!(engine.generation(), 15);
    }
}

#[test]
fn the_size_of_the_batches_changes_nothing() {
    let trials = |batch| {
        let config = DiscretePsoConfig {
            population: 10,
            mutation: 0.1,
            adaptive: true,
            memo: true,
            ..DiscretePsoConfig::default()
        };
        run(
            &mut swarm(5, 4, DiscretePsoConfig { generations: Some(30), ..config }, 3),
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
        let config = DiscretePsoConfig {
            population: 8,
            generations: Some(20),
            mutation,
            ..DiscretePsoConfig::default()
        };
        let trials = run(&mut swarm(10, 1000, config, 5), 8, usize::MAX, rugged);
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
        let config = DiscretePsoConfig {
            population: 12,
            adaptive: true,
            generations: Some(40),
            ..DiscretePsoConfig::default()
        };
        let mut plain = swarm(6, 5, config.clone(), seed);
        let mut memo = swarm(6, 5, DiscretePsoConfig { memo: true, ..config }, seed);
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
            assert_eq!(
                GenerationStats { evaluations: 0, ..*a },
                GenerationStats { evaluations: 0, ..*b }
            );
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
    let mut engine =
        swarm(4, 3, DiscretePsoConfig { memo: true, ..DiscretePsoConfig::default() }, 1);
    let trials = run(&mut engine, 50, 10_000, |point| wrong(point, &[0, 1, 2, 0]));
    assert!(trials.len() <= 81 && engine.ask(9).is_empty());
    assert_eq!(engine.best().map(|best| best.loss), Some(0.0));
    let resumed = DiscretePso::resume(&engine.space, &engine.snapshot()).unwrap();
    assert!(resumed.finished && resumed.snapshot() == engine.snapshot());
    // With mutation every position is known sooner or later, and patience ends the run.
    let mut restless = swarm(
        2,
        2,
        DiscretePsoConfig { memo: true, mutation: 0.5, ..DiscretePsoConfig::default() },
        1,
    );
    assert_eq!(run(&mut restless, 50, 10_000, rugged).len(), 4);
    // A lone particle stands on all bests at once: it is stuck, unless it mutates.
    let lone = |mutation| {
        swarm(
            6,
            1000,
            DiscretePsoConfig {
                population: 1,
                memo: true,
                mutation,
                ..DiscretePsoConfig::default()
            },
            1,
        )
    };
    assert_eq!(run(&mut lone(0.0), 1, 20, rugged).len(), 1);
    assert_eq!(run(&mut lone(0.5), 1, 20, rugged).len(), 20);
}

#[test]
fn a_limit_of_generations_is_kept() {
    let mut engine = swarm(
        8,
        50,
        DiscretePsoConfig { population: 9, generations: Some(7), ..DiscretePsoConfig::default() },
        1,
    );
    assert_eq!(run(&mut engine, 4, 10_000, rugged).len(), 63);
    assert_eq!(
        (engine.generation(), engine.take_statistics().len(), engine.ask(1).len()),
        (7, 7, 0)
    );
    assert!(
        engine.capabilities().terminates
            && !swarm(8, 50, DiscretePsoConfig::default(), 1).capabilities().terminates
    );
    let mut resumed = DiscretePso::resume(&engine.space, &engine.snapshot()).unwrap();
    assert!(resumed.ask(1).is_empty(), "the end survives storage");
}

#[test]
fn given_positions_come_first_and_groups_shape_the_rest() {
    let initial_points = vec![point_of(&[1, 2, 3]), point_of(&[3, 2, 1])];
    let groups = Some(TableGroups::of_sizes(&[1, 99]));
    let mut engine = swarm(
        3,
        100,
        DiscretePsoConfig {
            population: 500,
            initial_points: initial_points.clone(),
            groups,
            ..DiscretePsoConfig::default()
        },
        1,
    );
    let trials = engine.ask(500);
    assert_eq!([&trials[0].point, &trials[1].point], [&initial_points[0], &initial_points[1]]);
    let zeros: usize =
        trials[2..].iter().map(|trial| 3 - wrong(&trial.point, &[0, 0, 0]) as usize).sum();
    assert!((650..850).contains(&zeros), "half of 1494 and not a hundredth: {zeros}");
}

#[test]
fn statistics_say_what_happened() {
    let initial_points = [[0, 0], [0, 1], [2, 2]].map(|sequence| point_of(&sequence)).to_vec();
    let config = DiscretePsoConfig {
        population: 3,
        initial_points,
        alpha: 0.0,
        beta: 1.0,
        ..DiscretePsoConfig::default()
    };
    let mut engine = swarm(2, 5, config, 1);
    let ids: Vec<u64> = engine.ask(3).iter().map(|trial| trial.id).collect();
    engine.tell(&[
        TrialResult::Complete { id: ids[0], loss: 5.0 },
        TrialResult::Failed { id: ids[1] },
    ]);
    assert!(
        engine.ask(3).is_empty() && engine.take_statistics().is_empty(),
        "one answer is missing"
    );
    engine.tell(&[TrialResult::Complete { id: ids[2], loss: 2.0 }]);
    let next = engine.ask(3);
    assert!(
        next.iter().all(|trial| trial.point == point_of(&[2, 2])),
        "certain to go to the global best"
    );
    let expected = GenerationStats {
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
    next.iter().for_each(|trial| engine.tell(&[TrialResult::Failed { id: trial.id }]));
    engine.ask(1);
    let second = engine.take_statistics()[0];
    assert_eq!(
        (second.best, second.mean, second.factor, second.failures),
        (Some(2.0), None, Some(0.0), 3)
    );
}

#[test]
fn while_everything_fails_positions_are_drawn_anew() {
    let config = DiscretePsoConfig { population: 4, memo: true, ..DiscretePsoConfig::default() };
    let mut engine = swarm(6, 1000, config, 1);
    let mut seen = HashSet::new();
    for _ in 0..5 {
        let trials = engine.ask(4);
        assert!(
            trials.len() == 4 && trials.iter().all(|trial| seen.insert(trial.point.fingerprint()))
        );
        trials.iter().for_each(|trial| engine.tell(&[TrialResult::Failed { id: trial.id }]));
    }
    assert_eq!(
        engine.take_statistics().last().map(|last| (last.best, last.factor)),
        Some((None, None))
    );
}

#[test]
fn adaptive_weights_move_and_published_ones_do_not() {
    let weights = |adaptive| {
        let mut engine = swarm(
            10,
            30,
            DiscretePsoConfig { adaptive, generations: Some(30), ..DiscretePsoConfig::default() },
            2,
        );
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
        let random = best(&mut RandomSearch::new(&space, seed).unwrap());
        let published =
            best(&mut DiscretePso::new(&space, DiscretePsoConfig::default(), seed).unwrap());
        let mutation = DiscretePsoConfig { mutation: 0.02, ..DiscretePsoConfig::default() };
        let mutating = best(&mut DiscretePso::new(&space, mutation, seed).unwrap());
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
            DiscretePsoConfig { memo: true, generations: Some(50), ..DiscretePsoConfig::default() },
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
    let config = DiscretePsoConfig {
        population: 20,
        mutation: 0.1,
        memo: true,
        ..DiscretePsoConfig::default()
    };
    let mut engine = DiscretePso::new(&space, config, 3).unwrap();
    for round in 0..30 {
        let trials = engine.ask(20);
        let results: Vec<TrialResult> = trials
            .iter()
            .map(|trial| TrialResult::Complete { id: trial.id, loss: loss(&trial.point) })
            .collect();
        engine.tell(&results);
        let resumed = DiscretePso::resume(&space, &engine.snapshot()).unwrap();
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
    let config = DiscretePsoConfig {
        population: 6,
        memo: true,
        adaptive: true,
        ..DiscretePsoConfig::default()
    };
    let mut engine = swarm(
        3,
        4,
        DiscretePsoConfig {
            groups: Some(TableGroups::of_sizes(&[1, 3])),
            generations: Some(20),
            ..config
        },
        1,
    );
    run(&mut engine, 4, 5, rugged);
    engine.ask(1);
    let good = engine.snapshot();
    let (mut tried, mut refused) = (0, 0);
    for state in damaged(&good.state) {
        tried += 1;
        match DiscretePso::resume(&engine.space, &Snapshot { state, ..good.clone() }) {
            Ok(mut swarm) => drop(run(&mut swarm, 5, 30, rugged)),
            Err(_) => refused += 1,
        }
    }
    assert!(tried > 60 && refused > tried / 2, "{refused} of {tried}");
}
