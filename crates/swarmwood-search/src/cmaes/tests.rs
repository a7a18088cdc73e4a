//! CMA-ES against the contract, hard functions and planted integers.

use super::*;
use crate::engine::Engine;
use crate::generational::tests::{assert_contract, assert_resumable, plain_start};
use crate::space::Param;
use crate::tests::functions::{FUNCTIONS, cube, minimise, numbers, rosenbrock, rotated_ellipsoid};
use crate::trial::TrialResult;

#[test]
fn the_strategy_keeps_every_rule() {
    assert_contract::<CmaEsMethod>(&|_| CmaEsConfig::default());
    assert_contract::<CmaEsMethod>(&|_| CmaEsConfig {
        population: Some(4),
        margin: false,
        ..CmaEsConfig::default()
    });
    assert_contract::<CmaEsMethod>(&|space| CmaEsConfig {
        population: Some(5),
        generations: Some(6),
        restarts: Some(1),
        start: plain_start(space),
        ..CmaEsConfig::default()
    });
}

#[test]
fn snapshots_and_batches() {
    assert_resumable::<CmaEsMethod>(&|space| CmaEsConfig {
        start: plain_start(space),
        ..CmaEsConfig::default()
    });
    assert_resumable::<CmaEsMethod>(&|_| CmaEsConfig {
        population: Some(4),
        ..CmaEsConfig::default()
    });
}

#[test]
fn all_faults_are_reported_at_once() {
    let start = Some(Point(Vec::new()));
    let config = CmaEsConfig {
        population: Some(1),
        generations: Some(0),
        sigma: 0.0,
        start,
        ..CmaEsConfig::default()
    };
    let text = config.check(&cube(2, (0.0, 1.0))).unwrap_err().to_string();
    assert_eq!(text.lines().count(), 4, "{text}");
}

#[test]
fn mirrors_fold_the_line() {
    for (x, folded) in [
        (0.25, 0.25),
        (-0.25, 0.25),
        (1.25, 0.75),
        (2.25, 0.25),
        (-1.25, 0.75),
        (1.0, 1.0),
        (0.0, 0.0),
    ] {
        assert_eq!(reflect(x), folded, "{x}");
    }
}

#[test]
fn valleys_and_rotated_ellipsoids_are_solved() {
    for seed in 0..3 {
        let space = cube(10, (-9.0, 10.0));
        let mut engine = CmaEs::new(&space, CmaEsConfig::default(), seed).unwrap();
        let (best, used) = minimise(&mut engine, &space, rosenbrock, 20_000, 1e-8);
        assert!(best <= 1e-8, "rosenbrock, seed {seed}: {best} after {used}");
        let space = cube(8, (-5.0, 5.0));
        let mut engine = CmaEs::new(&space, CmaEsConfig::default(), seed).unwrap();
        let (best, used) = minimise(&mut engine, &space, rotated_ellipsoid, 5_000, 1e-8);
        assert!(best <= 1e-8, "ellipsoid, seed {seed}: {best} after {used}");
    }
}

/// Sphere, valley, plateaus with a funnel: one search is enough. Many deep local optima: the larger
/// populations after restarts find what the first search missed. (Griewank's function is hardest in
/// few dimensions.)
#[test]
fn restarts_solve_functions_with_many_local_optima() {
    let (mut first, mut later) = (0, 0);
    for function in &FUNCTIONS {
        let dimensions = if function.name == "griewank" { 10 } else { 3 };
        let space = cube(dimensions, function.bounds);
        for seed in 0..3 {
            let mut engine = CmaEs::new(&space, CmaEsConfig::default(), seed).unwrap();
            let (best, used) = minimise(&mut engine, &space, function.value, 50_000, 1e-8);
            assert!(best <= 1e-8, "{}, seed {seed}: {best} after {used}", function.name);
            let (population, restarts) = (engine.method().population(), engine.method().restarts());
            assert_eq!(population, default_population(dimensions) << restarts);
            let once = CmaEsConfig { restarts: Some(0), ..CmaEsConfig::default() };
            let mut engine = CmaEs::new(&space, once, seed).unwrap();
            let (without, _) = minimise(&mut engine, &space, function.value, 50_000, 1e-8);
            assert_eq!(
                (without <= 1e-8, engine.is_finished()),
                (restarts == 0, restarts != 0),
                "{}",
                function.name
            );
            first += usize::from(restarts == 0);
            later += usize::from(restarts > 0);
        }
    }
    assert!(first >= 6 && later >= 3, "{first} {later}");
}

#[test]
fn optima_on_the_border_are_reached() {
    let space = cube(4, (2.0, 7.0));
    for (seed, corner) in [(1, 2.0), (2, 7.0)] {
        let mut engine = CmaEs::new(&space, CmaEsConfig::default(), seed).unwrap();
        let value = |x: &[f64]| x.iter().map(|x| (x - corner).abs()).sum::<f64>();
        assert!(minimise(&mut engine, &space, value, 4_000, 1e-6).0 <= 1e-6);
    }
}

/// The share of ten searches without restarts that find the optimum.
fn solved(space: &Space, margin: bool, value: &dyn Fn(&[f64]) -> f64) -> usize {
    let finds = |seed: &u64| {
        let config = CmaEsConfig { margin, restarts: Some(0), ..CmaEsConfig::default() };
        let mut engine = CmaEs::new(space, config, *seed).unwrap();
        minimise(&mut engine, space, value, 10_000, 1e-8).0 <= 1e-8
    };
    (0..10).filter(finds).count()
}

fn mixed(integers: impl Fn(&str) -> Param) -> Space {
    let mut params: Vec<Param> =
        (0..5).map(|i| Param::real(&format!("x{i}"), -10.0, 12.0)).collect();
    params.extend((0..5).map(|i| integers(&format!("i{i}"))));
    Space::new(params).unwrap()
}

/// Reals that matter much, integers that matter little: by the time the reals have settled, a
/// strategy that merely rounds has no width left to change an integer with.
#[test]
fn integers_do_not_get_stuck() {
    let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    let space = mixed(|name| Param::integer(name, -10, 12));
    let value = |x: &[f64]| 1e6 * squares(&x[..5]) + squares(&x[5..]);
    assert_eq!((solved(&space, true, &value), solved(&space, false, &value)), (10, 0));
    // As many leading ones as possible, beside a sphere: a later bit pays only once all before it
    // are right.
    let space = mixed(|name| Param::list(name, &[0.0, 1.0]));
    let ones = |bits: &[f64]| (0..5).map(|i| bits[..=i].iter().product::<f64>()).sum::<f64>();
    let value = |x: &[f64]| squares(&x[..5]) + 5.0 - ones(&x[5..]);
    let (with, without) = (solved(&space, true, &value), solved(&space, false, &value));
    assert!(with == 10 && without <= 2, "{with} {without}");
}

#[test]
fn failed_trials_are_avoided() {
    // Half of the square fails; the optimum lies on the border of the other half.
    let space = cube(2, (-1.0, 1.0));
    let mut engine = CmaEs::new(&space, CmaEsConfig::default(), 1).unwrap();
    for _ in 0..200 {
        for trial in engine.ask(6) {
            let x = numbers(&space, &trial.point);
            let loss = if x[0] < 0.2 { f64::NAN } else { (x[0] + x[1]).powi(2) + x[0] };
            engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
        }
    }
    let best = engine.best().unwrap().loss;
    assert!((0.2..0.2001).contains(&best), "{best}");
}
