//! Files written once can be read forever: each sample of `tests/formats` still gives the
//! predictions stored beside it, to the bit.
//! `UPDATE_GOLDEN=1 cargo test -p swarmwood-model --test formats` writes the samples anew, which is
//! right for a new sample and wrong for an old one.

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use swarmwood_model::*;

const NAMES: [&str; 10] = [
    "regression",
    "binary",
    "softmax",
    "oblivious",
    "linear",
    "vector",
    "threshold",
    "interval",
    "class-sets",
    "columns",
];

/// A file of the directory of the format's version.
fn path(name: &str, ending: &str) -> PathBuf {
    let version = match name {
        "vector" => "v2",
        "threshold" | "interval" | "class-sets" | "columns" => "v3",
        _ => "v1",
    };
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/formats")
        .join(version)
        .join(format!("{name}{ending}"))
}

fn number(name: &str) -> Feature {
    Feature { name: name.into(), kind: Kind::Number }
}

fn category(name: &str, levels: &[&str]) -> Feature {
    Feature {
        name: name.into(),
        kind: Kind::Category { levels: levels.iter().map(|level| level.to_string()).collect() },
    }
}

fn above(feature: u32, threshold: f64, missing_right: bool) -> Split {
    Split { feature, test: Test::Above(threshold), missing_right }
}

fn among(feature: u32, codes: &[u32], missing_right: bool) -> Split {
    Split { feature, test: Test::In(codes.iter().copied().collect()), missing_right }
}

/// Three leaves: `first` decides between leaf 2 and `second`.
fn three(first: Split, second: Split, values: [f64; 3]) -> Shape {
    let leaves = values.map(|value| Leaf { value, cover: 10.0 + value.abs() }).to_vec();
    let root =
        Node { split: first, left: Child::Node(1), right: Child::Leaf(2), gain: 3.5, cover: 30.0 };
    let inner = Node {
        split: second,
        left: Child::Leaf(0),
        right: Child::Leaf(1),
        gain: 1.25,
        cover: 20.0,
    };
    Shape::Ordinary(Tree { nodes: vec![root, inner], leaves })
}

/// The same splits with three values per leaf.
fn vector(first: Split, second: Split, values: &[[f64; 3]; 3]) -> Shape {
    let Shape::Ordinary(mut tree) = three(first, second, [0.0; 3]) else {
        unreachable!("three leaves are an ordinary tree")
    };
    tree.leaves.iter_mut().enumerate().for_each(|(at, leaf)| leaf.cover = 3.0 + at as f64);
    Shape::Vector(VectorTree { tree, values: values.concat() })
}

fn oblivious(splits: Vec<Split>) -> Shape {
    let count = 1_u32 << splits.len();
    let leaf =
        |index| Leaf { value: f64::from(index * 7 % 11) / 3.0 - 1.0, cover: f64::from(index) };
    let level = |(index, split)| Level { split, gain: 1.0 / (index as f64 + 3.0) };
    let levels = splits.into_iter().enumerate().map(level).collect();
    Shape::Oblivious(ObliviousTree { levels, leaves: (0..count).map(leaf).collect() })
}

fn sample(name: &str) -> Model {
    let features = vec![
        number("age"),
        number("income \"net\""),
        category("colour", &["red", "grün", "blue, dark"]),
    ];
    let classes =
        |names: &[&str]| TargetKind::Classes(names.iter().map(|name| name.to_string()).collect());
    let third = 1.0 / 3.0;
    let (link, objective, kind, base) = match name {
        "regression" | "interval" => (Link::Exp, "poisson", TargetKind::Number, vec![0.1 + 0.2]),
        "binary" | "threshold" => (Link::Sigmoid, "logistic", classes(&["no", "yes"]), vec![-0.7]),
        "softmax" | "vector" | "class-sets" => {
            (Link::Softmax, "softmax", classes(&["a", "b", "c"]), vec![0.1, -third, 1e-300])
        }
        "columns" => {
            let columns = ["height", "width, depth"].map(String::from).to_vec();
            (Link::ExpM1, "squared-log", TargetKind::Numbers(columns), vec![0.1 + 0.2, -third])
        }
        "oblivious" => (Link::Identity, "squared", TargetKind::Number, vec![5e-324]),
        _ => (Link::ExpM1, "squared-log", TargetKind::Number, vec![2.0]),
    };
    let old = || three(above(0, 30.5, true), above(1, 1e5 + 0.1, false), [0.1, -third, 2e-17]);
    let bright = || three(among(2, &[0, 2], true), above(0, -0.0, true), [-0.25, 0.7, 1.0 / 7.0]);
    let dark = || three(above(1, 1e-300, false), among(2, &[1], false), [third, 1e10, -1e10]);
    let stump = || Shape::Ordinary(Tree::leaf(Leaf { value: 0.3, cover: 0.0 }));
    let shapes = match name {
        "regression" | "interval" => vec![
            old(),
            stump(),
            three(above(1, 5e4, false), above(0, 18.0, false), [0.5, 0.25, -0.1]),
        ],
        "binary" | "threshold" => vec![old(), bright(), dark()],
        "columns" => vec![old(), bright(), stump(), old()],
        "softmax" | "class-sets" => vec![old(), bright(), stump(), dark(), stump(), old()],
        _ => vec![
            oblivious(vec![above(0, 30.5, true), among(2, &[1, 2], false), above(1, 5e4, true)]),
            oblivious(vec![]),
            oblivious(
                (0..9)
                    .map(|level| above(level % 2, f64::from(level) * 11.0, level % 3 == 0))
                    .collect(),
            ),
        ],
    };
    let outputs = base.len();
    let member = |(index, shape)| Member { output: (index % outputs) as u32, shape };
    let body = if name == "linear" {
        let numbers = [(0.01, 40.0), (-1e-6, 5e4)]
            .map(|(weight, centre)| LinearTerm::Number { weight, centre });
        let terms = numbers
            .into_iter()
            .chain([LinearTerm::Category { weights: vec![0.1, 0.0, -third] }])
            .collect();
        Body::Linear(vec![LinearFunction { terms }])
    } else if name == "vector" {
        // A round of a vector tree, one of three trees, and one of a vector tree without splits.
        let leaves = [[0.1, -third, 2e-17], [1e10, 0.7, -1e10], [0.0, third, 5e-324]];
        let first = vector(above(0, 30.5, true), among(2, &[0, 2], false), &leaves);
        let stump = Tree::leaf(Leaf { value: 0.0, cover: 7.0 });
        let last = VectorTree { tree: stump, values: vec![0.5, -0.25, third] };
        let trees = [old(), dark(), bright()].into_iter().enumerate().map(member);
        let whole = |shape| Member { output: 0, shape };
        let rounds = [whole(first)].into_iter().chain(trees).chain([whole(Shape::Vector(last))]);
        Body::Trees(rounds.collect())
    } else {
        Body::Trees(shapes.into_iter().enumerate().map(member).collect())
    };
    let params = [("learning_rate", "0.1"), ("trees", "3")]
        .map(|(key, value)| (key.into(), value.into()))
        .into();
    Model {
        schema: Schema {
            features,
            target: Target { name: "target".into(), kind },
            dates: Vec::new(),
        },
        link,
        objective: objective.into(),
        base,
        body,
        provenance: Provenance {
            version: "0.1.0".into(),
            method: "greedy".into(),
            rows: 1234,
            params,
            stats: TrainingStats::default(),
        },
        calibration: calibration(name),
    }
}

/// What belongs to decisions.
fn calibration(name: &str) -> Calibration {
    let mut calibration = Calibration::default();
    match name {
        "threshold" => calibration.threshold = Some(0.3),
        "interval" => {
            let scale = three(above(0, 30.5, true), among(2, &[1], false), [0.25, 1.5, 1.0 / 3.0]);
            let Shape::Ordinary(scale) = scale else { unreachable!("an ordinary tree") };
            let interval = PredictionInterval { level: 0.9, half_width: 0.7, scale: Some(scale) };
            calibration.interval = Some(interval);
        }
        "class-sets" => {
            calibration.class_sets = Some(ClassSets { level: 0.9, min_probability: 0.2 });
        }
        _ => {}
    }
    calibration
}

/// Rows as stored: a number or null, and the name of a level, of no level, or null.
fn rows() -> Json {
    json!([
        [30.5, 100000.1, "red"],
        [30.500000000000004, 50000.0, "grün"],
        [-0.0, 1e-300, "blue, dark"],
        [0.0, 2e-300, "never seen"],
        [null, 123456.789, null],
        [17.0, null, "red"],
        [null, null, null],
        [-1e308, 1e308, "grün"],
        [99.0, 50000.00000000001, "blue, dark"]
    ])
}

fn value(feature: &Feature, stored: &Json) -> FeatureValue {
    match &feature.kind {
        Kind::Number => FeatureValue::Number(stored.as_f64().unwrap_or(f64::NAN)),
        Kind::Category { levels } => {
            let code = levels.iter().position(|level| stored.as_str() == Some(level));
            FeatureValue::Category(code.map_or(MISSING, |code| code as u32))
        }
    }
}

/// Raw scores and leaves by the traversal, and the linked predictions, as stored.
fn results(model: &Model, rows: &Json) -> Json {
    let results = rows.as_array().expect("rows are a list").iter().map(|row| {
        let row = row.as_array().expect("a row is a list");
        let row: Vec<FeatureValue> = model
            .schema
            .features
            .iter()
            .zip(row)
            .map(|(feature, stored)| value(feature, stored))
            .collect();
        let raw = model.raw_row(&row, None).expect("the row fits");
        let prediction = match model.predict_row(&row).expect("the row fits") {
            Prediction::Number(number) => vec![number],
            Prediction::Numbers(numbers) => numbers,
            Prediction::Class { probabilities, .. } => probabilities,
        };
        let mut result = json!({
            "raw": raw,
            "raw_first_round": model.raw_row(&row, Some(1)).expect("the row fits"),
            "leaves": model.leaves_row(&row, None).expect("the row fits"),
            "prediction": prediction,
        });
        if !model.calibration.is_empty() {
            result["decision"] = decision(model, &row, &raw, &prediction);
        }
        result
    });
    results.collect()
}

/// The predicted class, the interval and the set of a row.
fn decision(model: &Model, row: &[FeatureValue], raw: &[f64], prediction: &[f64]) -> Json {
    let interval = model.calibration.interval.as_ref().map(|interval| {
        let half_width = interval.half_width_of(|feature| row[feature as usize]);
        model.link.interval(raw[0], half_width)
    });
    let class = model.link.is_classification().then(|| model.class(raw));
    json!({ "class": class, "interval": interval, "set": model.class_set(prediction) })
}

#[test]
fn stored_models_give_stored_predictions() {
    for name in NAMES {
        let model = sample(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let expected = json!({ "rows": rows(), "results": results(&model, &rows()) });
            let text = serde_json::to_string_pretty(&expected).expect("JSON") + "\n";
            std::fs::write(path(name, ".json"), to_json(&model).expect("a valid model"))
                .expect("a writable file");
            std::fs::write(path(name, ".expected.json"), text).expect("a writable file");
        }
        let bytes = std::fs::read(path(name, ".json")).expect("the stored model");
        let expected = std::fs::read(path(name, ".expected.json")).expect("the stored predictions");
        let expected: Json = serde_json::from_slice(&expected).expect("JSON");
        let stored = from_json(&bytes).expect("a stored model can be read forever");
        assert_eq!(stored, model, "{name}");
        assert_eq!(
            to_json(&stored).expect("a valid model").as_bytes(),
            bytes,
            "{name}: writing has changed"
        );
        let found = results(&stored, &expected["rows"]);
        for (row, (found, expected)) in found
            .as_array()
            .into_iter()
            .flatten()
            .zip(expected["results"].as_array().into_iter().flatten())
            .enumerate()
        {
            for key in ["raw", "raw_first_round", "leaves", "decision"] {
                assert_eq!(found[key], expected[key], "{name}, row {row}");
            }
            // Exponentials may differ in the last digit between systems.
            for (found, expected) in found["prediction"]
                .as_array()
                .into_iter()
                .flatten()
                .zip(expected["prediction"].as_array().into_iter().flatten())
            {
                let (found, expected) =
                    (found.as_f64().unwrap_or(f64::NAN), expected.as_f64().unwrap_or(f64::NAN));
                assert!(
                    found == expected || (found - expected).abs() <= 1e-14 * expected.abs(),
                    "{name}, row {row}"
                );
            }
        }
        assert_eq!(found.as_array().map(Vec::len), expected["results"].as_array().map(Vec::len));
        batch_agrees(name, &stored, &expected);
    }
}

/// The compiled model gives the stored raw scores too, in blocks large enough not to be walked.
fn batch_agrees(name: &str, model: &Model, expected: &Json) {
    const COPIES: usize = 200;
    let rows: Vec<&Json> = expected["rows"].as_array().into_iter().flatten().collect();
    let all = || std::iter::repeat_n(&rows, COPIES).flatten();
    let mut numbers: Vec<Vec<f64>> = Vec::new();
    let mut codes: Vec<Vec<u32>> = Vec::new();
    for (index, feature) in model.schema.features.iter().enumerate() {
        let column = || all().map(|row| value(feature, &row[index]));
        numbers.push(
            column()
                .filter_map(
                    |v| if let FeatureValue::Number(number) = v { Some(number) } else { None },
                )
                .collect(),
        );
        codes.push(
            column()
                .filter_map(
                    |v| if let FeatureValue::Category(code) = v { Some(code) } else { None },
                )
                .collect(),
        );
    }
    let kinds = model.schema.features.iter().map(|feature| &feature.kind);
    let columns: Vec<ColumnView<'_>> = kinds
        .zip(numbers.iter().zip(&codes))
        .map(|(kind, (numbers, codes))| match kind {
            Kind::Number => ColumnView::Number(numbers),
            Kind::Category { .. } => ColumnView::Category(codes),
        })
        .collect();
    let count = rows.len() * COPIES;
    let mut raw = vec![0.0; count * model.outputs()];
    Predictor::new(model)
        .raw(&Block { columns: &columns, rows: count }, None, &mut raw)
        .expect("the block fits");
    let stored: Vec<f64> = expected["results"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|result| result["raw"].as_array().into_iter().flatten())
        .filter_map(Json::as_f64)
        .collect();
    assert_eq!(stored.len() * COPIES, raw.len(), "{name}");
    for (found, expected) in raw.iter().zip(stored.iter().cycle()) {
        assert_eq!(found.to_bits(), expected.to_bits(), "{name}");
    }
}

/// The example of `docs/model-format.md` is a model with the documented prediction.
#[test]
fn the_documented_example_predicts_as_documented() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/model-format.md");
    let page = std::fs::read_to_string(page).expect("the page is part of the repository");
    let example = page
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let model = from_json(example.as_bytes()).expect("the example is a model");
    assert_eq!(to_json(&model).expect("a valid model"), example);
    let row = [FeatureValue::Number(20.0), FeatureValue::Category(2)];
    assert_eq!(model.predict_row(&row), Ok(Prediction::Number(11.0)));
}
