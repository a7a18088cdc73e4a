//! Output: files, pipes, full disks, interrupted runs.

use crate::scratch::Scratch;
use crate::tables::regression;

fn with_model() -> Scratch {
    let dir = Scratch::new();
    dir.file("t.csv", regression(200, 1));
    dir.run("train t.csv --target price --trees 3 --out m.json").works();
    dir
}

#[test]
fn unwritable_paths_are_found_before_training() {
    let dir = with_model();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for out in ["no/such/folder/m.json", "folder"] {
        let output = dir.fails(
            &format!("train t.csv --target price --out {out}"),
            1,
            &[out, "cannot write"],
        );
        assert!(!output.err.contains("round"), "{}", output.err);
        dir.fails(&format!("predict m.json t.csv --out {out}"), 1, &[out, "cannot write"]);
    }
}

#[test]
fn a_failed_run_leaves_the_old_file_alone() {
    let dir = with_model();
    dir.file("p.csv", "old").file("bad.csv", "size,age,town\n1,2,Ash\n1,2\n");
    dir.fails("predict m.json bad.csv --out p.csv", 2, &["bad.csv:3"]);
    assert_eq!(dir.read("p.csv"), "old");
    let old = dir.read("m.json");
    dir.fails("train bad.csv --target age --out m.json", 2, &["bad.csv:3"]);
    assert_eq!(dir.read("m.json"), old);
}

#[test]
fn quiet_runs_print_nothing() {
    let dir = with_model();
    for line in [
        "train t.csv --target price --trees 3 --quiet --out m.json --json",
        "predict m.json t.csv --quiet --out p.csv",
        "evaluate m.json t.csv --quiet",
    ] {
        assert_eq!(dir.run(line).works().err, "", "{line}");
    }
}

#[test]
fn diagnostics_go_to_standard_error() {
    let dir = with_model();
    let output = dir.run("train t.csv --target price --trees 20 --out m.json").works();
    assert!(output.err.contains("200 rows"), "{output:#?}");
    assert!(
        output.out.contains("rmse")
            && output.out.contains("m.json")
            && !output.out.contains("round 2"),
        "{output:#?}"
    );
    let model = dir.run("train t.csv --target price --trees 20 --out -").works().out;
    assert_eq!(model, dir.read("m.json"));
    let output = dir.run("predict m.json t.csv --json").works();
    assert_eq!(output.out.lines().count(), 201);
    let report = output.err.lines().last().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(report).unwrap()["rows"], 200);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_full_disk_is_an_error() {
        let dir = with_model();
        dir.fails(
            "train t.csv --target price --trees 3 --out /dev/full",
            1,
            &["/dev/full", "No space left"],
        );
        dir.fails("predict m.json t.csv --out /dev/full", 1, &["/dev/full", "No space left"]);
        for line in ["predict m.json t.csv", "evaluate m.json t.csv --json", "inspect m.json"] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_swarmwood"));
            let output = command
                .args(line.split(' '))
                .current_dir(dir.path())
                .stdout(full)
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
            assert!(stderr.contains("standard output: cannot write"), "{line}: {stderr}");
        }
    }

    #[test]
    fn diagnostics_that_cannot_be_written_are_no_error() {
        let dir = with_model();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_swarmwood"));
        command
            .args(["train", "t.csv", "--target", "price", "--out", "quiet.json"])
            .current_dir(dir.path());
        assert!(command.stderr(full).stdout(Stdio::null()).status().unwrap().success());
        assert!(dir.names().contains(&"quiet.json".to_string()));
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let dir = with_model();
        dir.file("long.csv", regression(50_000, 2));
        for line in [
            "predict m.json long.csv",
            "inspect m.json --trees 3",
            "completions bash",
            "train --help",
        ] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
                .args(line.split(' '))
                .current_dir(dir.path())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            out.read_line(&mut String::new()).unwrap();
            drop(out);
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            assert!(child.wait().unwrap().success() && stderr.is_empty(), "{line}: {stderr}");
        }
    }

    #[test]
    fn ctrl_c_keeps_the_finished_rounds() {
        let dir = with_model();
        let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args("train t.csv --target price --method greedy --trees 1000000 --learning-rate 0.001 --out cut.json --json".split(' '))
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut diagnostics = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Training has started when the first line about a round is printed, after two seconds.
        while !line.contains("boosting: round ") {
            line.clear();
            assert!(
                diagnostics.read_line(&mut line).unwrap() > 0,
                "training ended without diagnostics"
            );
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let mut rest = String::new();
        diagnostics.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{rest}");
        assert!(rest.contains("note: interrupted"), "{rest}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rounds = report["rounds"].as_u64().unwrap();
        assert!(rounds > 0 && rounds < 1_000_000);
        assert_eq!(dir.run("inspect cut.json --json").works().json()["rounds"], rounds);
    }

    #[test]
    fn ctrl_c_leaves_no_partial_table() {
        let dir = with_model();
        let before = dir.names();
        let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args(["predict", "m.json", "-", "--out", "p.csv"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(regression(100, 3).as_bytes()).unwrap();
        // Prediction has started when the temporary file exists.
        while dir.names() == before {
            assert!(child.try_wait().unwrap().is_none(), "predicting ended without its input");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(
            Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        drop(input);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("error: interrupted"), "{stderr}");
        assert_eq!(dir.names(), before);
    }

    #[test]
    fn a_time_limit_keeps_the_finished_rounds() {
        let dir = with_model();
        let line = "train t.csv --target price --method greedy --trees 1000000 --learning-rate 0.001 --time-limit 0.2 --out cut.json";
        let report = dir.run(&format!("{line} --json")).works().json();
        assert!((1..1_000_000).contains(&report["rounds"].as_u64().unwrap()));
        assert!(report["notes"].to_string().contains("time"), "{report}");
    }
}

#[test]
fn input_columns_are_copied_beside_predictions() {
    let dir = Scratch::new();
    let rows: String =
        (0..40).map(|row| format!("{row},\"n {row}, x\",{},{}\n", row % 7, row * 2)).collect();
    dir.file("t.csv", format!("id,name,a,y\n{rows}"));
    dir.run("train t.csv --target y --ignore id,name --method greedy --out m.json").works();
    let plain = dir.run("predict m.json t.csv").works().out;
    let kept = dir.run("predict m.json t.csv --keep name,id").works().out;
    let mut lines = kept.lines().zip(plain.lines());
    assert_eq!(lines.next(), Some(("id,name,prediction", "prediction")));
    for (row, (kept, plain)) in lines.enumerate() {
        assert_eq!(kept, format!("{row},\"n {row}, x\",{plain}"));
    }
    let all = dir.run("predict m.json t.csv --keep all").works().out;
    assert!(all.starts_with("id,name,a,y,prediction\n0,\"n 0, x\",0,0,"), "{all}");
    dir.file("head.csv", "id,a\n");
    let head = dir.run("predict m.json head.csv --keep id").works().out;
    assert_eq!(head, "id,prediction\n");

    dir.fails("predict m.json t.csv --keep nam", 2, &["no kept column 'nam'", "'name'"]);
    dir.file("clash.csv", "prediction,a\n1,2\n");
    let parts = ["keep: there is a column 'prediction' among the predictions"];
    dir.fails("predict m.json clash.csv --keep all --out p.csv", 2, &parts);
    assert!(!dir.names().contains(&"p.csv".to_string()));
    dir.file("formula.csv", "id,a\n=1+1,2\n");
    let safe = dir.run("predict m.json formula.csv --keep id --safe-csv").works().out;
    assert!(safe.contains("\n'=1+1,"), "{safe}");
}
