//! End-to-end tests of single trees.

use crate::scratch::Scratch;
use crate::tables::{TestRng, binary, classes, regression};

/// A noisy exclusive or of two numbers: no single split reduces the error.
fn noisy_xor(rows: usize, seed: u64) -> String {
    let mut rng = TestRng::new(seed);
    let mut csv = String::from("x,y,noise,label\n");
    for _ in 0..rows {
        let (x, y, noise) = (rng.unit(), rng.unit(), rng.unit());
        let label = ((x > 0.5) == (y > 0.5)) != (rng.unit() < 0.02);
        csv.push_str(&format!("{x:.4},{y:.4},{noise:.4},{}\n", if label { "yes" } else { "no" }));
    }
    csv
}

#[test]
fn both_methods_train_on_every_task_and_keep_their_limits() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(300, 1))
        .file("b.csv", binary(300, 2))
        .file("c.csv", classes(300, 3));
    for (file, target, metric) in
        [("r.csv", "price", "rmse"), ("b.csv", "sold", "accuracy"), ("c.csv", "colour", "accuracy")]
    {
        for method in ["swarm-tree --budget 4", "cart"] {
            let line = format!(
                "train {file} --target {target} --method {method} --max-leaves 6 --quiet --json --out m.json"
            );
            let report = dir.run(&line).works().json();
            assert!(
                report["search"]["leaves"].as_u64().is_some_and(|leaves| (1..=6).contains(&leaves)),
                "{line}"
            );
            let output = report["metrics"]["train"][metric].as_f64().unwrap();
            let stored = dir.run(&format!("evaluate m.json {file} --json")).works().json()[metric]
                .as_f64()
                .unwrap();
            assert!((output - stored).abs() < 1e-9 * (1.0 + output.abs()), "{line}");
            dir.run("rules m.json").works();
            dir.run("inspect m.json --plot t.svg").works();
            assert!(dir.read("t.svg").contains("<svg"));
        }
    }
}

#[test]
fn the_search_finds_what_greedy_growth_misses() {
    let dir = Scratch::new();
    dir.file("train.csv", noisy_xor(600, 1)).file("test.csv", noisy_xor(600, 2));
    let accuracy = |method: &str| {
        let line = format!(
            "train train.csv --target label --method {method} --max-leaves 4 --quiet --json --out m.json"
        );
        let report = dir.run(&line).works().json();
        (
            dir.run("evaluate m.json test.csv --json").works().json()["accuracy"].as_f64().unwrap(),
            report,
        )
    };
    let (greedy, _) = accuracy("cart --prune none");
    let (searched, report) = accuracy("swarm-tree");
    assert!(searched > 0.95 && searched > greedy + 0.1, "{searched} {greedy}");
    let search = &report["search"];
    assert_eq!((&search["selected_by_search"], &search["leaves"]), (&true.into(), &4.into()));
    assert!(search["loss"].as_f64() < search["greedy_loss"].as_f64());
    assert!(search["candidates"].as_array().is_some_and(|all| all.len() == 2), "{search}");
    let output = dir.run("train train.csv --target label --method swarm-tree --out m.json").works();
    assert!(
        output.out.contains("4 leaves") && output.out.contains("(greedy tree: "),
        "{}",
        output.out
    );
}

#[test]
fn threads_and_runs_give_the_same_bytes() {
    let dir = Scratch::new();
    dir.file("c.csv", classes(400, 5));
    let mut first = None;
    for threads in [1, 2, 8] {
        let line = format!(
            "train c.csv --target colour --method swarm-tree --max-leaves 8 --threads {threads} --out m.json --quiet"
        );
        dir.run(&line).works();
        let model = dir.read("m.json");
        assert_eq!(first.get_or_insert_with(|| model.clone()), &model, "{threads} threads");
    }
}

#[test]
fn costs_and_class_balance_change_predictions() {
    let dir = Scratch::new();
    dir.file("b.csv", noisy_xor(400, 3));
    let predicted_positives = |flags: &str| {
        let line = format!(
            "train b.csv --target label --positive yes --ignore x --method swarm-tree --max-leaves 3 --out m.json --quiet {flags}"
        );
        dir.run(&line).works();
        let predicted = dir.run("predict m.json b.csv").works().out;
        predicted.lines().skip(1).filter(|line| line.starts_with("yes")).count()
    };
    let (plain, costly) = (
        predicted_positives("--guard=false"),
        predicted_positives("--guard=false --costs 0,1;20,0"),
    );
    assert!(costly > plain, "{costly} {plain}");
    predicted_positives("--class-weight balanced");
}

#[test]
fn impossible_requests_are_refused() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(60, 1)).file("r.csv", regression(60, 1));
    let b = "train b.csv --target sold --out m.json --method";
    dir.fails(&format!("{b} cart --criterion accuracy"), 2, &["criterion", "gini"]);
    dir.fails(&format!("{b} swarm-tree --criterion gain-ratio"), 2, &["criterion", "cart"]);
    dir.fails(
        "train r.csv --target price --out m.json --method cart --criterion gain-ratio",
        2,
        &["criterion", "classes"],
    );
    dir.fails(
        &format!("{b} swarm-tree --criterion squared"),
        2,
        &["criterion", "numbers", "2 classes"],
    );
    dir.fails(
        &format!("{b} swarm-tree --costs 0,1,2;1,0,2;1,1,0"),
        2,
        &["costs", "3 rows", "2 classes"],
    );
    dir.fails(&format!("{b} swarm-tree --costs 0,1;x,0"), 2, &["costs", "matrix"]);
    dir.fails(
        &format!("{b} swarm-tree --max-leaves 1 --thresholds 1"),
        2,
        &["max_leaves", "thresholds"],
    );
    dir.fails(&format!("{b} swarm-tree --resume"), 2, &["resume", "--checkpoint"]);
    dir.fails(
        "train r.csv --target price --out m.json --method swarm-tree --criterion gini",
        2,
        &["criterion", "classes"],
    );
    assert!(!dir.names().contains(&"m.json".to_string()));
}
