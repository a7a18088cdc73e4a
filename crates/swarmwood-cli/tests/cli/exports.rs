//! `swarmwood export`: what is written, what is refused, and what the verification says.

use std::process::Command;

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

const SMALL: &str = "--method greedy --trees 3 --depth 3";

fn trained() -> Scratch {
    let dir = Scratch::new();
    dir.file("r.csv", regression(200, 1)).file("b.csv", binary(200, 2));
    dir.run(&format!("train r.csv --target price {SMALL} --out r.json -q")).works();
    dir.run(&format!("train b.csv --target sold {SMALL} --out b.json -q")).works();
    dir
}

#[test]
fn exports_are_verified_on_thresholds_and_on_data() {
    let dir = trained();
    for (format, file) in [("c", "m.c"), ("js", "m.js"), ("python", "m.py"), ("json", "m.json")] {
        for (model, data) in [("r.json", "r.csv"), ("b.json", "b.csv")] {
            let line =
                format!("export {model} --format {format} --out {file} --verify {data} --json");
            let report = dir.run(&line).works().json();
            let verification = &report["verification"];
            assert_eq!(verification["verified"], true, "{report}");
            assert_eq!(verification["largest_raw_difference"], 0.0, "{report}");
            assert!(verification["rows"].as_u64().unwrap() > 200, "{report}");
        }
    }
    let line = "export b.json --format sql --dialect sqlite --out m.sql --verify";
    dir.run(line).ends(0, &["verified on", "largest difference of raw scores 0e0"]);
}

#[test]
fn an_export_that_cannot_be_verified_is_written_only_on_request() {
    let dir = trained();
    let missing = "m.py --python no-such-python";
    let said = ["verify: the export as python was not written", "the program 'no-such-python'"];
    dir.fails(&format!("export b.json --out {missing} --verify"), 2, &said);
    dir.fails(&format!("export b.json --out {missing} --verify"), 2, &["--verify-if-possible"]);
    dir.run(&format!("export b.json --out {missing} --verify-if-possible"))
        .ends(0, &["warning: the export was not verified: the program 'no-such-python'"]);
    assert!(dir.names().contains(&"m.py".to_string()));

    dir.fails("export b.json --out text.txt --verify", 2, &["not made to be run"]);
    let line = "export b.json --format sql --dialect tsql --out m.sql";
    dir.fails(&format!("{line} --verify"), 2, &["queries of tsql are not run here"]);
    let report = dir.run(&format!("{line} --verify-if-possible --json")).works().json();
    assert_eq!(report["verification"]["verified"], false, "{report}");
}

#[test]
fn a_bundle_has_every_format_with_rows_to_check_them() {
    let dir = trained();
    dir.run("export b.json --format bundle --out folder").ends(0, &["js: verified on"]);
    let mut names: Vec<String> = std::fs::read_dir(dir.path().join("folder"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in ["README.md", "model.c", "model.h", "model.js", "model.onnx", "model.pmml"] {
        assert!(names.contains(&name.to_string()), "{name} in {names:?}");
    }
    assert!(names.iter().filter(|name| name.ends_with(".sql")).count() == 8, "{names:?}");

    let vectors = dir.read("folder/vectors.csv");
    let header = "\"size\",\"age\",\"town\",raw_score_0,probability_0,probability_1,prediction\n";
    assert!(vectors.starts_with(header), "{vectors}");
    // The rows are a file that the model itself reads, with the results that it predicts.
    dir.run("predict b.json folder/vectors.csv --raw --out raw.csv -q").works();
    let expected = vectors.lines().skip(1).map(|line| line.rsplit(',').nth(3).unwrap().to_string());
    let raw: Vec<f64> = dir.read("raw.csv").lines().skip(1).map(|x| x.parse().unwrap()).collect();
    let expected: Vec<f64> = expected.map(|x| x.parse().unwrap()).collect();
    assert_eq!(raw, expected);
    assert!(dir.read("folder/verification.csv").contains("\njs,model.js,yes,"));
    assert!(dir.read("folder/README.md").contains("| `town` | 4 categories: `Ash`"));

    dir.fails("export b.json --format bundle --out folder", 2, &["exists already"]);
    dir.fails("export b.json --out x.zip --dialect ansi", 2, &["is for one format"]);
    let report = dir.run("export b.json --out all.zip --json").works().json();
    assert_eq!(report["files"].as_array().unwrap().len(), names.len());
    let listed = Command::new("python3")
        .args(["-m", "zipfile", "-t", "all.zip"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    dir.run("export b.json --out again.zip -q").works();
    let bytes = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    assert_eq!(bytes("all.zip"), bytes("again.zip"));
}

#[test]
fn inputs_are_never_overwritten() {
    let dir = trained();
    let before = dir.read("r.json");
    dir.fails("export r.json --out r.json", 2, &["is an input of this command"]);
    dir.fails("export r.json --format js --out ./r.json", 2, &["is an input of this command"]);
    dir.fails("export r.json --format js --out r.csv --verify r.csv", 2, &["is an input"]);
    // The header of a C source, too.
    std::fs::copy(dir.path().join("r.json"), dir.path().join("x.h")).unwrap();
    dir.fails("export x.h --out x.c", 2, &["'x.h' is an input of this command"]);
    assert_eq!(dir.read("r.json"), before);
}

#[test]
fn what_cannot_be_exported_is_refused_with_what_can() {
    let dir = trained();
    let formats =
        "must be one of json, text, c, js, lightgbm, onnx, pmml, python, sql, xgboost, bundle";
    dir.fails("export r.json --format excel --out m.x", 2, &["format: is 'excel'", formats]);
    dir.fails("export r.json --format pyton --out m.x", 2, &["did you mean 'python'?"]);
    dir.fails("export r.json --out m.xlsx", 2, &["extension of no format", "json, text, c"]);
    dir.fails(
        "export r.json --out m.sql --dialect oracle",
        2,
        &[
            "dialect: is 'oracle'",
            "ansi, postgres, sqlite, duckdb, mysql, bigquery, snowflake, tsql",
        ],
    );
    dir.fails("export r.json --out m.py --dialect ansi", 2, &["the format takes no options"]);
    dir.fails("export r.json --out m.c --name int", 2, &["name: must be a name of C"]);
    dir.fails("export r.json --out - --format c", 2, &["out: must be a file"]);
    let line =
        "train r.csv --target price --method greedy --booster gblinear --trees 5 --out l.json -q";
    dir.run(line).works();
    dir.fails("export l.json --format lightgbm --out m.lgb", 2, &["the model is linear"]);
    dir.fails(
        "export l.json --out m.c --integer 8",
        2,
        &["a linear model has no version in integers"],
    );
}

/// A runtime that gives other scores than the model.
#[test]
fn an_export_that_differs_is_not_written() {
    let dir = trained();
    let fake = "#!/bin/sh\nfor _ in $(seq 3000); do echo 1 1; done\n";
    dir.file("python", fake);
    Command::new("chmod").arg("+x").arg(dir.path().join("python")).status().unwrap();
    let python = dir.path().join("python").display().to_string();
    dir.fails(
        &format!("export r.json --out m.py --verify --python {python}"),
        2,
        &["was not written"],
    );
}

/// The flags that docs/export.md promises, and no instruction of floating point in the version in
/// integers.
#[test]
fn c_is_freestanding() {
    let dir = trained();
    dir.run("export b.json --out m.c -q").works();
    dir.run("export b.json --out n.c --integer 8 --name small -q").works();
    let compile = |source: &str, more: &[&str]| {
        let output = Command::new("gcc")
            .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-c"])
            .args(more)
            .args([source, "-o", "m.o"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let symbols =
            Command::new("nm").args(["-u", "m.o"]).current_dir(dir.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&symbols.stdout), "", "{source} needs a library");
    };
    compile("m.c", &[]);
    if cfg!(target_arch = "x86_64") {
        compile("n.c", &["-mgeneral-regs-only"]);
    }
    assert!(!dir.read("n.c").contains("double") && dir.read("n.h").contains("small_score"));
}
