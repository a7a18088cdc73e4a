use super::*;
use crate::samples::{self, SampleRng, SampleSize};
use crate::schema::TargetKind;
use crate::tree::{Level, LevelSet, Node};

/// A softmax model: two rounds of three trees, alternately of both kinds, and one of a vector tree.
fn sample() -> Model {
    let rng = &mut SampleRng(5);
    let features = vec![
        Feature { name: "a".into(), kind: Kind::Number },
        Feature { name: "b".into(), kind: Kind::Category { levels: vec!["x".into(), "y".into()] } },
    ];
    let mut model = samples::model(5, SampleSize { features: 0, rounds: 0, leaves: 1, levels: 0 });
    model.link = Link::Softmax;
    model.schema.target.kind = TargetKind::Classes(["u", "v", "w"].map(String::from).to_vec());
    model.base = vec![0.0; 3];
    let shape = |rng: &mut SampleRng, tree: u32| match tree % 2 {
        0 => Shape::Ordinary(samples::tree(rng, &features, 5)),
        _ => Shape::Oblivious(samples::oblivious(rng, &features, 3)),
    };
    let mut trees: Vec<Member> =
        (0..6).map(|tree| Member { output: tree % 3, shape: shape(rng, tree) }).collect();
    let vector = Shape::Vector(samples::vector(rng, &features, 4, 3));
    trees.insert(3, Member { output: 0, shape: vector });
    model.body = Body::Trees(trees);
    model.schema.features = features;
    assert_eq!(model.check(), Ok(()));
    model
}

fn members(model: &mut Model) -> &mut Vec<Member> {
    match &mut model.body {
        Body::Trees(members) => members,
        Body::Linear(_) => unreachable!("the sample has trees"),
    }
}

fn ordinary(model: &mut Model) -> &mut Tree {
    match &mut members(model)[0].shape {
        Shape::Ordinary(tree) => tree,
        _ => unreachable!("the sample starts with an ordinary tree"),
    }
}

fn oblivious(model: &mut Model) -> &mut ObliviousTree {
    match &mut members(model)[1].shape {
        Shape::Oblivious(tree) => tree,
        _ => unreachable!("the sample's second tree is oblivious"),
    }
}

fn vector(model: &mut Model) -> &mut VectorTree {
    match &mut members(model)[3].shape {
        Shape::Vector(tree) => tree,
        _ => unreachable!("the sample's second round is a vector tree"),
    }
}

fn node(model: &mut Model, index: usize) -> &mut Node {
    &mut ordinary(model).nodes[index]
}

fn level(model: &mut Model) -> &mut Level {
    &mut oblivious(model).levels[0]
}

/// Each way to break a model is found and named.
#[test]
fn every_invariant_is_checked() {
    type Break = fn(&mut Model);
    let text = |set: &[u32]| Test::In(set.iter().copied().collect::<LevelSet>());
    assert_eq!(text(&[1, 1]), text(&[1]));
    let breaks: &[(Break, &str)] = &[
        (|m| m.schema.features[1].name = "a".into(), "two features are named `a`"),
        (
            |m| m.schema.features[1].kind = Kind::Category { levels: vec!["x".into(); 2] },
            "two levels named `x`",
        ),
        (
            |m| m.schema.target.kind = TargetKind::Classes(vec!["u".into(); 3]),
            "classes of the target are named `u`",
        ),
        (
            |m| m.schema.target.kind = TargetKind::Numbers(vec!["u".into(); 3]),
            "the target has the columns",
        ),
        (
            |m| m.schema.target.kind = TargetKind::Numbers(vec!["u".into()]),
            "there must be at least two, each once",
        ),
        (|m| m.base.push(0.0), "link Softmax does not fit"),
        (|m| m.base.clear(), "link Softmax does not fit"),
        (|m| m.link = Link::Sigmoid, "link Sigmoid does not fit"),
        (|m| m.schema.target.kind = TargetKind::Number, "target with 0 classes"),
        (|m| m.base[1] = f64::NAN, "start value 1 is NaN"),
        (|m| drop(members(m).pop()), "6 trees are not a whole number of rounds of 3"),
        (|m| members(m)[5].output = 0, "tree 5: adds to output 0"),
        (|m| members(m)[3].output = 1, "tree 3: adds to output 1"),
        (|m| members(m).swap(2, 3), "tree 2: adds to output 0"),
        (|m| vector(m).values.truncate(11), "tree 3: 11 values for 4 leaves and 3 outputs"),
        (|m| vector(m).values[7] = f64::NAN, "tree 3: the value of leaf 2 is NaN"),
        (|m| vector(m).tree.leaves[1].value = 1.0, "tree 3: leaf 1 of a vector tree has a value"),
        (|m| vector(m).tree.leaves[1].cover = -1.0, "tree 3: the cover of leaf 1 is -1"),
        (|m| vector(m).tree.nodes[0].left = Child::Node(0), "tree 3: node 0 leads to Node(0)"),
        (|m| ordinary(m).leaves.truncate(4), "tree 0: 4 nodes and 4 leaves"),
        (|m| ordinary(m).leaves.clear(), "tree 0: 4 nodes and 0 leaves"),
        (|m| node(m, 0).left = Child::Node(0), "tree 0: node 0 leads to Node(0)"),
        (|m| node(m, 3).right = Child::Node(1), "tree 0: node 3 leads to Node(1)"),
        (|m| node(m, 3).right = Child::Node(9), "tree 0: node 3 leads to Node(9)"),
        (|m| node(m, 3).right = Child::Leaf(5), "tree 0: node 3 leads to Leaf(5)"),
        (|m| node(m, 3).right = node(m, 3).left, "has two parents"),
        (|m| node(m, 2).split.feature = 2, "tree 0: split 2 tests feature 2"),
        (|m| node(m, 2).gain = f64::NAN, "tree 0: the gain of split 2 is NaN"),
        (|m| node(m, 2).cover = -1.0, "tree 0: the cover of split 2 is -1"),
        (|m| ordinary(m).leaves[4].value = f64::INFINITY, "tree 0: the value of leaf 4 is inf"),
        (|m| ordinary(m).leaves[4].cover = -0.5, "tree 0: the cover of leaf 4 is -0.5"),
        (|m| oblivious(m).leaves.truncate(7), "tree 1: 7 leaves for 3 levels"),
        (|m| drop(oblivious(m).levels.pop()), "tree 1: 8 leaves for 2 levels"),
        (
            |m| {
                let level = level(m).clone();
                oblivious(m).levels = vec![level; 70];
            },
            "tree 1: 70 levels",
        ),
        (
            |m| {
                level(m).split =
                    Split { feature: 0, test: Test::Above(f64::NAN), missing_right: false }
            },
            "threshold of",
        ),
        (
            |m| level(m).split = Split { feature: 1, test: Test::Above(0.0), missing_right: false },
            "does not fit",
        ),
        (
            |m| {
                level(m).split = Split {
                    feature: 1,
                    test: Test::In([2].into_iter().collect()),
                    missing_right: true,
                }
            },
            "names level 2 of feature `b`, which has only 2",
        ),
        (
            |m| {
                level(m).split =
                    Split { feature: 0, test: Test::In(LevelSet::default()), missing_right: true }
            },
            "does not fit feature `a`",
        ),
        (|m| level(m).gain = f64::NEG_INFINITY, "tree 1: the gain of split 0 is -inf"),
        (|m| m.body = Body::Linear(vec![]), "0 linear functions for 3 outputs"),
        (
            |m| m.body = Body::Linear(vec![LinearFunction { terms: vec![] }; 3]),
            "0 terms for 2 features",
        ),
        (
            |m| {
                let number = LinearTerm::Number { weight: 1.0, centre: 0.0 };
                m.body =
                    Body::Linear(vec![LinearFunction { terms: vec![number.clone(), number] }; 3]);
            },
            "linear function 0: the term of feature `b`",
        ),
        (
            |m| {
                let number = LinearTerm::Number { weight: 1.0, centre: f64::NAN };
                let category = LinearTerm::Category { weights: vec![0.0; 2] };
                m.body = Body::Linear(vec![LinearFunction { terms: vec![number, category] }; 3]);
            },
            "the term of feature `a`",
        ),
        (
            |m| {
                let number = LinearTerm::Number { weight: 1.0, centre: 0.0 };
                let category = LinearTerm::Category { weights: vec![0.0; 3] };
                m.body = Body::Linear(vec![LinearFunction { terms: vec![number, category] }; 3]);
            },
            "the term of feature `b`",
        ),
    ];
    for (index, (break_it, message)) in breaks.iter().enumerate() {
        let mut model = sample();
        break_it(&mut model);
        let error = model.check().expect_err(message).to_string();
        assert!(error.contains(message), "break {index}: {error}");
    }
}

#[test]
fn leaves_that_could_add_up_to_infinity_are_refused() {
    let mut model = sample();
    let set = |model: &mut Model, value: f64| {
        members(model).iter_mut().for_each(|member| match &mut member.shape {
            Shape::Ordinary(tree) => tree.leaves[0].value = value,
            Shape::Oblivious(tree) => tree.leaves[0].value = value,
            Shape::Vector(tree) => tree.values[0] = value,
        });
    };
    set(&mut model, 1e307);
    assert_eq!(model.check(), Ok(()));
    set(&mut model, 1e308);
    assert_eq!(model.check(), Err(ModelError::Overflow { output: 0 }));
    set(&mut model, -1e308);
    assert_eq!(model.check(), Err(ModelError::Overflow { output: 0 }));
}
