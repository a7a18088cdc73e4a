//! Trees of rules over ranks.

use proptest::prelude::*;
use swarmwood_model::predict::{FeatureValue, Prediction};
use swarmwood_model::{
    Body, Feature, Kind, Link, Model, Provenance, Schema, Target as Predicted, TargetKind,
};

use super::*;
use crate::data::{Chunk, Column};
use crate::leaf_loss::LeafLoss;

fn rule(feature: u32, cut: u16) -> RankRule {
    RankRule { feature, cut: Cut::Above(cut), missing_right: false }
}

fn subtree() -> impl Strategy<Value = Subtree> {
    let leaf = Just(Subtree::Leaf);
    leaf.prop_recursive(4, 16, 2, |inner| {
        (0u32..2, 1u16..6, any::<bool>(), inner.clone(), inner).prop_map(
            |(feature, cut, missing_right, left, right)| {
                Subtree::split(
                    RankRule { feature, cut: Cut::Above(cut), missing_right },
                    left,
                    right,
                )
            },
        )
    })
}

fn table(
    cells: &[(Option<u8>, u8, u8)],
    classes: Option<usize>,
) -> (Chunk, RankTable, Vec<Feature>) {
    let columns = vec![
        Column::Number(cells.iter().map(|cell| cell.0.map_or(f64::NAN, f64::from)).collect()),
        Column::Number(cells.iter().map(|cell| f64::from(cell.1)).collect()),
    ];
    let target = cells.iter().map(|cell| f64::from(cell.2)).collect();
    let chunk = Chunk { columns, target, rows: cells.len(), weight: Vec::new() };
    let features =
        ["x", "y"].map(|name| Feature { name: name.into(), kind: Kind::Number }).to_vec();
    let ranked = RankTable::new(&chunk, &features, classes, 100);
    (chunk, ranked, features)
}

#[test]
fn nodes_and_leaves_are_numbered_depth_first() {
    let inner = Subtree::split(rule(1, 2), Subtree::Leaf, Subtree::Leaf);
    let tree = RankTree::new(&Subtree::split(rule(0, 3), inner.clone(), Subtree::Leaf));
    assert_eq!(tree.nodes()[0].left, NodeRef::Node(1));
    assert_eq!(tree.nodes()[0].right, NodeRef::Leaf(2));
    assert_eq!(tree.leaves_below(NodeRef::Node(1)), 0..2);
    assert_eq!((tree.depths(), tree.parents()), (vec![0, 1], vec![0, 0]));
    assert_eq!(tree.replace(NodeRef::Leaf(2), &inner).leaves(), 4);
}

proptest! {
    #[test]
    fn taking_apart_and_putting_together_changes_nothing(subtree in subtree()) {
        let tree = RankTree::new(&subtree);
        prop_assert_eq!(tree.subtree(tree.root()), subtree.clone());
        prop_assert_eq!(tree.leaves(), subtree.leaves());
        let (_, ranked, _) = table(&[(Some(0), 1, 0), (None, 2, 1)], Some(2));
        prop_assert_eq!(RankTree::from_datum(&tree.to_datum(), &ranked).unwrap(), tree);
    }

    /// The model of a tree sends every row to the leaf that the tree sends it to, and predicts its
    /// class.
    #[test]
    fn the_model_of_a_tree_predicts_what_the_tree_says(
        subtree in subtree(),
        cells in prop::collection::vec((prop::option::weighted(0.9, 0u8..6), 0u8..6, 0u8..3), 3..40),
    ) {
        let (chunk, ranked, features) = table(&cells, Some(3));
        let mut tree = RankTree::new(&subtree);
        let rows: Vec<u32> = (0..ranked.rows() as u32).collect();
        let before = tree.assign_leaves(&ranked, tree.root(), &rows);
        let member = to_member(&mut tree, &ranked, &LeafLoss::Gini);
        prop_assert_eq!(&before, &tree.assign_leaves(&ranked, tree.root(), &rows), "centring moved a row");
        prop_assert_eq!(tree.partition_rows(&ranked), tree.partition_rows_on(&ranked, &Pool::new(3).unwrap()));
        let (_, leaves) = fit_nodes(&tree, &ranked, &LeafLoss::Gini);
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        let target = Predicted { name: "t".into(), kind: TargetKind::Classes(classes) };
        let model = Model {
            schema: Schema { features, target, dates: Vec::new() },
            link: Link::Softmax,
            objective: "softmax".into(),
            base: vec![0.0; 3],
            body: Body::Trees(vec![member]),
            provenance: Provenance::default(),
            calibration: swarmwood_model::Calibration::default(),
        };
        prop_assert!(model.check().is_ok());
        let [Column::Number(x), Column::Number(y)] = &chunk.columns[..] else { unreachable!() };
        let predict = |row: usize| match model.predict_row(&[FeatureValue::Number(x[row]), FeatureValue::Number(y[row])]) {
            Ok(Prediction::Class { class, probabilities }) => (class, probabilities),
            other => unreachable!("{other:?}"),
        };
        for (row, &leaf) in before.iter().enumerate() {
            let leaf = &leaves[leaf as usize];
            let (class, probabilities) = predict(row);
            prop_assert_eq!(class as usize, leaf.class(&LeafLoss::Gini));
            let share = (leaf.sums[0] + 1.0) / (leaf.sums.iter().sum::<f64>() + 3.0);
            prop_assert!((probabilities[0] - share).abs() < 1e-9);
        }
    }
}
