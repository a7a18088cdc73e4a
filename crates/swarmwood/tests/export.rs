//! Exports of random models, run by the programs they are for and compared with the model at both
//! neighbours of every threshold.
//!
//! Formats of Python packages that are not installed here are tested with the Python package.

// The random models of the model crate's own tests.
#[allow(dead_code)]
#[path = "../../swarmwood-model/src/samples.rs"]
mod samples;

// What the samples expect of their crate.
pub use swarmwood::model::*;

use std::path::{Path, PathBuf};

use samples::SampleSize;
use swarmwood::export::{
    ExportReport, ExportRequest, VerifyOutcome, VerifyRequest, choose_format, write_export,
};
use swarmwood::model::export::ExportOptions;

/// Options by name.
type Options = &'static [(&'static str, &'static str)];

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("swarmwood-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn export_to(path: &Path, model: &Model, format: &str, options: Options) -> ExportReport {
    let options = options
        .iter()
        .fold(ExportOptions::default(), |options, (name, value)| options.with(*name, *value));
    let request = ExportRequest {
        model,
        model_path: None,
        format: choose_format(Some(format), path).unwrap(),
        options,
        path,
        verify: Some(VerifyRequest { data: None, python: &python(), is_required: true }),
    };
    write_export(&request).unwrap_or_else(|error| panic!("{format}: {error}"))
}

/// The interpreter: tests of Python packages need one that has them.
fn python() -> PathBuf {
    std::env::var_os("SWARMWOOD_TEST_PYTHON").unwrap_or("python3".into()).into()
}

/// Verifies random models in a format; returns the largest difference of predictions.
fn verify_random(format: &str, options: Options, models: u64, first_seed: u64) -> f64 {
    let directory = scratch(&format!("{format}-{first_seed}"));
    let path = directory.join("model.x");
    let mut worst = 0.0_f64;
    for seed in first_seed..first_seed + models {
        let size = SampleSize {
            features: seed as usize % 13,
            rounds: seed as usize % 6,
            leaves: [2, 8, 40][seed as usize % 3],
            levels: [2, 5][seed as usize % 2],
        };
        let model = samples::model(seed, size);
        let exporter = choose_format(Some(format), &path).unwrap();
        let linear = matches!(model.body, Body::Linear(_));
        let integer = options.iter().any(|(name, _)| *name == "integer");
        if exporter.supports(&model).is_err() || linear && integer {
            continue;
        }
        let report = export_to(&path, &model, format, options);
        match report.verification.unwrap().outcome {
            VerifyOutcome::Verified { raw, prediction, .. } => {
                assert!(raw == 0.0 || integer, "{format}: {raw}");
                worst = worst.max(prediction.unwrap_or(0.0));
            }
            VerifyOutcome::Unavailable(reason) => panic!("{format}: {reason}"),
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
    worst
}

#[test]
fn c_scores_as_the_model() {
    verify_random("c", &[], 16, 1000);
}

#[test]
fn c_in_integers_stays_within_its_bound() {
    verify_random("c", &[("integer", "8")], 5, 2000);
    verify_random("c", &[("integer", "32")], 5, 3000);
}

#[test]
fn javascript_scores_as_the_model() {
    verify_random("js", &[], 20, 4000);
}

#[test]
fn python_scores_as_the_model() {
    verify_random("python", &[], 20, 5000);
}

#[test]
fn sqlite_scores_as_the_model() {
    verify_random("sql", &[("dialect", "sqlite")], 20, 6000);
}

/// Verifies a thousand models in a format. Set `SWARMWOOD_TEST_PYTHON` to an interpreter with
/// lightgbm, duckdb, onnx and onnxruntime.
fn verify_a_thousand(format: &str, options: Options) {
    let prediction = verify_random(format, options, 1000, 100_000);
    println!("{format} {options:?}: largest difference of predictions {prediction:e}");
}

#[test]
#[ignore = "takes minutes; make exports"]
fn a_thousand_random_models_agree_in_text_formats() {
    verify_a_thousand("js", &[]);
    verify_a_thousand("python", &[]);
    verify_a_thousand("sql", &[("dialect", "sqlite")]);
    verify_a_thousand("c", &[]);
}

#[test]
#[ignore = "takes minutes and needs Python packages; make exports"]
fn a_thousand_random_models_agree_in_duckdb() {
    verify_a_thousand("sql", &[("dialect", "duckdb")]);
}

#[test]
#[ignore = "takes minutes and needs Python packages; make exports"]
fn a_thousand_random_models_agree_in_lightgbm() {
    verify_a_thousand("lightgbm", &[]);
}

#[test]
#[ignore = "takes minutes and needs Python packages; make exports"]
fn a_thousand_random_models_agree_in_onnx() {
    verify_a_thousand("onnx", &[]);
}

#[test]
#[ignore = "takes minutes and needs Python packages; make exports"]
fn a_thousand_random_models_agree_in_onnx_by_columns() {
    verify_a_thousand("onnx", &[("inputs", "columns")]);
}
