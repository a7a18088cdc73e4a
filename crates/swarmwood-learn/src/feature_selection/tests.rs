//! Planted features are found, expensive copies are avoided, no budget is ever exceeded, and
//! neither threads nor backends change the choice.

use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::*;
use crate::bins::layout::Layout;
use crate::context::TestContext;
use crate::data::{Chunk, Column};
use crate::dataset::Dataset;
use crate::objective::{ObjectiveConfig, make};
use crate::pool::Pool;
use crate::stats::LoopbackBackends;

const CONFIG: SelectionConfig = SelectionConfig { seed: 3, memory: 1 << 28, most_work: u64::MAX };

/// Ten columns: the target depends on 1, 4 and 7; column 2 is a noisy copy of 1.
fn planted(rows: usize) -> Dataset {
    let mut stream = Stream::new(5, 0, 0);
    let mut columns: Vec<Vec<f64>> =
        (0..10).map(|_| (0..rows).map(|_| stream.unit()).collect()).collect();
    columns[2] = columns[1].iter().map(|x| x + 0.05 * stream.normal()).collect();
    let target = (0..rows).map(|row| {
        let (a, b, c) = (columns[1][row], columns[4][row], columns[7][row]);
        4.0 * a + 3.0 * (3.0 * b).sin() + if c > 0.5 { 2.0 } else { 0.0 } + 0.3 * stream.normal()
    });
    let target = target.collect();
    dataset(columns, target)
}

fn dataset(columns: Vec<Vec<f64>>, target: Vec<f64>) -> Dataset {
    let features: Vec<Feature> = (0..columns.len())
        .map(|at| Feature { name: format!("x{at}"), kind: Kind::Number })
        .collect();
    let rows = target.len();
    let columns = columns.into_iter().map(Column::Number).collect();
    let chunk = Chunk { columns, target, rows, ..Chunk::default() };
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    Dataset::from_chunk(&chunk, layout, &pool)
}

fn budget(most: usize, costs: &[f64], most_cost: f64) -> FeatureBudget {
    FeatureBudget { most, costs: costs.to_vec(), most_cost, required: Vec::new() }
}

#[test]
fn planted_features_are_found_and_expensive_copies_are_not_used() {
    let objective = make(&ObjectiveConfig::SQUARED);
    let test = TestContext::new(2);
    for rows in [400, 3000] {
        let data = planted(rows);
        let set = TrainingSet::new(&data, None, &*objective);
        let free = [1.0; 10];
        let found = select(set, &budget(3, &free, f64::INFINITY), CONFIG, test.context()).unwrap();
        assert_eq!(found.features, [1, 4, 7], "{rows} rows: {found:?}");
        assert!(found.finished && found.score.is_some(), "{found:?}");

        let mut costs = [1.0; 10];
        costs[1] = 50.0;
        let cheap = budget(usize::MAX, &costs, 3.0);
        let found = select(set, &cheap, CONFIG, test.context()).unwrap();
        assert_eq!(found.features, [2, 4, 7], "{rows} rows: {found:?}");

        let all = select(set, &budget(10, &free, 10.0), CONFIG, test.context()).unwrap();
        assert_eq!((all.features.len(), all.work), (10, 0));
    }
}

#[test]
fn no_budget_is_exceeded_whatever_it_is_and_whenever_the_run_ends() {
    let objective = make(&ObjectiveConfig::SQUARED);
    let data = planted(150);
    let set = TrainingSet::new(&data, None, &*objective);
    let mut stream = Stream::new(9, 0, 0);
    for case in 0..40 {
        let costs: Vec<f64> = (0..10).map(|_| (10.0 * stream.unit()).floor()).collect();
        let budget = budget((6.0 * stream.unit()) as usize, &costs, 20.0 * stream.unit());
        let questions = [0, 1, 30, 300, usize::MAX][case % 5];
        let test = TestContext::interrupted_after(1, questions);
        let most_work = [u64::MAX, 0, 3, 500][case % 4];
        let config = SelectionConfig { most_work, ..CONFIG };

        let found = select(set, &budget, config, test.context()).unwrap();

        assert!(budget.allows(&found.features), "{budget:?}: {found:?}");
        assert!(found.work <= most_work, "{most_work}: {found:?}");
        assert!(found.features.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn threads_and_backends_change_no_choice() {
    let objective = make(&ObjectiveConfig::SQUARED);
    for rows in [300, 9000] {
        let data = planted(rows);
        let set = TrainingSet::new(&data, None, &*objective);
        let (one, three) = (TestContext::new(1), TestContext::new(3));
        let budget = budget(2, &[1.0; 10], f64::INFINITY);
        let found = select(set, &budget, CONFIG, one.context()).unwrap();
        assert_eq!(found, select(set, &budget, CONFIG, three.context()).unwrap());

        let loopback = LoopbackBackends::default();
        let set = TrainingSet { backends: &loopback, ..set };
        assert_eq!(found, select(set, &budget, CONFIG, three.context()).unwrap());
    }
}

#[test]
fn constant_and_unaffordable_features_are_left_out() {
    let columns = vec![vec![1.0; 100], (0..100).map(f64::from).collect()];
    let data = dataset(columns, (0..100).map(f64::from).collect());
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet::new(&data, None, &*objective);
    let test = TestContext::new(1);
    let found = select(set, &budget(1, &[1.0; 2], 9.0), CONFIG, test.context()).unwrap();
    assert_eq!(found.features, [1]);
    let found = select(set, &budget(1, &[1.0; 2], 0.5), CONFIG, test.context()).unwrap();
    assert!(found.features.is_empty());
}
