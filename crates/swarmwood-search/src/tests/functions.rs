//! Test functions with known minima.

use crate::engine::Engine;
use crate::point::Point;
use crate::rng::Stream;
use crate::space::{Param, Space};
use crate::trial::TrialResult;
use crate::{Apso, CmaEs, De, Pso, RandomSearch, apso, cmaes, de, pso};

/// A function of reals with minimum 0 and the bounds it is searched in.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) bounds: (f64, f64),
    pub(crate) value: fn(&[f64]) -> f64,
}

/// The bounds are shifted so that no optimum lies in the middle, where some engines start.
pub(crate) const FUNCTIONS: [Function; 5] = [
    Function { name: "sphere", bounds: (-70.0, 100.0), value: sphere },
    Function { name: "rosenbrock", bounds: (-9.0, 10.0), value: rosenbrock },
    Function { name: "rastrigin", bounds: (-4.12, 5.12), value: rastrigin },
    Function { name: "ackley", bounds: (-25.0, 32.0), value: ackley },
    Function { name: "griewank", bounds: (-450.0, 600.0), value: griewank },
];

pub(crate) fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

pub(crate) fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2)
        .map(|pair| 100.0 * (pair[1] - pair[0] * pair[0]).powi(2) + (1.0 - pair[0]).powi(2))
        .sum()
}

pub(crate) fn rastrigin(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x - 10.0 * (std::f64::consts::TAU * x).cos() + 10.0).sum()
}

pub(crate) fn ackley(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let cosines = x.iter().map(|x| (std::f64::consts::TAU * x).cos()).sum::<f64>() / n;
    20.0 + std::f64::consts::E - 20.0 * (-0.2 * (sphere(x) / n).sqrt()).exp() - cosines.exp()
}

pub(crate) fn griewank(x: &[f64]) -> f64 {
    let product: f64 =
        x.iter().enumerate().map(|(i, x)| (x / (i as f64 + 1.0).sqrt()).cos()).product();
    1.0 + sphere(x) / 4000.0 - product
}

/// A rotated ellipsoid with axes from 1 to 1000.
pub(crate) fn rotated_ellipsoid(x: &[f64]) -> f64 {
    let n = x.len();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let mut stream = Stream::new(1, 0, i as u64);
        let mut axis: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        for other in &basis {
            let along: f64 = axis.iter().zip(other).map(|(a, b)| a * b).sum();
            axis.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        let length = sphere(&axis).sqrt();
        axis.iter_mut().for_each(|a| *a /= length);
        basis.push(axis);
    }
    let scale = |i: usize| 1e6f64.powf(i as f64 / (n - 1) as f64);
    let along = |axis: &[f64]| axis.iter().zip(x).map(|(a, b)| a * (b - 0.7)).sum::<f64>();
    basis.iter().enumerate().map(|(i, axis)| scale(i) * along(axis).powi(2)).sum()
}

/// A space of `dimensions` reals with the same bounds.
pub(crate) fn cube(dimensions: usize, (low, high): (f64, f64)) -> Space {
    Space::new((0..dimensions).map(|i| Param::real(&format!("x{i}"), low, high)).collect()).unwrap()
}

/// The numbers of a point.
pub(crate) fn numbers(space: &Space, point: &Point) -> Vec<f64> {
    (0..space.len()).map(|i| space.number(i, point[i]).unwrap()).collect()
}

/// The smallest value found within a number of evaluations, and the evaluations used; the search
/// stops at `target`.
pub(crate) fn minimise(
    engine: &mut dyn Engine,
    space: &Space,
    value: impl Fn(&[f64]) -> f64,
    evaluations: usize,
    target: f64,
) -> (f64, usize) {
    let mut used = 0;
    while used < evaluations {
        let trials = engine.ask(evaluations - used);
        if trials.is_empty() {
            break;
        }
        used += trials.len();
        let results = trials.iter().map(|trial| TrialResult::Complete {
            id: trial.id,
            loss: value(&numbers(space, &trial.point)),
        });
        engine.tell(&results.collect::<Vec<_>>());
        if engine.best().is_some_and(|best| best.loss <= target) {
            break;
        }
    }
    (engine.best().map_or(f64::INFINITY, |best| best.loss), used)
}

#[test]
fn the_lowest_places_are_known() {
    for function in FUNCTIONS {
        let at = if function.name == "rosenbrock" { 1.0 } else { 0.0 };
        assert!((function.value)(&[at; 5]).abs() < 1e-12, "{}", function.name);
        assert!(
            (function.value)(&[at + 0.1, at, at]) > 1e-3
                && function.bounds.0 < at
                && function.bounds.1 > at
        );
    }
    assert!(rotated_ellipsoid(&[0.7; 4]) < 1e-20 && rotated_ellipsoid(&[0.8, 0.7, 0.7, 0.7]) > 1.0);
}

/// Every engine on every function in two and five dimensions with 10,000 evaluations, the median of
/// five searches: far better than random search everywhere, and solved where the engine is suited
/// for the function.
#[test]
fn every_engine_finds_the_lowest_places() {
    type StartFn = fn(&Space, u64) -> Box<dyn Engine>;
    let engines: [(&str, StartFn); 5] = [
        ("random", |space, seed| Box::new(RandomSearch::new(space, seed).unwrap())),
        ("pso", |space, seed| Box::new(Pso::new(space, pso::PsoConfig::default(), seed).unwrap())),
        ("apso", |space, seed| {
            let config = apso::ApsoConfig {
                population: 20,
                generations: Some(500),
                ..apso::ApsoConfig::default()
            };
            Box::new(Apso::new(space, config, seed).unwrap())
        }),
        ("cmaes", |space, seed| {
            Box::new(CmaEs::new(space, cmaes::CmaEsConfig::default(), seed).unwrap())
        }),
        ("de", |space, seed| Box::new(De::new(space, de::DeConfig::default(), seed).unwrap())),
    ];
    for (dimensions, function) in
        [2, 5].into_iter().flat_map(|d| FUNCTIONS.into_iter().map(move |f| (d, f)))
    {
        let space = cube(dimensions, function.bounds);
        let mut medians = [0.0; 5];
        for (median, (_, start)) in medians.iter_mut().zip(engines) {
            let search = |seed| {
                minimise(start(&space, seed).as_mut(), &space, function.value, 10_000, 1e-9).0
            };
            let mut found: Vec<f64> = (0..5).map(search).collect();
            found.sort_by(f64::total_cmp);
            *median = found[2];
        }
        let random = medians[0];
        for ((name, _), median) in engines.iter().zip(medians).skip(1) {
            let place = format!("{name} on {} in {dimensions} dimensions: {median}", function.name);
            assert!(median < random / 5.0, "{place}, random search {random}");
            let solved = match (dimensions, function.name) {
                (_, "sphere" | "ackley") | (2, "rosenbrock" | "rastrigin") => true,
                (_, "rosenbrock") => ["cmaes", "de"].contains(name),
                (_, "rastrigin") | (2, "griewank") => *name == "de",
                _ => false,
            };
            assert!(!solved || median <= 1e-9, "{place}");
        }
    }
}
