//! The adaptive swarm against the contract, its equations by hand, and a plain swarm.

use super::*;
use crate::engine::Engine;
use crate::generational::tests::{assert_contract, assert_resumable, plain_start};
use crate::point::PointValue;
use crate::pso::{self, Pso};
use crate::tests::functions::{FUNCTIONS, cube, minimise, sphere};
use crate::trial::TrialResult;

#[test]
fn the_adaptive_swarm_keeps_every_rule() {
    for population in [1, 3, 5] {
        assert_contract::<ApsoMethod>(&|_| ApsoConfig { population, ..ApsoConfig::default() });
        assert_contract::<ApsoMethod>(&|_| ApsoConfig {
            population,
            generations: None,
            elitist: false,
            ..ApsoConfig::default()
        });
    }
    assert_contract::<ApsoMethod>(&|space| ApsoConfig {
        population: 4,
        generations: Some(6),
        start: plain_start(space),
        ..ApsoConfig::default()
    });
}

#[test]
fn snapshots_and_batches() {
    assert_resumable::<ApsoMethod>(&|space| ApsoConfig {
        population: 4,
        start: plain_start(space),
        ..ApsoConfig::default()
    });
}

fn line() -> Space {
    cube(1, (0.0, 1.0))
}

/// Three particles on a line: every equation of a generation by hand, an elitist one included.
#[test]
fn a_generation_by_hand() {
    let config = ApsoConfig { population: 3, ..ApsoConfig::default() };
    let mut swarm = ApsoMethod::new(&line(), config, RoundSeed { seed: 9, number: 0 }).unwrap();
    for (i, (x, v)) in [(0.2, 0.1), (0.3, -0.1), (0.9, 0.0)].into_iter().enumerate() {
        swarm.swarm.positions.row_mut(i)[0] = x;
        swarm.swarm.velocities.row_mut(i)[0] = v;
    }
    // Distances .1, .6 and .7 between pairs: means .4, .35 and .65. The best is particle 1, the
    // middle one: f = 0.
    let next = RoundSeed { seed: 9, number: 1 };
    assert!(
        swarm
            .advance(RoundLosses { losses: &[Some(4.0), Some(1.0), Some(9.0)], start: None }, next)
    );
    let status = swarm.status();
    assert_eq!(
        (status.factor, status.state, status.generation),
        (Some(0.0), EvolutionaryState::Convergence, 1)
    );
    assert!((status.inertia - 0.4).abs() < 1e-12, "1 / (1 + 1.5)");
    // Both coefficients grow by half a step and are scaled to the sum 4.
    let mut stream = next.whole();
    let (d1, d2) = (0.05 + 0.05 * stream.unit(), 0.05 + 0.05 * stream.unit());
    let (c1, c2) = (2.0 + d1 / 2.0, 2.0 + d2 / 2.0);
    assert!((status.c1 - 4.0 * c1 / (c1 + c2)).abs() < 1e-12);
    assert!((status.c1 + status.c2 - 4.0).abs() < 1e-12);

    // Elitist learning: the one dimension of the best takes a step of width 1 - .9 / 500.
    let mut stream = next.stream(3);
    stream.below(1);
    let changed = (0.3 + (1.0 - 0.9 / 500.0) * stream.normal()).clamp(0.0, 1.0);
    assert_eq!(swarm.positions().len(), 1);
    assert!((swarm.positions().row(0)[0] - changed).abs() < 1e-12);
    let after = RoundSeed { seed: 9, number: 2 };
    assert!(swarm.advance(RoundLosses { losses: &[Some(2.0)], start: None }, after));

    // Worse than the best, it took the place of particle 2, the worst, and then all moved.
    let (c1, c2) = (status.c1, status.c2);
    for (i, (x, v, best)) in
        [(0.2, 0.1, 0.2), (0.3, -0.1, 0.3), (changed, 0.0, changed)].into_iter().enumerate()
    {
        let mut stream = after.stream(i);
        let (r1, r2) = (stream.unit(), stream.unit());
        let velocity: f64 = 0.4 * v + c1 * r1 * (best - x) + c2 * r2 * (0.3 - x); // (eq. 2)
        let moved = (x + velocity.clamp(-0.2, 0.2)).clamp(0.0, 1.0); // (eq. 1)
        assert!((swarm.positions().row(i)[0] - moved).abs() < 1e-12, "particle {i}");
    }
    assert_eq!(swarm.swarm.losses[2], Some(2.0));
    assert_eq!(swarm.status().best, Some(1.0));
}

#[test]
fn the_start_is_the_best_until_a_better_one_comes() {
    let start = Point(vec![PointValue::Real(0.77)]);
    let config = ApsoConfig { population: 3, start: Some(start.clone()), ..ApsoConfig::default() };
    let mut swarm = Apso::new(&line(), config, 2).unwrap();
    let first = swarm.ask(9);
    assert_eq!((first.len(), &first[0].point), (4, &start));
    let results = [1.0, 1.0, 2.0, 3.0]
        .into_iter()
        .zip(0..)
        .map(|(loss, id)| TrialResult::Complete { id, loss });
    swarm.tell(&results.collect::<Vec<_>>());
    assert_eq!(swarm.best().map(|best| best.point), Some(&start), "of equals the start");
    swarm.ask(9);
    assert_eq!(swarm.method().swarm.global_best.as_ref().map(|best| best.position[0]), Some(0.77));
    let without = Apso::new(&line(), ApsoConfig { population: 3, ..ApsoConfig::default() }, 2)
        .unwrap()
        .ask(9);
    assert!(
        first[1..].iter().zip(&without).all(|(a, b)| a.point == b.point),
        "the particles are random all the same"
    );
}

#[test]
fn the_run_has_the_length_that_was_set() {
    let space = cube(2, (-1.0, 1.0));
    let config = ApsoConfig { population: 10, generations: Some(30), ..ApsoConfig::default() };
    let mut swarm = Apso::new(&space, config.clone(), 1).unwrap();
    let (_, used) = minimise(&mut swarm, &space, sphere, usize::MAX, -1.0);
    let elites = used - 300;
    assert!(swarm.is_finished() && (1..=30).contains(&elites), "{elites}");
    assert_eq!(swarm.method().status().generation, 30);
    let mut plain = Apso::new(&space, ApsoConfig { elitist: false, ..config }, 1).unwrap();
    assert_eq!(minimise(&mut plain, &space, sphere, usize::MAX, -1.0).1, 300);
}

/// As in Zhan et al.: 20 particles against the swarm with falling inertia, equal numbers of
/// evaluations.
#[test]
fn the_adaptive_swarm_beats_the_plain_one() {
    let (generations, seeds) = (500, 10);
    for function in FUNCTIONS {
        let space = cube(10, function.bounds);
        let mut logs = [0.0, 0.0];
        for seed in 0..seeds {
            let config = ApsoConfig {
                population: 20,
                generations: Some(generations),
                ..ApsoConfig::default()
            };
            let mut adaptive = Apso::new(&space, config, seed).unwrap();
            let mut plain =
                Pso::new(&space, pso::PsoConfig::linearly_decreasing(20, generations), seed)
                    .unwrap();
            let evaluations = 20 * generations as usize;
            for (log, engine) in logs.iter_mut().zip([&mut adaptive as &mut dyn Engine, &mut plain])
            {
                let (best, _) = minimise(engine, &space, function.value, evaluations, 1e-12);
                *log += best.max(1e-12).log10() / seeds as f64;
            }
        }
        assert!(logs[0] < logs[1] - 0.05, "{}: mean log10 of the best {logs:?}", function.name);
    }
}
