use swarmwood_model::{Feature, Kind, Split, Test};
use swarmwood_search::Datum;
use swarmwood_search::rng::Stream;

use super::split_points::{MoveProbabilities, SplitPoints};
use super::symbols::SymbolMatrix;
use super::*;
use crate::test_context::TestContext;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::event::Event;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rule::RankSet;

/// Calls a function with an empty log.
fn with_log<R>(run: impl FnOnce(&mut TaskLog<'_>) -> R) -> R {
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
    run(&mut TaskLog::new(None, &mut observer).unwrap())
}

/// A number with five values and missing ones, a category of three levels, and three classes that
/// follow them.
fn table(rows: usize, seed: u64) -> RankTable {
    let mut stream = Stream::new(seed, 0, 0);
    let number: Vec<f64> = (0..rows)
        .map(|_| if stream.below(9) == 0 { f64::NAN } else { stream.below(5) as f64 })
        .collect();
    let level: Vec<u32> = (0..rows).map(|_| stream.below(3) as u32).collect();
    let mut class = |row: usize| {
        let clear = if level[row] == 1 { 2.0 } else { f64::from(u8::from(number[row] > 2.0)) };
        if stream.below(10) == 0 { stream.below(3) as f64 } else { clear }
    };
    let target = (0..rows).map(&mut class).collect();
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let features = [("x", Kind::Number), ("c", Kind::Category { levels })];
    let features = features.map(|(name, kind)| Feature { name: name.into(), kind });
    let columns = vec![Column::Number(number), Column::Category(level)];
    RankTable::new(&Chunk { columns, target, weight: Vec::new(), rows }, &features, Some(3), 100)
}

fn config(depth: usize) -> FullTreeConfig {
    FullTreeConfig {
        depth,
        population: 40,
        iterations: 60,
        fitness: FitnessMeasure::Accuracy,
        seed: 1,
    }
}

const MOVES: MoveProbabilities =
    MoveProbabilities { alpha: 0.45, beta: 0.45, mutation: 0.1, adaptive: false };

/// The share of rows that the trees of a model would classify right: classes by walking codes.
fn right(tree: &ClassifierTree, table: &RankTable) -> f64 {
    let RankTarget::Classes { of_row, .. } = table.target() else { unreachable!() };
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let leaves = tree.rules.assign_leaves(table, tree.rules.root(), &rows);
    let hit = leaves
        .iter()
        .zip(of_row)
        .filter(|(leaf, class)| tree.classes[**leaf as usize] == **class)
        .count();
    hit as f64 / table.rows() as f64
}

#[test]
fn a_matrix_of_scores_is_decoded_by_hand() {
    let table = table(60, 1);
    let symbols = SymbolMatrix::new(&table, 3, 1);
    // One place with two features, three classes and a cut; two ends with three classes each.
    assert_eq!((symbols.count(), symbols.length()), (5, 12));
    let ends = [0.2, 0.8, 0.1, 0.6, 0.5, 0.6];
    let tree = |root: [f64; 6]| symbols.decode(&[&root[..], &ends[..]].concat());
    // The second feature has the greatest score; half way along its three levels lies the second.
    let category = tree([0.1, 0.9, 0.3, 0.2, 0.8, 0.5]);
    let second = Cut::In(RankSet::from_iter([2_u16]));
    assert_eq!(category.rules, [Some(RankRule { feature: 1, cut: second, missing_right: false })]);
    assert_eq!(category.classes[1..], [1, 0], "of equal scores the first counts");
    // The first feature; its five values have four cuts, and 1 points at the last.
    for (at, cut) in [(0.0, 1), (0.24, 1), (0.26, 2), (1.0, 4)] {
        let number = tree([0.9, 0.9, 0.3, 0.2, 0.8, at]);
        assert_eq!(
            number.rules,
            [Some(RankRule { feature: 0, cut: Cut::Above(cut), missing_right: false })]
        );
    }
    // The third class: the tree ends at once.
    let class = tree([0.1, 0.2, 0.3, 0.2, 0.8, 0.5]);
    assert_eq!((class.rules, class.classes[0]), (vec![None], 2));
    // Equation 19: seven nodes on three layers, of which three are inner ones.
    assert_eq!(SymbolMatrix::new(&table, 3, 2).length(), 3 * 6 + 4 * 3);
}

#[test]
fn symbols_find_the_planted_tree() {
    let table = table(200, 2);
    let found =
        with_log(|log| symbols::search(&table, &config(2), TestContext::new(2).context(), log))
            .unwrap();
    assert!(found.fitness > 0.88, "{}", found.fitness);
    assert!(
        (right(&found.tree, &table) - found.fitness).abs() < 1e-12,
        "pruning changes no training row"
    );
    assert!(
        found.tree.rules.leaves() <= 4 && found.tree.splits.len() + 1 == found.tree.classes.len()
    );
    assert_eq!((found.iterations, found.evaluations), (60, 2400));
    let again =
        with_log(|log| symbols::search(&table, &config(2), TestContext::new(8).context(), log));
    assert_eq!(again, Ok(found));
}

/// Every rule there is.
fn all_splits(table: &RankTable) -> Vec<Split> {
    let number =
        |threshold: f64| Split { feature: 0, test: Test::Above(threshold), missing_right: false };
    let level = |level: u32| Split {
        feature: 1,
        test: Test::In([level].into_iter().collect()),
        missing_right: false,
    };
    let mut all: Vec<Split> = [0.5, 1.5, 2.5, 3.5].map(number).to_vec();
    all.extend((0..3).map(level));
    assert_eq!(SplitPoints::new(all.clone(), table).len(), 7);
    all
}

#[test]
fn split_points_are_kept_once_and_only_if_they_part_rows() {
    let table = table(60, 3);
    let mut splits = all_splits(&table);
    splits.push(Split { feature: 0, test: Test::Above(2.4), missing_right: false });
    splits.push(Split { feature: 0, test: Test::Above(2.5), missing_right: true });
    splits.push(Split {
        feature: 1,
        test: Test::In([0].into_iter().collect()),
        missing_right: true,
    });
    splits.push(Split {
        feature: 1,
        test: Test::In([0, 1, 2].into_iter().collect()),
        missing_right: false,
    });
    let points = SplitPoints::new(splits, &table);
    assert_eq!(points.len(), 8, "only the side of missing numbers is news");
    assert!(SplitPoints::new(Vec::new(), &table).is_empty());
}

#[test]
fn a_threshold_inside_a_bin_moves_to_its_edge() {
    let values: Vec<f64> = (0..40).map(f64::from).collect();
    let target = values.iter().map(|&x| f64::from(u8::from(x > 20.0))).collect();
    let chunk =
        Chunk { columns: vec![Column::Number(values)], target, rows: 40, ..Chunk::default() };
    // Four codes of ten values each.
    let table =
        RankTable::new(&chunk, &[Feature { name: "x".into(), kind: Kind::Number }], Some(2), 4);
    let above =
        |threshold| Split { feature: 0, test: Test::Above(threshold), missing_right: false };
    let points = SplitPoints::new([above(3.5), above(19.2), above(22.5), above(45.0)], &table);
    let run = |points: &SplitPoints| {
        let run = TestContext::new(1);
        with_log(|log| {
            split_points::search(&table, points, (&config(1), MOVES), run.context(), log)
        })
        .unwrap()
    };
    assert_eq!(points.len(), 1, "the first and the last part no codes, the third is the second");
    assert_eq!(run(&points).tree.splits, [above(19.2)]);
    let moved = run(&SplitPoints::new([above(22.5)], &table));
    assert_eq!((moved.tree.splits, moved.fitness), (vec![above(19.5)], 0.975));
}

#[test]
fn no_discrete_swarm_beats_all_trees_of_two_levels_and_a_patient_one_finds_the_best() {
    for seed in 0..4 {
        let table = table(40, 10 + seed);
        let splits = all_splits(&table);
        let points = SplitPoints::new(splits.clone(), &table);
        let class_fitness = ClassFitness::new(&table, FitnessMeasure::Accuracy).unwrap();
        let rules: Vec<RankRule> = splits
            .iter()
            .map(|split| RankRule::from_split(split, &table.columns()[split.feature as usize]))
            .collect();
        let mut best = 0.0_f64;
        for number in 0..343 {
            let nodes = [number % 7, number / 7 % 7, number / 49].map(|at| Some(&rules[at]));
            best = best.max(fitness(&class_fitness, &leaf_weights(&table, &nodes, 3), by_majority));
        }
        let run = |config: &FullTreeConfig, threads: usize| {
            let run = TestContext::new(threads);
            with_log(|log| {
                split_points::search(&table, &points, (config, MOVES), run.context(), log)
            })
            .unwrap()
        };
        let found = run(&config(2), 1);
        assert!((found.fitness - best).abs() < 1e-12, "seed {seed}: {} of {best}", found.fitness);
        assert!((right(&found.tree, &table) - found.fitness).abs() < 1e-12);
        assert_eq!(run(&config(2), 2), found);
        let hasty = run(&FullTreeConfig { population: 2, iterations: 1, ..config(2) }, 1);
        assert!(hasty.fitness <= best && hasty.evaluations <= 2);
        assert!(found.tree.splits.iter().all(|split| splits.contains(split)), "thresholds stay");
    }
}

#[test]
fn what_cannot_be_searched_is_said() {
    let table = table(20, 5);
    let run = TestContext::new(1);
    let none = SplitPoints::new(Vec::new(), &table);
    let error = with_log(|log| {
        split_points::search(&table, &none, (&config(2), MOVES), run.context(), log)
    });
    assert_eq!(error, Err(FullTreeError::NoSplits));
    let error =
        with_log(|log| symbols::search(&table, &config(16), run.context(), log)).unwrap_err();
    assert!(matches!(error, FullTreeError::TooLong { depth: 16, symbols: 5, .. }), "{error}");
    let chunk = Chunk {
        columns: vec![Column::Number(vec![0.0, 1.0])],
        target: vec![0.5, 1.0],
        rows: 2,
        ..Chunk::default()
    };
    let numbers =
        RankTable::new(&chunk, &[Feature { name: "c".into(), kind: Kind::Number }], None, 10);
    let error = with_log(|log| symbols::search(&numbers, &config(2), run.context(), log));
    assert_eq!(error, Err(FullTreeError::NoClasses));
}

#[test]
fn rows_without_features_get_the_most_frequent_class() {
    let chunk = Chunk {
        columns: vec![Column::Number(vec![1.0; 5])],
        target: vec![0.0, 1.0, 1.0, 1.0, 0.0],
        rows: 5,
        ..Chunk::default()
    };
    let table =
        RankTable::new(&chunk, &[Feature { name: "c".into(), kind: Kind::Number }], Some(2), 10);
    let found =
        with_log(|log| symbols::search(&table, &config(2), TestContext::new(1).context(), log))
            .unwrap();
    assert_eq!((found.fitness, found.tree.classes.as_slice()), (0.6, [1].as_slice()));
}

#[test]
fn an_interruption_ends_them_with_the_best_so_far() {
    let table = table(300, 4);
    for questions in [0, 1, 30, 100, 700] {
        let run = TestContext::interrupted_after(2, questions);
        let found =
            with_log(|log| symbols::search(&table, &config(2), run.context(), log)).unwrap();
        assert!(
            (right(&found.tree, &table) - found.fitness).abs() < 1e-12 && found.fitness > 0.2,
            "{questions}"
        );
        assert!(found.evaluations >= 1);
    }
}

/// The RMSE of a tree over codes, each leaf at its mean, by definition.
fn rmse_of(tree: &RankTree, table: &RankTable) -> f64 {
    let RankTarget::Numbers { of_row, .. } = table.target() else { unreachable!() };
    let (_, leaves) = tree.partition_rows(table);
    let error = |rows: &Vec<u32>| -> f64 {
        let weight: f64 = rows.iter().map(|&row| table.weight(row)).sum();
        let sum: f64 = rows.iter().map(|&row| table.weight(row) * of_row[row as usize]).sum();
        let squared =
            |&row: &u32| table.weight(row) * (of_row[row as usize] - sum / weight).powi(2);
        rows.iter().map(squared).sum()
    };
    (leaves.iter().map(error).sum::<f64>() / table.total_weight()).sqrt()
}

#[test]
fn a_tree_of_numbers_has_the_least_error_of_all_trees_of_two_levels() {
    let rows = 60;
    let mut stream = Stream::new(4, 0, 0);
    let number: Vec<f64> = (0..rows).map(|_| stream.below(6) as f64).collect();
    let other: Vec<f64> = (0..rows).map(|_| stream.below(3) as f64).collect();
    let target = (0..rows)
        .map(|row| 3.0 * f64::from(u8::from(number[row] > 2.0)) * other[row] + stream.normal())
        .collect();
    let weight = (0..rows).map(|row| 1.0 + (row % 3) as f64).collect();
    let columns = vec![Column::Number(number), Column::Number(other)];
    let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    let table = RankTable::new(&Chunk { columns, target, weight, rows }, &features, None, 100);
    let above = |feature: u32, threshold: f64| Split {
        feature,
        test: Test::Above(threshold),
        missing_right: false,
    };
    let splits: Vec<Split> = (0..5)
        .map(|cut| above(0, f64::from(cut) + 0.5))
        .chain((0..2).map(|cut| above(1, f64::from(cut) + 0.5)))
        .collect();
    let rules: Vec<RankRule> = splits
        .iter()
        .map(|split| RankRule::from_split(split, &table.columns()[split.feature as usize]))
        .collect();
    let leaf = || Subtree::Leaf;
    let mut best = f64::INFINITY;
    for number in 0..343 {
        let [root, left, right] = [number % 7, number / 7 % 7, number / 49];
        let child = |at: usize| Subtree::split(rules[at].clone(), leaf(), leaf());
        let tree = Subtree::split(rules[root].clone(), child(left), child(right));
        let error = rmse_of(&RankTree::new(&tree), &table);
        // An empty leaf has no mean.
        best = if error.is_nan() { best } else { best.min(error) };
    }

    let points = SplitPoints::new(splits, &table);
    let run = |threads: usize| {
        let run = TestContext::new(threads);
        let settings = (&config(2), MOVES);
        with_log(|log| split_points::search(&table, &points, settings, run.context(), log)).unwrap()
    };
    let found = run(1);
    assert_eq!((found.measure, &found), ("rmse", &run(3)));
    assert!((found.fitness - best).abs() < 1e-9, "{} {best}", found.fitness);
    assert!((rmse_of(&found.tree.rules, &table) - best).abs() < 1e-9);
    let pool = swarmwood_learn::pool::Pool::new(1).unwrap();
    let loss = swarmwood_learn::leaf_loss::LeafLoss::Squared;
    let member = found.tree.to_member(&table, &loss, &pool);
    assert_eq!(member.shape.leaves().len(), found.tree.rules.leaves());
}

#[test]
fn without_split_points_an_interrupted_run_is_one_leaf_and_any_other_an_error() {
    let table = table(60, 3);
    let run = |run: &TestContext| {
        let (points, settings) = (SplitPoints::new(Vec::new(), &table), (&config(2), MOVES));
        with_log(|log| split_points::search(&table, &points, settings, run.context(), log))
    };
    assert_eq!(run(&TestContext::new(1)), Err(FullTreeError::NoSplits));
    let found = run(&TestContext::interrupted_after(1, 0)).unwrap();
    assert_eq!((found.tree.rules.leaves(), found.evaluations), (1, 0));
    assert!((right(&found.tree, &table) - found.fitness).abs() < 1e-12);
}
