//! Arguments and parameters that cannot be used.

use swarmwood::params::{AllowedValues, ParamSpec, TABLE};

use crate::scratch::Scratch;
use crate::tables::{TestRng, binary, classes, regression};

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", regression(60, 1));
    dir
}

#[test]
fn all_violations_are_reported_together_before_reading() {
    let dir = dir();
    let line = "train absent.csv --target price --out m.json --trees 1.5 --learning-rate -0.5 --depth 40 --max-bin 256 \
                --growth sideways --subsample 0 --quantile 1 --lambda nan --threads many --task guess --delimiter ::";
    let output = dir.fails(
        line,
        2,
        &[
            "error: trees: is '1.5', must be a whole number from 0 to 1000000",
            "error: learning_rate: is -0.5, must be a number above 0, at most 1",
            "error: depth: is 40",
            "error: max_bin: is 256, must be a whole number from 0 to 255",
            "error: growth: is 'sideways', must be one of auto, depth, leaf, oblivious",
            "error: subsample: is 0",
            "error: quantile: is 1",
            "error: lambda: is 'nan'",
            "error: threads: is 'many'",
            "error: task: is 'guess', must be one of auto, regression, classification",
            "error: delimiter: is '::'",
        ],
    );
    assert_eq!(output.err.matches("error: ").count(), 11, "{}", output.err);
}

#[test]
fn a_size_is_given_once() {
    let dir = dir();
    let both = "train t.csv --target price --out m.json --total-leaves 64 --trees 4";
    dir.fails(
        both,
        2,
        &["total_leaves: is 64, but the size is also given by trees and max_leaves"],
    );
    let none = "train t.csv --target price --out m.json --method greedy --trees 0";
    dir.fails(none, 2, &["trees: is 0, must be at least 1 with method greedy"]);
}

#[test]
fn parameters_that_contradict_each_other() {
    let dir = dir();
    let train = "train t.csv --target price --method greedy --out m.json";
    dir.fails(
        &format!("{train} --growth oblivious --depth 17"),
        2,
        &["depth: is 17", "at most 16"],
    );
    dir.fails(&format!("{train} --depth 0"), 2, &["depth: is 0"]);
    dir.fails(&format!("{train} --max-bin 1"), 2, &["max_bin: is 1", "any two values"]);
    for method in ["swarm", "sgbdt", "psgbdt", "split-tree"] {
        let line = format!("train t.csv --target price --method {method} --max-bin 0 --out m.json");
        dir.fails(&line, 2, &["max_bin: is 0", "greedy"]);
    }
    dir.fails(&format!("{train} --growth leaf --max-leaves 1"), 2, &["max_leaves: is 1"]);
    dir.fails(
        &format!("{train} --early-stopping-rounds 5"),
        2,
        &["early_stopping_rounds", "--valid"],
    );
    dir.fails(
        &format!("{train} --valid t.csv --valid-fraction 0.5"),
        2,
        &["valid_fraction", "--valid"],
    );
    dir.fails("train t.csv --target price --out - --json", 2, &["out: is '-'"]);
    dir.run(&format!("{train} --rate-drop 0.5 --trees 3"))
        .ends(0, &["warning: rate_drop has no effect"]);
}

#[test]
fn unknown_names_are_refused() {
    let dir = dir();
    dir.run("train t.csv --target price --learning-rat 1")
        .ends(2, &["--learning-rat", "--learning-rate"]);
    dir.run("trane t.csv").ends(2, &["trane", "train"]);
    dir.run("train --target price").ends(2, &["DATA"]);
    dir.run("train t.csv --demo").ends(2, &["--demo"]);
    dir.fails("train t.csv --out m.json", 2, &["target: is missing", "--target"]);
    dir.run("inspect t.csv --trees none").ends(2, &["none"]);
    dir.run("").ends(2, &["Usage"]);
}

#[test]
fn aliases_and_underscores_are_understood() {
    let dir = dir();
    let line = "train t.csv --target price --n-estimators 3 --max_depth 2 --eta 0.5 --json";
    let report = dir.run(line).works().json();
    let used = &report["parameters"];
    assert_eq!(
        (&used["trees"], &used["depth"], &used["learning_rate"]),
        (&3.into(), &2.into(), &0.5.into())
    );
    let report = dir.run("train t.csv --target price --trees 9 --trees 2 --json").works().json();
    assert_eq!(report["rounds"], 2, "the last flag wins");
}

#[test]
fn configuration_files_name_file_line_and_key() {
    let dir = dir();
    dir.file(
        "c.toml",
        "target = \"price\"\ndept = 3\ntrees = \"many\"\nlambda = [1]\nignore = 3\ndepth = 99\n",
    );
    dir.fails(
        "train t.csv --config c.toml --out m.json",
        2,
        &[
            "error: c.toml:2: dept: no such parameter; did you mean 'depth'?",
            "error: c.toml:3: trees: is 'many'",
            "error: c.toml:4: lambda: is array",
            "error: c.toml:5: ignore: is integer",
            "error: depth: is 99",
        ],
    );
    dir.file("c.toml", "target = \"price\"\n\ntrees = = 3\n");
    dir.fails("train t.csv --config c.toml --out m.json", 2, &["error: c.toml:3"]);
    dir.file("c.toml", b"target = \"\xff\"");
    dir.fails("train t.csv --config c.toml --out m.json", 2, &["c.toml", "UTF-8"]);
}

#[test]
fn help_is_printed_on_standard_output() {
    let dir = dir();
    for command in ["", "train ", "predict ", "evaluate ", "inspect ", "rules ", "completions "] {
        let output = dir.run(&format!("{command}--help")).works();
        assert!(output.out.contains("Usage:") && output.err.is_empty(), "{output:#?}");
    }
    let help = dir.run("train --help-all").works().out;
    for spec in TABLE {
        // A switch needs no value: `--adaptive[=<BOOL>]`.
        let end = if spec.allowed == AllowedValues::Switch { "[" } else { " " };
        assert!(help.contains(&format!("--{}{end}", spec.flag())), "{}", spec.name);
    }
    assert!(dir.run("--version").works().out.starts_with("swarmwood "));
}

#[test]
fn completions_include_the_parameter_table() {
    let dir = dir();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            dir.run(&format!("completions {shell}")).works().out.contains("learning-rate"),
            "{shell}"
        );
    }
    assert!(dir.run("completions bash").works().out.contains("oblivious"));
    dir.run("completions tcsh").ends(2, &["tcsh"]);
}

/// A random value of a parameter: an end of its range or a value between them.
fn random_value(spec: &ParamSpec, rng: &mut TestRng) -> String {
    match spec.allowed {
        AllowedValues::Choices(choices) => {
            choices[(rng.unit() * choices.len() as f64) as usize].name.to_string()
        }
        AllowedValues::Switch => ["true", "false"][(rng.unit() * 2.0) as usize].to_string(),
        AllowedValues::Matrix => ["none", "0,1;5,0"][(rng.unit() * 2.0) as usize].to_string(),
        AllowedValues::FeatureGroups { .. } => {
            ["none", "pairwise", "absent,*"][(rng.unit() * 3.0) as usize].to_string()
        }
        AllowedValues::ByFeature { .. } => {
            ["none", "[1,0]", "absent:+"][(rng.unit() * 3.0) as usize].to_string()
        }
        AllowedValues::Splits(_) => {
            ["none", "absent<=1", "{}"][(rng.unit() * 3.0) as usize].to_string()
        }
        AllowedValues::Text(_) => {
            let texts = match spec.name {
                "points" => ["none", "0..100", "7", "0..1"],
                _ => ["none", "f1", "cost=5:1", "recall=0.5"],
            };
            texts[(rng.unit() * 4.0) as usize].to_string()
        }
        // More threads and trees than this only take time.
        AllowedValues::Whole { min, max } => {
            let high = max.min(if spec.is_called("max_leaves") { 1 << 20 } else { 40 });
            [min, min + 1, high / 2, high][(rng.unit() * 4.0) as usize].to_string()
        }
        AllowedValues::Number { min, with_min, max, with_max } => {
            let low = if with_min { min } else { min + 1e-9 };
            let high = if max.is_infinite() {
                1e9
            } else if with_max {
                max
            } else {
                max - 1e-9
            };
            [low, high, (low + high) / 2.0, low + (high - low) * rng.unit()]
                [(rng.unit() * 4.0) as usize]
                .to_string()
        }
    }
}

#[test]
fn no_combination_of_parameters_panics() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(120, 1))
        .file("b.csv", binary(120, 2))
        .file("c.csv", classes(120, 3));
    let mut rng = TestRng::new(17);
    let mut trained = 0;
    for _ in 0..200 {
        let (file, target) = [("r.csv", "price"), ("b.csv", "sold"), ("c.csv", "colour")]
            [(rng.unit() * 3.0) as usize];
        let mut line = format!("train {file} --target {target} --quiet --trees 6 --out m.json");
        for _ in 0..4 {
            let spec = &TABLE[(rng.unit() * TABLE.len() as f64) as usize];
            line.push_str(&format!(" --{}={}", spec.flag(), random_value(spec, &mut rng)));
        }
        let output = dir.run(&line);
        assert!(
            matches!(output.code, 0 | 2) && !output.err.contains("internal error"),
            "{line}: {output:#?}"
        );
        if output.code == 0 {
            trained += 1;
            let metrics = dir.run(&format!("evaluate m.json {file} --json")).works().json();
            assert_eq!(metrics["rows"], 120, "{line}");
        }
    }
    assert!(trained > 60, "only {trained} combinations could be trained");
}

#[test]
fn presets_are_parameters_that_flags_change() {
    let dir = dir();
    let train = "train --demo --target quality --preset";
    let model = |name: &str, more: &str| {
        dir.run(&format!("{train} {name} {more} --time-limit 1 --out {name}.json")).works();
        dir.read(&format!("{name}.json"))
    };
    let fast = model("fast", "--trees 3");
    assert!(fast.contains("\"method\":\"greedy\"") && fast.contains("\"trees\":\"3\""), "{fast}");
    assert!(model("tiny", "").contains("\"total_leaves\":\"32\""));
    dir.fails(&format!("{train} large --out m.json"), 2, &["preset: is 'large'", "accurate"]);
}
