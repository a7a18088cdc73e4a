//! Constraints: how they are said, what is refused, and how a model is checked.

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("r.csv", regression(200, 1))
        .file("b.csv", binary(200, 2))
        .file("c.csv", classes(200, 3));
    dir
}

#[test]
fn a_constrained_model_is_proven_and_another_direction_has_a_counterexample() {
    let dir = dir();
    dir.run("train r.csv --target price --monotone size:+,age:- --trees 4 --max-leaves 6 -q --out m.json")
        .works();
    let proven = dir.run("inspect m.json --check-monotone").works().out;
    assert!(
        proven.contains("size: increasing: proven") && proven.contains("age: decreasing: proven")
    );

    let violated = dir.run("inspect m.json --check-monotone=size:-").ends(1, &["monotone in size"]);
    assert!(violated.out.contains("size: decreasing: violated: size="), "{violated:#?}");
    let json = dir.run("inspect m.json --check-monotone=[0,-1,0] --json").works().json();
    assert_eq!(json["monotone"][0]["found"], "proven");
    dir.run("inspect m.json --check-monotone=siz:+").ends(2, &["no feature", "'size'"]);
    dir.run("inspect m.json --check-monotone=town:+").ends(2, &["town", "no order"]);
}

#[test]
fn models_without_directions_ask_for_them() {
    let dir = dir();
    dir.run("train b.csv --target sold --method greedy --trees 5 -q --out m.json").works();
    dir.run("inspect m.json --check-monotone").ends(2, &["check-monotone", "income:+"]);
    let model = std::fs::read_to_string(dir.path().join("m.json")).unwrap();
    assert!(!model.contains("monotone"), "only what was given is on record");
}

#[test]
fn constraints_that_cannot_hold_are_refused() {
    let dir = dir();
    let train = |words: &str| dir.run(&format!("train {words} -q --out m.json"));
    train("r.csv --target price --monotone siz:+").ends(2, &["monotone", "did you mean 'size'"]);
    train("r.csv --target price --monotone town:+").ends(2, &["town", "categories"]);
    train("r.csv --target price --monotone size:up").ends(2, &["monotone", "income:+,debt:-"]);
    train("r.csv --target price --monotone [1]").ends(2, &["has 1 values", "3 features"]);
    train("c.csv --target colour --monotone size:+").ends(2, &["two classes"]);
    train("r.csv --target price --monotone size:+ --method tree-sum").ends(2, &["method tree-sum"]);
    train("r.csv --target price --monotone size:+ --method sgbdt").ends(2, &["method sgbdt"]);
    train("r.csv --target price --monotone size:+ --method greedy --booster gblinear")
        .ends(2, &["booster gbtree or dart"]);
}

#[test]
fn a_file_may_have_a_table_or_a_list() {
    let dir = dir();
    for value in ["{ size = 1, age = -1 }", "[1, -1, 0]", "\"size:+,age:-\""] {
        dir.file("c.toml", format!("method = \"cart\"\nmonotone = {value}\n"));
        dir.run("train r.csv --target price --config c.toml -q --out m.json").works();
        let checked = dir.run("inspect m.json --check-monotone --json").works().json();
        assert_eq!(checked["monotone"].as_array().map(Vec::len), Some(2), "{value}");
    }
    dir.file("c.toml", "monotone = [1, 2, 0]\n");
    dir.run("train r.csv --target price --config c.toml -q --out m.json")
        .ends(2, &["c.toml:1", "monotone", "is [1, 2, 0]"]);
}

#[test]
fn trees_begin_with_the_first_split_of_text_of_a_file_and_of_toml() {
    let dir = dir();
    dir.file(
        "top.json",
        r#"{"feature": "age", "threshold": 33.3, "right": {"feature": "town", "in": ["Ash", "Dell"]}}"#,
    );
    dir.file("c.toml", "[first_split]\nfeature = \"age\"\nthreshold = 33.3\nmissing = \"right\"\n");
    let begins = |words: &str| {
        let train = format!("train r.csv --target price {words} -q --out m.json");
        dir.run(&train).works();
        dir.run("inspect m.json --trees 1").works().out
    };
    for method in ["cart", "swarm-tree --budget 2", "greedy --trees 3", "swarm --trees 2"] {
        let method = format!("--method {method}");
        for given in ["--first-split age<=33.3", "--first-split top.json", "--config c.toml"] {
            let text = begins(&format!("{method} {given}"));
            assert!(text.contains("age") && text.contains("33.3"), "{method} {given}: {text}");
        }
    }
}

#[test]
fn first_splits_that_cannot_be_made_are_refused() {
    let dir = dir();
    dir.file("bad.json", "{\"feature\": \"age\"}");
    let refused = |split: &str, words: &str, parts: &[&str]| {
        let mut all = vec!["first_split"];
        all.extend(parts);
        dir.run(&format!(
            "train r.csv --target price --first-split {split} {words} -q --out m.json"
        ))
        .ends(2, &all);
    };
    refused("age<25", "", &["'age<=25'"]);
    refused("bad.json", "", &["'age<=25'"]);
    refused("aeg<=25", "", &["did you mean 'age'"]);
    refused("town<=25", "", &["categories"]);
    refused("age<=-1", "", &["'age'", "no training row", "left side"]);
    refused("age<=25", "--method tree-sum", &["method tree-sum"]);
    refused("age<=25", "--method greedy --growth oblivious", &["oblivious"]);
    let two = r#"{"feature":"age","threshold":25,"left":{"feature":"size","threshold":50}}"#;
    dir.file("two.json", two);
    refused("two.json", "--max-leaves 2", &["makes 3 leaves", "at most 2"]);
    refused("two.json", "--method greedy --depth 1", &["2 splits on a path"]);
    refused("two.json", "--interactions age;size", &["'age', 'size'", "interactions"]);
    refused("two.json", "--max-features 1", &["feature budget"]);
}

#[test]
fn single_trees_and_sums_of_trees_have_feature_budgets() {
    let dir = dir();
    for method in ["cart", "swarm-tree --budget 2", "tree-sum --budget 5"] {
        let train = format!("train r.csv --target price --max-features 1 --method {method}");
        let report = dir.run(&format!("{train} -q --json --out m.json")).works().json();
        assert_eq!(
            report["feature_budget"]["selected"].as_array().map(Vec::len),
            Some(1),
            "{method}"
        );
        let model = dir.run("inspect m.json --json").works().json();
        assert!(model["features_used"].as_u64() <= Some(1), "{method}: {model:#}");
    }
}
