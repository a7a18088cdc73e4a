//! Interactions that no first split shows are found by look-ahead, alike for any threads and
//! backends.

use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::*;
use crate::greedy::lookahead::{FeatureSets, Lookahead, MOST_SETS};
use crate::stats::FeatureSet;

/// Ten columns, one of which is missing at times and two of which are flags, and a target of three
/// of them.
fn planted(rows: usize, target: impl Fn(f64, f64, f64) -> f64) -> Dataset {
    let mut stream = Stream::new(11, 0, 0);
    let mut columns = vec![Vec::new(); 10];
    let mut targets = Vec::new();
    for _ in 0..rows {
        let x: Vec<f64> = (0..10)
            .map(|at| match at {
                0..8 => stream.normal(),
                _ => f64::from(u8::from(stream.unit() > 0.5)) - 0.5,
            })
            .collect();
        targets.push(target(x[1], x[4], x[9]));
        columns.iter_mut().zip(&x).for_each(|(column, &x)| column.push(x));
        if stream.unit() < 0.1 {
            columns[0].pop();
            columns[0].push(f64::NAN);
        }
    }
    let columns = columns.into_iter().map(Column::Number).collect();
    let number = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
    let features: Vec<Feature> = (0..10).map(number).collect();
    binned(&Chunk { columns, target: targets, weight: Vec::new(), rows }, &features)
}

#[test]
fn products_and_parities_are_found_by_look_ahead() {
    let parity = |a: f64, b: f64, c: f64| f64::from(u8::from(a * b * c > 0.0));
    let limits = GreedyConfig { trees: 2, depth: 3, learning_rate: 1.0, ..settings(Growth::Depth) };
    let leaf_wise = GreedyConfig { depth: 0, max_leaves: 8, ..limits.clone() };
    let leaf_wise = GreedyConfig { growth: Growth::Leaf, ..leaf_wise };
    for settings in [limits, leaf_wise] {
        for (spec, data, least) in [
            (ObjectiveConfig::SQUARED, planted(9000, |a, b, _| (a * b).signum()), 0.05),
            (ObjectiveConfig::SQUARED, planted(9000, parity), 0.05),
            (ObjectiveConfig::LOGISTIC, planted(9000, parity), 0.3),
        ] {
            let (_, blind) = fit(&data, &spec, &settings, 1);
            let ahead = GreedyConfig { lookahead: Lookahead::Screened, ..settings.clone() };
            let (found, losses) = fit(&data, &spec, &ahead, 1);
            let (last, without) = (losses[1], blind[1]);
            assert!(last < least * without.max(1.0) && without > 3.0 * last, "{last} {without}");

            for (backends, threads) in [
                (&LocalBackends as &dyn BackendFactory, 3),
                (&LoopbackBackends::default() as &dyn BackendFactory, 2),
            ] {
                let (again, _) = fit_with(backends, &data, &spec, &ahead, threads);
                assert_eq!(again.trees, found.trees);
            }
        }
    }
}

#[test]
fn nothing_is_screened_in_noise_and_sums() {
    for target in [|a: f64, _: f64, _: f64| a, |a: f64, b: f64, c: f64| a + 2.0 * b + c] {
        let data = planted(9000, target);
        let plain = settings(Growth::Leaf);
        let ahead = GreedyConfig { lookahead: Lookahead::Screened, ..plain.clone() };
        let spec = ObjectiveConfig::SQUARED;
        let trees = [plain, ahead].map(|settings| fit(&data, &spec, &settings, 1).0.trees);
        assert_eq!(trees[0][0], trees[1][0]);
    }
}

#[test]
fn sets_of_features_are_limited() {
    let sets: Vec<FeatureSet> = (1..30).filter_map(|at| FeatureSet::new(&[0, at])).collect();
    assert_eq!(FeatureSets::new(&sets).as_slice(), &sets[..MOST_SETS]);
    assert_eq!((FeatureSet::new(&[1]), FeatureSet::new(&[1, 2, 3, 4])), (None, None));
}
