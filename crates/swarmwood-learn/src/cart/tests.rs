//! Growth and pruning against brute force and against scikit-learn.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::*;
use crate::data::{Chunk, Column};
use crate::leaf_loss::Loss;
use crate::pool::{Pool, hurried_after};
use crate::ranked::{Cut, Ranked};
use crate::sketch::{self, Edge, Sketch, Twig};

fn table(columns: Vec<Vec<f64>>, target: Vec<f64>, classes: Option<usize>) -> Ranked {
    let features: Vec<Feature> =
        columns.iter().map(|_| Feature { name: "x".into(), kind: Kind::Number }).collect();
    let columns = columns.into_iter().map(Column::Number).collect();
    let chunk = Chunk { columns, rows: target.len(), target, weight: Vec::new() };
    Ranked::new(&chunk, &features, classes, 1000)
}

fn grown(table: &Ranked, loss: &Loss, limits: Limits, pool: &Pool) -> Sketch {
    let features: Vec<u32> = (0..table.columns().len() as u32).collect();
    grow(&Growing { table, loss, limits, features: &features, pool })
}

const FREE: Limits = Limits { leaves: 0, depth: 0, min_leaf: 1 };

/// A table that other programs can make too: `sin` of simple multiples.
fn waves(rows: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let wave = |row: usize, step: f64| (row as f64 * step).sin();
    let columns = vec![
        (0..rows).map(|row| (wave(row, 1.7) * 1000.0).round()).collect::<Vec<f64>>(),
        (0..rows).map(|row| (wave(row, 2.3) * 1000.0).round()).collect(),
        (0..rows).map(|row| (wave(row, 3.1) * 1000.0).round()).collect(),
    ];
    let value = |row: usize| columns[0][row] + 0.5 * columns[1][row] + 300.0 * wave(row, 0.37);
    let values = (0..rows).map(value).collect();
    (columns, values)
}

#[test]
fn a_tree_grows_to_purity_where_no_first_split_helps() {
    let cell = |row: usize| [(row % 4) as f64, (row / 4) as f64];
    let columns = (0..2).map(|at| (0..16).map(|row| cell(row)[at]).collect()).collect();
    let target = (0..16)
        .map(|row| f64::from(u8::from((cell(row)[0] < 2.0) == (cell(row)[1] < 2.0))))
        .collect();
    let table = table(columns, target, Some(2));
    let tree = grown(&table, &Loss::Gini, FREE, &Pool::new(1).unwrap());
    let (_, leaves) = sketch::fit(&tree, &table, &Loss::Gini);
    assert!(leaves.iter().all(|leaf| leaf.loss == 0.0));
}

#[test]
fn limits_are_kept() {
    let (columns, values) = waves(200);
    let table = table(columns, values, None);
    let pool = Pool::new(1).unwrap();
    for (leaves, depth, min_leaf) in [(5, 0, 1), (0, 3, 1), (0, 0, 20), (7, 3, 10)] {
        let tree = grown(&table, &Loss::Squared, Limits { leaves, depth, min_leaf }, &pool);
        let (_, fitted) = sketch::fit(&tree, &table, &Loss::Squared);
        assert!(leaves == 0 || tree.leaves() <= leaves);
        assert!(depth == 0 || tree.twig(tree.root()).depth() <= depth);
        assert!(fitted.iter().all(|leaf| leaf.rows >= min_leaf));
        assert!(tree.leaves() > 3);
    }
}

/// The same splits as `sklearn.tree.DecisionTreeRegressor(max_leaf_nodes=6)` and
/// `DecisionTreeClassifier(max_leaf_nodes=6)` of scikit-learn 1.9 on the same table: feature and
/// threshold of each node, in the order of a walk. Ours lie in the same gaps, at a shorter decimal.
#[test]
fn splits_are_those_of_scikit_learn() {
    let (columns, values) = waves(150);
    let pool = Pool::new(1).unwrap();
    let limits = Limits { leaves: 6, depth: 0, min_leaf: 1 };
    let near = |tree: &mut Sketch, table: &Ranked, expected: &[(u32, f64)]| {
        let splits = tree.centre(table);
        assert_eq!(splits.len(), expected.len());
        for (split, &(feature, threshold)) in splits.iter().zip(expected) {
            let swarmwood_model::Test::Above(ours) = split.test else { unreachable!() };
            assert_eq!(split.feature, feature, "{splits:?}");
            assert!((ours - threshold).abs() <= 12.0, "{ours} {threshold}");
        }
    };
    let numbers = table(columns.clone(), values.clone(), None);
    near(&mut grown(&numbers, &Loss::Squared, limits, &pool), &numbers, REGRESSION);
    let classes = values
        .iter()
        .map(|&value| f64::from(u8::from(value > -300.0) + u8::from(value > 400.0)))
        .collect();
    let classes = table(columns, classes, Some(3));
    near(&mut grown(&classes, &Loss::Gini, limits, &pool), &classes, CLASSES);
}

const REGRESSION: &[(u32, f64)] = &[(0, 61.5), (1, -625.5), (0, -688.0), (0, -714.0), (0, 378.0)];
const CLASSES: &[(u32, f64)] = &[(0, 378.0), (0, -54.0), (1, 247.0), (0, -741.0), (1, -483.0)];

/// `ccp_alphas` of `cost_complexity_pruning_path` of scikit-learn 1.9 for
/// `DecisionTreeClassifier(max_depth=4)`.
#[test]
fn the_pruning_path_is_that_of_scikit_learn() {
    let (columns, values) = waves(150);
    let classes = values
        .iter()
        .map(|&value| f64::from(u8::from(value > -300.0) + u8::from(value > 400.0)))
        .collect();
    let table = table(columns, classes, Some(3));
    let limits = Limits { leaves: 0, depth: 4, min_leaf: 1 };
    let tree = grown(&table, &Loss::Gini, limits, &Pool::new(1).unwrap());
    let path = Path::new(tree, &table, &Loss::Gini);
    let alphas: Vec<f64> = path.steps().iter().map(|step| step.alpha).collect();
    assert_eq!(alphas.len(), PATH.len(), "{alphas:?}");
    for (ours, expected) in alphas.iter().zip(PATH) {
        assert!((ours - expected).abs() < 1e-9, "{alphas:?}");
    }
}

const PATH: &[f64] = &[
    0.0,
    0.0035555555555555583,
    0.006623931623931634,
    0.007111111111111113,
    0.011851851851851853,
    0.017777777777777778,
    0.02311111111111111,
    0.02668615984405459,
    0.050587719298245626,
    0.07125925925925924,
    0.08059737156511348,
    0.24600535747972085,
];

/// Every way to prune a tree, as risk and number of leaves.
fn prunings(sketch: &Sketch, edge: Edge, own: &[f64], leaf: &[f64]) -> Vec<(f64, usize)> {
    let Edge::Node(node) = edge else {
        let Edge::Leaf(at) = edge else { unreachable!() };
        return vec![(leaf[at as usize], 1)];
    };
    let branch = &sketch.nodes()[node as usize];
    let (left, right) =
        (prunings(sketch, branch.left, own, leaf), prunings(sketch, branch.right, own, leaf));
    let mut all = vec![(own[node as usize], 1)];
    all.extend(left.iter().flat_map(|a| right.iter().map(move |b| (a.0 + b.0, a.1 + b.1))));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// For any price the tree of the path is the cheapest of all prunings, and the smallest of the
    /// cheapest.
    #[test]
    fn pruned_trees_are_the_best_for_their_price(
        cells in prop::collection::vec((0u8..8, 0u8..8, 0u8..3), 4..24), price in 0.0f64..0.3,
    ) {
        let columns = vec![
            cells.iter().map(|cell| f64::from(cell.0)).collect(),
            cells.iter().map(|cell| f64::from(cell.1)).collect(),
        ];
        let table = table(columns, cells.iter().map(|cell| f64::from(cell.2)).collect(), Some(3));
        let limits = Limits { leaves: 7, ..FREE };
        let tree = grown(&table, &Loss::Gini, limits, &Pool::new(1).unwrap());
        let rows = table.rows() as f64;
        let (nodes, leaves) = sketch::fit(&tree, &table, &Loss::Gini);
        let risk = |fitted: &Vec<sketch::Fitted>| fitted.iter().map(|one| one.loss / rows).collect::<Vec<f64>>();
        let all = prunings(&tree, tree.root(), &risk(&nodes), &risk(&leaves));
        let cost = |&(risk, leaves): &(f64, usize)| risk + price * leaves as f64;
        let best = all.iter().map(cost).fold(f64::INFINITY, f64::min);
        let smallest = all.iter().filter(|one| cost(one) <= best + 1e-12).map(|one| one.1).min();
        let pruned = Path::new(tree, &table, &Loss::Gini).tree(price);
        let (_, leaves) = sketch::fit(&pruned, &table, &Loss::Gini);
        let own = leaves.iter().map(|leaf| leaf.loss / rows).sum::<f64>() + price * pruned.leaves() as f64;
        prop_assert!((own - best).abs() < 1e-9, "{} {}", own, best);
        prop_assert_eq!(Some(pruned.leaves()), smallest);
    }
}

#[test]
fn folds_hold_every_row_once_and_classes_in_equal_shares() {
    let table = table(
        vec![vec![0.0; 50]],
        (0..50).map(|row| f64::from(u8::from(row < 10))).collect(),
        Some(2),
    );
    let folds = deal(&table, 5, 3, 0, &Pool::new(1).unwrap());
    let mut rows: Vec<u32> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..50).collect::<Vec<u32>>());
    for fold in &folds {
        assert_eq!(fold.test.iter().filter(|&&row| row < 10).count(), 2);
        assert_eq!(fold.train.len(), 40);
    }
}

/// Noise around one step: the step stays, the rest is cut off.
#[test]
fn cross_validation_finds_the_size_of_a_planted_tree() {
    let (columns, _) = waves(300);
    let noise = |row: usize| Stream::new(9, 0, row as u64).normal() * 100.0;
    let target =
        (0..300).map(|row| if columns[1][row] > 0.0 { 1000.0 } else { 0.0 } + noise(row)).collect();
    let table = table(columns, target, None);
    let pool = Pool::new(2).unwrap();
    let features = [0, 1, 2];
    let growing = Growing {
        table: &table,
        loss: &Loss::Squared,
        limits: FREE,
        features: &features,
        pool: &pool,
    };
    let path = Path::new(grow(&growing), &table, &Loss::Squared);
    assert!(path.steps()[0].leaves > 100);
    let folds = deal(&table, 5, 0, 0, &Pool::new(1).unwrap());
    for choice in [Choice::Best, Choice::OneStandardError] {
        let (alpha, validated) = choose_alpha(&growing, &path, &Loss::Squared, &folds, choice);
        let tree = path.tree(alpha);
        assert_eq!(tree.leaves(), 2, "{validated:?}");
        assert_eq!(tree.nodes()[0].rule.feature, 1);
        assert!(matches!(tree.nodes()[0].rule.cut, Cut::Above(_)));
    }
    let pruned = path.tree(f64::INFINITY);
    assert_eq!(pruned.twig(pruned.root()), Twig::Leaf);
}

#[test]
fn a_hurry_leaves_the_splits_that_gain_most() {
    let (columns, values) = waves(600);
    let table = table(columns, values, None);
    let features: Vec<u32> = (0..3).collect();
    let calm = Pool::new(1).unwrap();
    for questions in [0, 1, 4, 9] {
        let pool = hurried_after(1, questions);
        let growing = Growing {
            table: &table,
            loss: &Loss::Squared,
            limits: FREE,
            features: &features,
            pool: &pool,
        };
        let cut = grow(&growing);
        // A question a split: the tree is the one that so many leaves allow.
        let limits = Limits { leaves: questions + 1, ..FREE };
        assert_eq!(cut, grow(&Growing { limits, pool: &calm, ..growing }));
        let path = Path::new(cut, &table, &Loss::Squared);
        let folds = deal(&table, 5, 0, 0, &Pool::new(1).unwrap());
        assert_eq!(
            choose_alpha(&growing, &path, &Loss::Squared, &folds, Choice::Best),
            (-1.0, Vec::new())
        );
    }
}
