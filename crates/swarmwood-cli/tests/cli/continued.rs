//! Training that continues a model.

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

const GREEDY: &str = "--method greedy --depth 3 --subsample 0.7 --colsample-bytree 0.7";

/// The part of a model file with its start values and trees.
fn trees(model: &str) -> &str {
    &model[model.find("\"trees\":[").unwrap()..]
}

#[test]
fn two_halves_are_the_whole() {
    let dir = Scratch::new();
    dir.file("numbers.csv", regression(300, 1))
        .file("two.csv", binary(300, 1))
        .file("more.csv", classes(300, 1));
    for (data, target) in [("numbers.csv", "price"), ("two.csv", "sold"), ("more.csv", "colour")] {
        let train = format!("train {data} --target {target} {GREEDY}");
        dir.run(&format!("{train} --trees 20 --out whole.json")).works();
        dir.run(&format!("{train} --trees 8 --out half.json")).works();
        let report = dir
            .run(&format!("{train} --trees 12 --init-model half.json --out both.json --json"))
            .works()
            .json();
        assert_eq!(report["rounds"], 20, "{data}");
        assert_eq!(trees(&dir.read("both.json")), trees(&dir.read("whole.json")), "{data}");
    }
}

#[test]
fn early_stopping_keeps_the_model_that_is_continued() {
    let dir = Scratch::new();
    dir.file("t.csv", regression(300, 1)).file("v.csv", regression(100, 2));
    let train = format!("train t.csv --target price {GREEDY} --json");
    dir.run(&format!("{train} --trees 60 --out a.json")).works();
    let flags = "--trees 200 --early-stopping-rounds 3 --valid v.csv --init-model a.json";
    let rounds = dir.run(&format!("{train} {flags} --out b.json")).works().json()["rounds"].clone();
    assert!((61..260).contains(&rounds.as_u64().unwrap()), "{rounds}");
    // The output may be the input.
    dir.run(&format!("{train} --trees 1 --init-model a.json --out c.json")).works();
}

#[test]
fn what_cannot_be_continued_is_refused() {
    let dir = Scratch::new();
    dir.file("t.csv", regression(200, 1)).file("two.csv", binary(200, 1));
    dir.run("train t.csv --target price --method greedy --trees 3 --out m.json").works();
    dir.run("train two.csv --target sold --method greedy --trees 3 --out two.json").works();
    let linear = "train t.csv --target price --method greedy --booster gblinear --out linear.json";
    dir.run(linear).works();
    let train = |flags: &str| dir.run(&format!("train t.csv --target price {flags}"));
    train("--init-model m.json").ends(2, &["that only add trees: greedy", "the method is swarm"]);
    train("--method greedy --booster gblinear --init-model m.json").ends(2, &["not gblinear"]);
    train("--method greedy --init-model linear.json").ends(2, &["is a linear function"]);
    train("--method greedy --objective huber --init-model m.json")
        .ends(2, &["was trained with the objective 'squared', but the objective is 'huber'"]);
    train("--method greedy --init-model two.json").ends(2, &["price"]);
    train("--method greedy --init-model missing.json").ends(2, &["missing.json"]);
}

#[test]
fn what_cannot_be_guaranteed_is_refused() {
    let dir = Scratch::new();
    dir.file("t.csv", regression(300, 1));
    let train = format!("train t.csv --target price {GREEDY}");
    dir.run(&format!("{train} --trees 20 --out a.json")).works();
    let more = format!("{train} --trees 2 --init-model a.json --out b.json");
    for (flag, part) in [
        ("--interactions no_interactions", "may not interact"),
        ("--max-features 1", "a feature budget"),
        ("--interval 0.9", "validation rows that it has not seen"),
    ] {
        dir.fails(&format!("{more} {flag}"), 2, &["init_model", part]);
    }
}
