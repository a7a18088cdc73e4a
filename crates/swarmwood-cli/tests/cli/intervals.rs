//! Prediction intervals and prediction sets.

use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("r.csv", regression(600, 1)).file("s.csv", regression(600, 9));
    dir.file("b.csv", binary(600, 2)).file("c.csv", classes(600, 3)).file("d.csv", classes(600, 4));
    dir
}

/// The columns of numbers of a table, from the one called `first` on.
fn numbers(table: &str, first: &str) -> Vec<Vec<f64>> {
    let mut lines = table.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == first).unwrap();
    let row = |line: &str| line.split(',').skip(at).map(|cell| cell.parse().unwrap()).collect();
    lines.map(row).collect()
}

#[test]
fn intervals_are_stored_written_and_cover() {
    let dir = dir();
    for (method, objective) in [
        ("swarm --total-leaves 16", "squared"),
        ("greedy --trees 20", "squared-log"),
        ("greedy --trees 20", "poisson"),
        ("cart", "auto"),
    ] {
        let objective =
            if method == "cart" { String::new() } else { format!("--objective {objective}") };
        for kind in ["constant", "adaptive"] {
            let flags =
                format!("--interval 0.8 --interval-kind {kind} {objective} --method {method}");
            // Prices may be negative, which these objectives refuse.
            let data = if objective.contains("squared-log") || objective.contains("poisson") {
                let rows = dir.read("r.csv");
                let is_positive = |line: &&str| !line.rsplit(',').next().unwrap().starts_with('-');
                let lines: Vec<&str> = rows.lines().filter(is_positive).collect();
                dir.file("p.csv", lines.join("\n") + "\n");
                "p.csv"
            } else {
                "r.csv"
            };
            let train = format!("train {data} --target price {flags} --quiet");
            dir.run(&format!("{train} --out m.json")).works();
            dir.run(&format!("{train} --threads 1 --out again.json")).works();
            assert_eq!(dir.read("m.json"), dir.read("again.json"), "{flags}");
            assert!(dir.read("m.json").contains("\"version\":3"), "{flags}");

            let out = dir.run("predict m.json s.csv").works().out;
            assert!(out.starts_with("prediction,lower,upper\n"), "{flags}");
            for row in numbers(&out, "prediction") {
                assert!(row[1] <= row[0] && row[0] <= row[2], "{flags}: {row:?}");
            }
            let out = dir.run("predict m.json s.csv --first 1").works().out;
            assert!(out.starts_with("prediction\n"), "{flags}");
            let metrics = dir.run(&format!("evaluate m.json {data} --json")).works().json();
            let coverage = metrics["coverage"].as_f64().unwrap();
            assert!((0.78..=1.0).contains(&coverage), "{flags}: {coverage}");
            let inspected = dir.run("inspect m.json --json").works().json();
            assert_eq!(inspected["interval"]["kind"], kind, "{flags}");
            assert!(dir.run("inspect m.json").works().out.contains("interval   80 %"), "{flags}");
        }
    }
}

#[test]
fn validation_rows_give_split_conformal_intervals() {
    let dir = dir();
    let flags = "--method greedy --trees 20 --valid s.csv --interval 0.9 --json";
    let report =
        dir.run(&format!("train r.csv --target price {flags} --out m.json")).works().json();
    assert!(report["notes"].to_string().contains("from the validation rows"), "{report}");
    // Of 600 residuals the 541st is the quantile.
    let metrics = dir.run("evaluate m.json s.csv --json").works().json();
    assert!((metrics["coverage"].as_f64().unwrap() - 541.0 / 600.0).abs() < 1e-9, "{metrics}");
}

#[test]
fn sets_are_stored_written_and_cover() {
    let dir = dir();
    for (data, target, names) in
        [("b.csv", "sold", &["no", "yes"][..]), ("c.csv", "colour", &["green", "red"][..])]
    {
        for method in ["swarm --total-leaves 16", "greedy --trees 20", "cart"] {
            let flags = format!("--interval 0.95 --method {method} --quiet --out m.json");
            dir.run(&format!("train {data} --target {target} {flags}")).works();
            let out = dir.run(&format!("predict m.json {data}")).works().out;
            let header = out.lines().next().unwrap();
            assert!(header.ends_with(",set"), "{header}");
            assert!(names.iter().all(|name| out.contains(name)), "{method}");
            let metrics = dir.run(&format!("evaluate m.json {data} --json")).works().json();
            assert!(metrics["coverage"].as_f64().unwrap() > 0.93, "{method}: {metrics}");
            assert!(metrics["mean_set_size"].as_f64().unwrap() >= 1.0, "{method}: {metrics}");
            assert!(dir.run("inspect m.json").works().out.contains("class sets 95 %"));
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let dir = dir();
    dir.run("train b.csv --target sold --interval 0.9 --interval-kind adaptive --out m.json")
        .ends(2, &["interval_kind: is adaptive", "no width"]);
    dir.run("train r.csv --target price --interval-kind adaptive --out m.json")
        .ends(2, &["interval_kind: is adaptive", "there is no interval"]);
    dir.run("train r.csv --target price --interval 0.999 --out m.json")
        .ends(2, &["interval: is 0.999", "at least 999 rows", "600"]);
    dir.run("train r.csv --target price --interval 1 --out m.json").ends(2, &["interval: is 1"]);
}
