//! Rules about missing values against LightGBM's own decision, written down from its source, over a
//! grid of numbers.

use super::*;
use crate::predict::FeatureValue;

/// `Tree::NumericalDecision` of LightGBM: whether a number goes left.
fn goes_left(number: f64, threshold: f64, missing: u8, default_left: bool) -> bool {
    let number = if number.is_nan() && missing != 2 { 0.0 } else { number };
    if (missing == 1 && (-ZERO..=ZERO).contains(&number)) || (missing == 2 && number.is_nan()) {
        return default_left;
    }
    number <= threshold
}

fn text(threshold: f64, decision: u8) -> String {
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n\
         feature_names=x\nfeature_infos=[0:9]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=1\n\
         threshold={threshold:?}\ndecision_type={decision}\nleft_child=-1\nright_child=-2\nleaf_value=1 2\n\nend of trees\n"
    )
}

#[test]
fn every_missing_type_decides_as_lightgbm() {
    let numbers = [
        f64::NAN,
        f64::NEG_INFINITY,
        -5.0,
        -1.0,
        -1e-34,
        -ZERO,
        -1e-36,
        -0.0,
        0.0,
        1e-36,
        ZERO,
        1e-34,
        1.0,
        5.0,
    ];
    let mut unfolded = 0;
    for threshold in [-5.0, -1.0, -ZERO, 0.0, 1e-36, ZERO, 1.0, 5.0] {
        for decision in [0, 2, 4, 6, 8, 10_u8] {
            let model = from_text(text(threshold, decision).as_bytes()).unwrap();
            let Shape::Ordinary(tree) = &model.members()[0].shape else {
                unreachable!("LightGBM's trees are ordinary")
            };
            unfolded += usize::from(tree.nodes.len() > 1);
            for number in numbers {
                let left = goes_left(number, threshold, decision >> 2, decision & 2 == 2);
                let expected = if left { 1.0 } else { 2.0 };
                let found = model.raw_row(&[FeatureValue::Number(number)], None).unwrap();
                assert_eq!(found, [expected], "{number} at {threshold}, decision {decision}");
            }
        }
    }
    assert!(unfolded > 3, "some rules about zero must have needed more than one");
}

#[test]
fn sets_are_read_from_words() {
    let words = "num_cat=2\ncat_boundaries=0 1 3\ncat_threshold=5 0 2147483649";
    let text = text(0.0, 1)
        .replace("num_cat=0", words)
        .replace("feature_infos=[0:9]", "feature_infos=0:2:32:63");
    assert!(from_text(text.as_bytes()).unwrap_err().to_string().contains("before the names"));
    let text = text + "\nparameters:\nend of parameters\n";
    let model = from_text(text.as_bytes()).unwrap();
    let Kind::Category { levels } = &model.schema.features[0].kind else {
        unreachable!("a category")
    };
    assert_eq!(levels, &["0", "2"], "levels of sets that no rule asks for are not needed");
    // What is in the set goes left there, to the leaf with the value 1.
    for (code, expected) in [(0, 1.0), (1, 1.0), (2, 2.0), (crate::MISSING, 2.0)] {
        assert_eq!(
            model.raw_row(&[FeatureValue::Category(code)], None).unwrap(),
            [expected],
            "{code}"
        );
    }
    let second = from_text(text.replace("threshold=0.0", "threshold=1.0").as_bytes()).unwrap();
    let Kind::Category { levels } = &second.schema.features[0].kind else {
        unreachable!("a category")
    };
    assert_eq!(levels, &["32", "63"]);
}

#[test]
fn damage_is_reported() {
    let sound = text(1.0, 10);
    for (from, to, message) in [
        ("version=v4", "version=v9", "'v9'"),
        ("objective=regression", "objective=regression sqrt", "squares"),
        (
            "objective=regression",
            "objective=multiclassova num_class:3",
            "'multiclassova' has no counterpart",
        ),
        ("objective=regression", "objective=binary sigmoid:x", "binary sigmoid:x"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "0 trees per iteration"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=99999999999", "does not fit"),
        ("max_feature_idx=0", "max_feature_idx=18446744073709551615", "1 feature names"),
        ("leaf_value=1 2", "leaf_value=1", "`leaf_value` has 1 entries where 2"),
        ("leaf_value=1 2", "leaf_value=1 2\nis_linear=1", "linear"),
        ("num_leaves=2", "num_leaves=99999999999999", "where 99999999999999 are needed"),
        ("num_cat=0", "num_cat=9999999999", "`cat_boundaries` is missing"),
        ("left_child=-1", "left_child=0", "more than 3 nodes and leaves"),
        ("left_child=-1", "left_child=7", "no node 7"),
        ("left_child=-1", "left_child=-9", "no leaf 8"),
        ("split_feature=0", "split_feature=3", "tests feature 3"),
        ("decision_type=10", "decision_type=14", "missing type 3"),
        ("decision_type=10", "decision_type=11", "more categorical splits than sets"),
        ("end of trees", "", "ends early"),
        ("threshold=1.0", "threshold=nan", "threshold"),
        ("threshold=1.0", "threshold=x", "'x', which is not a number"),
    ] {
        assert!(sound.contains(from), "{from}");
        let error = from_text(sound.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(
            error.contains(message) && error.starts_with("lightgbm model: "),
            "{from} -> {to}: {error}"
        );
    }
}
