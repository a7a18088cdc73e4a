//! Tuning the built-in learners.

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

/// A space small enough for a test.
const SPACE: &str = "[depth]\ntype = \"integer\"\nlow = 1\nhigh = 4\n\n\
                     [learning_rate]\ntype = \"list\"\nvalues = [0.001, 0.1, 0.3]\n";

#[test]
fn from_a_file_to_a_model_and_its_scores() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(500, 1)).file("space.toml", SPACE);
    let line = "tune train.csv --target price --space space.toml --trials 10 --trees 20 --folds 3 --seed 5 \
                --study study.jsonl --out best.json --ensemble 2 --json";
    let report = dir.run(line).works().json();
    assert_eq!(
        (report["method"].as_str(), report["metric"].as_str()),
        (Some("greedy"), Some("rmse"))
    );
    assert_eq!((report["trials"].as_u64(), report["rows"].as_u64()), (Some(10), Some(500)));
    assert_eq!(report["holdout"]["rows"], 100);
    let chosen = &report["best"]["parameters"];
    assert!(chosen["learning_rate"].as_f64().unwrap() > 0.01, "{report}");
    assert_eq!(report["parameters"]["depth"], chosen["depth"]);
    let figure = |name: &str| report[name]["score"].as_f64().unwrap();
    assert!(
        figure("cv_score") > 0.0
            && figure("holdout") > 0.0
            && report["cv_score"]["standard_error"].as_f64().unwrap() > 0.0
    );
    let optimism = report["holdout"]["optimism"]["score"].as_f64().unwrap();
    assert!((optimism - (figure("holdout") - figure("cv_score"))).abs() < 1e-9);
    let fits = report["fits"].as_u64().unwrap() + report["fits_skipped"].as_u64().unwrap();
    assert_eq!(fits, 30, "every fit was made or skipped");
    assert_eq!(report["ensemble_trials"].as_array().unwrap().len(), 2);

    // The model is of all rows, and as good as a model can be.
    let metrics = dir.run("evaluate best.json train.csv --json").works().json();
    assert_eq!(metrics["rows"], 500);
    assert!(metrics["r2"].as_f64().unwrap() > 0.7, "{metrics}");

    // The same study once more has nothing left to do and says the same.
    let again = dir.run(line).works().json();
    assert_eq!((&again["best"], &again["cv_score"]), (&report["best"], &report["cv_score"]));
    // Another seed is another study.
    dir.run(&line.replace("--seed 5", "--seed 6")).ends(2, &["seed"]);
}

#[test]
fn both_scores_are_printed() {
    let dir = Scratch::new();
    dir.file("train.csv", binary(400, 3)).file("space.toml", SPACE);
    let line = "tune train.csv --target sold --space space.toml --trials 4 --trees 10 --folds 2 --engine random --out m.json";
    let output = dir.run(line).works();
    for part in [
        "logloss",
        "cross-validated score (2 folds)",
        "hold-out score (80 rows)",
        "optimism",
        "without tuning",
        "m.json",
    ] {
        assert!(output.out.contains(part), "no '{part}' in {output:#?}");
    }
    let output = dir.run(&format!("{line} --holdout 0 --metric auc")).works();
    assert!(
        output.out.contains("no rows were held out") && output.out.contains("auc"),
        "{output:#?}"
    );
}

#[test]
fn threads_change_nothing() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(300, 2)).file("space.toml", SPACE);
    let line = "tune train.csv --target price --space space.toml --trials 9 --trees 10 --folds 3 --json --quiet";
    let run = |threads: usize| {
        let mut report = dir
            .run(&format!(
                "{line} --threads {threads} --out m{threads}.json --study s{threads}.jsonl"
            ))
            .works()
            .json();
        let keep = ["best", "cv_score", "holdout", "fits", "fits_skipped", "trials_pruned"];
        keep.map(|key| report[key].take())
    };
    assert_eq!(run(1), run(8));
    assert_eq!(dir.read("m1.json"), dir.read("m8.json"));
}

#[test]
fn published_ranges_and_other_methods() {
    let dir = Scratch::new();
    dir.file("train.csv", binary(300, 4));
    let line = "tune train.csv --target sold --trials 5 --folds 2 --metric accuracy --out m.json --json --quiet --seed 2";
    let report = dir.run(&format!("{line} --space paper-b --trees 5 --engine sse")).works().json();
    assert!(report["best"]["parameters"]["booster"].is_string(), "{report}");
    assert_eq!(report["trials_failed"], 0);
    dir.run("evaluate m.json train.csv").works();
    let exact = format!("{line} --space paper-b-exact --trees 5 --engine sse");
    let report = dir.run(&exact).works().json();
    assert_eq!(report["best"]["parameters"].as_object().unwrap().len(), 7, "{report}");
    assert_eq!(report["trials_failed"], 0);
    dir.run(&format!("{exact} --rate-drop 0.1")).ends(2, &["rate_drop: is 0 in the space"]);
    let report = dir.run(&format!("{line} --method cart")).works().json();
    assert_eq!(report["method"], "cart");
    assert!(report["best"]["parameters"]["max_leaves"].is_u64(), "{report}");
}

#[test]
fn errors_are_reported_before_any_fit() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(60, 2))
        .file("unknown.toml", "[dept]\ntype = \"integer\"\nlow = 1\nhigh = 3\n")
        .file("range.toml", "[learning_rate]\ntype = \"real\"\nlow = 0.1\nhigh = 7\n");
    let tune = |more: &str| dir.run(&format!("tune train.csv --target price {more}"));
    tune("--space unknown.toml").ends(2, &["dept", "did you mean 'depth'?"]);
    tune("--space range.toml").ends(2, &["learning_rate: may be 7"]);
    tune("--space paper-a --depth 3").ends(2, &["depth: is tuned and cannot be fixed"]);
    tune("--space paper-c").ends(2, &["space: is 'paper-c', perhaps paper-"]);
    tune("--engine tpee").ends(2, &["engine", "tpe"]);
    tune("--metric accuracy").ends(2, &["metric: is 'accuracy'", "rmse"]);
    tune("--holdout 1.5 --folds 0 --trials 0 --learning-rate 5")
        .ends(2, &["holdout: is 1.5", "folds: is 0", "trials: is 0", "learning_rate: is 5"]);
    tune("--folds 1000").ends(1, &["cannot be split into 1000 folds"]);
    dir.run("tune train.csv").ends(2, &["target: is missing"]);
    tune("--out nowhere/m.json").ends(1, &["nowhere"]);
    assert!(!dir.path().join("model.json").exists());
}

#[test]
fn engine_options_reach_the_engine_and_stay_with_the_study() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(120, 2)).file("space.toml", SPACE);
    let line = "tune train.csv --target price --space space.toml --trials 6 --trees 5 --folds 2 --engine sse \
                --study study.jsonl --out - --json";
    let ranked = format!("{line} --engine-options mutation=rank,rate=0.5,population=3");
    let report = dir.run(&ranked).works().json();
    let options = serde_json::json!({"mutation": "rank", "rate": 0.5, "population": 3});
    assert_eq!((&report["engine"], &report["engine_options"]), (&"sse".into(), &options));

    dir.run(line).ends(
        2,
        &["engine_options is 'mutation=rank, rate=0.5, population=3' in the study, not the default"],
    );
    dir.run(&ranked.replace("rate=0.5", "rate=0.50,generations=unlimited")).works();
    let shown = dir.run("study show study.jsonl").works();
    assert!(shown.out.contains("options   mutation=rank, rate=0.5, population=3"));
    assert_eq!(dir.run("study show study.jsonl --json").works().json()["engine_options"], options);
}

#[test]
fn wrong_engine_options_are_reported_together_before_any_data_is_read() {
    let dir = Scratch::new();
    dir.file("train.csv", regression(60, 2));
    let tune = |more: &str| dir.run(&format!("tune missing.csv --target price {more}"));
    tune("--engine sse --engine-options mutatoin=rank,rate=7,sigma=1,population --learning-rate 5").ends(
        2,
        &[
            "engine_options: 'mutatoin' is no option of engine 'sse', which has mutation, rate, \
             population, generations; did you mean 'mutation'?",
            "engine_options: 'rate' is '7', must be a number from 0 to 1",
            "engine_options: 'sigma' belongs to engine 'cmaes'",
            "engine_options: 'population' has no value",
            "learning_rate: is 5",
        ],
    );
    tune("--engine gbrt --engine-options trees=0").ends(2, &["'trees' is '0'", "from 1 to 1000"]);
    tune("--engine random --engine-options rate=0.1").ends(2, &["engine 'random' has none"]);

    // A flag of the learner that was meant for the engine.
    tune("--engine sse --mutation 0.2").ends(
        2,
        &["mutation: is a parameter of training methods", "--engine-options mutation=VALUE"],
    );
}

#[test]
fn engines_are_listed_with_their_options() {
    let dir = Scratch::new();
    let list = dir.run("tune --list-engines").works().out;
    for part in [
        "pso-discrete: discrete particle swarm",
        "normal or rank [default: normal]",
        "a whole number from 1 to 1000000 [default: 20]",
    ] {
        assert!(list.contains(part), "{list}");
    }
    let engines = dir.run("tune --list-engines --json").works().json();
    let engines = engines.as_array().unwrap();
    let sse = engines.iter().find(|engine| engine["name"] == "sse").unwrap();
    assert_eq!(sse["options"][0]["range"], serde_json::json!(["normal", "rank"]));
    assert_eq!(sse["options"][1]["default"], 0.15);
}
