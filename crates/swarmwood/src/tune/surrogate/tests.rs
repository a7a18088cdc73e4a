//! The contract, planted targets, and that both engines beat random search.

use swarmwood_search::contract::{EngineUnderTest, check, check_options};
use swarmwood_search::{Engine, Param, RandomSearch, TrialResult};

use super::*;

/// Few trees and candidates: the rules ask thousands of times, and none of them tests quality.
fn small<R: SurrogateModel>(target: SurrogateTarget) -> SurrogateConfig<R> {
    SurrogateConfig { model: R::with_trees(2), target, candidates: 40 }
}

#[test]
fn the_forest_keeps_the_contract() {
    check(&EngineUnderTest {
        start: &|space, seed| {
            Ok(Box::new(Forest::new(space, small(SurrogateTarget::Ranks), seed)?))
        },
        resume: &|space, snapshot| Ok(Box::new(Forest::resume(space, snapshot)?)),
    })
    .unwrap();
}

#[test]
fn the_booster_keeps_the_contract() {
    check(&EngineUnderTest {
        start: &|space, seed| Ok(Box::new(Gbrt::new(space, small(SurrogateTarget::Losses), seed)?)),
        resume: &|space, snapshot| Ok(Box::new(Gbrt::resume(space, snapshot)?)),
    })
    .unwrap();
}

/// A step, a slope and a parameter without effect.
fn planted(rows: usize, seed: u64) -> (CoordinateTable, Vec<f64>) {
    let mut stream = Stream::new(seed, 0, 0);
    let columns: Vec<Vec<f64>> =
        (0..3).map(|_| (0..rows).map(|_| stream.unit()).collect()).collect();
    let target = (0..rows).map(|row| f64::from(columns[0][row] > 0.6) + columns[1][row]).collect();
    (CoordinateTable { columns, rows }, target)
}

fn check_planted(model: impl SurrogateModel, tolerance: f64) {
    let (known, target) = planted(300, 1);
    let (asked, truth) = planted(200, 2);
    let predictions = model.fit_predict(&known, &target, &asked, &mut Stream::new(3, 0, 0));
    let error: f64 = predictions
        .iter()
        .zip(&truth)
        .map(|(prediction, y)| (prediction.mean - y).powi(2))
        .sum::<f64>()
        / 200.0;
    // The targets spread by 0.32 about their mean.
    assert!(error < tolerance, "{error}");
    assert!(
        predictions
            .iter()
            .all(|prediction| prediction.mean.is_finite() && prediction.deviation >= 0.0)
    );
}

#[test]
fn planted_steps_and_slopes_are_learned() {
    check_planted(forest::ForestModel::default(), 0.012);
    check_planted(gbrt::QuantileBooster::default(), 0.03);
}

#[test]
fn a_forest_of_known_rows_is_unsure_where_it_knows_nothing() {
    let known = CoordinateTable {
        columns: vec![(0..40).map(|i| f64::from(i % 20) / 40.0).collect()],
        rows: 40,
    };
    let target: Vec<f64> =
        (0..40).map(|i| if i % 20 < 10 { 0.0 } else { f64::from(i % 3) }).collect();
    let asked = CoordinateTable { columns: vec![vec![0.1, 0.45]], rows: 2 };
    let predictions = forest::ForestModel::default().fit_predict(
        &known,
        &target,
        &asked,
        &mut Stream::new(1, 0, 0),
    );
    assert!(predictions[0].mean.abs() < 1e-9 && predictions[0].deviation < 1e-6, "{predictions:?}");
    assert!(predictions[1].deviation > 0.1, "{predictions:?}");
}

/// Seven parameters of every kind, one under a condition.
fn mixed() -> Space {
    Space::new(vec![
        Param::choice("booster", &["tree", "linear", "dart"]),
        Param::real("rate", 1e-3, 1.0).log(),
        Param::integer("depth", 1, 20).when("booster", &["tree", "dart"]),
        Param::list("rows", &[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        Param::real("columns", 0.0, 1.0),
        Param::integer("weight", 1, 100).log(),
        Param::choice("loss", &["a", "b"]),
    ])
    .unwrap()
}

/// A bowl with steps between the choices; a steep wall for large rates.
fn loss(space: &Space, point: &Point) -> f64 {
    let u = space.encode(point);
    let step = [0.0, 0.5, 0.1][((u[0] * 3.0) as usize).min(2)] + if u[6] > 0.5 { 0.3 } else { 0.0 };
    let bowl: f64 = [(1, 0.6), (2, 0.35), (3, 0.8), (4, 0.5), (5, 0.3)]
        .map(|(i, at): (usize, f64)| (u[i] - at).powi(2))
        .iter()
        .sum();
    let wall = if u[1] > 0.9 { 100.0 } else { 0.0 };
    step + bowl + wall
}

fn best_of(mut engine: Box<dyn Engine>, space: &Space, trials: usize) -> f64 {
    for _ in 0..trials {
        for trial in engine.ask(1) {
            engine.tell(&[TrialResult::Complete { id: trial.id, loss: loss(space, &trial.point) }]);
        }
    }
    engine.best().map_or(f64::INFINITY, |best| best.loss)
}

#[test]
fn both_engines_beat_random_search() {
    let space = mixed();
    let mean = |make: &dyn Fn(u64) -> Box<dyn Engine>| {
        (0..4).map(|seed| best_of(make(seed), &space, 60)).sum::<f64>() / 4.0
    };
    let random = mean(&|seed| Box::new(RandomSearch::new(&space, seed).unwrap()));
    let forest =
        mean(&|seed| Box::new(Forest::new(&space, SurrogateConfig::default(), seed).unwrap()));
    let gbrt = mean(&|seed| Box::new(Gbrt::new(&space, SurrogateConfig::default(), seed).unwrap()));
    assert!(
        forest < 0.7 * random && gbrt < 0.7 * random,
        "random {random}, forest {forest}, gbrt {gbrt}"
    );
}

/// Defaults are those of the configuration, and random options keep the rules.
#[test]
fn options_reach_both_engines() {
    let space = mixed();
    let forest = Forest::new(&space, SurrogateConfig::default(), 5).unwrap();
    let gbrt = Gbrt::new(&space, SurrogateConfig::default(), 5).unwrap();
    for (spec, snapshot) in ENGINES.iter().zip([forest.snapshot(), gbrt.snapshot()]) {
        let built = (spec.build)(&space, 5, &OptionValues::defaults(spec.options)).unwrap();
        assert_eq!(built.snapshot(), snapshot, "{}", spec.name);
        check_options(spec, 6).unwrap();
    }
}
