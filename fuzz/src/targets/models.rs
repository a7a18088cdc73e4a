//! Model files: the native format, those of other libraries, and what exporters write.

use std::sync::OnceLock;

use swarmwood::model::explain::Explainer;
use swarmwood::model::export::{
    ExportContent, ExportError, ExportInput, ExportOptions, export, find, formats,
};
use swarmwood::model::predict::{Block, ColumnView, FeatureValue, MISSING, Predictor};
use swarmwood::model::{Kind, Model, TextOptions, format};
use swarmwood::search::rng::Stream;

use super::tables::model;
use super::ubj;
use crate::json_text::mutate_json;
use crate::lines::{mutate_fields, mutate_lines};
use crate::target::FuzzTarget;

/// Models in the native format.
pub const NATIVE: FuzzTarget = FuzzTarget {
    name: "native",
    description: "model files",
    seeds: native_seeds,
    mutators: &[mutate_json],
    repair: None,
    describe: None,
    run: read_and_predict,
};

/// Models of XGBoost in JSON.
pub const XGBOOST_JSON: FuzzTarget = FuzzTarget {
    name: "xgboost-json",
    description: "models of XGBoost in JSON",
    seeds: || exported("xgboost", &XGBOOST_SAMPLES),
    mutators: &[mutate_json],
    repair: None,
    describe: None,
    run: read_and_predict,
};

/// Models of XGBoost in UBJSON.
pub const XGBOOST_UBJ: FuzzTarget = FuzzTarget {
    name: "xgboost-ubj",
    description: "models of XGBoost in UBJSON",
    seeds: ubj_seeds,
    // Half of the inputs are JSON that is translated before it is read: values stay values.
    mutators: &[mutate_json],
    repair: None,
    describe: None,
    run: |input| match ubj::from_json(input) {
        Some(translated) => read_and_predict(&translated),
        None => read_and_predict(input),
    },
};

/// Models of LightGBM.
pub const LIGHTGBM: FuzzTarget = FuzzTarget {
    name: "lightgbm",
    description: "models of LightGBM",
    seeds: || exported("lightgbm", &[]),
    mutators: &[mutate_fields, mutate_fields, mutate_lines],
    repair: None,
    describe: None,
    run: read_and_predict,
};

/// Models of CatBoost.
pub const CATBOOST: FuzzTarget = FuzzTarget {
    name: "catboost",
    description: "models of CatBoost in JSON",
    seeds: || CATBOOST_SAMPLES.map(|text| text.as_bytes().to_vec()).to_vec(),
    mutators: &[mutate_json],
    repair: None,
    describe: None,
    run: read_and_predict,
};

/// Everything that is written from a model.
pub const EXPORTS: FuzzTarget = FuzzTarget {
    name: "exports",
    description: "all exports of a model, those that can be read back included",
    seeds: native_seeds,
    mutators: &[mutate_json],
    repair: None,
    describe: None,
    run: export_and_read,
};

/// What our exporter does not write: categories and DART.
const XGBOOST_SAMPLES: [&str; 1] =
    [include_str!("../../../crates/swarmwood-model/tests/imports/xgboost_categories.json")];

/// There is no exporter for CatBoost.
const CATBOOST_SAMPLES: [&str; 2] = [
    r#"{"features_info":{"float_features":[{"borders":[0.5,1.5],"feature_index":0,"feature_name":"a","flat_feature_index":0,"has_nans":true,"nan_value_treatment":"AsFalse"},{"borders":[2.5],"feature_index":1,"feature_name":"b","flat_feature_index":1,"has_nans":false,"nan_value_treatment":"AsIs"}]},"model_info":{"params":"{\"loss_function\":{\"type\":\"RMSE\"}}"},"oblivious_trees":[{"leaf_values":[1,2,3,4],"leaf_weights":[4,3,2,1],"splits":[{"border":0.5,"float_feature_index":0,"split_index":0,"split_type":"FloatFeature"},{"border":2.5,"float_feature_index":1,"split_index":2,"split_type":"FloatFeature"}]}],"scale_and_bias":[1,[0.5]]}"#,
    include_str!(
        "../../../crates/swarmwood-model/tests/imports/catboost_multiclass_depthwise.json"
    ),
];

/// Small models of every kind.
fn models() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    const GREEDY: (&str, &str) = ("method", "greedy");
    const FEW: (&str, &str) = ("trees", "2");
    MODELS.get_or_init(|| {
        vec![
            model("price", &[GREEDY, FEW, ("depth", "2")]),
            model("grade", &[GREEDY, FEW, ("depth", "2")]),
            model("bought", &[GREEDY, FEW, ("growth", "oblivious"), ("depth", "2")]),
            model("price", &[GREEDY, FEW, ("booster", "gblinear")]),
            model("grade", &[("method", "cart"), ("max_leaves", "5")]),
            model("price", &[("method", "cart"), ("max_leaves", "4")]),
        ]
    })
}

fn native_seeds() -> Vec<Vec<u8>> {
    let text = |model: &Model| format::to_json(model).expect("a trained model").into_bytes();
    models().iter().map(text).collect()
}

fn exported(name: &str, samples: &[&str]) -> Vec<Vec<u8>> {
    let format = find(ExportContent::Model, name).expect("a format of the list");
    let write =
        |model: &Model| export(format, &ExportInput::new(model), &ExportOptions::default()).ok();
    let written = models().iter().filter_map(write);
    written.chain(samples.iter().map(|sample| sample.as_bytes().to_vec())).collect()
}

fn ubj_seeds() -> Vec<Vec<u8>> {
    let json = exported("xgboost", &XGBOOST_SAMPLES);
    let binary: Vec<Vec<u8>> = json.iter().filter_map(|text| ubj::from_json(text)).collect();
    json.into_iter().chain(binary).collect()
}

/// A model that is read predicts, by rows and by blocks alike, and is written and read again.
fn read_and_predict(input: &[u8]) -> bool {
    let Ok(model) = format::read(input) else { return false };
    model.check().expect("a model that was read is valid");
    let text = format::to_json(&model).expect("a model that was read can be written");
    let again = format::from_json(text.as_bytes()).expect("a model that was written can be read");
    let second = format::to_json(&again).expect("and written again");
    assert!(text == second, "a model is written the same way twice");

    predict(&model);
    model.to_text(&TextOptions::default());
    model.importances();
    true
}

/// Rows of a model's schema, with values that models treat in special ways.
fn sample_rows(model: &Model, count: usize) -> Vec<Vec<FeatureValue>> {
    const NUMBERS: [f64; 10] =
        [0.0, -0.0, 1.0, 0.5, 2.5, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];
    let mut stream = Stream::new(7, 0, 0);
    let value = |kind: &Kind, stream: &mut Stream| match kind {
        Kind::Number => FeatureValue::Number(NUMBERS[stream.below(10) as usize]),
        Kind::Category { levels } => match stream.below(levels.len() as u64 + 2) {
            code if code > levels.len() as u64 => FeatureValue::Category(MISSING),
            code => FeatureValue::Category(code as u32),
        },
    };
    let features = &model.schema.features;
    (0..count)
        .map(|_| features.iter().map(|feature| value(&feature.kind, &mut stream)).collect())
        .collect()
}

fn predict(model: &Model) {
    // Many features times many rows would be the time of the harness, not of the model.
    let count = if model.schema.features.len() > 500 { 2 } else { 34 };
    let rows = sample_rows(model, count);
    let columns: Vec<(Vec<f64>, Vec<u32>)> = (0..model.schema.features.len())
        .map(|feature| {
            let mut column = (Vec::new(), Vec::new());
            for row in &rows {
                match row[feature] {
                    FeatureValue::Number(number) => column.0.push(number),
                    FeatureValue::Category(code) => column.1.push(code),
                }
            }
            column
        })
        .collect();
    let views: Vec<ColumnView<'_>> = columns
        .iter()
        .map(|(numbers, codes)| match codes.is_empty() {
            true => ColumnView::Number(numbers),
            false => ColumnView::Category(codes),
        })
        .collect();

    let block = Block { columns: &views, rows: rows.len() };
    let mut raw = vec![0.0; rows.len() * model.outputs()];
    Predictor::new(model).raw(&block, None, &mut raw).expect("the block fits the schema");
    for (row, raw) in rows.iter().zip(raw.chunks(model.outputs().max(1))) {
        let alone = model.raw_row(row, None).expect("the row fits the schema");
        let same = alone.iter().zip(raw).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(same, "a block and a row have other scores: {alone:?} {raw:?}");
        // Predictions of a linear function overflow if its input does.
        let finite = row.iter().all(|value| {
            !matches!(value, FeatureValue::Number(number)
            if number.is_infinite() || number.abs() > 1e9)
        });
        assert!(!finite || alone.iter().all(|score| !score.is_nan()), "a score is NaN");
    }
}

fn export_and_read(input: &[u8]) -> bool {
    let Ok(model) = format::read(input) else { return false };
    let contents = [ExportContent::Model, ExportContent::Rules, ExportContent::Drawing];
    for format in contents.into_iter().flat_map(formats) {
        let input = ExportInput::new(&model);
        match export(format, &input, &ExportOptions::default()) {
            Ok(bytes) => read_back(&model, format.name(), format.content(), &bytes),
            Err(ExportError::Unsupported(reason)) => assert!(!reason.to_string().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(explainer) = Explainer::new(&model, None) {
        drop(explainer);
    }
    true
}

/// What is a model again must be one that can be read.
fn read_back(model: &Model, name: &str, content: ExportContent, bytes: &[u8]) {
    if content != ExportContent::Model || !["json", "xgboost", "lightgbm"].contains(&name) {
        return;
    }
    let again = format::read(bytes)
        .unwrap_or_else(|error| panic!("the export '{name}' cannot be read: {error}"));
    assert_eq!(again.outputs(), model.outputs(), "the export '{name}' has other outputs");
}
