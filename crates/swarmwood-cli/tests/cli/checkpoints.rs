//! Killed and resumed runs: the same bytes as an uninterrupted run, or a clear error.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

/// Runs that take long enough to be killed.
const DEFAULT: &str = "train r.csv --target price --trees 4 --max-leaves 16 --quiet --seed 3";
const PUBLISHED: &str = "train r.csv --target price --method sgbdt-bins --population 40 --iterations 60 --mutation 0.05 \
                    --adaptive --greedy-seed --local-search --quiet --seed 3";

/// Starts a run and kills it after the checkpoint has changed `changes` times. Returns whether it
/// was still running.
fn kill_after_changes(dir: &Scratch, line: &str, changes: usize) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args(line.split_whitespace())
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = dir.path().join("c.bin");
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    let (mut last, mut count) = (read(&checkpoint), 0);
    // A run that hangs must not hang the test.
    let deadline = Instant::now() + Duration::from_secs(120);
    while count < changes && Instant::now() < deadline && child.try_wait().unwrap().is_none() {
        let now = read(&checkpoint);
        if now != last {
            (last, count) = (now, count + 1);
        }
    }
    // SIGKILL: the process cannot handle it.
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

#[test]
fn a_search_killed_repeatedly_ends_with_the_same_bytes() {
    kill_repeatedly(DEFAULT);
}

#[test]
fn a_published_swarm_killed_repeatedly_ends_with_the_same_bytes() {
    kill_repeatedly(PUBLISHED);
}

#[test]
fn a_policy_killed_repeatedly_ends_with_the_same_bytes() {
    kill_repeatedly(
        "train r.csv --target price --method policy-gradient --population 30 --iterations 60 --quiet --seed 3",
    );
}

#[test]
fn a_tree_search_killed_repeatedly_ends_with_the_same_bytes() {
    kill_repeatedly(
        "train r.csv --target price --method swarm-tree --budget 300 --population 2 --quiet --seed 3",
    );
}

/// Runs that a time limit ends at any step and that are resumed have the same bytes as
/// uninterrupted ones.
#[test]
fn learners_of_one_tree_resume_after_a_time_limit() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 1));
    for (at, method) in [
        "cart",
        "swarm-tree",
        "swarm-tree --budget 44 --population 3",
        "tree-sum --budget 30 --total-splits 6",
        "apso-tree --ignore town --prune 1-se --repeats 3 --iterations 60",
        "apso-tree --ignore town --prune 1-se --optimizer ga --repeats 2 --select-by cross-validation --iterations 30",
        "tso-tree --iterations 60",
        "split-tree --iterations 60",
    ]
    .into_iter()
    .enumerate()
    {
        let line = format!("train b.csv --target sold --method {method} --quiet --seed 5");
        dir.run(&format!("{line} --out whole.json")).works();
        let with_checkpoint = format!("{line} --checkpoint {at}.bin --checkpoint-every 1");
        dir.run(&format!("{with_checkpoint} --time-limit 0.02 --out part.json")).works();
        for limit in [0.01, 0.05, 0.1] {
            dir.run(&format!("{with_checkpoint} --resume --time-limit {limit} --out part.json"))
                .works();
        }
        dir.run(&format!("{with_checkpoint} --resume --out m.json")).works();
        assert!(dir.read("m.json") == dir.read("whole.json"), "{method}");
        dir.run(&format!("{with_checkpoint} --resume --threads 1 --out again.json")).works();
        assert!(dir.read("again.json") == dir.read("whole.json"), "{method}");
    }
}

fn kill_repeatedly(line: &str) {
    let dir = Scratch::new();
    dir.file("r.csv", regression(3000, 1));
    dir.run(&format!("{line} --out whole.json --trace whole.csv")).works();
    let resumed = format!(
        "{line} --checkpoint c.bin --checkpoint-every 1 --resume --out m.json --trace t.csv"
    );
    let mut kills = 0;
    for changes in [0, 1, 3, 2, 5, 1] {
        kills += usize::from(kill_after_changes(
            &dir,
            &format!("{resumed} --threads {}", 1 + kills % 2),
            changes,
        ));
        assert!(
            kills == 0 || !dir.names().contains(&"m.json".to_string()) || kills < 6,
            "a model of an unfinished run"
        );
    }
    assert!(kills >= 3, "only {kills} runs could be killed");
    dir.run(&resumed).works();
    assert!(dir.read("m.json") == dir.read("whole.json"), "another model");
    // The trace has all steps of the run; only the times differ.
    let without_seconds = |name: &str| -> Vec<String> {
        dir.read(name).lines().map(|line| line.rsplit_once(',').unwrap().0.to_string()).collect()
    };
    // Pre-training and the greedy start are repeated after a resume, and so are their events.
    let repeated =
        |line: &String| line.starts_with("pre-training,") || line.starts_with("boosting,");
    let events = |name: &str| {
        without_seconds(name).into_iter().filter(|line| !repeated(line)).collect::<Vec<_>>()
    };
    assert_eq!(events("t.csv"), events("whole.csv"));
    // A finished run can be resumed, too, and gives the same model.
    dir.run(&resumed.replace("m.json", "again.json")).works();
    assert!(dir.read("again.json") == dir.read("whole.json"));
    // Temporary files of killed writes are removed by the next write.
    assert!(dir.names().iter().all(|name| !name.starts_with('.')), "{:?}", dir.names());
}

#[test]
fn checkpoints_of_other_runs_and_damaged_ones_are_refused() {
    let dir = Scratch::new();
    dir.file("b.csv", binary(300, 1)).file("other.csv", binary(300, 2));
    let line = |more: &str| {
        format!(
            "train b.csv --target sold --population 10 --iterations 6 --quiet --checkpoint c.bin --out m.json {more}"
        )
    };
    dir.run(&line("--method sgbdt --checkpoint-every 2")).works();
    dir.run(&line("--method sgbdt --resume --threads 2 --time-limit 100")).works();
    let other_run = "belongs to another run, with ";
    dir.fails(
        &line("--method sgbdt-bins --resume"),
        2,
        &["c.bin: ", other_run, "method sgbdt, not sgbdt-bins"],
    );
    let parts = ["depth 5, not 3", "seed 0, not 4", "repeat the arguments"];
    dir.fails(&line("--method sgbdt --resume --depth 3 --seed 4"), 2, &parts);
    let other = line("--method sgbdt --resume").replace("b.csv", "other.csv");
    dir.fails(&other, 2, &[other_run, "other rows"]);

    let mut bytes = std::fs::read(dir.path().join("c.bin")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    dir.file("c.bin", &bytes);
    dir.fails(&line("--method sgbdt --resume"), 2, &["c.bin: is damaged", "leave out --resume"]);
    dir.file("c.bin", &bytes[..middle]);
    dir.fails(&line("--method sgbdt --resume"), 2, &["c.bin: is damaged"]);
    dir.file("c.bin", "not a checkpoint");
    dir.fails(&line("--method sgbdt --resume"), 2, &["c.bin: is no checkpoint"]);
    // Without --resume the file is overwritten.
    dir.run(&line("--method sgbdt")).works();
    std::fs::remove_file(dir.path().join("c.bin")).unwrap();
    let output = dir.run(&line("--method sgbdt --resume").replace("--quiet", "")).works();
    assert!(output.err.contains("no checkpoint c.bin yet"), "{output:#?}");
    dir.fails(&line("--method sgbdt").replace("c.bin", "no/such/c.bin"), 1, &["no/such/c.bin"]);
}
