//! The search against brute force.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};

use super::*;
use crate::context::TestContext;
use crate::data::{Chunk, Column};
use crate::leaf_loss::CostMatrix;
use crate::rank_tree::fit_rows;
use crate::rule::{Cut, RankRule};

/// Calls a function with an empty log.
fn with_log<R>(run: impl FnOnce(&mut TaskLog<'_>) -> R) -> R {
    let mut observer = |_: &Event, _: &dyn Fn() -> Datum| ();
    run(&mut TaskLog::new(None, &mut observer).unwrap())
}

type Cells = Vec<(u8, Option<u8>, u8)>;

fn cells(rows: std::ops::Range<usize>, classes: u8) -> impl Strategy<Value = Cells> {
    prop::collection::vec((0u8..5, prop::option::weighted(0.85, 0u8..5), 0u8..classes), rows)
}

fn table(cells: &Cells, classes: Option<usize>, weighted: bool) -> RankTable {
    let columns = vec![
        Column::Number(cells.iter().map(|cell| f64::from(cell.0)).collect()),
        Column::Number(cells.iter().map(|cell| cell.1.map_or(f64::NAN, f64::from)).collect()),
    ];
    let target = cells.iter().map(|cell| f64::from(cell.2)).collect();
    let weight = if weighted {
        (0..cells.len()).map(|row| 1.0 + (row % 2) as f64).collect()
    } else {
        Vec::new()
    };
    let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    RankTable::new(&Chunk { columns, target, weight, rows: cells.len() }, &features, classes, 100)
}

/// Every rule.
fn rules(table: &RankTable) -> Vec<RankRule> {
    let of = |feature: u32| {
        let top = table.columns()[feature as usize].max_code();
        (1..=top).flat_map(move |cut| {
            [false, true].map(|missing_right| RankRule {
                feature,
                cut: Cut::Above(cut),
                missing_right,
            })
        })
    };
    (0..table.columns().len() as u32).flat_map(of).collect()
}

/// The least loss of all trees of two levels whose leaves have enough rows.
fn brute_force(table: &RankTable, loss: &LeafLoss, min_leaf: usize) -> f64 {
    let rules = rules(table);
    let fork = |rows: &[u32]| {
        let whole = fit_rows(table, rows, loss).loss;
        rules.iter().filter_map(|rule| part(table, rows, rule, min_leaf)).fold(
            whole,
            |best, [left, right]| {
                best.min(fit_rows(table, &left, loss).loss + fit_rows(table, &right, loss).loss)
            },
        )
    };
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let whole = fit_rows(table, &rows, loss).loss;
    let firsts = rules.iter().filter_map(|rule| part(table, &rows, rule, min_leaf));
    firsts.fold(whole, |best, [left, right]| best.min(fork(&left) + fork(&right)))
}

fn part(
    table: &RankTable,
    rows: &[u32],
    rule: &RankRule,
    min_leaf: usize,
) -> Option<[Vec<u32>; 2]> {
    let codes = table.columns()[rule.feature as usize].codes();
    let (right, left): (Vec<u32>, Vec<u32>) =
        rows.iter().partition(|&&row| rule.goes_right(codes[row as usize]));
    (left.len() >= min_leaf && right.len() >= min_leaf).then_some([left, right])
}

fn find(table: &RankTable, loss: LeafLoss, limits: TreeLimits, threads: usize) -> TreeSearchResult {
    let config = TreeSearchConfig { loss, limits, population: 3, descents: 12, seed: 5 };
    search(table, &config, TestContext::new(threads).context(), &mut |_| ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn trees_of_two_levels_are_proven_best(cells in cells(2..24, 2), min_leaf in 1usize..4, weighted: bool) {
        let table = table(&cells, Some(2), weighted);
        let expected = brute_force(&table, &LeafLoss::Error, min_leaf);
        let found = find(&table, LeafLoss::Error, TreeLimits { leaves: 0, depth: 2, min_leaf }, 1);
        prop_assert!((found.best.loss - expected).abs() < 1e-9, "{} {}", found.best.loss, expected);
    }

    #[test]
    fn they_are_for_three_classes_and_costs_too(cells in cells(2..20, 3)) {
        let table = table(&cells, Some(3), false);
        let costs = LeafLoss::Costs(CostMatrix::new(3, vec![0.0, 1.0, 4.0, 2.0, 0.0, 1.0, 1.0, 3.0, 0.0]));
        for loss in [LeafLoss::Error, costs] {
            let expected = brute_force(&table, &loss, 1);
            let found = find(&table, loss, TreeLimits { leaves: 0, depth: 2, min_leaf: 1 }, 1);
            prop_assert!((found.best.loss - expected).abs() < 1e-9, "{} {}", found.best.loss, expected);
        }
    }

    /// No search may end above its start, below the best of all trees, or outside its limits.
    #[test]
    fn every_loss_ends_between_the_best_and_cart(cells in cells(4..30, 3), min_leaf in 1usize..4) {
        for (classes, loss) in [
            (Some(3), LeafLoss::Gini),
            (Some(3), LeafLoss::Entropy),
            (Some(3), LeafLoss::Mix { share: 0.5 }),
            (None, LeafLoss::Squared),
            (None, LeafLoss::Absolute),
        ] {
            let table = table(&cells, classes, false);
            let limits = TreeLimits { leaves: 0, depth: 2, min_leaf };
            let expected = brute_force(&table, &loss, min_leaf);
            let found = find(&table, loss.clone(), limits, 1);
            prop_assert!(found.best.loss >= expected - 1e-9, "{:?}: {} {}", loss, found.best.loss, expected);
            prop_assert!(found.best.loss <= found.cart.loss + 1e-9);
            let (_, leaves) = fit_nodes(&found.best.tree, &table, &loss);
            prop_assert!(found.best.tree.leaves() == 1 || leaves.iter().all(|leaf| leaf.rows >= min_leaf));
            prop_assert!(found.best.tree.subtree(found.best.tree.root()).depth() <= 2);
            let sum: f64 = leaves.iter().map(|leaf| leaf.loss).sum();
            prop_assert!((sum - found.best.loss).abs() < 1e-9, "the loss told is not the tree's");
        }
    }

    /// With a bin a value, looking two levels ahead finds the best tree over rules that send
    /// missing values left.
    #[test]
    fn looking_ahead_equals_trying_everything(cells in cells(4..24, 2), min_leaf in 1usize..3) {
        let cells: Cells = cells.into_iter().map(|cell| (cell.0, cell.1.or(Some(0)), cell.2)).collect();
        let table = table(&cells, Some(2), false);
        for loss in [LeafLoss::Gini, LeafLoss::Mix { share: 0.5 }] {
            let limits = TreeLimits { leaves: 0, depth: 2, min_leaf };
            let config = TreeSearchConfig { loss: loss.clone(), limits, population: 1, descents: 0, seed: 0 };
            let run = TestContext::new(1);
            let search_state = SearchContext::new(&table, &config, run.context());
            let rows: Vec<u32> = (0..table.rows() as u32).collect();
            let expected = brute_force(&table, &loss, min_leaf);
            let whole = fit_rows(&table, &rows, &loss).loss;
            let found = search_state.best_of_two_levels(&search_state.features, &rows, 4).map_or(whole, |subtree| search_state.loss(&RankTree::new(&subtree)));
            prop_assert!((found - expected).abs() < 1e-9, "{:?} {} {}", loss, found, expected);
        }
    }
}

/// A pass lowers the loss by what it says, and chooses as the brute force over one node would.
#[test]
fn a_pass_chooses_every_rule_anew() {
    let table = table(&board(160), Some(2), false);
    let limits = TreeLimits { leaves: 0, depth: 2, min_leaf: 1 };
    let config =
        TreeSearchConfig { loss: LeafLoss::Error, limits, population: 1, descents: 0, seed: 0 };
    let run = TestContext::new(1);
    let rule = |feature, cut| RankRule { feature, cut: Cut::Above(cut), missing_right: false };
    // Both second rules ask for the right feature at the wrong place; the first one is right.
    let second = |cut| Subtree::split(rule(1, cut), Subtree::Leaf, Subtree::Leaf);
    let tree = RankTree::new(&Subtree::split(rule(0, 2), second(1), second(3)));
    let search_state = SearchContext::new(&table, &config, run.context());
    let start = ScoredTree { loss: search_state.loss(&tree), tree };
    assert!(start.loss > 0.0);
    let found = coordinate_pass(&table, &config, run.context(), start);
    assert_eq!((found.loss, search_state.loss(&found.tree)), (0.0, 0.0));
}

/// The class is whether two numbers lie on the same side of their middle: no first split helps by
/// itself.
fn board(rows: usize) -> Cells {
    let cell = |row: usize| ((row % 4) as u8, (row / 4 % 4) as u8);
    (0..rows).map(cell).map(|(x, y)| (x, Some(y), u8::from((x < 2) == (y < 2)))).collect()
}

#[test]
fn a_planted_tree_that_greed_misses_is_found() {
    let table = table(&board(400), Some(2), false);
    for loss in [LeafLoss::Error, LeafLoss::Mix { share: 0.5 }, LeafLoss::Gini] {
        let found = find(&table, loss, TreeLimits { leaves: 4, depth: 0, min_leaf: 1 }, 1);
        assert!(found.best.loss < 1e-9 && found.cart.loss > 1.0, "{found:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let mut cells = board(300);
    (0..60).for_each(|at| cells[at * 5].2 ^= 1);
    let table = table(&cells, Some(2), true);
    let found = |threads| {
        find(
            &table,
            LeafLoss::Mix { share: 0.5 },
            TreeLimits { leaves: 8, depth: 0, min_leaf: 2 },
            threads,
        )
    };
    let one = found(1);
    for threads in [2, 8] {
        assert_eq!((&found(threads).best, found(threads).scans), (&one.best, one.scans));
    }
}

#[test]
fn a_search_ends_when_its_budget_is_cancelled() {
    let table = table(&board(200), Some(2), false);
    let config = TreeSearchConfig {
        loss: LeafLoss::Gini,
        limits: TreeLimits { leaves: 4, depth: 0, min_leaf: 1 },
        population: 2,
        descents: 100,
        seed: 0,
    };
    let run = TestContext::new(1);
    let mut heard = 0;
    let mut observer = |progress: &TreeSearchProgress| {
        heard += 1;
        assert!(progress.best <= progress.cart + 1e-9);
        if heard == 3 {
            run.budget.cancel();
        }
    };
    let found = search(&table, &config, run.context(), &mut observer);
    assert_eq!((heard, found.descents), (3, 4));
    let interrupted = search(&table, &config, run.context(), &mut |_| ());
    assert!(interrupted.descents == 0 && interrupted.best.loss <= interrupted.cart.loss);
}

#[test]
fn cross_validation_keeps_cart_in_noise_and_searches_for_structure() {
    let run = TestContext::new(2);
    let config = TreeSearchConfig {
        loss: LeafLoss::Mix { share: 0.5 },
        limits: TreeLimits { leaves: 0, depth: 0, min_leaf: 5 },
        population: 2,
        descents: 4,
        seed: 1,
    };
    let cv = TreeCvConfig { sizes: &[2, 4], with_cart: true, measure: &LeafLoss::Error, folds: 5 };
    let structure = table(&board(400), Some(2), false);
    let candidates =
        with_log(|log| select(&structure, &config, cv, run.context(), log)).unwrap().candidates;
    assert_eq!(
        (candidates.len(), candidates[0].leaves, candidates[0].searched),
        (4, 4, true),
        "{candidates:?}"
    );
    assert!(
        candidates[0].error < 0.05
            && candidates.windows(2).all(|pair| pair[0].error <= pair[1].error)
    );
    let mut noise = board(200);
    (0..200).for_each(|row| noise[row].2 = Stream::new(3, 0, row as u64).below(2) as u8);
    let noise = table(&noise, Some(2), false);
    let selection = with_log(|log| select(&noise, &config, cv, run.context(), log));
    let candidates = selection.unwrap().candidates;
    assert!(!candidates[0].searched, "{candidates:?}");
}

#[test]
fn foreign_subtrees_are_pruned_to_the_limits() {
    let table = table(&board(200), Some(2), false);
    let limits = TreeLimits { leaves: 3, depth: 2, min_leaf: 1 };
    let config =
        TreeSearchConfig { loss: LeafLoss::Error, limits, population: 1, descents: 0, seed: 0 };
    let run = TestContext::new(1);
    let search_state = SearchContext::new(&table, &config, run.context());
    let rule = |feature, cut| RankRule { feature, cut: Cut::Above(cut), missing_right: false };
    let deep = Subtree::split(
        rule(0, 2),
        Subtree::split(
            rule(1, 2),
            Subtree::split(rule(0, 1), Subtree::Leaf, Subtree::Leaf),
            Subtree::Leaf,
        ),
        Subtree::Leaf,
    );
    let fitted = search_state.prune_to_limits(RankTree::new(&Subtree::split(
        rule(1, 3),
        deep.clone(),
        deep,
    )));
    assert!(fitted.leaves() <= 3 && fitted.subtree(fitted.root()).depth() <= 2);
}

#[test]
fn an_interruption_ends_the_search_anywhere_with_a_tree() {
    let table = table(&board(1500), Some(2), false);
    let limits = TreeLimits { leaves: 6, depth: 0, min_leaf: 1 };
    let config = TreeSearchConfig {
        loss: LeafLoss::Mix { share: 0.5 },
        limits,
        population: 2,
        descents: 6,
        seed: 0,
    };
    let unlimited = TestContext::new(1);
    let search_state = SearchContext::new(&table, &config, unlimited.context());
    let one_leaf = search_state.loss(&RankTree::new(&Subtree::Leaf));
    for questions in [0, 1, 3, 10, 30, 100, 1000] {
        let run = TestContext::interrupted_after(2, questions);
        let found = search(&table, &config, run.context(), &mut |_| ());
        assert_eq!(
            search_state.loss(&found.best.tree),
            found.best.loss,
            "{questions}: the loss is the tree's"
        );
        assert!(found.best.loss <= found.cart.loss && found.cart.loss <= one_leaf, "{questions}");
        assert!(found.best.tree.leaves() <= 6);
    }
    // Comparisons that are cut short leave a tree of a fold to fall back to, once there is one.
    let cv = TreeCvConfig { sizes: &[2, 4], with_cart: true, measure: &LeafLoss::Error, folds: 5 };
    let selection = |questions: usize| {
        let limits = TestContext::interrupted_after(1, questions);
        with_log(|log| select(&table, &config, cv, limits.context(), log)).unwrap()
    };
    assert!(!selection(0).is_complete() && !selection(200).is_complete());
    let TreeSelection { candidates, fallback, .. } = selection(0);
    assert!(fallback.is_none() && candidates.len() == 1 && candidates[0].error.is_nan());
    for questions in [200, 2000] {
        let TreeSelection { candidates, fallback, .. } = selection(questions);
        let fallback = fallback.expect("a fold was searched");
        assert!(!candidates.is_empty() && (2..=4).contains(&fallback.leaves()));
    }
}

/// A search resumed from any of its states ends like one that was never interrupted.
#[test]
fn a_resumed_search_equals_an_uninterrupted_one() {
    let mut cells = board(240);
    (0..60).for_each(|at| cells[at * 4].2 ^= 1);
    let table = table(&cells, Some(2), true);
    let cv = TreeCvConfig { sizes: &[2, 4], with_cart: true, measure: &LeafLoss::Error, folds: 3 };
    for descents in [0, 10, 40, 44, 300] {
        let config = TreeSearchConfig {
            loss: LeafLoss::Mix { share: 0.5 },
            limits: TreeLimits { leaves: 4, depth: 0, min_leaf: 2 },
            population: 3,
            descents,
            seed: 7,
        };
        let run = |past: Option<&Datum>, threads: usize| {
            let limits = TestContext::new(threads);
            let mut states = Vec::new();
            let mut observer = |event: &Event, state: &dyn Fn() -> Datum| {
                states.push((event.clone(), state()));
            };
            let mut log = TaskLog::new(past, &mut observer).unwrap();
            let selection = select(&table, &config, cv, limits.context(), &mut log).unwrap();
            let event = |progress: &TreeSearchProgress| Event {
                train: Some(progress.best),
                ..Event::new(crate::event::Stage::DESCENTS, progress.descents, descents)
            };
            let found = search_logged(&table, &config, limits.context(), &mut log, &event).unwrap();
            ((selection, found.best, found.cart, found.descents, found.scans), states)
        };
        let (whole, states) = run(None, 1);
        assert_eq!(states.len(), 12 + 1 + descents.div_ceil(3));
        let step = if descents == 300 { 9 } else { 1 };
        for (at, (_, state)) in states.iter().enumerate().step_by(step) {
            let (resumed, later) = run(Some(state), 1 + at % 2);
            assert_eq!(resumed, whole, "{descents} descents, state {at}");
            assert_eq!(later, states[at + 1..], "{descents} descents, state {at}");
        }
    }
}
