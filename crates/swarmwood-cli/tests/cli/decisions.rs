//! Decision thresholds of two classes.

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 2)).file("t.csv", binary(400, 5));
    dir.file("r.csv", regression(120, 1)).file("c.csv", classes(120, 3));
    dir
}

/// Class and probability of the second class, row by row.
fn predicted(table: &str) -> Vec<(String, f64)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_string(), cells[2].parse().unwrap())
    };
    table.lines().skip(1).map(row).collect()
}

fn second_class(table: &str) -> String {
    table.lines().next().unwrap().rsplit("probability_").next().unwrap().to_string()
}

#[test]
fn the_threshold_decides_and_can_be_overridden() {
    let dir = dir();
    for method in ["greedy --trees 5", "cart", "tree-sum", "greedy --booster gblinear"] {
        dir.run(&format!("train b.csv --target sold --method {method} --quiet --out plain.json"))
            .works();
        dir.run(&format!(
            "train b.csv --target sold --method {method} --threshold 0.2 --quiet --out m.json"
        ))
        .works();
        let (plain, text) = (dir.read("plain.json"), dir.read("m.json"));
        assert!(!plain.contains("\"threshold\":0"), "{method}");
        assert!(
            !plain.contains("threshold_for") && !plain.contains("\"threshold\":\""),
            "{method}"
        );
        assert!(text.contains("\"version\":3") && text.contains("\"threshold\":0.2,"), "{method}");

        for (flag, threshold) in [("", 0.2), ("--threshold 0.7", 0.7)] {
            let out = dir.run(&format!("predict m.json t.csv {flag}")).works().out;
            let second = second_class(&out);
            for (class, probability) in predicted(&out) {
                assert_eq!(class == second, probability > threshold, "{method} {flag}");
            }
            let metrics = dir.run(&format!("evaluate m.json t.csv --json {flag}")).works().json();
            let same = dir
                .run(&format!("evaluate plain.json t.csv --json --threshold {threshold}"))
                .works()
                .json();
            assert_eq!(metrics, same, "{method} {flag}");
        }
        let inspected = dir.run("inspect m.json --json").works().json();
        assert_eq!(inspected["threshold"].as_f64(), Some(0.2));
        dir.run("inspect m.json").works();
        assert!(dir.run("inspect m.json").works().out.contains("greater than 0.2"));
    }
}

#[test]
fn a_threshold_is_chosen_on_held_out_rows() {
    let dir = dir();
    let train = |flags: &str, out: &str| {
        let line = format!("train b.csv --target sold --trees 4 --max-leaves 4 --out {out} --json");
        dir.run(&format!("{line} {flags}")).works().json()
    };
    train("", "plain.json");
    let report = train("--threshold-for cost=5:1", "low.json");
    let notes = report["notes"].to_string();
    assert!(notes.contains("out-of-fold predictions"), "{notes}");
    train("--threshold-for cost=1:5", "high.json");
    train("--threshold-for cost=5:1 --threads 1", "again.json");
    assert_eq!(dir.read("low.json"), dir.read("again.json"));
    let threshold = |name: &str| {
        dir.run(&format!("inspect {name} --json")).works().json()["threshold"].as_f64()
    };
    assert_eq!(threshold("plain.json"), None);
    assert!(threshold("low.json").unwrap() < threshold("high.json").unwrap());

    let by_validation = train("--method greedy --valid t.csv --threshold-for f1", "v.json");
    let notes = by_validation["notes"].to_string();
    assert!(notes.contains("on the validation rows"), "{notes}");
    let by_folds = train("--method cart --threshold-for recall=0.9", "f.json");
    assert!(by_folds["notes"].to_string().contains("out-of-fold"), "{by_folds}");
}

#[test]
fn thresholds_of_other_targets_are_refused() {
    let dir = dir();
    for (data, has) in [("r.csv --target price", "numbers"), ("c.csv --target colour", "3 classes")]
    {
        let line = format!("train {data} --out m.json --threshold 0.3");
        dir.run(&line).ends(2, &["threshold: is 0.3", "two classes", has]);
        let line = format!("train {data} --out m.json --threshold-for f1");
        dir.run(&line).ends(2, &["threshold_for: is f1", "two classes", has]);
    }
    dir.run("train r.csv --target price --method greedy --trees 2 --quiet --out r.json").works();
    dir.run("predict r.json r.csv --threshold 0.3")
        .ends(2, &["threshold: is for", "predicts numbers"]);
    dir.run("train b.csv --target sold --out m.json --threshold 0.3 --threshold-for f1")
        .ends(2, &["threshold_for: cannot", "give only one"]);
    dir.run("train b.csv --target sold --out m.json --threshold 1")
        .ends(2, &["threshold: is 1", "below 1"]);
    dir.run("train b.csv --target sold --out m.json --threshold-for cost")
        .ends(2, &["threshold_for: is", "cost=5:1"]);
}
