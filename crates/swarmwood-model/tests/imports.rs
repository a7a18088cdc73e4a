//! Imported models predict what their own library predicts.
//!
//! `tests/imports` holds small models with rows and their library's own predictions, made by
//! `bench/import_samples.py`. With `SWARMWOOD_IMPORTS=DIR` the samples of that directory and of
//! those in it are tested instead, so that many more than git should hold can be made and tested.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value as Json;
use swarmwood_model::*;

/// A model file with rows and the predictions of its library.
struct Sample {
    name: String,
    bytes: Vec<u8>,
    expected: Json,
}

fn sample_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/imports")
}

fn samples_in(folder: &Path, samples: &mut Vec<Sample>) {
    let entries = std::fs::read_dir(folder).expect("a readable directory");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            samples_in(&path, samples);
        } else if path.to_string_lossy().ends_with(".expected.json") {
            let text = std::fs::read(&path).expect("a readable file");
            let expected: Json = serde_json::from_slice(&text).expect("JSON");
            let model = path
                .with_file_name(expected["model"].as_str().expect("the name of the model file"));
            let bytes = std::fs::read(&model).expect("a readable file");
            samples.push(Sample { name: model.display().to_string(), bytes, expected });
        }
    }
}

fn samples() -> Vec<Sample> {
    let folder = std::env::var_os("SWARMWOOD_IMPORTS").map_or_else(sample_folder, PathBuf::from);
    let mut samples = Vec::new();
    samples_in(&folder, &mut samples);
    assert!(samples.len() >= 20, "{} samples in {}", samples.len(), folder.display());
    samples
}

fn sample(file: &str) -> Vec<u8> {
    std::fs::read(sample_folder().join(file)).expect("a sample")
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

fn rows(model: &Model, expected: &Json) -> Vec<Vec<FeatureValue>> {
    let rows = expected["rows"].as_array().expect("rows").iter();
    let row = |row: &Json| {
        model.schema.features.iter().enumerate().map(|(i, f)| value(f, &row[i])).collect()
    };
    rows.map(row).collect()
}

fn numbers(list: &Json) -> Vec<f64> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|number| number.as_f64().expect("a number"))
        .collect()
}

fn assert_close(place: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{place}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
            "{place}: {found} instead of {expected}"
        );
    }
}

#[test]
fn predictions_equal_those_of_the_library() {
    for Sample { name, bytes, expected } in samples() {
        let model = format::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let names: Vec<&str> =
            model.schema.features.iter().map(|feature| feature.name.as_str()).collect();
        let columns: Vec<&str> =
            expected["columns"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        assert_eq!(names, columns, "{name}");
        for (number, row) in rows(&model, &expected).iter().enumerate() {
            let place = format!("{name}, row {number}");
            if !expected["raw"].is_null() {
                let raw = model.raw_row(row, None).expect("the row fits");
                assert_close(&format!("{place}, raw"), &raw, &numbers(&expected["raw"][number]));
            }
            let found = match model.predict_row(row).expect("the row fits") {
                Prediction::Number(number) => vec![number],
                Prediction::Numbers(numbers) => numbers,
                Prediction::Class { probabilities, .. } => probabilities,
            };
            let expected = numbers(&expected["predictions"][number]);
            // A library gives both probabilities of two classes, or that of the second.
            let found = if found.len() == 2 && expected.len() == 1 { &found[1..] } else { &found };
            assert_close(&place, found, &expected);
        }
        batch_agrees(&name, &model, &expected);
        let json = to_json(&model).expect("a checked model can be written");
        assert_eq!(
            from_json(json.as_bytes()).expect("what is written can be read"),
            model,
            "{name}"
        );
    }
}

/// The compiled model gives the bits of the walk.
fn batch_agrees(name: &str, model: &Model, expected: &Json) {
    let rows = rows(model, expected);
    let copies = || std::iter::repeat_n(&rows, 10).flatten();
    let number = |feature: usize| {
        copies().map(move |row| if let FeatureValue::Number(x) = row[feature] { x } else { 0.0 })
    };
    let code = |feature: usize| {
        copies()
            .map(move |row| if let FeatureValue::Category(code) = row[feature] { code } else { 0 })
    };
    let features = model.schema.features.len();
    let values: Vec<Vec<f64>> = (0..features).map(|feature| number(feature).collect()).collect();
    let codes: Vec<Vec<u32>> = (0..features).map(|feature| code(feature).collect()).collect();
    let column = |feature: usize| match model.schema.features[feature].kind {
        Kind::Number => ColumnView::Number(&values[feature]),
        Kind::Category { .. } => ColumnView::Category(&codes[feature]),
    };
    let columns: Vec<ColumnView<'_>> = (0..features).map(column).collect();
    let count = rows.len() * 10;
    let mut raw = vec![0.0; count * model.outputs()];
    Predictor::new(model)
        .raw(&Block { columns: &columns, rows: count }, None, &mut raw)
        .expect("the block fits");
    for (row, found) in copies().zip(raw.chunks(model.outputs())) {
        assert_eq!(found, model.raw_row(row, None).expect("the row fits"), "{name}");
    }
}

#[test]
fn truncated_files_are_errors() {
    for Sample { name, bytes, .. } in samples() {
        // After the model LightGBM writes its parameters, of which only the names of categories
        // are needed.
        let end = |mark: &[u8]| {
            bytes.windows(mark.len()).position(|window| window == mark).map(|at| at + mark.len())
        };
        let mark: &[u8] =
            if name.contains("_categor") { b"end of parameters" } else { b"end of trees" };
        let needed = end(mark).unwrap_or(bytes.trim_ascii_end().len());
        for end in (0..needed).step_by(1 + needed / 300).chain([needed - 1]) {
            let error = format::read(&bytes[..end]).expect_err(&name);
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Whatever is accepted must predict and print.
fn survives(bytes: &[u8]) {
    if let Ok(model) = format::read(bytes) {
        assert_eq!(model.check(), Ok(()));
        let value = |feature: &Feature| match feature.kind {
            Kind::Number => FeatureValue::Number(0.5),
            Kind::Category { .. } => FeatureValue::Category(1),
        };
        let row: Vec<FeatureValue> = model.schema.features.iter().map(value).collect();
        assert!(model.predict_row(&row).is_ok());
        assert!(!model.summary().to_string().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn edited_files_do_not_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of((any::<prop::sample::Index>(), 1..40_usize)),
    ) {
        let files = [
            "xgboost_binary.ubj", "xgboost_dart.ubj", "xgboost_category_codes.ubj", "xgboost_categories.json",
            "xgboost_multiclass.json", "lightgbm_categories.txt", "lightgbm_zero_as_missing.txt",
            "lightgbm_multiclass.txt", "catboost_multiclass.json", "catboost_leafwise.json",
        ];
        let mut bytes = sample(files[which.index(files.len())]);
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            // Digits become other digits now and then, so that some files stay well formed.
            bytes[place] = if bytes[place].is_ascii_digit() && byte < 200 { b'0' + byte % 10 } else { byte };
        }
        if let Some((start, length)) = cut {
            let start = start.index(bytes.len());
            let end = (start + length).min(bytes.len());
            bytes.drain(start..end);
        }
        survives(&bytes);
    }

    #[test]
    fn random_bytes_are_errors(start in 0..4_usize, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let start = [b"{L".as_slice(), b"tree\n", b"{\"learner\":", b"{\"oblivious_trees\":"][start];
        prop_assert!(format::read(&[start, &bytes].concat()).is_err());
    }
}

/// The error of reading a sample with some text replaced.
fn altered(file: &str, from: &str, to: &str) -> String {
    let text = String::from_utf8(sample(file)).expect("a text format");
    assert!(text.contains(from), "{file} has no {from}");
    let error = format::read(text.replacen(from, to, 1).as_bytes()).expect_err(to);
    error.to_string()
}

#[test]
fn unsupported_content_is_named_in_the_error() {
    let xgboost = "xgboost_regression.json";
    let catboost = "catboost_regression.json";
    for (file, from, to, message) in [
        (
            xgboost,
            "reg:squarederror",
            "binary:hinge",
            "objective 'binary:hinge' has no counterpart",
        ),
        (xgboost, "reg:squarederror", "multi:softprob", "does not fit 1 classes"),
        (xgboost, "\"gbtree\"", "\"gblinear\"", "booster 'gblinear'"),
        (xgboost, "\"num_target\":\"1\"", "\"num_target\":\"2\"", "several targets"),
        (
            xgboost,
            "\"num_feature\":\"3\",\"num_target",
            "\"num_feature\":\"99999999999\",\"num_target",
            "features",
        ),
        (xgboost, "\"num_class\":\"0\"", "\"num_class\":\"99999999999\"", "does not fit"),
        (xgboost, "\"size_leaf_vector\":\"1\"", "\"size_leaf_vector\":\"3\"", "several values"),
        (xgboost, "\"left_children\":[1,", "\"left_children\":[0,", "tree 0: "),
        (
            xgboost,
            "\"left_children\":[1,",
            "\"left_children\":[1e9,",
            "there is no node 1000000000",
        ),
        (xgboost, "\"base_score\":\"[", "\"base_score\":\"[x", "base_score"),
        (
            catboost,
            "\"type\":\"RMSE\"",
            "\"type\":\"MultiClassOneVsAll\"",
            "loss 'MultiClassOneVsAll'",
        ),
        (
            catboost,
            "\"split_type\":\"FloatFeature\"",
            "\"split_type\":\"OnlineCtr\"",
            "OnlineCtr tests categories",
        ),
    ] {
        // CatBoost's own spacing differs between versions; samples are compared without.
        let error = altered_plain(file, from, to);
        assert!(error.contains(message), "{file}, {from} -> {to}: {error}");
    }
    let error = format::read(b"CBM1....").expect_err("binary").to_string();
    assert!(error.contains("format=\"json\""), "{error}");
}

/// As [`altered`], on the sample without any space outside of texts.
fn altered_plain(file: &str, from: &str, to: &str) -> String {
    let json: Json = serde_json::from_slice(&sample(file)).expect("JSON");
    let text = serde_json::to_string(&json).expect("JSON");
    assert!(text.contains(from), "{file} has no {from}");
    format::read(text.replacen(from, to, 1).as_bytes()).expect_err(to).to_string()
}

#[test]
fn invalid_categories_are_refused() {
    let file = "xgboost_categories.json";
    let error = altered(file, "114,101,100,", "-61,-68,100,");
    assert!(error.contains("beyond ASCII"), "{error}");
    assert!(
        altered(file, "\"categories\":[", "\"categories\":[4294967295,")
            .contains("xgboost model: ")
    );
}

/// XGBoost 1.0 wrote truth values as such, one start value without brackets, and no word of
/// categories.
#[test]
fn files_of_old_versions_are_read() {
    let bytes = sample("xgboost_missing.json");
    let mut json: Json = serde_json::from_slice(&bytes).expect("JSON");
    let learner = &mut json["learner"];
    let base = learner["learner_model_param"]["base_score"].as_str().expect("text").to_string();
    learner["learner_model_param"]["base_score"] = base.trim_matches(['[', ']']).into();
    for key in ["feature_names", "feature_types", "attributes"] {
        learner.as_object_mut().expect("an object").remove(key);
    }
    let model = &mut learner["gradient_booster"]["model"];
    model.as_object_mut().expect("an object").remove("cats");
    for tree in model["trees"].as_array_mut().expect("a list") {
        let truth = |number: &f64| Json::from(*number != 0.0);
        tree["default_left"] = numbers(&tree["default_left"]).iter().map(truth).collect();
        let tree = tree.as_object_mut().expect("an object");
        tree.retain(|key, _| !key.starts_with("categories") && key != "split_type");
    }
    let old = format::read(json.to_string().as_bytes()).expect("a model");
    assert_eq!(old, format::read(&bytes).expect("a model"));
}
