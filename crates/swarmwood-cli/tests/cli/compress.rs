//! `swarmwood compress`: students of models, with and without targets.

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

const LARGE: &str = "--method greedy --trees 60 --depth 4";

/// Two large models, and their rows without targets.
fn large() -> Scratch {
    let dir = Scratch::new();
    let without_last = |text: &str| -> String {
        let cut = |line: &str| line.rsplit_once(',').unwrap().0.to_string() + "\n";
        text.lines().map(cut).collect()
    };
    let (numbers, classes) = (regression(300, 1), binary(300, 2));
    dir.file("r.csv", &numbers).file("b.csv", &classes);
    dir.file("bare.csv", without_last(&classes));
    dir.run(&format!("train r.csv --target price {LARGE} --out r.json -q")).works();
    dir.run(&format!("train b.csv --target sold {LARGE} --out b.json -q")).works();
    dir
}

#[test]
fn a_student_is_small_and_compared_with_its_teacher() {
    let dir = large();
    let line = "compress r.json r.csv --total-leaves 32 --out small.json --json -q";
    let report = dir.run(line).works().json();
    assert!(report["small_model"]["leaves"].as_u64().unwrap() <= 32, "{report}");
    assert!(report["large_model"]["leaves"].as_u64().unwrap() > 200, "{report}");
    assert_eq!((&report["rows"], &report["extra_rows"]), (&240.into(), &960.into()));
    assert_eq!(report["fidelity"]["rows"], 60);
    assert!(report["fidelity"]["r2"].as_f64().unwrap() > 0.8, "{report}");
    assert!(report["fidelity"]["agreement"].is_null());
    for model in ["large_model", "small_model", "difference"] {
        assert!(report["metrics"][model]["rmse"]["interval"][1].is_number(), "{report}");
    }
    dir.run("predict small.json r.csv --out p.csv -q").works();
    assert!(dir.read("p.csv").starts_with("prediction\n"));

    let printed = dir.run("compress r.json r.csv --total-leaves 32 --out again.json").works();
    assert!(printed.out.contains("R2 of raw scores"), "{printed:?}");
    assert_eq!(dir.read("small.json"), dir.read("again.json"));
    dir.run("compress r.json r.csv --total-leaves 32 --out two.json --threads 2 -q").works();
    assert_eq!(dir.read("small.json"), dir.read("two.json"));
}

#[test]
fn rows_need_no_target_and_students_of_classes_are_classifiers() {
    let dir = large();
    let line = "compress b.json bare.csv --total-leaves 16 --swaps 3 --out small.json --json -q";
    let report = dir.run(line).works().json();
    assert!(report["metrics"].is_null(), "{report}");
    assert!(report["fidelity"]["agreement"].as_f64().unwrap() > 0.8, "{report}");
    assert_eq!(report["extra_rows"], 3 * 240);
    dir.run("predict small.json bare.csv --out p.csv -q").works();
    let header = dir.read("p.csv").lines().next().unwrap().to_string();
    assert!(header.contains("probability"), "{header}");

    let line = "compress b.json bare.csv --valid b.csv --total-leaves 16 --out s.json --json -q";
    let report = dir.run(line).works().json();
    assert_eq!((&report["rows"], &report["fidelity"]["rows"]), (&300.into(), &300.into()));
    assert!(report["metrics"]["small_model"]["accuracy"]["value"].is_number(), "{report}");
}

#[test]
fn a_run_is_resumed_and_limited() {
    let dir = large();
    let line = "compress b.json b.csv --total-leaves 16 --swaps 1 -q";
    dir.run(&format!("{line} --out whole.json")).works();
    let state = "--checkpoint state --checkpoint-every 1";
    dir.run(&format!("{line} {state} --out one.json")).works();
    dir.run(&format!("{line} {state} --resume --out two.json")).works();
    assert_eq!(dir.read("whole.json"), dir.read("one.json"));
    assert_eq!(dir.read("one.json"), dir.read("two.json"));
    let line =
        "compress b.json b.csv --total-leaves 512 --swaps 40 --time-limit 0.05 --out limited.json";
    dir.run(line).ends(0, &["time limit of"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = large();
    let fails = |line: &str, parts: &[&str]| {
        dir.fails(&format!("compress {line}"), 2, parts);
    };
    fails("b.json b.csv --out b.json", &["the same file as the large model"]);
    fails("b.json b.csv --out s.json --objective huber", &["objective: is huber", "raw scores"]);
    fails("b.json b.csv --out s.json --valid-fraction 0", &["valid_fraction", "held out"]);
    fails("b.json b.csv --out s.json --target none", &["none"]);
    fails("r.csv b.csv --out s.json", &["r.csv"]);
}
