//! Growth and pruning against brute force and against scikit-learn.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};
use swarmwood_search::Datum;
use swarmwood_search::rng::Stream;

use super::*;
use crate::context::TestContext;
use crate::data::{Chunk, Column};
use crate::event::Event;
use crate::leaf_loss::LeafLoss;
use crate::plan::TaskLog;
use crate::rank_table::RankTable;
use crate::rank_tree::{NodeFit, NodeRef, RankTree, Subtree, fit_nodes};
use crate::rule::Cut;

fn table(columns: Vec<Vec<f64>>, target: Vec<f64>, classes: Option<usize>) -> RankTable {
    let features: Vec<Feature> =
        columns.iter().map(|_| Feature { name: "x".into(), kind: Kind::Number }).collect();
    let columns = columns.into_iter().map(Column::Number).collect();
    let chunk = Chunk { columns, rows: target.len(), target, weight: Vec::new() };
    RankTable::new(&chunk, &features, classes, 1000)
}

fn grown(table: &RankTable, loss: &LeafLoss, limits: TreeLimits) -> RankTree {
    let run = TestContext::new(1);
    let features: Vec<u32> = (0..table.columns().len() as u32).collect();
    let selection = RuleSelection::LeastLoss;
    CartGrower { table, loss, selection, limits, features: &features, context: run.context() }
        .grow()
}

const FREE: TreeLimits = TreeLimits { leaves: 0, depth: 0, min_leaf: 1 };

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
    let tree = grown(&table, &LeafLoss::Gini, FREE);
    let (_, leaves) = fit_nodes(&tree, &table, &LeafLoss::Gini);
    assert!(leaves.iter().all(|leaf| leaf.loss == 0.0));
}

#[test]
fn limits_are_kept() {
    let (columns, values) = waves(200);
    let table = table(columns, values, None);
    for (leaves, depth, min_leaf) in [(5, 0, 1), (0, 3, 1), (0, 0, 20), (7, 3, 10)] {
        let tree = grown(&table, &LeafLoss::Squared, TreeLimits { leaves, depth, min_leaf });
        let (_, fitted) = fit_nodes(&tree, &table, &LeafLoss::Squared);
        assert!(leaves == 0 || tree.leaves() <= leaves);
        assert!(depth == 0 || tree.subtree(tree.root()).depth() <= depth);
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
    let limits = TreeLimits { leaves: 6, depth: 0, min_leaf: 1 };
    let near = |tree: &mut RankTree, table: &RankTable, expected: &[(u32, f64)]| {
        let splits = tree.centre_thresholds(table);
        assert_eq!(splits.len(), expected.len());
        for (split, &(feature, threshold)) in splits.iter().zip(expected) {
            let swarmwood_model::Test::Above(ours) = split.test else { unreachable!() };
            assert_eq!(split.feature, feature, "{splits:?}");
            assert!((ours - threshold).abs() <= 12.0, "{ours} {threshold}");
        }
    };
    let numbers = table(columns.clone(), values.clone(), None);
    near(&mut grown(&numbers, &LeafLoss::Squared, limits), &numbers, REGRESSION);
    let classes = values
        .iter()
        .map(|&value| f64::from(u8::from(value > -300.0) + u8::from(value > 400.0)))
        .collect();
    let classes = table(columns, classes, Some(3));
    near(&mut grown(&classes, &LeafLoss::Gini, limits), &classes, CLASSES);
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
    let limits = TreeLimits { leaves: 0, depth: 4, min_leaf: 1 };
    let tree = grown(&table, &LeafLoss::Gini, limits);
    let path = PruningPath::new(tree, &table, &LeafLoss::Gini);
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
fn prunings(tree: &RankTree, edge: NodeRef, own: &[f64], leaf: &[f64]) -> Vec<(f64, usize)> {
    let NodeRef::Node(node) = edge else {
        let NodeRef::Leaf(at) = edge else { unreachable!() };
        return vec![(leaf[at as usize], 1)];
    };
    let branch = &tree.nodes()[node as usize];
    let (left, right) =
        (prunings(tree, branch.left, own, leaf), prunings(tree, branch.right, own, leaf));
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
        let limits = TreeLimits { leaves: 7, ..FREE };
        let tree = grown(&table, &LeafLoss::Gini, limits);
        let rows = table.rows() as f64;
        let (nodes, leaves) = fit_nodes(&tree, &table, &LeafLoss::Gini);
        let risk = |fitted: &Vec<NodeFit>| fitted.iter().map(|one| one.loss / rows).collect::<Vec<f64>>();
        let all = prunings(&tree, tree.root(), &risk(&nodes), &risk(&leaves));
        let cost = |&(risk, leaves): &(f64, usize)| risk + price * leaves as f64;
        let best = all.iter().map(cost).fold(f64::INFINITY, f64::min);
        let smallest = all.iter().filter(|one| cost(one) <= best + 1e-12).map(|one| one.1).min();
        let pruned = PruningPath::new(tree, &table, &LeafLoss::Gini).tree(price);
        let (_, leaves) = fit_nodes(&pruned, &table, &LeafLoss::Gini);
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
    let folds = stratified_folds(&table, 5, 3, 0, TestContext::new(1).context());
    let mut rows: Vec<u32> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..50).collect::<Vec<u32>>());
    for fold in &folds {
        assert_eq!(fold.test.iter().filter(|&&row| row < 10).count(), 2);
        assert_eq!(fold.train.len(), 40);
    }
}

/// Noise around one step: the step stays, the rest is pruned.
#[test]
fn cross_validation_finds_the_size_of_a_planted_tree() {
    let (columns, _) = waves(300);
    let noise = |row: usize| Stream::new(9, 0, row as u64).normal() * 100.0;
    let target =
        (0..300).map(|row| if columns[1][row] > 0.0 { 1000.0 } else { 0.0 } + noise(row)).collect();
    let table = table(columns, target, None);
    let run = TestContext::new(2);
    let features = [0, 1, 2];
    let grower = CartGrower {
        table: &table,
        loss: &LeafLoss::Squared,
        selection: RuleSelection::LeastLoss,
        limits: FREE,
        features: &features,
        context: run.context(),
    };
    let path = PruningPath::new(grower.grow(), &table, &LeafLoss::Squared);
    assert!(path.steps()[0].leaves > 100);
    let folds = stratified_folds(&table, 5, 0, 0, TestContext::new(1).context());
    for choice in [PruningChoice::Best, PruningChoice::OneStandardError] {
        let (alpha, scores) = choose_alpha(&grower, &path, &LeafLoss::Squared, &folds, choice);
        let tree = path.tree(alpha);
        assert_eq!(tree.leaves(), 2, "{scores:?}");
        assert_eq!(tree.nodes()[0].rule.feature, 1);
        assert!(matches!(tree.nodes()[0].rule.cut, Cut::Above(_)));
    }
    let pruned = path.tree(f64::INFINITY);
    assert_eq!(pruned.subtree(pruned.root()), Subtree::Leaf);
}

#[test]
fn an_interruption_leaves_the_splits_that_gain_most() {
    let (columns, values) = waves(600);
    let table = table(columns, values, None);
    let features: Vec<u32> = (0..3).collect();
    let unlimited = TestContext::new(1);
    for questions in [0, 1, 4, 9] {
        let run = TestContext::interrupted_after(1, questions);
        let grower = CartGrower {
            table: &table,
            loss: &LeafLoss::Squared,
            selection: RuleSelection::LeastLoss,
            limits: FREE,
            features: &features,
            context: run.context(),
        };
        let cut = grower.grow();
        // The budget is asked once per split: the tree has that many leaves.
        let limits = TreeLimits { leaves: questions + 1, ..FREE };
        assert_eq!(cut, CartGrower { limits, context: unlimited.context(), ..grower }.grow());
        let path = PruningPath::new(cut, &table, &LeafLoss::Squared);
        let folds = stratified_folds(&table, 5, 0, 0, TestContext::new(1).context());
        assert_eq!(
            choose_alpha(&grower, &path, &LeafLoss::Squared, &folds, PruningChoice::Best),
            (-1.0, Vec::new())
        );
    }
}

#[test]
fn a_tree_of_many_classes_is_pruned_if_no_fold_is_finished() {
    let rows = 1500;
    let mut stream = Stream::new(5, 0, 0);
    let columns = vec![(0..rows).map(|_| stream.unit()).collect()];
    let table = table(columns, (0..rows).map(|row| (row % 300) as f64).collect(), Some(300));
    let run = TestContext::interrupted_after(1, rows);
    let grower = CartGrower {
        table: &table,
        loss: &LeafLoss::Gini,
        selection: RuleSelection::LeastLoss,
        limits: FREE,
        features: &[0],
        context: run.context(),
    };
    let pruning =
        PruningConfig { measure: &LeafLoss::Error, folds: 5, seed: 0, choice: PruningChoice::Best };
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
    let mut log = TaskLog::new(None, &mut observer).unwrap();
    let fit = fit_cart(&grower, Some(pruning), &mut log).unwrap();
    assert!(fit.scores.is_empty());
    assert!((100..=333).contains(&fit.tree.leaves()), "{}", fit.tree.leaves());
}

/// CART resumed from any of its states ends like a run that was never interrupted.
#[test]
fn a_resumed_fit_equals_an_uninterrupted_one() {
    let (columns, values) = waves(200);
    let classes = values.iter().map(|&value| f64::from(u8::from(value > 100.0))).collect();
    for (table, loss, measure) in [
        (table(columns.clone(), classes, Some(2)), LeafLoss::Gini, LeafLoss::Error),
        (table(columns, values, None), LeafLoss::Squared, LeafLoss::Squared),
    ] {
        let run = |past: Option<&Datum>, threads: usize| {
            let limits = TestContext::new(threads);
            let grower = CartGrower {
                table: &table,
                loss: &loss,
                selection: RuleSelection::LeastLoss,
                limits: FREE,
                features: &[0, 1, 2],
                context: limits.context(),
            };
            let choice = PruningChoice::OneStandardError;
            let pruning = PruningConfig { measure: &measure, folds: 5, seed: 3, choice };
            let mut states = Vec::new();
            let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
            let mut log = TaskLog::new(past, &mut observer).unwrap();
            (fit_cart(&grower, Some(pruning), &mut log).unwrap(), states)
        };
        let (whole, states) = run(None, 1);
        assert_eq!(states.len(), 6);
        for (at, state) in states.iter().enumerate() {
            let (resumed, later) = run(Some(state), 1 + at % 2);
            assert_eq!(resumed, whole, "state {at}");
            assert_eq!(later, states[at + 1..], "state {at}");
        }
    }
}
