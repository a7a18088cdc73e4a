use proptest::prelude::*;

use super::*;
use crate::predict::{level_counts, unknown_to_missing};
use crate::samples::{self, SampleSize, borrowed, columns};
use crate::*;

/// The tree's expected value when only the features in `coalition` are known: the definition, by
/// recursion.
fn worth(tree: &Tree, at: Child, coalition: u32, value: &dyn Fn(u32) -> FeatureValue) -> f64 {
    let Child::Node(index) = at else {
        let Child::Leaf(leaf) = at else { unreachable!() };
        return tree.leaves[leaf as usize].value;
    };
    let node = &tree.nodes[index as usize];
    if coalition >> node.split.feature & 1 == 1 {
        let next =
            if node.split.goes_right(value(node.split.feature)) { node.right } else { node.left };
        return worth(tree, next, coalition, value);
    }
    let (left, right) = (cover(tree, node.left), cover(tree, node.right));
    let share = if left + right > 0.0 { right / (left + right) } else { 0.5 };
    worth(tree, node.left, coalition, value) * (1.0 - share)
        + worth(tree, node.right, coalition, value) * share
}

fn cover(tree: &Tree, at: Child) -> f64 {
    match at {
        Child::Leaf(leaf) => tree.leaves[leaf as usize].cover,
        Child::Node(node) => {
            cover(tree, tree.nodes[node as usize].left)
                + cover(tree, tree.nodes[node as usize].right)
        }
    }
}

fn factorial(number: u32) -> f64 {
    (1..=number).map(f64::from).product()
}

/// Shapley values by their definition, over all coalitions.
fn shapley(tree: &Tree, features: u32, value: &dyn Fn(u32) -> FeatureValue) -> Vec<f64> {
    let worths: Vec<f64> = (0..1_u32 << features)
        .map(|coalition| worth(tree, tree.root(), coalition, value))
        .collect();
    let share = |feature: u32| {
        let mut sum = 0.0;
        for coalition in (0..1_u32 << features).filter(|coalition| coalition >> feature & 1 == 0) {
            let size = coalition.count_ones();
            let weight = factorial(size) * factorial(features - size - 1) / factorial(features);
            sum +=
                weight * (worths[(coalition | 1 << feature) as usize] - worths[coalition as usize]);
        }
        sum
    };
    (0..features).map(share).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn contributions_are_shapley_values(seed: u64, features in 1_usize..7) {
        let model = samples::model(seed, SampleSize { features, rounds: 2, leaves: 12, levels: 5 });
        let rows = samples::rows(seed, &model, 4);
        let owned = columns(&model, &rows);
        let block_columns = borrowed(&owned);
        let size = features + 1;
        let mut found = vec![0.0; rows.len() * model.outputs() * size];
        Explainer::new(&model, None).unwrap()
            .contributions(&Block { columns: &block_columns, rows: rows.len() }, &mut found).unwrap();
        let levels = level_counts(&model.schema);
        for (row, found) in rows.iter().zip(found.chunks(model.outputs() * size)) {
            let value = |feature: u32| unknown_to_missing(levels[feature as usize], row[feature as usize]);
            let mut expected = vec![0.0; model.outputs() * size];
            for (output, base) in model.base.iter().enumerate() {
                expected[output * size + features] = *base;
            }
            for member in model.members() {
                let trees = match &member.shape {
                    Shape::Vector(vector) => (0..vector.outputs()).map(|output| vector.to_tree(output)).collect(),
                    shape => vec![shape.to_tree().into_owned()],
                };
                for (output, tree) in (member.output as usize..).zip(trees) {
                    let out = &mut expected[output * size..][..size];
                    let shares = shapley(&tree, features as u32, &value);
                    out.iter_mut().zip(shares).for_each(|(out, share)| *out += share);
                    out[features] += worth(&tree, tree.root(), 0, &value);
                }
            }
            let linear = matches!(model.body, Body::Linear(_));
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!(linear || (found - expected).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn contributions_sum_to_the_raw_score(model in samples::any_model(), seed: u64) {
        let rows = samples::rows(seed, &model, 5);
        let owned = columns(&model, &rows);
        let block_columns = borrowed(&owned);
        let size = model.schema.features.len() + 1;
        for first in [None, Some(1)] {
            let mut found = vec![0.0; rows.len() * model.outputs() * size];
            Explainer::new(&model, first).unwrap()
                .contributions(&Block { columns: &block_columns, rows: rows.len() }, &mut found).unwrap();
            let raw: Vec<f64> = rows.iter().flat_map(|row| model.raw_row(row, first).unwrap()).collect();
            for (found, raw) in found.chunks(size).zip(raw) {
                // Infinite inputs make linear models as large as numbers can be.
                let sum: f64 = found.iter().sum();
                prop_assert!(raw.is_finite());
                let is_bounded = found.iter().any(|part| part.abs() > 1e300);
                prop_assert!(is_bounded || (sum - raw).abs() <= 1e-9 * raw.abs().max(1.0), "{sum} {raw}");
            }
        }
    }

    #[test]
    fn converted_oblivious_trees_are_the_same_function(seed: u64) {
        let model = samples::model(seed, SampleSize { features: 7, rounds: 3, leaves: 2, levels: 7 });
        for row in samples::rows(seed, &model, 20) {
            for member in model.members() {
                let Shape::Oblivious(tree) = &member.shape else { continue };
                let value = |feature: u32| row[feature as usize];
                prop_assert_eq!(tree.leaf_of(value), tree.to_tree().leaf_of(value));
            }
        }
    }
}

/// A way through 60 different features: the weights span 17 orders of magnitude and the sum must
/// still hold.
#[test]
fn long_ways_stay_exact() {
    let mut model = samples::model(3, SampleSize { features: 0, rounds: 0, leaves: 1, levels: 0 });
    let feature = |index| Feature { name: format!("f{index}"), kind: Kind::Number };
    model.schema.features = (0..60).map(feature).collect();
    let split = |feature| Split { feature, test: Test::Above(0.0), missing_right: false };
    let next = |node: u32| if node < 59 { Child::Node(node + 1) } else { Child::Leaf(60) };
    let node = |index| Node {
        split: split(index),
        left: Child::Leaf(index),
        right: next(index),
        gain: 1.0,
        cover: 1.0,
    };
    let leaf = |index: u32| Leaf { value: f64::from(index).sin(), cover: f64::from(1 + index % 7) };
    let tree = Tree { nodes: (0..60).map(node).collect(), leaves: (0..61).map(leaf).collect() };
    let shape = |_| Shape::Ordinary(tree.clone());
    let members =
        (0..model.outputs()).map(|output| Member { output: output as u32, shape: shape(output) });
    model.body = Body::Trees(members.collect());
    assert_eq!(model.check(), Ok(()));
    for negative in [10, 30, 59, 60] {
        let values: Vec<[f64; 1]> =
            (0..60).map(|index| [if index < negative { 1.0 } else { -1.0 }]).collect();
        let columns: Vec<ColumnView<'_>> =
            values.iter().map(|value| ColumnView::Number(value)).collect();
        let mut found = vec![0.0; model.outputs() * 61];
        let explainer = Explainer::new(&model, None).unwrap();
        explainer.contributions(&Block { columns: &columns, rows: 1 }, &mut found).unwrap();
        let row: Vec<FeatureValue> =
            values.iter().map(|value| FeatureValue::Number(value[0])).collect();
        for (found, raw) in found.chunks(61).zip(model.raw_row(&row, None).unwrap()) {
            assert!((found.iter().sum::<f64>() - raw).abs() < 1e-9);
        }
    }
}

#[test]
fn importances_add_up() {
    let model = samples::model(11, SampleSize { features: 9, rounds: 5, leaves: 20, levels: 4 });
    let importances = model.importances();
    let splits: usize = model.members().iter().map(|member| member.shape.splits().count()).sum();
    assert_eq!(importances.iter().map(|importance| importance.splits).sum::<u64>(), splits as u64);
    let gain = |shape: &Shape| match shape {
        Shape::Ordinary(tree) => tree.nodes.iter().map(|node| node.gain).sum::<f64>(),
        Shape::Oblivious(tree) => tree.levels.iter().map(|level| level.gain).sum(),
        Shape::Vector(tree) => tree.tree.nodes.iter().map(|node| node.gain).sum(),
    };
    let gains: f64 = model.members().iter().map(|member| gain(&member.shape)).sum();
    assert!(
        (importances.iter().map(|importance| importance.gain).sum::<f64>() - gains).abs() < 1e-9
    );
}

#[test]
fn interactions_are_pairs_of_features_on_one_path() {
    let split = |feature: u32| Split { feature, test: Test::Above(0.0), missing_right: false };
    let node = |feature: u32, left: Child, right: Child, gain: f64| Node {
        split: split(feature),
        left,
        right,
        gain,
        cover: 1.0,
    };
    let leaves = vec![Leaf { value: 0.0, cover: 1.0 }; 6];
    // Feature 0 at the root; 1 and 2 on different sides; 0 again below 2.
    let nodes = vec![
        node(0, Child::Node(1), Child::Node(2), 8.0),
        node(1, Child::Leaf(0), Child::Leaf(1), 4.0),
        node(2, Child::Node(3), Child::Leaf(2), 2.0),
        node(0, Child::Leaf(3), Child::Node(4), 1.0),
        node(2, Child::Leaf(4), Child::Leaf(5), 0.5),
    ];
    let feature = |name: &str| Feature { name: name.into(), kind: Kind::Number };
    let model = Model {
        schema: Schema {
            features: ["a", "b", "c"].map(feature).into(),
            target: Target { name: "y".into(), kind: TargetKind::Number },
            dates: Vec::new(),
        },
        link: Link::Identity,
        objective: "squared".into(),
        base: vec![0.0],
        body: Body::Trees(vec![Member {
            output: 0,
            shape: Shape::Ordinary(Tree { nodes, leaves }),
        }]),
        provenance: Provenance::default(),
        calibration: Calibration::default(),
    };
    let found = model.interactions();
    let expected = [
        Interaction { features: (0, 1), gain: 4.0, splits: 1 },
        Interaction { features: (0, 2), gain: 3.5, splits: 3 },
    ];
    assert_eq!(found, expected);
}
