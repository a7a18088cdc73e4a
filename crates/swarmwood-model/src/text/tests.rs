use proptest::prelude::*;

use super::*;
use crate::samples::{any_model, model};
use crate::*;

proptest! {
    #[test]
    fn text_is_bounded(model in any_model(), trees in 0_usize..4, lines in 0_usize..30) {
        let text = model.to_text(&TextOptions { trees, lines });
        let parts = if model.members().is_empty() { model.outputs() } else { trees };
        // Nine lines are the summary, the start values and the number of trees left out; a tree has
        // besides its lines a heading, a line on the order of answers, one too many and a cut.
        let calibration = &model.calibration;
        let decisions = usize::from(calibration.threshold.is_some())
            + usize::from(calibration.interval.is_some())
            + usize::from(calibration.class_sets.is_some());
        prop_assert!(text.lines().count() <= 9 + decisions + parts * (lines + 4));
    }
}

/// Every leaf of a model with ordinary and oblivious trees and categories is printed under the
/// rules that lead to it.
#[test]
fn trees_are_readable() {
    let category = Kind::Category { levels: ["red", "green", "blue"].map(String::from).to_vec() };
    let mut model = model(1, samples::SampleSize { features: 0, rounds: 0, leaves: 1, levels: 0 });
    model.schema = Schema {
        features: vec![
            Feature { name: "age".into(), kind: Kind::Number },
            Feature { name: "co\u{1b}lour".into(), kind: category },
        ],
        target: Target { name: "price".into(), kind: TargetKind::Number },
        dates: Vec::new(),
    };
    (model.link, model.base, model.objective) = (Link::Identity, vec![0.25], "squared".into());
    let age = Split { feature: 0, test: Test::Above(30.5), missing_right: false };
    let colour =
        Split { feature: 1, test: Test::In([0, 2].into_iter().collect()), missing_right: true };
    let leaf = |value| Leaf { value, cover: 1.0 };
    let node = |split: &Split, left, right| Node {
        split: split.clone(),
        left,
        right,
        gain: 1.0,
        cover: 2.0,
    };
    let tree = Tree {
        nodes: vec![
            node(&age, Child::Node(1), Child::Leaf(2)),
            node(&colour, Child::Leaf(0), Child::Leaf(1)),
        ],
        leaves: vec![leaf(-1.0), leaf(0.5), leaf(2.0)],
    };
    let level = |split: &Split| Level { split: split.clone(), gain: 1.0 };
    let oblivious = ObliviousTree {
        levels: vec![level(&age), level(&colour)],
        leaves: [1.0, 2.0, 3.0, 4.0].map(leaf).to_vec(),
    };
    let member = |shape| Member { output: 0, shape };
    let stump = Shape::Ordinary(Tree::leaf(leaf(0.0)));
    let shapes = [Shape::Ordinary(tree), Shape::Oblivious(oblivious), stump];
    model.body = Body::Trees(shapes.map(member).to_vec());
    model.provenance = Provenance {
        version: "0.1.0".into(),
        method: "greedy".into(),
        rows: 9,
        ..Default::default()
    };
    assert_eq!(model.check(), Ok(()));
    let expected = "\
kind       trees, some of them oblivious
target     price (number)
objective  squared
rounds     3
trees      3, 8 leaves, depth 2 at most
features   2, 2 of them used
trained    on 9 rows, method greedy, version 0.1.0
start      0.25
tree 0: 3 leaves, depth 2
  age <= 30.5 or missing
    co\\u{1b}lour not in {red, blue}
      leaf 0: -1
    co\\u{1b}lour in {red, blue} or missing
      leaf 1: 0.5
  age > 30.5
    leaf 2: 2
tree 1: oblivious, 4 leaves, depth 2
  level 0: age > 30.5
  level 1: co\\u{1b}lour in {red, blue} or missing
  leaves by side of each level (y = right), level 0 first:
    leaf 0 nn: 1
    leaf 1 yn: 2
    leaf 2 ny: 3
    leaf 3 yy: 4
... and 1 more tree
";
    assert_eq!(model.to_text(&TextOptions { trees: 2, lines: 10 }), expected);
    assert_eq!(model.to_string(), model.to_text(&TextOptions::default()));
    assert!(model.to_text(&TextOptions { trees: 2, lines: 3 }).contains("... cut after 3 lines"));
}

#[test]
fn a_vector_tree_is_printed_with_the_values_of_all_classes() {
    let mut model = model(1, samples::SampleSize { features: 2, rounds: 0, leaves: 1, levels: 0 });
    (model.link, model.base) = (Link::Softmax, vec![0.0; 3]);
    model.schema.target.kind = TargetKind::Classes(["a", "b", "c"].map(String::from).to_vec());
    let mut vector = samples::vector(&mut samples::SampleRng(1), &model.schema.features, 2, 3);
    vector.values = vec![1.0, 2.5, -3.0, 0.0, 0.5, 4.0];
    model.body = Body::Trees(vec![Member { output: 0, shape: Shape::Vector(vector) }]);
    let text = model.to_text(&TextOptions::default());
    assert!(text.contains("tree 0 for all classes: 2 leaves, depth 1\n"), "{text}");
    assert!(
        text.contains("leaf 0: 1, 2.5, -3\n") && text.contains("leaf 1: 0, 0.5, 4\n"),
        "{text}"
    );
}

/// A threshold above all finite numbers separates missing values from numbers.
#[test]
fn splits_on_missing_values_say_so() {
    let mut model = model(1, samples::SampleSize { features: 0, rounds: 0, leaves: 1, levels: 0 });
    let kind = Kind::Number;
    model.schema.features = vec![Feature { name: "age".into(), kind }];
    let leaf = |value| Leaf { value, cover: 1.0 };
    let mut sides = |missing_right| {
        let split = Split { feature: 0, test: Test::Above(f64::MAX), missing_right };
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let node = Node { split, left, right, gain: 1.0, cover: 2.0 };
        let shape =
            Shape::Ordinary(Tree { nodes: vec![node], leaves: vec![leaf(1e-9), leaf(2.0)] });
        model.body = Body::Trees(vec![Member { output: 0, shape }]);
        model.tree_text(0, 10).unwrap()
    };
    assert!(
        sides(true).contains("  age is finite\n    leaf 0: 1e-9\n  age is missing or infinite\n")
    );
    assert!(
        sides(false).contains("  age is finite or missing\n    leaf 0: 1e-9\n  age is infinite\n")
    );
}
