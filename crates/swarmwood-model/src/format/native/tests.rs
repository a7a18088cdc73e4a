use proptest::prelude::*;

use super::*;
use crate::samples::{SampleSize, any_model, model};
use crate::*;

/// A model in JSON, with the first occurrence of `from` replaced.
fn altered(from: &str, to: &str) -> Result<Model, FormatError> {
    let json = to_json(&sample()).unwrap();
    assert!(json.contains(from), "{from} not in {json}");
    from_json(json.replacen(from, to, 1).as_bytes())
}

/// Two rounds over a number and a category, one tree of each kind.
fn sample() -> Model {
    let category = Kind::Category { levels: ["red", "green", "blue"].map(String::from).to_vec() };
    let age = Split { feature: 0, test: Test::Above(30.5), missing_right: false };
    let colour =
        Split { feature: 1, test: Test::In([0, 2].into_iter().collect()), missing_right: true };
    let leaf = |value| Leaf { value, cover: 1.5 };
    let node = |split: &Split, left, right| Node {
        split: split.clone(),
        left,
        right,
        gain: 4.25,
        cover: 3.0,
    };
    let tree = Tree {
        nodes: vec![
            node(&age, Child::Node(1), Child::Leaf(2)),
            node(&colour, Child::Leaf(0), Child::Leaf(1)),
        ],
        leaves: vec![leaf(-1.0), leaf(0.5), leaf(2.0)],
    };
    let level = |split: &Split| Level { split: split.clone(), gain: 1.0 };
    let oblivious = ObliviousTree { levels: vec![level(&age)], leaves: vec![leaf(1.0), leaf(2.0)] };
    let member = |shape| Member { output: 0, shape };
    Model {
        schema: Schema {
            features: vec![
                Feature { name: "age".into(), kind: Kind::Number },
                Feature { name: "colour".into(), kind: category },
            ],
            target: Target { name: "price".into(), kind: TargetKind::Number },
            dates: Vec::new(),
        },
        link: Link::ExpM1,
        objective: "squared-log".into(),
        base: vec![0.25],
        body: Body::Trees(vec![member(Shape::Ordinary(tree)), member(Shape::Oblivious(oblivious))]),
        provenance: Provenance {
            version: "0.1.0".into(),
            method: "greedy".into(),
            rows: 9,
            params: [("depth".into(), "6".into())].into(),
            stats: TrainingStats::default(),
        },
        calibration: Calibration::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip_is_exact(model in any_model()) {
        let json = to_json(&model).unwrap();
        let back = from_json(json.as_bytes()).unwrap();
        prop_assert_eq!(&to_json(&back).unwrap(), &json);
        prop_assert_eq!(back, model);
    }

    #[test]
    fn random_bytes_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(from_json(&bytes).is_err());
    }

    #[test]
    fn edited_files_do_not_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = to_json(&sample()).unwrap().into_bytes();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(model) = from_json(&bytes) {
            prop_assert_eq!(model.check(), Ok(()));
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let json = to_json(&sample()).unwrap();
    // All but the final line break is needed.
    for end in 0..json.len() - 1 {
        assert!(
            matches!(from_json(&json.as_bytes()[..end]), Err(FormatError::Syntax { .. })),
            "{end}"
        );
    }
}

#[test]
fn every_changed_byte_is_an_error_or_a_model() {
    let json = to_json(&sample()).unwrap().into_bytes();
    let mut models = 0;
    for place in 0..json.len() {
        for byte in [
            0,
            b'"',
            b'0',
            b'9',
            b'-',
            b'e',
            b'.',
            b',',
            b'[',
            b'}',
            b' ',
            b'n',
            json[place] ^ 1,
            0xff,
        ] {
            let mut bytes = json.clone();
            bytes[place] = byte;
            if let Ok(model) = from_json(&bytes) {
                assert_eq!(model.check(), Ok(()));
                // Whatever is accepted predicts.
                let row = [FeatureValue::Number(31.0), FeatureValue::Category(1)];
                assert!(
                    model.schema.features.len() != 2
                        || model.predict_row(&row).is_ok()
                        || bytes != json
                );
                models += 1;
            }
        }
    }
    assert!(models > 0, "some changes, as of a name, must be harmless");
}

#[test]
fn a_threshold_needs_version_3_and_two_classes() {
    let mut model = sample();
    model.schema.target.kind = TargetKind::Classes(vec!["no".into(), "yes".into()]);
    model.link = Link::Sigmoid;
    assert!(to_json(&model).unwrap().starts_with("{\"format\":\"swarmwood\",\"version\":1,"));
    model.calibration.threshold = Some(0.25);
    let json = to_json(&model).unwrap();
    assert!(json.starts_with("{\"format\":\"swarmwood\",\"version\":3,"), "{json}");
    assert_eq!(from_json(json.as_bytes()), Ok(model.clone()));

    let older = json.replace("\"version\":3", "\"version\":2");
    let error = from_json(older.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("need version 3"), "{error}");
    for wrong in ["0", "1", "1.5", "-0.5"] {
        let json = json.replace("\"threshold\":0.25", &format!("\"threshold\":{wrong}"));
        let error = from_json(json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("must be above 0 and below 1"), "{error}");
    }
    let number = Model { calibration: model.calibration, ..sample() };
    assert!(to_json(&number).unwrap_err().to_string().contains("two classes"));
}

#[test]
fn newer_versions_are_named() {
    let error = altered("\"version\":1,", "\"version\":7,\"new\":[{}],").unwrap_err();
    assert_eq!(error, FormatError::NewerVersion { found: 7 });
    let text = error.to_string();
    assert!(
        text.contains("version 7") && text.contains("up to 3") && text.contains("update swarmwood"),
        "{text}"
    );
    assert_eq!(
        altered("\"version\":1,", "\"version\":0,"),
        Err(FormatError::UnknownVersion { found: 0 })
    );
    assert_eq!(
        altered("\"swarmwood\"", "\"other\""),
        Err(FormatError::OtherFormat { found: "other".into() })
    );
    assert!(matches!(
        altered("\"version\":1,", "\"version\":1.5,"),
        Err(FormatError::Syntax { line: 1, .. })
    ));
    assert!(matches!(from_json(b"{\"learner\":{}}"), Err(FormatError::Syntax { line: 1, .. })));
}

#[test]
fn broken_files_are_located() {
    for (from, to, message) in [
        ("\"rows\":9", "\"rows\":-9", "line 5, column"),
        ("30.5", "1e999", "number out of range"),
        ("30.5", "\"x\"", "line 11, column"),
        ("30.5", "NaN", "line 11, column"),
        (
            "30.5",
            "null",
            "tree 0: `threshold` must be null where `levels` is not, and the other way round (split 0)",
        ),
        ("\"link\":", "\"link\":\"exp\",\"link\":", "duplicate field `link`"),
        ("\"depth\":\"6\"", "\"depth\":\"6\",\"depth\":\"7\"", "duplicate key `depth`"),
        ("\"link\":", "\"lunk\":", "unknown field `lunk`"),
        ("\"base\":[0.25],\n", "", "missing field `base`"),
        ("\"base\":[0.25]", "\"base\":[]", "0 start values"),
        ("\"expm1\"", "\"softmax\"", "link Softmax does not fit"),
        ("\"left\":[1,-1]", "\"left\":[1]", "tree 0: `left` has 1 entries where 2 are needed"),
        ("\"left\":[1,-1]", "\"left\":[0,-1]", "tree 0: node 0 leads to Node(0)"),
        ("\"left\":[1,-1]", "\"left\":[1,-9]", "tree 0: node 1 leads to Leaf(8)"),
        ("\"left\":[1,-1]", "\"left\":[1,-2]", "tree 0: Leaf(1) has two parents"),
        (
            "\"left\":[1,-1]",
            "\"left\":[1,-9223372036854775808]",
            "tree 0: `left` leads to -9223372036854775808",
        ),
        ("\"left\":[1,-1]", "\"left\":[1,5000000000]", "tree 0: `left` leads to 5000000000"),
        ("\"left\":[1,-1],", "", "tree 0: `kind` needs `left`"),
        ("[null,[0,2]]", "[null,[0,4294967295]]", "names level 4294967295 of feature `colour`"),
        ("[null,[0,2]]", "[[0],null]", "tree 0: `threshold` must be null"),
        ("\"feature\":[0,1]", "\"feature\":[1,0]", "tree 0: split 0 does not fit feature `colour`"),
        ("\"feature\":[0,1]", "\"feature\":[0,7]", "tree 0: split 1 tests feature 7"),
        ("\"missing_right\":[0,1]", "\"missing_right\":[0,2]", "expected 0 or 1"),
        (
            "\"leaf\":[1.0,2.0],\"leaf_cover\":[1.5,1.5]",
            "\"leaf\":[1.0],\"leaf_cover\":[1.5]",
            "tree 1: 1 leaves for 1",
        ),
        ("\"output\":0", "\"output\":1", "tree 0: adds to output 1"),
        ("\"trees\":[", "\"linear\":[],\"trees\":[", "either `trees` or `linear`"),
        ("\"blue\"", "\"red\"", "feature `colour` has two levels named `red`"),
        ("\"leaf_cover\":[1.5", "\"leaf_cover\":[-1.5", "tree 0: the cover of leaf 0 is -1.5"),
    ] {
        let error = altered(from, to).unwrap_err().to_string();
        assert!(error.contains(message), "{from} -> {to}: {error}");
    }
}

#[test]
fn malicious_files_need_little_memory() {
    let deep = "[".repeat(1_000_000);
    assert!(altered("[0.25]", &deep).is_err());
    assert!(from_json(deep.as_bytes()).is_err());
    assert!(from_json(b"").is_err());
    // Levels say how many leaves there must be; no leaf is made up.
    let many = |value: &str| vec![value; 70].join(",");
    let tables = format!(
        "{{\"kind\":\"oblivious\",\"output\":0,\"feature\":[{}],\"threshold\":[{}],\"missing_right\":[{}],\"gain\":[{}],\
         \"leaf\":[1.0],\"leaf_cover\":[1.0]}},",
        many("0"),
        many("1.5"),
        many("0"),
        many("1.0")
    );
    let error = altered("\"trees\":[", &format!("\"trees\":[{tables}")).unwrap_err();
    assert!(
        error.to_string().contains("tree 0: 70 levels; an oblivious tree may have at most 16"),
        "{error}"
    );
}

/// A tree as deep as its file is long must be read, checked, predicted with and printed without
/// recursion.
#[test]
fn very_deep_trees_work() {
    let mut model = sample();
    let split = |_| Split { feature: 0, test: Test::Above(0.0), missing_right: false };
    let nodes = 100_000_u32;
    let next = |node| if node + 1 < nodes { Child::Node(node + 1) } else { Child::Leaf(nodes) };
    let node = |index| Node {
        split: split(index),
        left: Child::Leaf(index),
        right: next(index),
        gain: 0.0,
        cover: 0.0,
    };
    let tree = Tree {
        nodes: (0..nodes).map(node).collect(),
        leaves: (0..=nodes).map(|leaf| Leaf { value: f64::from(leaf), cover: 0.0 }).collect(),
    };
    model.body = Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]);
    let back = from_json(to_json(&model).unwrap().as_bytes()).unwrap();
    assert_eq!(back, model);
    assert_eq!(
        back.raw_row(&[FeatureValue::Number(1.0), FeatureValue::Category(0)], None).unwrap(),
        [0.25 + f64::from(nodes)]
    );
    let columns = [ColumnView::Number(&[1.0; 200]), ColumnView::Category(&[0; 200])];
    let mut raw = [0.0; 200];
    Predictor::new(&back).raw(&Block { columns: &columns, rows: 200 }, None, &mut raw).unwrap();
    assert_eq!(raw, [0.25 + f64::from(nodes); 200]);
    assert_eq!(back.summary().max_depth, nodes as usize);
    assert!(back.to_string().contains("cut after"));
    assert!(matches!(Explainer::new(&back, None), Err(ExplainError::TooLarge { tree: 0 })));
}

#[test]
fn invalid_models_are_not_written() {
    let mut model = model(1, SampleSize { features: 1, rounds: 1, leaves: 2, levels: 1 });
    model.base[0] = f64::INFINITY;
    assert!(matches!(to_json(&model), Err(ModelError::Base { output: 0, .. })));
}

/// A vector tree of three classes, as version 2.
#[test]
fn vector_trees_are_read_and_their_faults_named() {
    let mut model = sample();
    (model.link, model.base) = (Link::Softmax, vec![0.0; 3]);
    model.schema.target.kind = TargetKind::Classes(["a", "b", "c"].map(String::from).to_vec());
    let rng = &mut crate::samples::SampleRng(3);
    let vector = crate::samples::vector(rng, &model.schema.features, 2, 3);
    model.body = Body::Trees(vec![Member { output: 0, shape: Shape::Vector(vector) }]);
    let json = to_json(&model).unwrap();
    assert_eq!(from_json(json.as_bytes()), Ok(model.clone()));

    let read = |from: &str, to: &str| {
        assert!(json.contains(from), "{from} not in {json}");
        from_json(json.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("\"version\":2", "\"version\":1", "tree 0: `kind` is `vector`, which version 1"),
        ("\"kind\":\"vector\",", "\"kind\":\"vector\",\"output\":0,", "tree 0: `output` must"),
        ("\"kind\":\"vector\"", "\"kind\":\"ordinary\"", "tree 0: `values` is for vector trees"),
        ("\"values\":[[", "\"values\":[[1.0,", "tree 0: `values` has 3 entries where 4"),
        ("\"values\":[[", "\"values\":[[],[", "tree 0: `leaf_cover` has 2 entries where 3"),
        ("\"values\":[[", "\"leaf\":[1.0],\"values\":[[", "tree 0: `leaf` must"),
    ] {
        let error = read(from, to);
        assert!(error.contains(message), "{error}");
    }
    let none = json.replacen("\"values\":", "\"value\":", 1);
    assert!(matches!(from_json(none.as_bytes()), Err(FormatError::Syntax { .. })));
}

/// A model with a date and counts of its rows.
fn counted() -> Model {
    let mut model = sample();
    let date = DateColumn {
        name: "sold".into(),
        format: "%d/%m/%Y".into(),
        origin: CalendarDate::parse("2024-02-29").unwrap(),
        parts: vec![DatePart::Year, DatePart::Elapsed],
    };
    for part in &date.parts {
        let name = date.feature_name(*part);
        model.schema.features.push(Feature { name, kind: Kind::Number });
    }
    model.schema.dates.push(date);
    let width = model.schema.target.kind.classes().len().max(1);
    let rows = |member: &Member| LeafRows {
        counts: (0..(member.shape.leaves().len() * width) as u64).collect(),
    };
    model.provenance.stats.leaf_rows = model.members().iter().map(rows).collect();
    let feature = model.schema.features.len() as u32 - 1;
    let distribution =
        Distribution { feature, edges: vec![1.5, 2.5], counts: vec![3, 4, 5], missing: 6 };
    model.provenance.stats.distributions.push(distribution);
    model
}

#[test]
fn dates_and_counts_are_part_of_version_3() {
    let model = counted();
    let json = to_json(&model).unwrap();
    assert!(json.starts_with("{\"format\":\"swarmwood\",\"version\":3,"), "{json}");
    assert!(json.contains("\"origin\":\"2024-02-29\""), "{json}");
    assert_eq!(from_json(json.as_bytes()), Ok(model));

    let older = json.replacen("\"version\":3", "\"version\":2", 1);
    let message = from_json(older.as_bytes()).unwrap_err().to_string();
    assert!(message.contains("need version 3"), "{message}");
    for (from, to) in [
        ("2024-02-29", "2024-02-30"),
        ("\"year\"", "\"century\""),
        ("[\"year\",\"elapsed\"]", "[\"elapsed\",\"year\"]"),
        ("\"name\":\"sold\"", "\"name\":\"gone\""),
        ("[1.5,2.5]", "[2.5,1.5]"),
        ("[3,4,5]", "[3,4]"),
        ("\"leaf_rows\":[[[", "\"leaf_rows\":[[[1,2,3,"),
    ] {
        let wrong = json.replacen(from, to, 1);
        assert_ne!(wrong, json, "{from}");
        assert!(from_json(wrong.as_bytes()).is_err(), "{from} → {to}");
    }
}
