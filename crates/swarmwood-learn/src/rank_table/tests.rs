//! Ranks and rules over them.

use proptest::prelude::*;
use swarmwood_model::{Feature, Kind, Test};

use super::*;
use crate::context::TestContext;
use crate::rule::{Cut, RankRule, RankSet};

fn number(values: &[f64], most: usize) -> RankColumn {
    RankColumn::new(
        &Column::Number(values.to_vec()),
        &Feature { name: "x".into(), kind: Kind::Number },
        most,
    )
}

#[test]
fn codes_are_ranks_and_missing_is_zero() {
    let column = number(&[2.5, f64::NAN, -1.0, 2.5, f64::INFINITY, -0.0, 0.0], 100);
    assert_eq!(column.codes(), [3, 0, 1, 3, 4, 2, 2]);
    assert!(!column.is_bounded());
}

#[test]
fn many_values_share_bins() {
    let values: Vec<f64> = (0..1000).map(f64::from).collect();
    let column = number(&values, 10);
    assert_eq!(column.max_code(), 10);
    assert!(column.codes().windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn a_threshold_lies_in_the_middle_of_the_gap_that_a_node_leaves() {
    let column = number(&[0.0, 1.0, 2.0, 3.0, 10.0], 100);
    assert_eq!(column.threshold_between(1, 2).0, 0.5);
    // A node without the values between 0 and 10 is cut at 5, above code 4, which is the value 3.
    assert_eq!(column.threshold_between(1, 5), (5.0, 4));
    assert_eq!(column.threshold_between(5, 6), (f64::MAX, 5));
}

#[test]
fn levels_are_codes_and_unknown_ones_are_missing() {
    let feature =
        Feature { name: "c".into(), kind: Kind::Category { levels: vec!["a".into(), "b".into()] } };
    let column =
        RankColumn::new(&Column::Category(vec![1, 0, crate::data::MISSING]), &feature, 100);
    assert_eq!(column.codes(), [2, 1, 0]);
    let rule =
        RankRule { feature: 0, cut: Cut::In(RankSet::from_iter([2_u16])), missing_right: true };
    assert_eq!([0, 1, 2].map(|code| rule.goes_right(code)), [true, false, true]);
    assert_eq!(rule.to_split(&column, [0, 0]).test, Test::In([1].into_iter().collect()));
}

proptest! {
    #[test]
    fn a_rule_and_its_split_send_every_row_the_same_way(
        values in prop::collection::vec(prop_oneof![4 => (-5i8..5).prop_map(|v| f64::from(v) / 4.0), 1 => Just(f64::NAN)], 2..30),
        most in 2usize..12, cut in 1u16..12, missing_right: bool,
    ) {
        let column = number(&values, most);
        let cut = cut.min(column.max_code().max(1));
        let rule = RankRule { feature: 0, cut: Cut::Above(cut), missing_right };
        let low = column.codes().iter().copied().filter(|&code| code > 0 && code <= cut).max().unwrap_or(cut);
        let high = column.codes().iter().copied().filter(|&code| code > cut).min().unwrap_or(column.max_code() + 1);
        if column.max_code() > 0 {
            let Test::Above(threshold) = rule.to_split(&column, [low, high]).test else { unreachable!() };
            for (&value, &code) in values.iter().zip(column.codes()) {
                let right = if value.is_nan() { missing_right } else { value > threshold };
                prop_assert_eq!(right, rule.goes_right(code));
            }
        }
    }
}

#[test]
fn a_pool_ranks_the_same_and_an_interruption_leaves_columns_out() {
    let features = ["x", "y", "z"].map(|name| Feature { name: name.into(), kind: Kind::Number });
    let column =
        |step: usize| Column::Number((0..50).map(|row| (row * step % 17) as f64).collect());
    let columns = vec![column(3), column(5), column(7)];
    let chunk = Chunk { columns, target: vec![0.0; 50], rows: 50, weight: Vec::new() };
    let plain = RankTable::new(&chunk, &features, Some(1), 10);
    let in_context =
        |run: &TestContext| RankTable::in_context(&chunk, &features, Some(1), 10, run.context());
    let pooled = in_context(&TestContext::new(2));
    assert!(
        plain
            .columns()
            .iter()
            .zip(pooled.columns())
            .all(|(a, b)| a.codes() == b.codes() && a.max_code() == b.max_code())
    );
    let interrupted = in_context(&TestContext::interrupted_after(1, 1));
    assert_eq!(
        interrupted.columns().iter().map(RankColumn::max_code).collect::<Vec<_>>(),
        [plain.columns()[0].max_code(), 0, 0]
    );
    assert!(interrupted.columns().iter().all(|column| column.codes().len() == 50));
}
