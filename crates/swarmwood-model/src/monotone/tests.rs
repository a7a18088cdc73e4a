//! The check against a comparison of all cells of small models.

use super::*;
use crate::samples::SampleRng;
use crate::tree::{Child, Leaf, LevelSet, Node, Split, Test};
use crate::{Feature, Member, Provenance, Schema, Shape, Target, TargetKind};

const NUMBERS: usize = 3;
const LEVELS: u32 = 3;

fn schema() -> Schema {
    let number = |at: usize| Feature { name: format!("x{at}"), kind: Kind::Number };
    let levels = (0..LEVELS).map(|level| level.to_string()).collect();
    let category = Feature { name: "c".to_string(), kind: Kind::Category { levels } };
    Schema {
        features: (0..NUMBERS).map(number).chain([category]).collect(),
        target: Target { name: "y".to_string(), kind: TargetKind::Number },
        dates: Vec::new(),
    }
}

fn random_split(rng: &mut SampleRng) -> Split {
    let feature = rng.below(NUMBERS + 1) as u32;
    let test = if feature as usize == NUMBERS {
        Test::In((0..LEVELS).filter(|_| rng.chance(50)).collect::<LevelSet>())
    } else {
        Test::Above([1.0, 2.0, 3.0, f64::MAX][rng.below(4)])
    };
    Split { feature, test, missing_right: rng.chance(50) }
}

/// A tree that splits random leaves by random splits; some of its paths are empty.
fn random_tree(splits: usize, rng: &mut SampleRng) -> Tree {
    let mut tree = Tree::leaf(Leaf::default());
    for at in 0..splits {
        let leaf = rng.below(tree.leaves.len()) as u32;
        for node in &mut tree.nodes {
            for child in [&mut node.left, &mut node.right] {
                if *child == Child::Leaf(leaf) {
                    *child = Child::Node(at as u32);
                }
            }
        }
        let right = Child::Leaf(tree.leaves.len() as u32);
        let (split, left) = (random_split(rng), Child::Leaf(leaf));
        tree.nodes.push(Node { split, left, right, gain: 0.0, cover: 1.0 });
        tree.leaves.push(Leaf::default());
    }
    tree
}

/// Whole leaf values, so that sums are exact and trees compensate each other often.
fn random_model(rng: &mut SampleRng) -> Model {
    let members = (0..1 + rng.below(3)).map(|_| {
        let mut tree = random_tree(rng.below(5), rng);
        for leaf in &mut tree.leaves {
            leaf.value = rng.below(4) as f64;
        }
        Member { output: 0, shape: Shape::Ordinary(tree) }
    });
    let body = Body::Trees(members.collect());
    Model {
        schema: schema(),
        link: Link::Identity,
        objective: "squared".to_string(),
        base: vec![0.5],
        body,
        calibration: crate::Calibration::default(),
        provenance: Provenance::default(),
    }
}

/// All cells: every value that splits tell apart.
fn is_increasing(model: &Model, feature: usize) -> bool {
    let number = |value: f64| FeatureValue::Number(value);
    let numbers = [0.5, 1.5, 2.5, 3.5].map(number);
    let mut rows: Vec<Vec<FeatureValue>> = vec![Vec::new()];
    for at in 0..=NUMBERS {
        let values: Vec<FeatureValue> = match at {
            _ if at == feature => vec![number(0.0)],
            NUMBERS => (0..LEVELS).chain([u32::MAX]).map(FeatureValue::Category).collect(),
            _ => numbers.into_iter().chain([number(f64::NAN)]).collect(),
        };
        let longer = |row: &Vec<FeatureValue>| {
            let row = row.clone();
            values.clone().into_iter().map(move |value| [row.clone(), vec![value]].concat())
        };
        rows = rows.iter().flat_map(longer).collect();
    }

    rows.into_iter().all(|mut row| {
        let mut scores = numbers.iter().map(|&value| {
            row[feature] = value;
            model.raw_row(&row, None).unwrap()[0]
        });
        let first = scores.next().unwrap();
        scores.try_fold(first, |last, score| (score >= last).then_some(score)).is_some()
    })
}

#[test]
fn the_check_agrees_with_all_cells() {
    let mut rng = SampleRng(5);
    let mut counts = [0, 0];
    for _ in 0..4000 {
        let model = random_model(&mut rng);
        let feature = rng.below(NUMBERS);
        let expected = is_increasing(&model, feature);
        match check(&model, feature, Direction::Increasing).unwrap() {
            MonotoneCheck::Proven { .. } => assert!(expected, "{model:?}"),
            MonotoneCheck::Violated(Counterexample { lower, upper, raw }) => {
                assert!(!expected, "{model:?}");
                assert_eq!(model.raw_row(&lower, None).unwrap(), [raw[0]]);
                assert_eq!(model.raw_row(&upper, None).unwrap(), [raw[1]]);
                assert!(raw[1] < raw[0]);
                let differs =
                    |at: &usize| format!("{:?}", lower[*at]) != format!("{:?}", upper[*at]);
                assert_eq!((0..=NUMBERS).filter(differs).collect::<Vec<_>>(), [feature]);
            }
            MonotoneCheck::Undecided { .. } => panic!("{model:?}"),
        }
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|&count| count > 400), "{counts:?}");
}

#[test]
fn a_tree_may_fall_where_another_rises_more() {
    let stump = |below: f64, above: f64| {
        let split = Split { feature: 0, test: Test::Above(1.0), missing_right: false };
        let (left, right) = (Child::Leaf(0), Child::Leaf(1));
        let leaf = |value| Leaf { value, cover: 1.0 };
        let nodes = vec![Node { split, left, right, gain: 0.0, cover: 2.0 }];
        let tree = Tree { nodes, leaves: vec![leaf(below), leaf(above)] };
        Member { output: 0, shape: Shape::Ordinary(tree) }
    };
    let mut model = random_model(&mut SampleRng(1));
    model.body = Body::Trees(vec![stump(1.0, 0.0), stump(0.0, 1.0)]);
    for direction in [Direction::Increasing, Direction::Decreasing] {
        let proven = check(&model, 0, direction).unwrap();
        assert!(matches!(proven, MonotoneCheck::Proven { .. }), "{proven:?}");
    }
    model.body = Body::Trees(vec![stump(1.0, 0.0), stump(0.0, 0.5)]);
    let violated = check(&model, 0, Direction::Increasing).unwrap();
    assert!(matches!(violated, MonotoneCheck::Violated(_)), "{violated:?}");
    assert!(check(&model, NUMBERS, Direction::Increasing).is_err());
}

#[test]
fn without_falling_neighbours_every_tree_is_monotone() {
    let mut rng = SampleRng(9);
    for _ in 0..500 {
        let mut model = random_model(&mut rng);
        let mut tree = random_tree(6, &mut rng);
        tree.leaves.iter_mut().for_each(|leaf| leaf.value = rng.below(3) as f64);
        let value = |leaf: u32| tree.leaves[leaf as usize].value;
        let expected =
            neighbours(&tree, &[1])[0].iter().all(|&(below, above)| value(below) <= value(above));
        model.body = Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree.clone()) }]);
        let features: Vec<u32> = (0..NUMBERS as u32).collect();
        for (&feature, pairs) in features.iter().zip(neighbours(&tree, &features)) {
            assert_eq!(pairs, neighbours_by_walk(&tree, feature), "{tree:?}");
        }
        // Without the schema, levels that no split names count: the pairs may be more than needed.
        assert!(!expected || is_increasing(&model, 1), "{tree:?}");
    }
}
