//! A realistic tuning task: seven parameters of every kind, a condition, a hundred trials.

use std::collections::HashSet;

use crate::options::EngineOptions;
use crate::point::Point;
use crate::registry::{ENGINES, create};
use crate::space::{Param, Space};
use crate::trial::TrialResult;

/// The parameters of a booster.
pub(crate) fn space() -> Space {
    Space::new(vec![
        Param::choice("booster", &["tree", "dart", "linear"]),
        Param::integer("depth", 1, 12).when("booster", &["tree", "dart"]),
        Param::real("rate", 1e-3, 1.0).log(),
        Param::integer("weight", 1, 100).log(),
        Param::list("subsample", &[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        Param::real("penalty", 1e-3, 1e2).log(),
        Param::choice("objective", &["squared", "log"]),
    ])
    .unwrap()
}

/// A loss with a minimum near 0 inside the space. The best depth depends on the rate.
pub(crate) fn loss(space: &Space, point: &Point) -> f64 {
    let log = |i: usize| space.number(i, point[i]).unwrap().log10();
    let booster = match space.label(0, point[0]).unwrap() {
        "tree" => 0.0,
        "dart" => 0.05,
        _ => 0.6,
    };
    let rate = log(2);
    let depth = space
        .number(1, point[1])
        .map_or(0.0, |depth| 0.02 * (depth - 6.0 - 2.0 * (rate + 1.0)).powi(2));
    let subsample = space.number(4, point[4]).unwrap() - 0.8;
    let objective = if space.label(6, point[6]) == Some("log") { 0.1 } else { 0.0 };
    let curves = 0.3 * (rate - 0.05f64.log10()).powi(2)
        + 0.1 * (log(3) - 8f64.log10()).powi(2)
        + 0.05 * log(5).powi(2);
    booster + depth + curves + 0.8 * subsample * subsample + objective
}

/// The smallest loss after a hundred trials, and the number of different points.
fn tune(name: &str, seed: u64) -> (f64, usize) {
    let space = space();
    let mut engine = create(ENGINES, name, &EngineOptions::DEFAULTS, &space, seed).unwrap();
    let mut seen = HashSet::new();
    for _ in 0..100 {
        for trial in engine.ask(1) {
            seen.insert(trial.point.fingerprint());
            engine
                .tell(&[TrialResult::Complete { id: trial.id, loss: loss(&space, &trial.point) }]);
        }
    }
    (engine.best().unwrap().loss, seen.len())
}

/// Thirty searches of each engine.
#[test]
fn every_engine_that_learns_beats_random_search() {
    let runs = |name: &str| -> Vec<(f64, usize)> { (0..30).map(|seed| tune(name, seed)).collect() };
    let mean =
        |runs: &[(f64, usize)]| runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
    let random = mean(&runs("random"));
    let space = space();
    for spec in ENGINES {
        let runs = runs(spec.name);
        let distinct = runs.iter().map(|run| run.1).min().unwrap();
        let without_repeats = create(ENGINES, spec.name, &EngineOptions::DEFAULTS, &space, 0)
            .unwrap()
            .capabilities()
            .distinct;
        assert!(!without_repeats || distinct == 100, "{}: {distinct}", spec.name);
        let learns = spec.name != "random";
        assert!(
            !learns || mean(&runs) < random,
            "{}: {} and random {random}",
            spec.name,
            mean(&runs)
        );
    }
}
