//! Early stopping: metrics, and several sets of validation rows.

use crate::scratch::Scratch;
use crate::tables::binary;

fn tables() -> Scratch {
    let dir = Scratch::new();
    dir.file("train.csv", binary(400, 1))
        .file("a.csv", binary(200, 2))
        .file("b.csv", binary(200, 3));
    dir
}

const TRAIN: &str = "train train.csv --target sold --method greedy --trees 200 --depth 3 \
                     --early-stopping-rounds 5 --early-stopping-metric auc --json";

#[test]
fn the_last_set_decides_and_all_are_reported() {
    let dir = tables();
    let alone = dir.run(&format!("{TRAIN} --valid b.csv --out alone.json")).works().json();
    let both =
        dir.run(&format!("{TRAIN} --valid a.csv --valid b.csv --out both.json")).works().json();

    assert_eq!(dir.read("alone.json"), dir.read("both.json"));
    assert_eq!(both["metrics"]["valid"], alone["metrics"]["valid"]);
    assert_eq!(alone["metrics"]["watched"], serde_json::json!([]));
    let evaluated = dir.run("evaluate both.json a.csv --json").works().json();
    let watched = both["metrics"]["watched"][0]["auc"].as_f64().unwrap();
    assert!((watched - evaluated["auc"].as_f64().unwrap()).abs() < 1e-9);
    let note = both["notes"][0].as_str().unwrap();
    assert!(note.starts_with("the validation auc was best after"), "{note}");

    let text = TRAIN.replace(" --json", "");
    let text = dir.run(&format!("{text} --valid a.csv --valid b.csv")).works().out;
    assert!(text.contains("train      valid 1      valid 2"), "{text}");
}

#[test]
fn a_configuration_file_names_several_sets() {
    let dir = tables();
    dir.file("run.toml", "valid = [\"a.csv\", \"b.csv\"]\n");
    let report = dir.run(&format!("{TRAIN} --config run.toml")).works().json();
    assert_eq!(report["metrics"]["watched"].as_array().unwrap().len(), 1);
}

#[test]
fn standard_input_is_one_set() {
    let dir = tables();
    dir.run(&format!("{TRAIN} --valid - --valid -"))
        .ends(2, &["valid: is '-' twice, but standard input has one set of rows; name files"]);
    dir.run(&TRAIN.replace("auc", "rmse").replace("--json", "--valid a.csv"))
        .ends(2, &["is 'rmse', which is for targets of numbers"]);
}
