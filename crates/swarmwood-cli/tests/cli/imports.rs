//! Models of other libraries with every command that takes a model.

use std::path::PathBuf;

use crate::scratch::Scratch;

/// A directory with a sample model and its rows as a table with the target `y`.
pub fn with_sample(file: &str) -> (Scratch, serde_json::Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../swarmwood-model/tests/imports");
    let name = file.split('.').next().unwrap();
    let expected = std::fs::read_to_string(folder.join(format!("{name}.expected.json"))).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let line = |values: &serde_json::Value| {
        values.as_array().unwrap().iter().map(cell).collect::<Vec<_>>().join(",")
    };
    let mut table = format!("{},y\n", line(&expected["columns"]));
    for (row, predictions) in
        expected["rows"].as_array().unwrap().iter().zip(expected["predictions"].as_array().unwrap())
    {
        table += &format!("{},{}\n", line(row), predictions[0]);
    }
    let dir = Scratch::new();
    dir.file(file, std::fs::read(folder.join(file)).unwrap()).file("rows.csv", table);
    (dir, expected)
}

#[test]
fn models_of_every_library_predict_evaluate_and_print() {
    for (file, method) in [
        ("xgboost_regression.json", "xgboost"),
        ("xgboost_categories.json", "xgboost"),
        ("xgboost_dart.ubj", "xgboost"),
        ("lightgbm_categories.txt", "lightgbm"),
        ("lightgbm_zero_as_missing.txt", "lightgbm"),
        ("catboost_regression.json", "catboost"),
    ] {
        let (dir, expected) = with_sample(file);
        let out = dir.run(&format!("predict {file} rows.csv --quiet")).works().out;
        let predictions = out.lines().skip(1).map(|line| line.parse::<f64>().unwrap());
        let expected =
            expected["predictions"].as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap());
        assert_eq!(predictions.clone().count(), expected.clone().count());
        for (prediction, expected) in predictions.zip(expected) {
            assert!(
                (prediction - expected).abs() <= 1e-6 * expected.abs().max(1.0),
                "{file}: {prediction} {expected}"
            );
        }
        // The target is the prediction of the library, so the error is zero.
        let metrics =
            dir.run(&format!("evaluate {file} rows.csv --target y --json --quiet")).works().json();
        assert!(metrics["rmse"].as_f64().unwrap() < 1e-5, "{file}: {metrics}");
        let printed = dir.run(&format!("inspect {file} --trees 2")).works().out;
        assert!(printed.contains(&format!("method {method}")), "{printed}");
    }
}

#[test]
fn damaged_models_of_other_libraries_are_refused() {
    let (dir, _) = with_sample("xgboost_dart.ubj");
    let whole = std::fs::read(dir.path().join("xgboost_dart.ubj")).unwrap();
    dir.file("cut.ubj", &whole[..whole.len() / 2]);
    dir.fails("predict cut.ubj rows.csv", 2, &["cut.ubj", "xgboost model", "ends early"]);
    dir.file("binary.cbm", b"CBM1\0\0\0\0");
    dir.fails("inspect binary.cbm", 2, &["binary.cbm", "format=\"json\""]);
}
