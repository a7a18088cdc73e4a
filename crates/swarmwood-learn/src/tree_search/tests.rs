//! The search against brute force.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};

use super::*;
use crate::data::{Chunk, Column};
use crate::leaf_loss::Costs;
use crate::pool::hurried_after;
use crate::ranked::{Cut, Rule};
use crate::sketch::Twig;

type Cells = Vec<(u8, Option<u8>, u8)>;

fn cells(rows: std::ops::Range<usize>, classes: u8) -> impl Strategy<Value = Cells> {
    prop::collection::vec((0u8..5, prop::option::weighted(0.85, 0u8..5), 0u8..classes), rows)
}

fn table(cells: &Cells, classes: Option<usize>, weighted: bool) -> Ranked {
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
    Ranked::new(&Chunk { columns, target, weight, rows: cells.len() }, &features, classes, 100)
}

/// Every rule.
fn rules(table: &Ranked) -> Vec<Rule> {
    let of = |feature: u32| {
        let top = table.columns()[feature as usize].top();
        (1..=top).flat_map(move |cut| {
            [false, true].map(|missing_right| Rule { feature, cut: Cut::Above(cut), missing_right })
        })
    };
    (0..table.columns().len() as u32).flat_map(of).collect()
}

/// The least loss of all trees of two levels whose leaves have enough rows.
fn brute_force(table: &Ranked, loss: &Loss, min_leaf: usize) -> f64 {
    let rules = rules(table);
    let fork = |rows: &[u32]| {
        let whole = sketch::fit_rows(table, rows, loss).loss;
        rules.iter().filter_map(|rule| part(table, rows, rule, min_leaf)).fold(
            whole,
            |best, [left, right]| {
                best.min(
                    sketch::fit_rows(table, &left, loss).loss
                        + sketch::fit_rows(table, &right, loss).loss,
                )
            },
        )
    };
    let rows: Vec<u32> = (0..table.rows() as u32).collect();
    let whole = sketch::fit_rows(table, &rows, loss).loss;
    let firsts = rules.iter().filter_map(|rule| part(table, &rows, rule, min_leaf));
    firsts.fold(whole, |best, [left, right]| best.min(fork(&left) + fork(&right)))
}

fn part(table: &Ranked, rows: &[u32], rule: &Rule, min_leaf: usize) -> Option<[Vec<u32>; 2]> {
    let codes = table.columns()[rule.feature as usize].codes();
    let (right, left): (Vec<u32>, Vec<u32>) =
        rows.iter().partition(|&&row| rule.right(codes[row as usize]));
    (left.len() >= min_leaf && right.len() >= min_leaf).then_some([left, right])
}

fn find(table: &Ranked, loss: Loss, limits: Limits, threads: usize) -> Outcome {
    let settings = Settings { loss, limits, population: 3, descents: 12, seed: 5 };
    search(table, &settings, &Pool::new(threads).unwrap(), &mut |_| Flow::Continue, &|| false)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn trees_of_two_levels_are_proven_best(cells in cells(2..24, 2), min_leaf in 1usize..4, weighted: bool) {
        let table = table(&cells, Some(2), weighted);
        let expected = brute_force(&table, &Loss::Error, min_leaf);
        let found = find(&table, Loss::Error, Limits { leaves: 0, depth: 2, min_leaf }, 1);
        prop_assert!((found.best.loss - expected).abs() < 1e-9, "{} {}", found.best.loss, expected);
    }

    #[test]
    fn they_are_for_three_classes_and_costs_too(cells in cells(2..20, 3)) {
        let table = table(&cells, Some(3), false);
        let costs = Loss::Costs(Costs::new(3, vec![0.0, 1.0, 4.0, 2.0, 0.0, 1.0, 1.0, 3.0, 0.0]));
        for loss in [Loss::Error, costs] {
            let expected = brute_force(&table, &loss, 1);
            let found = find(&table, loss, Limits { leaves: 0, depth: 2, min_leaf: 1 }, 1);
            prop_assert!((found.best.loss - expected).abs() < 1e-9, "{} {}", found.best.loss, expected);
        }
    }

    /// No search may end above its start, below the best of all trees, or outside its limits.
    #[test]
    fn every_loss_ends_between_the_best_and_cart(cells in cells(4..30, 3), min_leaf in 1usize..4) {
        for (classes, loss) in [
            (Some(3), Loss::Gini),
            (Some(3), Loss::Entropy),
            (Some(3), Loss::Mix { share: 0.5 }),
            (None, Loss::Squared),
            (None, Loss::Absolute),
        ] {
            let table = table(&cells, classes, false);
            let limits = Limits { leaves: 0, depth: 2, min_leaf };
            let expected = brute_force(&table, &loss, min_leaf);
            let found = find(&table, loss.clone(), limits, 1);
            prop_assert!(found.best.loss >= expected - 1e-9, "{:?}: {} {}", loss, found.best.loss, expected);
            prop_assert!(found.best.loss <= found.cart.loss + 1e-9);
            let (_, leaves) = sketch::fit(&found.best.sketch, &table, &loss);
            prop_assert!(found.best.sketch.leaves() == 1 || leaves.iter().all(|leaf| leaf.rows >= min_leaf));
            prop_assert!(found.best.sketch.twig(found.best.sketch.root()).depth() <= 2);
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
        for loss in [Loss::Gini, Loss::Mix { share: 0.5 }] {
            let limits = Limits { leaves: 0, depth: 2, min_leaf };
            let settings = Settings { loss: loss.clone(), limits, population: 1, descents: 0, seed: 0 };
            let pool = Pool::new(1).unwrap();
            let problem = Problem::new(&table, &settings, &pool, &|| false);
            let rows: Vec<u32> = (0..table.rows() as u32).collect();
            let expected = brute_force(&table, &loss, min_leaf);
            let whole = sketch::fit_rows(&table, &rows, &loss).loss;
            let found = problem.best_of_two_levels(&rows, 4).map_or(whole, |twig| problem.loss(&Sketch::new(&twig)));
            prop_assert!((found - expected).abs() < 1e-9, "{:?} {} {}", loss, found, expected);
        }
    }
}

/// A pass lowers the loss by what it says, and chooses as the brute force over one node would.
#[test]
fn a_pass_chooses_every_rule_anew() {
    let table = table(&board(160), Some(2), false);
    let limits = Limits { leaves: 0, depth: 2, min_leaf: 1 };
    let settings = Settings { loss: Loss::Error, limits, population: 1, descents: 0, seed: 0 };
    let pool = Pool::new(1).unwrap();
    let rule = |feature, cut| Rule { feature, cut: Cut::Above(cut), missing_right: false };
    // Both second rules ask for the right feature at the wrong place; the first one is right.
    let second = |cut| Twig::fork(rule(1, cut), Twig::Leaf, Twig::Leaf);
    let sketch = Sketch::new(&Twig::fork(rule(0, 2), second(1), second(3)));
    let problem = Problem::new(&table, &settings, &pool, &|| false);
    let start = Tried { loss: problem.loss(&sketch), sketch };
    assert!(start.loss > 0.0);
    let found = pass(&table, &settings, &pool, start);
    assert_eq!((found.loss, problem.loss(&found.sketch)), (0.0, 0.0));
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
    for loss in [Loss::Error, Loss::Mix { share: 0.5 }, Loss::Gini] {
        let found = find(&table, loss, Limits { leaves: 4, depth: 0, min_leaf: 1 }, 1);
        assert!(found.best.loss < 1e-9 && found.cart.loss > 1.0, "{found:?}");
    }
}

#[test]
fn threads_change_nothing() {
    let mut cells = board(300);
    (0..60).for_each(|at| cells[at * 5].2 ^= 1);
    let table = table(&cells, Some(2), true);
    let found = |threads| {
        find(&table, Loss::Mix { share: 0.5 }, Limits { leaves: 8, depth: 0, min_leaf: 2 }, threads)
    };
    let one = found(1);
    for threads in [2, 8] {
        assert_eq!((&found(threads).best, found(threads).sweeps), (&one.best, one.sweeps));
    }
}

#[test]
fn a_search_stops_when_it_is_told() {
    let table = table(&board(200), Some(2), false);
    let settings = Settings {
        loss: Loss::Gini,
        limits: Limits { leaves: 4, depth: 0, min_leaf: 1 },
        population: 2,
        descents: 100,
        seed: 0,
    };
    let pool = Pool::new(1).unwrap();
    let mut heard = 0;
    let mut watch = |standing: &Standing| {
        heard += 1;
        assert!(standing.best <= standing.cart + 1e-9);
        if heard == 3 { Flow::Stop } else { Flow::Continue }
    };
    let found = search(&table, &settings, &pool, &mut watch, &|| false);
    assert_eq!((heard, found.descents), (3, 4));
    let halted = search(&table, &settings, &pool, &mut |_| Flow::Continue, &|| true);
    assert!(halted.descents == 0 && halted.best.loss <= halted.cart.loss);
}

#[test]
fn cross_validation_keeps_cart_in_noise_and_searches_for_structure() {
    let pool = Pool::new(2).unwrap();
    let settings = Settings {
        loss: Loss::Mix { share: 0.5 },
        limits: Limits { leaves: 0, depth: 0, min_leaf: 5 },
        population: 2,
        descents: 4,
        seed: 1,
    };
    let menu = Menu { sizes: &[2, 4], with_cart: true, measure: &Loss::Error, folds: 5 };
    let structure = table(&board(400), Some(2), false);
    let (arms, _) = choose(&structure, &settings, menu, &pool, &|| false);
    assert_eq!((arms.len(), arms[0].leaves, arms[0].searched), (4, 4, true), "{arms:?}");
    assert!(arms[0].error < 0.05 && arms.windows(2).all(|pair| pair[0].error <= pair[1].error));
    let mut noise = board(200);
    (0..200).for_each(|row| noise[row].2 = Stream::new(3, 0, row as u64).below(2) as u8);
    let (arms, _) = choose(&table(&noise, Some(2), false), &settings, menu, &pool, &|| false);
    assert!(!arms[0].searched, "{arms:?}");
}

#[test]
fn twigs_of_others_fit_into_the_limits() {
    let table = table(&board(200), Some(2), false);
    let limits = Limits { leaves: 3, depth: 2, min_leaf: 1 };
    let settings = Settings { loss: Loss::Error, limits, population: 1, descents: 0, seed: 0 };
    let pool = Pool::new(1).unwrap();
    let problem = Problem::new(&table, &settings, &pool, &|| false);
    let rule = |feature, cut| Rule { feature, cut: Cut::Above(cut), missing_right: false };
    let deep = Twig::fork(
        rule(0, 2),
        Twig::fork(rule(1, 2), Twig::fork(rule(0, 1), Twig::Leaf, Twig::Leaf), Twig::Leaf),
        Twig::Leaf,
    );
    let fitted = problem.fitting(Sketch::new(&Twig::fork(rule(1, 3), deep.clone(), deep)));
    assert!(fitted.leaves() <= 3 && fitted.twig(fitted.root()).depth() <= 2);
}

#[test]
fn a_hurry_ends_the_search_anywhere_with_a_tree() {
    let table = table(&board(1500), Some(2), false);
    let limits = Limits { leaves: 6, depth: 0, min_leaf: 1 };
    let settings =
        Settings { loss: Loss::Mix { share: 0.5 }, limits, population: 2, descents: 6, seed: 0 };
    let calm = Pool::new(1).unwrap();
    let one_leaf =
        Problem::new(&table, &settings, &calm, &|| false).loss(&Sketch::new(&Twig::Leaf));
    for questions in [0, 1, 3, 10, 30, 100, 1000] {
        let pool = hurried_after(2, questions);
        let found = search(&table, &settings, &pool, &mut |_| Flow::Continue, &|| pool.hurried());
        let problem = Problem::new(&table, &settings, &calm, &|| false);
        assert_eq!(
            problem.loss(&found.best.sketch),
            found.best.loss,
            "{questions}: the loss is the tree's"
        );
        assert!(found.best.loss <= found.cart.loss && found.cart.loss <= one_leaf, "{questions}");
        assert!(found.best.sketch.leaves() <= 6);
    }
    // Comparisons that are cut short leave a tree of a fold in hand, once there is one.
    let menu = Menu { sizes: &[2, 4], with_cart: true, measure: &Loss::Error, folds: 5 };
    let in_hand = |questions: usize| {
        let pool = hurried_after(1, questions);
        choose(&table, &settings, menu, &pool, &|| pool.hurried())
    };
    let (arms, hand) = in_hand(0);
    assert!(hand.is_none() && arms.len() == 1 && arms[0].error.is_nan());
    let (arms, hand) = in_hand(2000);
    let hand = hand.expect("a fold was judged");
    assert!(!arms.is_empty() && (2..=4).contains(&hand.leaves()));
}
