//! End-to-end tests of the published swarm methods.

use crate::imports::with_sample;
use crate::scratch::Scratch;
use crate::tables::{binary, classes, regression};

/// A small swarm that is fast.
const SMALL: &str = "--population 20 --iterations 15 --quiet";

#[test]
fn every_method_trains_on_every_task() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(500, 1))
        .file("b.csv", binary(500, 2))
        .file("c.csv", classes(500, 3));
    let tasks = [
        ("r.csv", "price", "rmse"),
        ("b.csv", "sold", "accuracy"),
        ("c.csv", "colour", "accuracy"),
    ];
    for (file, target, metric_name) in tasks {
        for method in ["sgbdt", "sgbdt-bins", "psgbdt", "policy-gradient"] {
            for growth in ["oblivious", "depth"] {
                let line = format!(
                    "train {file} --target {target} --method {method} --growth {growth} --depth 3 {SMALL} --json --out m.json"
                );
                let report = dir.run(&line).works().json();
                assert_eq!(
                    (&report["method"], &report["rounds"]),
                    (&method.into(), &6.into()),
                    "{line}"
                );
                let search = &report["search"];
                assert_eq!(search["metric"], metric_name, "{line}");
                assert!(
                    search["iterations"].as_u64().is_some_and(|count| (1..=15).contains(&count)),
                    "{search}"
                );
                // The fitness of the search is the metric of the model on the training rows.
                let (best, metric) = (&search["best"], &report["metrics"]["train"][metric_name]);
                let (best, metric) = (best.as_f64().unwrap(), metric.as_f64().unwrap());
                assert!((best - metric).abs() < 1e-4 * (1.0 + metric), "{line}: {best} {metric}");
                let stored = dir.run(&format!("evaluate m.json {file} --json")).works().json();
                assert!(
                    (stored[metric_name].as_f64().unwrap() - metric).abs() < 1e-4 * (1.0 + metric),
                    "{line}"
                );
                let printed = dir.run("inspect m.json --trees 1").works().out;
                assert!(printed.contains(&format!("method {method}")), "{printed}");
            }
        }
    }
}

#[test]
fn defaults_are_those_of_the_paper_and_depend_on_the_method() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(60, 1)).file("b.csv", binary(60, 2));
    let train =
        |line: &str| dir.run(&format!("train {line} --quiet --json --out m.json")).works().json();
    let report = train("r.csv --target price --method sgbdt-bins --iterations 2");
    let parameters = &report["parameters"];
    for (name, value) in [("trees", 6), ("depth", 5), ("max_bin", 100), ("population", 200)] {
        assert_eq!(parameters[name], value, "{name}");
    }
    assert_eq!(
        (&parameters["growth"], &parameters["fitness"]),
        (&"oblivious".into(), &"rmse".into())
    );
    assert_eq!(
        (parameters["alpha"].as_f64(), parameters["learning_rate"].as_f64()),
        (Some(0.45), Some(1.0))
    );
    assert_eq!(report["search"]["space"]["all_levels"]["r"], 30);
    assert_eq!(report["search"]["space"]["one_level_less"]["r"], 24);
    let parameters = &train("b.csv --target sold --method psgbdt --iterations 1")["parameters"];
    assert_eq!(
        (&parameters["population"], &parameters["fitness"]),
        (&50.into(), &"accuracy".into())
    );
    assert_eq!(
        (&parameters["adaptive"], &parameters["greedy_seed"]),
        (&false.into(), &false.into())
    );
    assert_eq!(
        train("r.csv --target price --method greedy --trees 3")["parameters"]["population"],
        "auto",
        "greedy has no swarm"
    );
    // The model has the values that were used.
    dir.run("train b.csv --target sold --method sgbdt --iterations 1 --quiet --out s.json").works();
    let model = dir.read("s.json");
    assert!(
        model.contains("\"population\":\"50\"") || model.contains("\"population\": \"50\""),
        "{model}"
    );
}

#[test]
fn the_space_counts_values_bins_or_splits() {
    let dir = Scratch::new();
    // 300 distinct values, more than a byte has codes, and a flag of two.
    let row = |at: u32| format!("{at},{},{}\n", at % 2, f64::from(at % 7) + f64::from(at) / 100.0);
    dir.file("d.csv", format!("a,b,y\n{}", (0..300).map(row).collect::<String>()));
    let space = |method: &str| {
        let line = format!("train d.csv --target y --method {method} {SMALL} --json --out m.json");
        dir.run(&line).works().json()["search"]["space"].clone()
    };
    let distinct = space("sgbdt");
    assert_eq!(
        (&distinct["n"], &distinct["table_rules"]),
        (&302.into(), &302.into()),
        "{distinct}"
    );
    let log10: f64 = (273..=302u32).map(|factor| f64::from(factor).log10()).sum();
    assert!((distinct["all_levels"]["log10"].as_f64().unwrap() - log10).abs() < 1e-9, "{distinct}");
    assert_eq!(space("sgbdt-bins")["n"], 99 + 1);
    assert!(space("psgbdt")["n"].as_u64().is_some_and(|n| (1..=6 * 31).contains(&n)));
    let text = dir.run("train d.csv --target y --method sgbdt --iterations 2 --out m.json").works();
    assert!(text.out.contains("search space: n = 302 rules"), "{text:#?}");
    assert!(
        text.out.contains("r = 30 (all drawn rules)") && text.out.contains("r = 24"),
        "{text:#?}"
    );
}

/// More values than two bytes can number, and more than a local search has memory for.
#[test]
fn every_one_of_many_values_is_a_rule() {
    let dir = Scratch::new();
    let row = |at: u32| format!("{}.5,{}\n", at * 9 % 140_000, u8::from(at.is_multiple_of(3)));
    dir.file("many.csv", format!("a,y\n{}", (0..140_000).map(row).collect::<String>()));
    let line = "train many.csv --target y --method sgbdt --depth 8 --population 2 --iterations 1 \
                --quiet --json --out m.json";
    let space = &dir.run(line).works().json()["search"]["space"];
    assert_eq!((&space["n"], &space["table_rules"]), (&140_000.into(), &140_000.into()), "{space}");
    let parts =
        ["local_search: is true, but needs 1 GB per thread for the 140000 values of column 'a'"];
    dir.fails(&format!("{line} --local-search"), 2, &parts);
}

#[test]
fn threads_change_no_byte() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(9000, 4)).file("c.csv", classes(600, 5));
    for (file, target, more) in [
        ("b.csv", "sold", "--method sgbdt --adaptive --mutation 0.05"),
        ("b.csv", "sold", "--method sgbdt --greedy-seed --local-search --lambda 1 --fitness loss"),
        ("b.csv", "sold", "--method psgbdt --growth depth --depth 3 --fitness loss"),
        ("b.csv", "sold", "--method policy-gradient --fitness loss --rule-table bins"),
        ("c.csv", "colour", "--method policy-gradient --growth depth --depth 2 --initial uniform"),
        ("c.csv", "colour", "--method sgbdt-bins --greedy-seed --lambda 1"),
        ("c.csv", "colour", "--method sgbdt-bins --local-search --lambda 1 --fitness loss"),
    ] {
        let model = |threads: usize| {
            let line = format!(
                "train {file} --target {target} {more} {SMALL} --threads {threads} --out m.json"
            );
            dir.run(&line).works();
            dir.read("m.json")
        };
        let one = model(1);
        assert!(one == model(2) && one == model(8), "{more}");
        let other = dir
            .run(&format!("train {file} --target {target} {more} {SMALL} --seed 1 --out o.json"));
        other.works();
        assert!(one != dir.read("o.json"), "another seed, another model: {more}");
    }
}

#[test]
fn a_budget_limits_the_evaluations() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 4));
    for method in ["psgbdt --mutation 0.2", "policy-gradient", "sgbdt --local-search"] {
        // Less than an iteration, whole iterations, and a part of one.
        for budget in [7, 60, 75] {
            let line = format!(
                "train b.csv --target sold --method {method} {SMALL} --budget {budget} --json --out m.json"
            );
            let report = dir.run(&line).works().json();
            let used = report["search"]["evaluations"].as_u64();
            assert_eq!(used, Some(budget), "{line}: {report}");
            let notes = report["notes"].to_string();
            assert!(notes.contains(&format!("budget of {budget} evaluations")), "{notes}");
        }
    }
}

#[test]
fn both_initial_draws_can_be_chosen() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 4));
    let model = |flags: &str| {
        let line = format!("train b.csv --target sold --method {flags} {SMALL} --out m.json");
        dir.run(&line).works();
        let text = dir.read("m.json");
        text.lines().filter(|line| !line.contains("\"initial\"")).collect::<String>()
    };
    for (method, default) in [("sgbdt", "feature-first"), ("psgbdt", "uniform")] {
        let [uniform, feature_first] = ["uniform", "feature-first"]
            .map(|initial| model(&format!("{method} --initial {initial}")));
        assert!(uniform != feature_first, "{method}");
        let expected = if default == "uniform" { uniform } else { feature_first };
        assert!(model(method) == expected, "{method}");
    }
}

#[test]
fn a_policy_takes_its_rules_from_every_table() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 4));
    dir.run("train b.csv --target sold --method greedy --trees 3 --depth 2 --quiet --out g.json")
        .works();
    let line = format!(
        "train b.csv --target sold --method policy-gradient {SMALL} --trees 1 --json --out m.json"
    );
    let rules = |flags: &str| {
        let report = dir.run(&format!("{line} {flags}")).works().json();
        report["search"]["space"]["table_rules"].as_u64().unwrap()
    };
    let tables = ["--pretrained g.json", "--rule-table bins --max-bin 16", "--rule-table distinct"];
    let sizes = tables.map(rules);
    assert!(sizes[0] <= 9 && sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    let parts = ["rule_table: is bins", "pretrained"];
    dir.fails(&format!("{line} --rule-table bins --pretrained g.json"), 2, &parts);
}

#[test]
fn local_search_improves_the_swarm_and_is_reported() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(900, 6));
    let line = "train r.csv --target price --method sgbdt-bins --population 10 --iterations 5 --out m.json";
    let best = |more: &str| {
        let report = dir.run(&format!("{line} --json --quiet {more}")).works().json();
        (
            report["metrics"]["train"]["rmse"].as_f64().unwrap(),
            report["search"]["evaluations"].as_u64(),
        )
    };
    let (swarm, local) = (best(""), best("--local-search"));
    assert!(local.0 < 0.98 * swarm.0, "{swarm:?} {local:?}");
    assert!(local.1 > swarm.1, "{swarm:?} {local:?}");
    let output = dir.run(&format!("{line} --local-search --trace t.csv --plot t.svg")).works();
    assert!(output.err.contains("note: local search replaced"), "{output:#?}");
    assert!(dir.read("t.csv").lines().any(|row| row.contains("local search")));
    let free = dir.run(&format!("{line} --local-search --growth depth")).works();
    assert!(
        free.err.contains("warning: local_search has no effect: it is for growth oblivious"),
        "{free:#?}"
    );
    assert!(!free.err.contains("replaced"), "{free:#?}");
}

#[test]
fn a_greedy_seed_is_never_worse_than_greedy_boosting() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(800, 6));
    for growth in ["oblivious", "depth"] {
        let shape = format!(
            "--growth {growth} --trees 4 --depth 3 --learning-rate 1 --lambda 0 --quiet --json"
        );
        let rmse = |line: &str| {
            let report = dir
                .run(&format!("train r.csv --target price --out m.json {shape} {line}"))
                .works()
                .json();
            report["metrics"]["train"]["rmse"].as_f64().unwrap()
        };
        let greedy = rmse("--method greedy");
        let seeded =
            rmse("--method sgbdt-bins --max-bin 255 --greedy-seed --population 20 --iterations 30");
        // Greedy histograms are rounded; the swarm's sums are not.
        assert!(seeded <= greedy * (1.0 + 1e-4), "{growth}: {seeded} {greedy}");
    }
}

#[test]
fn rules_come_from_the_models_of_every_library() {
    for file in [
        "xgboost_regression.json",
        "xgboost_dart.ubj",
        "xgboost_categories.json",
        "lightgbm_regression.txt",
        "lightgbm_categories.txt",
        "catboost_regression.json",
    ] {
        let (dir, _) = with_sample(file);
        let line = format!(
            "train rows.csv --target y --task regression --method psgbdt --depth 2 {SMALL} --out m.json"
        );
        let report = dir.run(&format!("{line} --pretrained {file} --json")).works().json();
        let n = report["search"]["space"]["n"].as_u64().unwrap();
        assert!(n > 1, "{file}: {report}");
        let model = dir.read("m.json");
        assert!(model.contains(file), "the record names the file: {model}");
    }
}

#[test]
fn thresholds_of_a_model_are_used_exactly() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(400, 8));
    dir.run(
        "train r.csv --target price --ignore town --trees 3 --depth 2 --quiet --out first.json",
    )
    .works();
    let line =
        format!("train r.csv --target price --ignore town --method psgbdt --depth 3 {SMALL}");
    dir.run(&format!("{line} --pretrained first.json --out second.json")).works();
    let thresholds = |name: &str| -> std::collections::BTreeSet<String> {
        let text = dir.read(name);
        let model: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut thresholds = std::collections::BTreeSet::new();
        collect_thresholds(&model["trees"], &mut thresholds);
        collect_thresholds(&model["body"], &mut thresholds);
        collect_thresholds(&model["members"], &mut thresholds);
        thresholds
    };
    let (first, second) = (thresholds("first.json"), thresholds("second.json"));
    assert!(!second.is_empty() && second.is_subset(&first), "{second:?} are not among {first:?}");
}

/// The thresholds in a part of a model file.
fn collect_thresholds(
    value: &serde_json::Value,
    thresholds: &mut std::collections::BTreeSet<String>,
) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                if name.starts_with("threshold") {
                    let one = std::slice::from_ref(field);
                    let numbers = field.as_array().map_or(one, Vec::as_slice);
                    thresholds.extend(
                        numbers.iter().filter(|number| !number.is_null()).map(ToString::to_string),
                    );
                }
                collect_thresholds(field, thresholds);
            }
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| collect_thresholds(item, thresholds))
        }
        _ => {}
    }
}

#[test]
fn bad_pretrained_models_are_refused_with_a_reason() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(200, 8)).file("other.csv", "a,b,y\n1,2,3\n4,5,6\n7,8,9\n2,4,4\n");
    let line = format!("train r.csv --target price --method psgbdt {SMALL} --out m.json");
    dir.fails(&format!("{line} --pretrained none.json"), 2, &["none.json", "cannot read"]);
    dir.fails(&format!("{line} --pretrained r.csv"), 2, &["r.csv"]);
    let stumps = "--method greedy --trees 2 --depth 1 --lambda 0 --min-child-weight 0 --quiet";
    dir.run(&format!("train other.csv --target y --task regression {stumps} --out other.json"))
        .works();
    let output = dir.fails(
        &format!("{line} --pretrained other.json"),
        2,
        &["other.json: asks for the feature '"],
    );
    assert!(output.err.contains("matched by name"), "{output:#?}");
    // The same names in other units.
    let far: String = (0..60).map(|row| format!("{},{}\n", 1_000_000 + row, row % 9)).collect();
    dir.file("far.csv", format!("size,price\n{far}"));
    dir.run(&format!("train far.csv --target price --task regression {stumps} --out far.json"))
        .works();
    dir.fails(
        &format!("{line} --pretrained far.json"),
        2,
        &["far.json: none of its", "parts the training rows"],
    );
    dir.run(&format!("train r.csv --target price --booster gblinear {stumps} --out linear.json"))
        .works();
    dir.fails(&format!("{line} --pretrained linear.json"), 2, &["linear.json: has no split"]);
    let sgbdt = "train r.csv --target price --method sgbdt --out m.json --pretrained far.json";
    dir.fails(
        sgbdt,
        2,
        &["pretrained: is for methods psgbdt, policy-gradient, split-tree; the method is sgbdt"],
    );
}

#[test]
fn all_errors_are_reported_together() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(50, 1));
    let output = dir.fails(
        "train r.csv --target price --method sgbdt --population 0 --alpha 2 --beta=-1 --mutation 1.5 --depth 9 \
         --growth leaf --iterations 0 --fitness beauty --resume --checkpoint-every 3",
        2,
        &[
            "population: is 0",
            "alpha: is 2",
            "beta: is -1",
            "mutation: is 1.5",
            "depth: is 9, must be from 1 to 8 with method sgbdt",
            "growth: is leaf",
            "iterations: is 0",
            "fitness: is 'beauty'",
            "resume: needs --checkpoint FILE",
            "checkpoint-every: needs --checkpoint FILE",
        ],
    );
    assert_eq!(output.err.matches("error: ").count(), 10, "{output:#?}");
    let line = "train r.csv --target price --method sgbdt --fitness accuracy --quiet";
    dir.fails(line, 2, &["fitness: the fitness accuracy needs classes"]);
    dir.file("same.csv", "a,y\n1,2\n1,3\n1,5\n1,7\n1,9\n");
    dir.fails(
        "train same.csv --target y --task regression --method sgbdt --quiet",
        2,
        &["no rule to choose from"],
    );
    let greedy = "train r.csv --target price --method greedy --checkpoint c.bin";
    dir.fails(greedy, 2, &["checkpoint: is for methods that search"]);
    dir.fails(
        "train r.csv --target price --method sgbdt --trace no/such/t.csv",
        1,
        &["no/such/t.csv"],
    );
}

#[test]
fn without_greedy_splits_the_bin_edges_are_searched() {
    let dir = Scratch::new();
    dir.file("few.csv", "a,y\n1,no\n2,yes\n3,no\n4,yes\n");
    let line = "train few.csv --target y --method psgbdt --iterations 3 --out m.json";
    dir.run(line).ends(0, &["the rules are the boundaries of bins instead"]);
    dir.run("train few.csv --target y --method split-tree --iterations 3 --out t.json").works();
}

#[test]
fn trace_and_plot_have_every_iteration() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 2));
    let line =
        "train b.csv --target sold --method psgbdt --population 20 --iterations 12 --mutation 0.1";
    dir.run(&format!("{line} --trace t.csv --plot p.svg --out m.json")).works();
    let trace = dir.read("t.csv");
    let mut lines = trace.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let cell = |line: &str, name: &str| {
        line.split(',')
            .nth(header.iter().position(|column| *column == name).unwrap())
            .unwrap()
            .to_string()
    };
    let swarm: Vec<&str> = lines.filter(|line| line.starts_with("swarm,")).collect();
    assert_eq!(swarm.len(), 12, "{trace}");
    let number = |line: &str, name: &str| cell(line, name).parse::<f64>().unwrap();
    for pair in swarm.windows(2) {
        assert!(number(pair[0], "best") <= number(pair[1], "best"), "{trace}");
        assert!(number(pair[0], "evaluations") < number(pair[1], "evaluations"), "{trace}");
        assert!(number(pair[0], "seconds") <= number(pair[1], "seconds"), "{trace}");
    }
    for (at, line) in swarm.iter().enumerate() {
        assert_eq!(number(line, "step"), at as f64 + 1.0);
        assert!(
            number(line, "mean") <= number(line, "best") && number(line, "diversity") >= 0.0,
            "{trace}"
        );
        assert_eq!((number(line, "alpha"), number(line, "beta")), (0.45, 0.45));
        let total = number(line, "evaluations") + number(line, "cache_hits");
        assert!(total >= number(swarm[0], "evaluations"), "{trace}");
    }
    let svg = dir.read("p.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
    assert!(
        svg.contains("psgbdt on b.csv: accuracy ") && svg.contains(" after 12 iterations<"),
        "{svg}"
    );
    // Boosting has a trace and a chart, too.
    dir.run("train b.csv --target sold --method greedy --trees 30 --trace g.csv --plot g.svg --quiet --out m.json")
        .works();
    assert_eq!(dir.read("g.csv").lines().filter(|line| line.starts_with("boosting,")).count(), 30);
    assert!(dir.read("g.svg").contains("training loss") || dir.read("g.svg").contains("<polyline"));
}
