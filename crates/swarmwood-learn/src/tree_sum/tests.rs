//! Tests of the fit of all leaves together, of gains, and of whole fits.

use swarmwood_model::{Feature, Kind};
use swarmwood_search::Datum;
use swarmwood_search::rng::Stream;

use super::leaf_fit::SumFit;
use super::rows::SumRows;
use super::split_scan::{JointGain, SplitScan};
use super::{TreeSumConfig, TreeSumFit, fit};
use crate::context::TestContext;
use crate::data::{Chunk, Column};
use crate::event::Event;
use crate::plan::TaskLog;
use crate::rank_table::RankTable;
use crate::rank_tree::{NodeRef, RankTree, Subtree};

const CONFIG: TreeSumConfig = TreeSumConfig {
    splits: 4,
    min_leaf: 5,
    bins: 16,
    iterations: 12,
    with_one_tree: true,
    folds: 3,
    seed: 7,
};

/// Rows of two numbers, one of them sometimes missing, and a category; `classes` of the target, 0 for
/// numbers.
fn table(rows: usize, classes: usize) -> RankTable {
    let mut stream = Stream::new(3, 1, 4);
    let mut columns = [Vec::new(), Vec::new()];
    let (mut levels, mut target, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let [x, y] = [stream.unit(), stream.unit()];
        let level = stream.below(4) as u32;
        let is_missing = row % 9 == 0;
        columns[0].push(if is_missing { f64::NAN } else { x });
        columns[1].push(y);
        levels.push(level);
        weight.push(0.5 + stream.unit());
        let score = if is_missing || x > 0.6 { 2.0 } else { 0.0 }
            + if y > 0.3 { 1.0 } else { 0.0 }
            + if level == 2 { 1.5 } else { 0.0 };
        target.push(match classes {
            0 => score + 0.3 * stream.normal(),
            2 => f64::from(u8::from(score + stream.normal() > 2.0)),
            _ => (score + 0.5 * stream.normal()).clamp(0.0, (classes - 1) as f64).round(),
        });
    }
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let features = [
        Feature { name: "x".into(), kind: Kind::Number },
        Feature { name: "y".into(), kind: Kind::Number },
        Feature { name: "z".into(), kind: Kind::Category { levels: names } },
    ];
    let [first, second] = columns;
    let columns = vec![Column::Number(first), Column::Number(second), Column::Category(levels)];
    let chunk = Chunk { columns, target, weight, rows };
    RankTable::new(&chunk, &features, (classes > 0).then_some(classes), 1000)
}

fn fit_with(table: &RankTable, context: &TestContext, past: Option<&Datum>) -> TreeSumFit {
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
    let mut log = TaskLog::new(past, &mut observer).unwrap();
    fit(table, &CONFIG, context.context(), &mut log).unwrap()
}

/// Grows two splits by hand: one tree of each of the best candidates.
fn small_fit<'a>(rows: &'a SumRows<'a>, ridge: f64) -> SumFit {
    let mut fit = SumFit::constant(rows);
    for _ in 0..3 {
        let derivatives = fit.derivatives(rows);
        let scan = SplitScan { rows, fit: &fit, derivatives: &derivatives, ridge, min_leaf: 5 };
        let mut candidates = scan.candidates(&[0, 1, 2]);
        candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let best = candidates.swap_remove(0);
        let tree = fit.trees.get(best.tree).cloned().unwrap_or_default();
        let split = Subtree::split(best.rule, Subtree::Leaf, Subtree::Leaf);
        fit.set_tree(rows, best.tree, tree.replace(NodeRef::Leaf(u32::from(best.leaf)), &split));
        fit.refit(rows, ridge);
    }
    let trees = fit.trees.clone();
    SumFit::of_trees(rows, &trees, ridge)
}

#[test]
fn fitted_values_leave_no_slope() {
    for classes in [0, 2, 3] {
        let table = table(400, classes);
        let (rows, ridge) = (SumRows::new(&table, 16), 2.0);
        let fit = small_fit(&rows, ridge);
        assert_eq!(fit.splits(), 3);
        let derivatives = fit.derivatives(&rows);
        for (output, g) in derivatives.g.iter().enumerate() {
            assert!(g.iter().sum::<f64>().abs() < 1e-4, "{classes}");
            for (leaf_of, values) in fit.leaf_of.iter().zip(&fit.values) {
                for (leaf, value) in values.iter().skip(output).step_by(rows.outputs()).enumerate()
                {
                    let own = leaf_of.iter().zip(g).filter(|(of, _)| usize::from(**of) == leaf);
                    let slope = own.map(|(_, g)| g).sum::<f64>() + ridge * value;
                    assert!(slope.abs() < 1e-4, "{classes} classes: {slope}");
                }
            }
        }
    }
}

#[test]
fn joint_gains_of_squared_losses_are_exact() {
    for classes in [0, 3] {
        let table = table(400, classes);
        let (rows, ridge) = (SumRows::new(&table, 16), 2.0);
        let fit = small_fit(&rows, ridge);
        let derivatives = fit.derivatives(&rows);
        let scan =
            SplitScan { rows: &rows, fit: &fit, derivatives: &derivatives, ridge, min_leaf: 5 };
        let joint = JointGain::new(&scan);
        let candidates = scan.candidates(&[0, 1, 2]);
        assert!(candidates.len() > 8);
        for candidate in candidates {
            let gain = joint.of(&candidate);
            let mut changed = fit.clone();
            let tree = fit.trees.get(candidate.tree).cloned().unwrap_or_default();
            let split = Subtree::split(candidate.rule.clone(), Subtree::Leaf, Subtree::Leaf);
            let tree = tree.replace(NodeRef::Leaf(u32::from(candidate.leaf)), &split);
            changed.set_tree(&rows, candidate.tree, tree);
            changed.refit(&rows, ridge);
            assert!((fit.loss - changed.loss - gain).abs() < 1e-6 * fit.loss, "{gain}");
            assert!(gain >= candidate.gain - 1e-9, "other values can only help");
        }
    }
}

#[test]
fn a_tree_that_is_added_and_removed_leaves_the_fit_as_it_was() {
    let table = table(300, 0);
    let rows = SumRows::new(&table, 16);
    let fit = small_fit(&rows, 1.0);
    let mut changed = fit.clone();
    changed.set_tree(&rows, fit.trees.len(), fit.trees[0].clone());
    changed.refit(&rows, 1.0);
    changed.set_tree(&rows, fit.trees.len(), RankTree::default());
    changed.refit(&rows, 1.0);
    assert_eq!((changed.loss, changed.scores), (fit.loss, fit.scores));
}

#[test]
fn every_kind_of_target_is_fitted_within_the_budget_of_splits() {
    for classes in [0, 2, 3] {
        let table = table(400, classes);
        let found = fit_with(&table, &TestContext::new(1), None);
        let report = &found.report;
        assert!((1..=CONFIG.splits).contains(&report.splits), "{report:?}");
        assert_eq!(report.folds, [3, 3]);
        assert_eq!(found.base.len(), if classes == 3 { 3 } else { 1 });
        assert_eq!(found.members.len(), report.trees * found.base.len());
        let greatest = report.candidates.iter().map(|one| one.loss).fold(0.0, f64::max);
        assert!(greatest.is_finite() && report.chosen.loss <= greatest);
    }
}

#[test]
fn threads_and_resumptions_change_nothing() {
    let table = table(300, 2);
    let whole = fit_with(&table, &TestContext::new(1), None);
    assert_eq!(fit_with(&table, &TestContext::new(3), None), whole);

    let mut states = Vec::new();
    let mut observer = |_: &Event, state: &dyn Fn() -> Datum| states.push(state());
    let mut log = TaskLog::new(None, &mut observer).unwrap();
    fit(&table, &CONFIG, TestContext::new(1).context(), &mut log).unwrap();
    assert_eq!(states.len(), 4);
    for state in &states {
        assert_eq!(fit_with(&table, &TestContext::new(2), Some(state)), whole);
    }
}

#[test]
fn an_interrupted_fit_ends_with_what_it_has() {
    let table = table(300, 3);
    for questions in [0, 1, 2, 5, 20, 100, 400] {
        let context = TestContext::interrupted_after(1, questions);
        let found = fit_with(&table, &context, None);
        assert!(found.report.splits <= CONFIG.splits);
        assert_eq!(found.base.len(), 3);
        assert!(found.base.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn one_class_and_constant_columns_make_a_constant() {
    let chunk = Chunk {
        columns: vec![Column::Number(vec![1.0; 40])],
        target: vec![1.0; 40],
        rows: 40,
        ..Chunk::default()
    };
    let features = [Feature { name: "x".into(), kind: Kind::Number }];
    for classes in [None, Some(2), Some(3)] {
        let table = RankTable::new(&chunk, &features, classes, 100);
        let found = fit_with(&table, &TestContext::new(1), None);
        assert!(found.members.is_empty());
        assert!(found.base.iter().all(|value| value.is_finite()), "{:?}", found.base);
    }
}
