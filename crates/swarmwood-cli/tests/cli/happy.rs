//! Read, train, store, predict, evaluate, inspect: the successful paths.

use std::io::Write;

use crate::scratch::Scratch;
use crate::tables::{binary, classes, column, fields, last_column, regression};

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is not a number"))
}

#[test]
fn regression_from_file_to_metrics() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(600, 1)).file("test.csv", regression(300, 2));
    let report = dir
        .run("train train.csv --target price --method greedy --trees 150 --out model.json --json")
        .works()
        .json();
    assert_eq!(report["task"], "regression");
    assert_eq!(report["rows"], 600);
    assert_eq!(report["features"], 3);
    assert_eq!(report["rounds"], 150);
    assert_eq!(report["method"], "greedy");
    assert_eq!(report["parameters"]["trees"], 150);
    assert_eq!(report["parameters"]["growth"], "depth");
    assert_eq!(report["model"], "model.json");
    assert!(report["metrics"]["train"]["rmse"].as_f64().unwrap() < 10.0, "{report}");
    assert!(report["metrics"]["valid"].is_null());
    for step in ["read", "bin", "train"] {
        assert!(report["seconds"][step].as_f64().unwrap() >= 0.0);
    }
    if cfg!(target_os = "linux") {
        assert!(report["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    }

    let metrics = dir.run("evaluate model.json test.csv --json").works().json();
    assert_eq!(metrics["rows"], 300);
    assert!(metrics["r2"].as_f64().unwrap() > 0.8, "{metrics}");

    let output = dir.run("predict model.json test.csv --out predictions.csv --json").works();
    assert_eq!(output.json()["rows"], 300);
    for step in ["read", "predict", "write"] {
        assert!(output.json()["seconds"][step].as_f64().unwrap() >= 0.0);
    }
    let predictions = column(&dir.read("predictions.csv"), "prediction");
    let truth = last_column(&dir.read("test.csv"));
    let squares: f64 =
        predictions.iter().zip(&truth).map(|(p, t)| (number(p) - number(t)).powi(2)).sum();
    let rmse = (squares / 300.0).sqrt();
    assert!((rmse - metrics["rmse"].as_f64().unwrap()).abs() < 1e-6 * rmse, "{rmse} {metrics}");
}

#[test]
fn exact_splits_find_a_step_between_any_two_values() {
    let dir = Scratch::new();
    let row = |at: usize| format!("{},{}\n", 3 * at, u8::from(at > 1234));
    let rows: String = (0..2000).map(row).collect();
    dir.file("t.csv", format!("x,y\n{rows}"));
    let rmse = |bins: usize| {
        let line = format!(
            "train t.csv --target y --task regression --method greedy --trees 1 --depth 1 --learning-rate 1 \
             --lambda 0 --max-bin {bins} --out m.json --json"
        );
        let rmse = dir.run(&line).works().json()["metrics"]["train"]["rmse"].as_f64().unwrap();
        let stored = dir.run("evaluate m.json t.csv --json").works().json()["rmse"].as_f64();
        assert!((rmse - stored.unwrap()).abs() < 1e-6, "{rmse} {stored:?}");
        rmse
    };
    assert!(rmse(0) < 1e-6 && rmse(255) > 0.01);

    let rows: String = (0..65_600).map(row).collect();
    dir.file("t.csv", format!("x,y\n{rows}"));
    let line = "train t.csv --target y --task regression --method greedy --max-bin 0 --out m.json";
    dir.fails(line, 2, &["max_bin", "column 'x'", "65534", "--max-bin 255"]);
}

#[test]
fn binary_with_categories_and_missing_values() {
    let dir = Scratch::new();
    dir.file("train.csv", binary(800, 3)).file("test.csv", binary(300, 4));
    let report =
        dir.run("train train.csv --target sold --trees 60 --out m.json --json").works().json();
    assert_eq!(report["task"], "classification");
    assert_eq!(report["classes"], serde_json::json!(["no", "yes"]));
    let metrics = dir.run("evaluate m.json test.csv --json").works().json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.9, "{metrics}");
    assert!(
        metrics["auc"].as_f64().unwrap() > 0.95 && metrics["logloss"].as_f64().unwrap() < 0.4,
        "{metrics}"
    );

    let output = dir.run("predict m.json test.csv").works();
    assert_eq!(output.out.lines().next(), Some("prediction,probability_no,probability_yes"));
    let (predicted, truth) =
        (column(&output.out, "prediction"), last_column(&dir.read("test.csv")));
    let right = predicted.iter().zip(&truth).filter(|(a, b)| a == b);
    assert_eq!(right.count(), (metrics["accuracy"].as_f64().unwrap() * 300.0).round() as usize);
    for line in output.out.lines().skip(1) {
        let fields = fields(line);
        assert!((number(&fields[1]) + number(&fields[2]) - 1.0).abs() < 1e-9);
        assert_eq!(fields[0] == "yes", number(&fields[2]) > 0.5);
    }
}

#[test]
fn the_positive_class_can_be_chosen() {
    let dir = Scratch::new();
    dir.file("train.csv", binary(300, 3));
    let report =
        dir.run("train train.csv --target sold --positive no --trees 5 --json").works().json();
    assert_eq!(report["classes"], serde_json::json!(["yes", "no"]));
    assert!(dir.names().contains(&"model.json".to_string()), "the default name of a model");
    dir.fails(
        "train train.csv --target sold --positive maybe --out m.json",
        2,
        &["maybe", "no", "yes"],
    );
}

#[test]
fn several_classes_with_awkward_names() {
    let dir = Scratch::new();
    dir.file("train.csv", classes(600, 5)).file("test.csv", classes(200, 6));
    dir.run("train train.csv --target colour --trees 40 --out m.json").works();
    let metrics = dir.run("evaluate m.json test.csv --json").works().json();
    assert!(metrics["accuracy"].as_f64().unwrap() > 0.95, "{metrics}");

    let output = dir.run("predict m.json test.csv --out -").works();
    let header = fields(output.out.lines().next().unwrap());
    let names = ["deep \"blue\", dark", "green", "red"];
    assert_eq!(header[0], "prediction");
    assert_eq!(header[1..], names.map(|name| format!("probability_{name}")));
    let truth = last_column(&dir.read("test.csv"));
    let right =
        column(&output.out, "prediction").iter().zip(&truth).filter(|(a, b)| a == b).count();
    assert_eq!(right, (metrics["accuracy"].as_f64().unwrap() * 200.0).round() as usize);
    for line in output.out.lines().skip(1) {
        let probabilities: Vec<f64> = fields(line)[1..].iter().map(|text| number(text)).collect();
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn raw_scores_contributions_leaves_and_first_rounds_agree() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(300, 7));
    dir.run("train train.csv --target price --trees 10 --depth 3 --out m.json").works();
    let plain = dir.run("predict m.json train.csv").works().out;
    let raw = dir.run("predict m.json train.csv --raw").works().out;
    assert_eq!(
        plain.replacen("prediction", "raw", 1),
        raw,
        "the squared objective's link is the identity"
    );

    let contributions = dir.run("predict m.json train.csv --contributions").works().out;
    assert_eq!(
        contributions.lines().next(),
        Some("contribution_size,contribution_age,contribution_town,expected")
    );
    for (line, raw) in contributions.lines().zip(raw.lines()).skip(1) {
        let sum: f64 = fields(line).iter().map(|text| number(text)).sum();
        assert!((sum - number(raw)).abs() < 1e-6, "{sum} {raw}");
    }

    let leaves = dir.run("predict m.json train.csv --leaves").works().out;
    assert_eq!(leaves.lines().next().unwrap().split(',').count(), 10);
    assert!(
        leaves
            .lines()
            .skip(1)
            .flat_map(|line| line.split(','))
            .all(|leaf| leaf.parse::<u32>().unwrap() < 8)
    );

    let first = dir.run("predict m.json train.csv --first 3 --leaves").works().out;
    assert_eq!(first.lines().next(), Some("leaf_0,leaf_1,leaf_2"));
    assert_eq!(dir.run("predict m.json train.csv --first 10").works().out, plain);
    assert_ne!(dir.run("predict m.json train.csv --first 3").works().out, plain);
    dir.fails("predict m.json train.csv --first 0", 2, &["first"]);
    dir.run("predict m.json train.csv --raw --leaves").ends(2, &["--raw", "--leaves"]);
}

#[test]
fn threads_do_not_change_a_byte() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(3000, 8)).file("c.csv", classes(1000, 9));
    let cases = [
        "train r.csv --target price --method greedy --trees 20 --subsample 0.7 --colsample-bytree 0.7",
        "train r.csv --target price --method greedy --trees 20 --growth leaf --depth 0 --valid-fraction 0.2",
        "train r.csv --target price --method greedy --trees 20 --growth oblivious --objective absolute",
        "train r.csv --target price --method greedy --trees 20 --booster dart --rate-drop 0.3 --skip-drop 0",
        "train r.csv --target price --method greedy --trees 20 --booster gblinear",
        "train c.csv --target colour --method greedy --trees 10 --subsample 0.5",
        "train r.csv --target price --trees 4 --max-leaves 8",
        "train r.csv --target price --trees 12 --max-leaves 4 --budget 900",
        "train c.csv --target colour --trees 2 --max-leaves 8",
    ];
    for case in cases {
        let model = |threads: usize| {
            dir.run(&format!("{case} --seed 7 --threads {threads} --out m.json --quiet")).works();
            dir.read("m.json")
        };
        let one = model(1);
        assert!(model(2) == one && model(8) == one, "{case}");
        let rows = case.split_whitespace().nth(1).unwrap();
        let predictions = |threads: usize| {
            dir.run(&format!("predict m.json {rows} --threads {threads}")).works().out
        };
        assert_eq!(predictions(1), predictions(8), "{case}");
    }
}

#[test]
fn a_budget_that_ends_the_comparison_leaves_a_searched_model() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(3000, 8));
    let line = "train r.csv --target price --trees 4 --max-leaves 8 --out m.json";
    let report =
        |budget: usize| dir.run(&format!("{line} --budget {budget} --quiet --json")).works().json();
    let whole = report(0);
    assert_eq!(
        (&whole["search"]["selection_finished"], &whole["search"]["selected_by_search"]),
        (&true.into(), &true.into())
    );
    let cut = report(60);
    let search = &cut["search"];
    assert_eq!(
        (&search["selection_finished"], &search["selected_by_search"]),
        (&false.into(), &true.into()),
        "{cut}"
    );
    assert!(
        search["trees_grown"].as_u64().unwrap() < 100 && search["gain_over_greedy"].is_null(),
        "{cut}"
    );
    assert!(
        search["train_loss"]["selected"].as_f64().unwrap()
            < search["train_loss"]["greedy"].as_f64().unwrap(),
        "{cut}"
    );
    let text = dir.run(&format!("{line} --budget 60")).works().out;
    assert!(
        text.contains("lower training loss than the best greedy fit; selection was cut short"),
        "{text}"
    );
}

#[test]
fn the_seed_changes_random_methods() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 8));
    let model = |seed: u64| {
        let line = "train r.csv --target price --method greedy --trees 5 --subsample 0.5 --out m.json --seed";
        dir.run(&format!("{line} {seed}")).works();
        dir.read("m.json")
    };
    assert_eq!(model(1), model(1));
    assert_ne!(model(1), model(2));
}

#[test]
fn every_objective_and_growth_trains() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 10).replace(",-", ",")).file("b.csv", binary(300, 10));
    for objective in ["squared", "squared-log", "absolute", "huber", "quantile", "poisson"] {
        for growth in ["depth", "leaf", "oblivious"] {
            for method in ["greedy --trees 30", "swarm --trees 3 --max-leaves 8"] {
                let line = "train r.csv --target price --json --method";
                let line = format!("{line} {method} --objective {objective} --growth {growth}");
                let report = dir.run(&line).works().json();
                assert!(
                    report["metrics"]["train"]["r2"].as_f64().unwrap() > 0.3,
                    "{line}: {report}"
                );
                assert_eq!(report["objective"], objective);
            }
        }
    }
    // Its hessians are small where targets are large: the usual penalties would leave no split.
    let line = "train r.csv --target price --json --method greedy --objective squaredlogerror";
    let report = dir.run(&format!("{line} --min-child-weight 0 --lambda 0.01")).works().json();
    assert!(report["metrics"]["train"]["r2"].as_f64().unwrap() > 0.3, "{report}");
    dir.run("train b.csv --target sold --trees 5 --objective logistic").works();
    dir.fails("train b.csv --target sold --objective poisson --out x.json", 2, &["objective"]);
    dir.fails("train r.csv --target price --objective logistic --out x.json", 2, &["objective"]);
}

#[test]
fn standard_input_gzip_and_other_delimiters_read_the_same() {
    let dir = Scratch::new();
    let table = regression(200, 11);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(table.as_bytes()).unwrap();
    let semicolons = table.replace("\"Cedar, East\"", "Cedar").replace(',', ";");
    dir.file("plain.csv", &table).file("zipped.csv.gz", zipped.finish().unwrap());
    dir.file("semi.csv", &semicolons).file("comma.csv", semicolons.replace(';', ","));
    let model = |name: &str| {
        dir.run(&format!("train {name} --target price --trees 5 --out m.json")).works();
        dir.read("m.json")
    };
    let plain = model("plain.csv");
    assert_eq!(model("zipped.csv.gz"), plain);
    assert_eq!(model("semi.csv"), model("comma.csv"));
    assert_eq!(model("semi.csv --delimiter ;"), model("comma.csv --delimiter ,"));
    dir.feed("train - --target price --trees 5 --out m.json", table.as_bytes()).works();
    assert_eq!(dir.read("m.json"), plain);

    let predicted = dir.run("predict m.json plain.csv").works().out;
    assert_eq!(dir.feed("predict m.json -", table.as_bytes()).works().out, predicted);
    assert_eq!(dir.run("predict m.json zipped.csv.gz").works().out, predicted);
    let output = dir.feed("evaluate m.json - --json", table.as_bytes()).works();
    assert_eq!(output.json()["rows"], 200);
}

#[test]
fn flags_take_precedence_over_the_configuration_file() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(200, 12));
    dir.file("run.toml", "target = \"price\"\nignore = [\"town\"]\ntrees = 7\nlearning-rate = 0.3\nout = \"m.json\"\n");
    let report = dir.run("train r.csv --config run.toml --json").works().json();
    assert_eq!(
        (&report["rounds"], &report["parameters"]["learning_rate"]),
        (&7.into(), &0.3.into())
    );
    assert_eq!((&report["features"], &report["model"]), (&2.into(), &"m.json".into()));
    let report =
        dir.run("train r.csv --config run.toml --trees 3 --out other.json --json").works().json();
    assert_eq!((&report["rounds"], &report["model"]), (&3.into(), &"other.json".into()));
}

#[test]
fn weights_ignored_columns_and_forced_categories() {
    let dir = Scratch::new();
    let mut table = "x,code,w,y\n".to_string();
    for i in 0..200 {
        table.push_str(&format!(
            "{},{},{},{}\n",
            i % 10,
            i % 3,
            if i < 100 { 1 } else { 0 },
            i % 3 + i / 100 * 7
        ));
    }
    dir.file("t.csv", &table);
    let line = "train t.csv --target y --task regression --weight w --categorical code --trees 50 --min-child-weight 0";
    let report = dir.run(&format!("{line} --out m.json --json")).works().json();
    assert_eq!(report["features"], 2);
    // The rows without weight lie 7 higher; a model that uses the weights ignores them.
    let predictions = dir.run("predict m.json t.csv").works().out;
    for (i, value) in column(&predictions, "prediction").iter().enumerate() {
        assert!((number(value) - (i % 3) as f64).abs() < 0.2, "row {i}: {value}");
    }
    let weighted = dir.run("evaluate m.json t.csv --weight w --json").works().json();
    let plain = dir.run("evaluate m.json t.csv --json").works().json();
    assert!(weighted["rmse"].as_f64().unwrap() < 0.2 && plain["rmse"].as_f64().unwrap() > 4.0);
    let report = dir.run(
        "train t.csv --target y --task regression --ignore x,w --ignore code --out m.json --json",
    );
    report.ends(2, &["t.csv"]);
}

#[test]
fn early_stopping_keeps_the_best_rounds() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(300, 13)).file("valid.csv", regression(200, 14));
    let common = "train train.csv --target price --method greedy --trees 400 --learning-rate 0.5 --early-stopping-rounds 5 --json";
    let report = dir.run(&format!("{common} --valid valid.csv --out m.json")).works().json();
    assert!(report["rounds"].as_u64().unwrap() < 400, "{report}");
    assert_eq!(report["valid_rows"], 200);
    let reported = report["metrics"]["valid"]["rmse"].as_f64().unwrap();
    let evaluated =
        dir.run("evaluate m.json valid.csv --json").works().json()["rmse"].as_f64().unwrap();
    assert!((reported - evaluated).abs() < 1e-3 * evaluated, "{reported} {evaluated}");

    let report = dir.run(&format!("{common} --valid-fraction 0.25 --metric mae")).works().json();
    assert_eq!(report["rows"].as_u64().unwrap() + report["valid_rows"].as_u64().unwrap(), 300);
    assert!(report["rounds"].as_u64().unwrap() < 400, "{report}");
}

#[test]
fn inspect_shows_the_model() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(300, 15)).file("c.csv", classes(300, 15));
    dir.run("train r.csv --target price --method greedy --trees 4 --depth 2 --out m.json").works();
    let text = dir.run("inspect m.json").works().out;
    for part in ["price", "size", "age", "town", "greedy", "300"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let object = dir.run("inspect m.json --json").works().json();
    assert_eq!(
        (&object["trees"], &object["rounds"], &object["task"]),
        (&4.into(), &4.into(), &"regression".into())
    );
    let gains: Vec<f64> = object["importances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["gain"].as_f64().unwrap())
        .collect();
    assert!(gains.len() == 3 && gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    assert!(dir.run("inspect m.json --trees 4").works().out.len() > text.len());
    assert!(dir.run("inspect m.json --trees 0").works().out.len() < text.len());
    // One tree, as text and as a drawing, with the numbers of training rows in its leaves.
    let third = dir.run("inspect m.json --tree 2 --plot third.svg").works().out;
    assert!(third.contains("tree 2: ") && !third.contains("tree 0: "), "{third}");
    let rows = |line: &str| line.rsplit_once('(')?.1.split_once(" row")?.0.parse::<u64>().ok();
    assert_eq!(third.lines().filter_map(rows).sum::<u64>(), 300, "{third}");
    assert!(dir.read("third.svg").contains("300 training rows"));
    dir.fails("inspect m.json --tree 4", 2, &["tree: is 4", "the trees 0 to 3"]);
    dir.run(
        "train c.csv --target colour --method greedy --trees 2 --booster gblinear --out l.json",
    )
    .works();
    assert!(dir.run("inspect l.json").works().out.contains("linear"));
    dir.fails(
        "predict l.json c.csv --leaves --first 2 --out p.csv",
        2,
        &["error: leaves: needs trees", "error: first:"],
    );
}

#[test]
fn the_demo_needs_no_files() {
    let dir = Scratch::new();
    let report = dir
        .run("train --demo --trees 20 --valid-fraction 0.2 --out wine.json --json")
        .works()
        .json();
    assert_eq!(report["rows"].as_u64().unwrap() + report["valid_rows"].as_u64().unwrap(), 1599);
    assert!(report["metrics"]["valid"]["rmse"].as_f64().unwrap() < 0.8, "{report}");
}
