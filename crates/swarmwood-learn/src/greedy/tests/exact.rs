//! Exact splits: with more values than codes, every split is the best of all cuts between values.

use swarmwood_model::{Child, Feature, Kind, Shape, Split, Test, Tree};

use crate::bins::Layout;
use crate::bins::edges::MOST_VALUES;
use crate::bins::layout::TooManyValues;
use crate::budget::Budget;
use crate::data::{Chunk, Column, MISSING};
use crate::dataset::Dataset;
use crate::greedy::*;
use crate::objective::{ObjectiveConfig, make};
use crate::pool::Pool;
use crate::split::Ridge;
use crate::stats::{BackendFactory, LocalBackends, LoopbackBackends};

/// Two numbers of which all values differ, one of them with missing values, a number with few
/// values, a category and weights.
fn table(rows: usize) -> (Chunk, Vec<Feature>) {
    let mut stream = Stream::new(11, 0, 0);
    let mut columns = vec![Vec::new(); 3];
    let (mut category, mut target, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let (a, b) = (stream.normal(), stream.unit());
        let (few, level) = (stream.below(5) as f64, stream.below(4) as u32);
        let signal = (3.0 * a).sin() + 2.0 * (9.0 * b).cos() + few.sqrt() + f64::from(level % 2);
        target.push(signal + 0.5 * stream.normal());
        weight.push(1.0 + stream.below(3) as f64);
        columns[0].push(a);
        columns[1].push(if stream.unit() < 0.2 { f64::NAN } else { b });
        columns[2].push(few);
        category.push(if level == 3 { MISSING } else { level });
    }
    let mut columns: Vec<Column> = columns.into_iter().map(Column::Number).collect();
    columns.push(Column::Category(category));
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let kinds = [Kind::Number, Kind::Number, Kind::Number, Kind::Category { levels }];
    let features = kinds.map(|kind| Feature { name: "f".into(), kind }).to_vec();
    (Chunk { columns, target, weight, rows }, features)
}

fn exact(chunk: &Chunk, features: &[Feature]) -> Dataset {
    let pool = Pool::new(2).unwrap();
    let layout = Layout::fit_exact(|at| chunk.columns[at].clone(), features, &pool).unwrap();
    Dataset::from_chunk(chunk, layout, &pool)
}

fn settings(growth: Growth) -> GreedyConfig {
    GreedyConfig {
        trees: 1,
        growth,
        depth: 4,
        max_leaves: if growth == Growth::Leaf { 12 } else { 0 },
        lookahead: Lookahead::Off,
        learning_rate: 1.0,
        penalties: Penalties { lambda: 0.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 0.5 },
        subsample: 1.0,
        colsample_bytree: 1.0,
        dart: None,
        early_stopping_rounds: 0,
        metric: EvalMetric::Loss,
        seed: 7,
        memory: 1 << 30,
        report_every: 0,
    }
}

fn fit(
    backends: &dyn BackendFactory,
    data: &Dataset,
    settings: &GreedyConfig,
    threads: usize,
) -> BoostingFit {
    let (pool, budget) = (Pool::new(threads).unwrap(), Budget::unlimited());
    let context = Context { pool: &pool, budget: &budget };
    let objective = make(&ObjectiveConfig::SQUARED);
    let set = TrainingSet { backends, ..TrainingSet::new(data, None, &*objective) };
    train(set, settings, context, &mut |_| ()).unwrap()
}

fn passes(split: &Split, chunk: &Chunk, row: usize) -> bool {
    match (&split.test, &chunk.columns[split.feature as usize]) {
        (_, Column::Number(values)) if values[row].is_nan() => split.missing_right,
        (Test::Above(threshold), Column::Number(values)) => values[row] > *threshold,
        (_, Column::Category(levels)) if levels[row] == MISSING => split.missing_right,
        (Test::In(set), Column::Category(levels)) => set.contains(levels[row]),
        _ => unreachable!("tests are of the kind of their feature"),
    }
}

/// The rows of one node with their gradients at the best constant.
struct Oracle<'a> {
    chunk: &'a Chunk,
    /// Gradient and hessian of each row.
    derivatives: Vec<[f64; 2]>,
}

impl<'a> Oracle<'a> {
    fn new(chunk: &'a Chunk) -> Self {
        let total: f64 = chunk.weight.iter().sum();
        let sum: f64 = chunk.target.iter().zip(&chunk.weight).map(|(y, w)| y * w).sum();
        let pairs = chunk.target.iter().zip(&chunk.weight);
        let derivatives = pairs.map(|(y, w)| [w * (sum / total - y), *w]).collect();
        Oracle { chunk, derivatives }
    }

    /// `½ (GL² / HL + GR² / HR - G² / H)`; zero if a side is empty.
    fn gain(&self, rows: &[usize], right: &dyn Fn(usize) -> bool) -> f64 {
        let mut sums = [[0.0; 2]; 2];
        for &row in rows {
            let side = &mut sums[usize::from(right(row))];
            side[0] += self.derivatives[row][0];
            side[1] += self.derivatives[row][1];
        }
        let score = |[g, h]: [f64; 2]| if h > 0.0 { 0.5 * g * g / h } else { 0.0 };
        let whole = [sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]];
        score(sums[0]) + score(sums[1]) - score(whole)
    }

    /// The greatest gain of all cuts between values and all sets of levels.
    fn best(&self, rows: &[usize]) -> f64 {
        let mut best = 0.0_f64;
        for column in &self.chunk.columns {
            match column {
                Column::Number(values) => {
                    let cuts = rows.iter().map(|&row| values[row]).filter(|value| !value.is_nan());
                    for cut in cuts {
                        for missing_right in [false, true] {
                            let right = |row: usize| match values[row] {
                                value if value.is_nan() => missing_right,
                                value => value > cut,
                            };
                            best = best.max(self.gain(rows, &right));
                        }
                    }
                }
                Column::Category(levels) => {
                    // Bit 3 is the side of missing values.
                    for set in 0..16_u32 {
                        let right = |row: usize| match levels[row] {
                            MISSING => set >> 3 & 1 == 1,
                            level => set >> level & 1 == 1,
                        };
                        best = best.max(self.gain(rows, &right));
                    }
                }
            }
        }
        best
    }

    /// Compares the split of a node and of all below it with the best; returns how many there are.
    fn check(&self, tree: &Tree, child: Child, rows: &[usize]) -> usize {
        let Child::Node(at) = child else { return 0 };
        let split = &tree.nodes[at as usize].split;
        let best = self.best(rows);
        let own = self.gain(rows, &|row| passes(split, self.chunk, row));
        assert!(own >= best * (1.0 - 1e-4) - 1e-6, "node {at}: gain {own} of {best}");

        let (right, wrong): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|&&row| passes(split, self.chunk, row));
        let node = &tree.nodes[at as usize];
        1 + self.check(tree, node.left, &wrong) + self.check(tree, node.right, &right)
    }
}

#[test]
fn every_split_is_the_best_of_all_cuts() {
    let (chunk, features) = table(900);
    let data = exact(&chunk, &features);
    // 900 and about 720 values in parts of 254 thresholds.
    assert_eq!(data.layout.sources(), [0, 0, 0, 0, 1, 1, 1, 2, 3]);
    let rows: Vec<usize> = (0..chunk.rows).collect();
    for growth in [Growth::Depth, Growth::Leaf] {
        let fit = fit(&LocalBackends, &data, &settings(growth), 2);
        let Shape::Ordinary(tree) = &fit.ensemble.members[0].shape else { unreachable!() };
        let checked = Oracle::new(&chunk).check(tree, Child::Node(0), &rows);
        assert_eq!(checked, tree.nodes.len());
        assert!(checked >= 11, "{checked}");
    }
}

#[test]
fn fewer_values_than_codes_are_binned_as_ever() {
    let (chunk, features) = table(200);
    let pool = Pool::new(1).unwrap();
    let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
    assert_eq!(layout, *exact(&chunk, &features).layout);
}

#[test]
fn any_number_of_threads_and_every_backend_give_the_same_trees() {
    let (chunk, features) = table(5000);
    let data = exact(&chunk, &features);
    let loopback = LoopbackBackends::default();
    for growth in [Growth::Depth, Growth::Leaf, Growth::Oblivious] {
        let sampled =
            GreedyConfig { trees: 3, subsample: 0.8, colsample_bytree: 0.5, ..settings(growth) };
        let one = fit(&LocalBackends, &data, &sampled, 1).ensemble.members;
        assert_eq!(one, fit(&LocalBackends, &data, &sampled, 2).ensemble.members, "{growth:?}");
        assert_eq!(one, fit(&LocalBackends, &data, &sampled, 8).ensemble.members, "{growth:?}");
        assert_eq!(one, fit(&loopback, &data, &sampled, 2).ensemble.members, "{growth:?}");
        // Half of four features, however many columns they take.
        for member in &one {
            let mut used: Vec<u32> = member.shape.splits().map(|split| split.feature).collect();
            used.sort_unstable();
            used.dedup();
            assert!(used.len() <= 2 && used.iter().all(|&feature| feature < 4), "{used:?}");
        }
    }
}

#[test]
fn too_many_values_are_refused() {
    let values = |count: usize| (0..count).map(|value| value as f64).collect::<Vec<f64>>();
    let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    let pool = Pool::new(1).unwrap();
    let layout = |count: usize| {
        let column = |at: usize| Column::Number(values(if at == 1 { count } else { 3 }));
        Layout::fit_exact(column, &features, &pool)
    };
    assert!(layout(MOST_VALUES).is_ok());
    assert_eq!(layout(MOST_VALUES + 1), Err(TooManyValues { feature: 1 }));
}
