//! Targets of several columns: one model for all of them.

use serde_json::Value;

use crate::scratch::Scratch;
use crate::tables::TestRng;

/// Two numbers to predict, one of which has a name with a comma.
fn table(rows: usize, seed: u64) -> String {
    let mut rng = TestRng::new(seed);
    let mut text = "size,age,town,price,\"rent,cold\"\n".to_string();
    for _ in 0..rows {
        let (size, age) = ((rng.unit() * 1000.0).round() / 10.0, (rng.unit() * 80.0).floor());
        let town = rng.pick(&["Ash", "Birch", "Dell"]);
        let base = if town == "Ash" { 50.0 } else { 0.0 };
        let (price, rent) = (2.0 * size + base + rng.unit(), size / 10.0 + age.sqrt() + rng.unit());
        text.push_str(&format!("{size},{age},{town},{price},{rent}\n"));
    }
    text
}

const BOTH: &str = "--target price,\"rent,cold\"";

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", table(400, 1)).file("v.csv", table(150, 2));
    dir
}

/// The columns of a table of predictions.
fn columns(text: &str) -> Vec<(String, Vec<String>)> {
    let mut lines = text.lines();
    let header = lines.next().unwrap().replace("\"prediction_rent,cold\"", "prediction_rent cold");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |(at, name): (usize, &str)| {
        (name.to_string(), rows.iter().map(|row| row[at].to_string()).collect())
    };
    header.split(',').enumerate().map(column).collect()
}

#[test]
fn a_model_of_several_targets_is_the_models_of_each() {
    let dir = dir();
    dir.file("ignore.toml", "ignore = [\"rent,cold\"]\n");
    for method in [
        "greedy --trees 12 --depth 3 --monotone size:+",
        "greedy --booster gblinear --trees 10",
        "greedy --trees 40 --early-stopping-rounds 2 --valid v.csv --learning-rate 0.5",
        "swarm --total-leaves 24",
        "swarm-tree --total-leaves 8",
        "cart",
        "tree-sum --total-splits 6",
    ] {
        let train = |target: &str, ignore: &str, out: &str| {
            let line = format!("train t.csv {target} {ignore} --method {method} -q --out {out}");
            dir.run(&line).works();
        };
        train(BOTH, "", "both.json");
        train(BOTH, "--threads 1", "again.json");
        assert_eq!(dir.read("both.json"), dir.read("again.json"), "{method}");
        train("--target price", "--config ignore.toml", "price.json");
        train("--target rent,cold", "--ignore price", "rent.json");

        let predict = |model: &str| dir.run(&format!("predict {model} v.csv")).works().out;
        let both = columns(&predict("both.json"));
        let names: Vec<&str> = both.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["prediction_price", "prediction_rent cold"]);
        for (at, model) in ["price.json", "rent.json"].into_iter().enumerate() {
            assert_eq!(both[at].1, columns(&predict(model))[0].1, "{method}: {model}");
        }
    }
}

#[test]
fn the_model_file_names_the_columns_and_metrics_are_those_of_each_and_their_mean() {
    let dir = dir();
    dir.file("run.toml", "target = [\"price\", \"rent,cold\"]\nmethod = \"greedy\"\ntrees = 5\n");
    let report = dir.run("train t.csv --config run.toml --json --out m.json").works().json();
    assert_eq!(report["target"], "price,\"rent,cold\"");
    assert_eq!(report["targets"][1]["target"], "rent,cold");
    let model: Value = serde_json::from_str(&dir.read("m.json")).unwrap();
    assert_eq!((model["version"].as_u64(), model["base"].as_array().unwrap().len()), (Some(3), 2));
    assert_eq!(model["target"]["columns"][1], "rent,cold");

    let found = dir.run("evaluate m.json v.csv --json").works().json();
    let of = |value: &Value| value["rmse"].as_f64().unwrap();
    let each = [of(&found["targets"][0]), of(&found["targets"][1])];
    assert!((of(&found) - (each[0] + each[1]) / 2.0).abs() < 1e-12 && each[0] != each[1]);
    let train = &report["metrics"]["train"];
    let each = [0, 1].map(|at| of(&report["targets"][at]["metrics"]["train"]));
    assert!((of(train) - (each[0] + each[1]) / 2.0).abs() < 1e-12);

    let text = dir.run("evaluate m.json v.csv").works().out;
    let heading = text.lines().nth(1).unwrap();
    assert_eq!(
        heading.split_whitespace().collect::<Vec<_>>(),
        ["target", "price", "rent,cold", "mean"]
    );
    let swapped =
        dir.run("evaluate m.json v.csv --target \"rent,cold\",price --json").works().json();
    assert!(of(&swapped["targets"][0]) > 2.0 * of(&found["targets"][0]));

    let text = dir.run("inspect m.json --tree 1").works().out;
    assert!(text.contains("(2 numbers)") && text.contains("tree 1 for rent,cold"), "{text}");
    for (kind, expected) in [("raw", "raw_price"), ("contributions", "contribution_price_size")] {
        let out = dir.run(&format!("predict m.json v.csv --{kind}")).works().out;
        assert!(out.lines().next().unwrap().contains(expected), "{out}");
    }
}

#[test]
fn rows_need_every_target_and_targets_are_numbers() {
    let dir = dir();
    let rows = "x,a,b\n1,2,3\n2,,4\n3,4,\n4,5,6\n5,6,7\n";
    dir.file("gaps.csv", rows).file("none.csv", "x,a,b\n1,2,\n2,,4\n3,1,\n");
    let train = "train gaps.csv --target a,b --method greedy --trees 2 --out";
    let report = dir.run(&format!("{train} m.json --json")).works().json();
    assert_eq!(report["rows"], 3);
    let said = report["warnings"].to_string();
    assert!(said.contains("1 row has no target") && said.contains("1 row lacks a value"), "{said}");
    // The rows that are left are those of a table without the others.
    dir.file("full.csv", "x,a,b\n1,2,3\n4,5,6\n5,6,7\n");
    dir.run("train full.csv --target a,b --method greedy --trees 2 -q --out n.json").works();
    assert_eq!(dir.read("m.json"), dir.read("n.json"));

    dir.fails("train none.csv --target a,b", 2, &["only 0 rows have a value of every target"]);
    dir.file("word.csv", "x,a,b\n1,2,3\n2,3,red\n");
    let said = ["word.csv:3", "column 'b'", "'red' is not a number"];
    dir.fails("train word.csv --target a,b", 2, &said);
    dir.file("infinite.csv", "x,a,b\n1,2,3\n2,3,inf\n");
    dir.fails("train infinite.csv --target a,b", 2, &["column 'b'", "infinite"]);
    dir.fails("train t.csv --target price,rent", 2, &["no target column 'rent'"]);
    let several = format!("train t.csv {BOTH} --task classification");
    dir.fails(&several, 2, &["several targets are numbers"]);
}

#[test]
fn what_is_about_one_target_is_refused_by_name() {
    let dir = dir();
    for (flags, said) in [
        ("--interval 0.9", "interval: is for one target, but there are 2"),
        ("--points 0..100", "points: is for one target"),
        ("--integer-leaves 8", "integer_leaves: is for one target"),
        ("--max-features 2", "max_features: is for one target"),
        ("--threshold 0.3", "threshold: is 0.3"),
        ("--class-weight balanced", "class_weight: is for classes"),
        ("--positive yes", "no positive class 'yes'"),
        ("--trace run.csv", "trace: is of one run"),
        ("--plot run.svg", "plot: is of one run"),
    ] {
        dir.fails(&format!("train t.csv {BOTH} --method greedy {flags}"), 2, &[said]);
    }
    dir.run(&format!("train t.csv {BOTH} --method greedy --trees 3 -q --out m.json")).works();
    dir.fails("predict m.json v.csv --reasons 2", 2, &["reasons: is for models of one target"]);
    dir.fails("evaluate m.json v.csv --plot p.svg", 2, &["plot: draws one column"]);
    dir.fails(
        "evaluate m.json v.csv --target price",
        2,
        &["the target is 1 column, but the model predicts 2"],
    );
    dir.fails("report m.json --out p.html", 2, &["a report is about one target"]);
    dir.fails("compress m.json t.csv --out s.json", 2, &["a model of one target is needed"]);
    dir.fails(&format!("tune t.csv {BOTH} --trials 2"), 2, &["tuning is for one target"]);
    dir.fails("export m.json --format pmml --out m.pmml", 2, &["a model of PMML has one target"]);
    dir.run("train t.csv --target price --method greedy --trees 3 -q --out one.json").works();
    let line = format!("train t.csv {BOTH} --method greedy --init-model one.json");
    dir.fails(&line, 2, &["the target is 2 columns, but the model predicts 1"]);
}

#[test]
fn exports_give_the_models_scores() {
    let dir = dir();
    let train = format!("train t.csv {BOTH} --method greedy -q");
    dir.run(&format!("{train} --trees 4 --out identity.json")).works();
    dir.run(&format!("{train} --trees 4 --objective poisson --out exp.json")).works();
    dir.run(&format!("{train} --trees 4 --objective squared-log --out expm1.json")).works();
    dir.run(&format!("{train} --booster gblinear --trees 4 --out linear.json")).works();
    for model in ["identity", "exp", "expm1", "linear"] {
        for file in ["m.py", "m.js", "m.c", "m.sql"] {
            let line = format!("export {model}.json --out {model}-{file} --verify-if-possible");
            dir.run(&line).works();
        }
        for file in ["m.json", "m.txt"] {
            dir.run(&format!("export {model}.json --out {model}-{file}")).works();
        }
        assert_eq!(dir.read(&format!("{model}-m.json")), dir.read(&format!("{model}.json")));
    }
    let sql = dir.read("identity-m.sql");
    assert!(sql.contains("AS prediction_0") && sql.contains("AS prediction_1"));
    let rules = dir.run("rules identity.json --format python").works().out;
    assert!(rules.contains("names = [\"price\", \"rent,cold\"]"), "{rules}");
    let rules = dir.run("rules identity.json").works().out;
    assert!(rules.contains("each score is the prediction of its column"), "{rules}");
}

#[test]
fn runs_continue_resume_and_end_early() {
    let dir = dir();
    let greedy = format!("train t.csv {BOTH} --method greedy -q --learning-rate 0.3");
    dir.run(&format!("{greedy} --trees 9 --out nine.json")).works();
    dir.run(&format!("{greedy} --trees 4 --out four.json")).works();
    dir.run(&format!("{greedy} --trees 5 --init-model four.json --out continued.json")).works();
    let predict = |model: &str| dir.run(&format!("predict {model} v.csv")).works().out;
    assert_eq!(predict("nine.json"), predict("continued.json"));

    let search = format!("train t.csv {BOTH} --total-leaves 24 -q --checkpoint run.ckpt");
    dir.run(&format!("{search} --out first.json")).works();
    dir.run(&format!("{search} --resume --out resumed.json")).works();
    assert_eq!(dir.read("first.json"), dir.read("resumed.json"));
    assert!(dir.names().iter().any(|name| name == "run.ckpt.1"), "{:?}", dir.names());

    let short = format!("train t.csv {BOTH} -q --time-limit 0.2 --out short.json");
    dir.run(&short).works();
    dir.run("predict short.json v.csv").works();
    let text = dir.run("inspect nine.json --check-monotone=size:+").out;
    assert!(text.contains("for price") && text.contains("for rent,cold"), "{text}");
}
