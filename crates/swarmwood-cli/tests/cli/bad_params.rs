//! Arguments and parameters that cannot be used.

use crate::scratch::Scratch;
use crate::tables::regression;

fn dir() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", regression(60, 1));
    dir
}

#[test]
fn all_violations_are_told_together_before_any_data_is_read() {
    let dir = dir();
    let line = "train absent.csv --target price --out m.json --trees 0 --learning-rate -0.5 --depth 40 --max-bin 256 \
                --growth sideways --subsample 0 --quantile 1 --lambda nan --threads many --task guess --delimiter ::";
    let done = dir.fails(
        line,
        2,
        &[
            "error: trees: is 0, must be a whole number from 1 to 1000000",
            "error: learning_rate: is -0.5, must be a number above 0, at most 1",
            "error: depth: is 40",
            "error: max_bin: is 256, must be a whole number from 2 to 255",
            "error: growth: is 'sideways', must be one of depth, leaf, oblivious",
            "error: subsample: is 0",
            "error: quantile: is 1",
            "error: lambda: is 'nan'",
            "error: threads: is 'many'",
            "error: task: is 'guess', must be one of auto, regression, classification",
            "error: delimiter: is '::'",
        ],
    );
    assert_eq!(done.err.matches("error: ").count(), 11, "{}", done.err);
}

#[test]
fn parameters_that_contradict_each_other() {
    let dir = dir();
    let train = "train t.csv --target price --out m.json";
    dir.fails(&format!("{train} --growth oblivious --depth 17"), 2, &["depth: is 17", "at most 16"]);
    dir.fails(&format!("{train} --depth 0"), 2, &["depth: is 0"]);
    dir.fails(&format!("{train} --growth leaf --max-leaves 1"), 2, &["max_leaves: is 1"]);
    dir.fails(&format!("{train} --early-stopping-rounds 5"), 2, &["early_stopping_rounds", "--valid"]);
    dir.fails(&format!("{train} --valid t.csv --valid-fraction 0.5"), 2, &["valid_fraction", "--valid"]);
    dir.fails("train t.csv --target price --out - --json", 2, &["out: is '-'"]);
    dir.run(&format!("{train} --rate-drop 0.5 --trees 3")).ends(0, &["warning: rate_drop has no effect"]);
}

#[test]
fn names_nobody_knows() {
    let dir = dir();
    dir.run("train t.csv --target price --learning-rat 1").ends(2, &["--learning-rat", "--learning-rate"]);
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
    assert_eq!((&used["trees"], &used["depth"], &used["learning_rate"]), (&3.into(), &2.into(), &0.5.into()));
    let report = dir.run("train t.csv --target price --trees 9 --trees 2 --json").works().json();
    assert_eq!(report["rounds"], 2, "the last flag wins");
}

#[test]
fn configuration_files_name_file_line_and_key() {
    let dir = dir();
    dir.file("c.toml", "target = \"price\"\ndept = 3\ntrees = \"many\"\nlambda = [1]\nignore = 3\ndepth = 99\n");
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
fn help_is_there_and_is_a_result() {
    let dir = dir();
    for command in ["", "train ", "predict ", "evaluate ", "inspect ", "completions "] {
        let done = dir.run(&format!("{command}--help")).works();
        assert!(done.out.contains("Usage:") && done.err.is_empty(), "{done:#?}");
    }
    let help = dir.run("train --help").works().out;
    for spec in swarmwood::params::TABLE {
        assert!(help.contains(&format!("--{} ", spec.flag())), "{}", spec.name);
    }
    assert!(dir.run("--version").works().out.starts_with("swarmwood "));
}

#[test]
fn completions_know_the_table() {
    let dir = dir();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(dir.run(&format!("completions {shell}")).works().out.contains("learning-rate"), "{shell}");
    }
    assert!(dir.run("completions bash").works().out.contains("oblivious"));
    dir.run("completions tcsh").ends(2, &["tcsh"]);
}
