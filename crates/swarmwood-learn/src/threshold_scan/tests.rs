//! Scans against brute force over all rules.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind};

use super::*;
use crate::context::TestContext;
use crate::data::{Chunk, Column, MISSING};
use crate::leaf_loss::CostMatrix;
use crate::rank_tree::fit_rows;

/// A table of a number, a number with missing values and a category, with rows that know a leaf on
/// either side.
#[derive(Debug, Clone)]
struct Case {
    cells: Vec<(u8, Option<u8>, u8, u8)>,
    sides: Vec<(u8, u8)>,
    weighted: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let cell = (0u8..6, prop::option::weighted(0.8, 0u8..4), 0u8..4, 0u8..3);
    (1usize..28).prop_flat_map(move |rows| {
        let cells = prop::collection::vec(cell.clone(), rows);
        let sides = prop::collection::vec((0u8..2, 0u8..3), rows);
        (cells, sides, any::<bool>()).prop_map(|(cells, sides, weighted)| Case {
            cells,
            sides,
            weighted,
        })
    })
}

fn table(case: &Case, classes: Option<usize>) -> RankTable {
    let missing = |value: Option<u8>| value.map_or(f64::NAN, f64::from);
    let columns = vec![
        Column::Number(case.cells.iter().map(|cell| f64::from(cell.0)).collect()),
        Column::Number(case.cells.iter().map(|cell| missing(cell.1)).collect()),
        Column::Category(
            case.cells
                .iter()
                .map(|cell| if cell.2 == 3 { MISSING } else { u32::from(cell.2) })
                .collect(),
        ),
    ];
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let kinds = [Kind::Number, Kind::Number, Kind::Category { levels }];
    let features = kinds.map(|kind| Feature { name: "f".into(), kind });
    let target: Vec<f64> =
        case.cells.iter().map(|cell| f64::from(cell.3 % classes.unwrap_or(3) as u8)).collect();
    let weight = if case.weighted {
        (0..target.len()).map(|row| 1.0 + (row % 3) as f64).collect()
    } else {
        Vec::new()
    };
    let chunk = Chunk { columns, rows: target.len(), target, weight };
    RankTable::new(&chunk, &features, classes, 100)
}

fn node<'a>(case: &Case, table: &'a RankTable) -> NodeRows<'a> {
    let right = case.sides.iter().map(|side| u16::from(side.0)).collect();
    let left = case.sides.iter().map(|side| 2 + u16::from(side.1)).collect();
    NodeRows {
        table,
        rows: (0..table.rows() as u32).collect(),
        right,
        left,
        right_leaves: 2,
        leaves: 5,
    }
}

/// The loss of a rule, every leaf fitted anew; none if a leaf has too few rows, or if all rows go
/// one way.
fn loss_of(node: &NodeRows<'_>, rule: &RankRule, criterion: SplitCriterion<'_>) -> Option<f64> {
    let codes = node.table.columns()[rule.feature as usize].codes();
    let mut leaves = vec![Vec::new(); usize::from(node.leaves)];
    let mut sides = [false; 2];
    for (at, &row) in node.rows.iter().enumerate() {
        let right = rule.goes_right(codes[row as usize]);
        sides[usize::from(right)] = true;
        leaves[usize::from(if right { node.right[at] } else { node.left[at] })].push(row);
    }
    let small = leaves.iter().any(|rows| !rows.is_empty() && rows.len() < criterion.min_leaf);
    let fitted = leaves.iter().map(|rows| fit_rows(node.table, rows, criterion.loss).loss).sum();
    (!small && sides == [true; 2]).then_some(fitted)
}

/// The least loss over all rules about numbers.
fn brute_force(node: &NodeRows<'_>, criterion: SplitCriterion<'_>) -> Option<f64> {
    let mut best: Option<f64> = None;
    for feature in 0..2 {
        let top = node.table.columns()[feature as usize].max_code();
        for (cut, missing_right) in (1..=top).flat_map(|cut| [(cut, false), (cut, true)]) {
            let rule = RankRule { feature, cut: Cut::Above(cut), missing_right };
            if let Some(loss) = loss_of(node, &rule, criterion) {
                best = Some(best.map_or(loss, |best| best.min(loss)));
            }
        }
    }
    best
}

fn losses(classes: Option<usize>) -> Vec<LeafLoss> {
    let costs = CostMatrix::new(3, vec![0.0, 1.0, 4.0, 2.0, 0.0, 1.0, 1.0, 3.0, 0.0]);
    match classes {
        None => vec![LeafLoss::Squared, LeafLoss::Absolute],
        Some(3) => vec![
            LeafLoss::Error,
            LeafLoss::Gini,
            LeafLoss::Entropy,
            LeafLoss::Mix { share: 0.5 },
            LeafLoss::Costs(costs),
        ],
        Some(_) => vec![LeafLoss::Error, LeafLoss::Gini],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_best_rule_about_numbers_is_found(case in case(), min_leaf in 1usize..4) {
        let run = TestContext::new(1);
        for classes in [None, Some(2), Some(3)] {
            let table = table(&case, classes);
            let node = node(&case, &table);
            for loss in losses(classes) {
                let criterion = SplitCriterion { loss: &loss, min_leaf };
                let found = node.best_rule(criterion, &[0, 1], run.context());
                let expected = brute_force(&node, criterion);
                prop_assert_eq!(found.is_some(), expected.is_some());
                if let (Some(found), Some(expected)) = (found, expected) {
                    prop_assert!((found.loss - expected).abs() < 1e-9, "{:?} {} {}", loss, found.loss, expected);
                    let told = loss_of(&node, &found.rule, criterion);
                    prop_assert!(told.is_some_and(|told| (told - expected).abs() < 1e-9), "the rule is not what it says");
                }
            }
        }
    }

    #[test]
    fn a_rule_about_levels_is_what_it_says(case in case(), min_leaf in 1usize..3) {
        let run = TestContext::new(1);
        for classes in [None, Some(2), Some(3)] {
            let table = table(&case, classes);
            let node = node(&case, &table);
            for loss in losses(classes) {
                let criterion = SplitCriterion { loss: &loss, min_leaf };
                if let Some(found) = node.best_rule(criterion, &[2], run.context()) {
                    let told = loss_of(&node, &found.rule, criterion);
                    prop_assert!(told.is_some_and(|told| (told - found.loss).abs() < 1e-9));
                }
            }
        }
    }

    #[test]
    fn over_new_leaves_the_best_set_of_levels_is_found(case in case()) {
        let run = TestContext::new(1);
        for (classes, loss) in [(None, LeafLoss::Squared), (Some(2), LeafLoss::Gini), (Some(2), LeafLoss::Entropy)] {
            let table = table(&case, classes);
            let node = NodeRows::above_new_leaves(&table, (0..table.rows() as u32).collect());
            let criterion = SplitCriterion { loss: &loss, min_leaf: 1 };
            let sets = (0u16..8).map(|bits| RankSet::from_iter((1..=3_u16).filter(|code| bits >> (code - 1) & 1 == 1)));
            let rules = sets.flat_map(|set| {
                [false, true].map(|missing_right| RankRule { feature: 2, cut: Cut::In(set.clone()), missing_right })
            });
            let expected = rules.filter_map(|rule| loss_of(&node, &rule, criterion)).reduce(f64::min);
            let found = node.best_rule(criterion, &[2], run.context()).map(|found| found.loss);
            match (found, expected) {
                (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-9),
                (found, expected) => prop_assert_eq!(found.is_some(), expected.is_some()),
            }
        }
    }
}

/// Many rows with few codes are counted, few rows are sorted: both must see the same.
#[test]
fn counting_and_sorting_agree() {
    let cells: Vec<(u8, Option<u8>, u8, u8)> = (0..3000_u32)
        .map(|row| {
            let mixed = row.wrapping_mul(2_654_435_761) >> 7;
            let missing = (mixed % 11 > 0).then_some((mixed % 4) as u8);
            ((mixed % 6) as u8, missing, (mixed / 7 % 4) as u8, (mixed / 64 % 3) as u8)
        })
        .collect();
    let sides: Vec<(u8, u8)> =
        (0..3000_u32).map(|row| ((row % 2) as u8, (row / 2 % 3) as u8)).collect();
    for weighted in [false, true] {
        let case = Case { cells: cells.clone(), sides: sides.clone(), weighted };
        for classes in [None, Some(2), Some(3)] {
            let table = table(&case, classes);
            let node = node(&case, &table);
            for loss in losses(classes).into_iter().filter(|loss| *loss != LeafLoss::Absolute) {
                let criterion = SplitCriterion { loss: &loss, min_leaf: 5 };
                let scan = NodeScan::new(&node, criterion);
                let (groups, start) = (scan.groups.as_ref().unwrap(), scan.start.as_ref().unwrap());
                for feature in 0..2 {
                    let order: Vec<u16> =
                        (1..=table.columns()[feature as usize].max_code()).collect();
                    assert!(groups.are_cheaper(order.len(), node.rows.len()));
                    let counted =
                        grouped::best_position(&node, groups, start.clone(), feature, &order)
                            .unwrap();
                    let sorted = by_row::best_position(&scan, feature, &order).unwrap();
                    assert!(
                        (counted.loss - sorted.loss).abs() < 1e-6,
                        "{loss:?} {counted:?} {sorted:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_interruption_leaves_the_best_of_the_features_scanned() {
    // Large enough to be shared between threads; the second feature tells the class.
    let rows = 20_000;
    let column =
        |of: fn(usize) -> usize| Column::Number((0..rows).map(|row| of(row) as f64).collect());
    let columns = vec![column(|row| row % 7), column(|row| row % 2)];
    let target = (0..rows).map(|row| (row % 2) as f64).collect();
    let features = ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    let table = RankTable::new(
        &Chunk { columns, target, rows, weight: Vec::new() },
        &features,
        Some(2),
        100,
    );
    let node = NodeRows::above_new_leaves(&table, (0..rows as u32).collect());
    let best = |questions: usize| {
        let criterion = SplitCriterion { loss: &LeafLoss::Gini, min_leaf: 1 };
        node.best_rule(criterion, &[0, 1], TestContext::interrupted_after(1, questions).context())
            .map(|found| found.rule.feature)
    };
    assert_eq!([best(0), best(1), best(2)], [None, Some(0), Some(1)]);
}
