//! The kill matrix: every command that writes files is killed at random times, again and again. What
//! is left is whole or not there, and the next start ends with the bytes of an undisturbed run and
//! leaves nothing else behind.
//!
//! A sample runs with the other tests, everything by `make torture`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::Scratch;
use crate::tables::{binary, regression};

/// A command that can be started again, and the file that it writes.
#[derive(Debug)]
struct KillCase {
    line: String,
    output: &'static str,
}

/// Sizes that take some tenths of a second.
const METHODS: [(&str, &str); 11] = [
    ("swarm", "--trees 3 --max-leaves 8"),
    ("sgbdt", "--trees 3 --depth 3 --population 20 --iterations 40"),
    ("sgbdt-bins", "--trees 3 --depth 3 --population 20 --iterations 40 --adaptive"),
    ("psgbdt", "--trees 3 --depth 3 --population 20 --iterations 40"),
    ("policy-gradient", "--trees 2 --depth 3 --population 20 --iterations 30"),
    ("swarm-tree", "--max-leaves 8"),
    ("cart", ""),
    ("apso-tree", "--ignore town --population 20 --iterations 40 --repeats 2"),
    ("tso-tree", "--population 20 --iterations 40"),
    ("split-tree", "--population 20 --iterations 40"),
    ("greedy", "--trees 60 --depth 4"),
];

/// Methods with a work limit.
const BUDGETS: [&str; 2] = ["swarm", "swarm-tree"];

fn cases() -> Vec<KillCase> {
    let mut cases = Vec::new();
    for (method, size) in METHODS {
        let budgets: &[u32] = if BUDGETS.contains(&method) { &[0, 10, 44, 300] } else { &[0] };
        for budget in budgets {
            for every in [1, 7] {
                for threads in [1, 2] {
                    let mut line = format!(
                        "train b.csv --target sold --method {method} {size} --seed 3 --quiet \
                         --threads {threads} --out out.json"
                    );
                    if *budget > 0 {
                        line.push_str(&format!(" --budget {budget}"));
                    }
                    if method != "greedy" {
                        line.push_str(&format!(
                            " --checkpoint c --checkpoint-every {every} --resume"
                        ));
                    }
                    cases.push(KillCase { line, output: "out.json" });
                }
            }
        }
    }
    let model = |line: &str, output| KillCase { line: line.into(), output };
    cases.extend([
        model("predict model.json b.csv --out out.csv", "out.csv"),
        model("report model.json --out out.html", "out.html"),
        model("export model.json --out out.py", "out.py"),
        model("export model.json --out out.c", "out.c"),
        model(
            "tune r.csv --target price --trials 6 --folds 2 --study study.jsonl --quiet --threads 1 \
             --seed 2 --out out.json",
            "out.json",
        ),
    ]);
    cases
}

/// A small generator of random numbers: the times at which processes are killed.
struct KillTimes(u64);

impl KillTimes {
    fn next(&mut self, longest: Duration) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        longest.mul_f64((self.0 >> 40) as f64 / (1 << 24) as f64)
    }
}

fn start_and_kill(dir: &Scratch, line: &str, after: Duration) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args(line.split_whitespace())
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while begun.elapsed() < after {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

fn prepared() -> Scratch {
    let dir = Scratch::new();
    dir.file("b.csv", binary(400, 1)).file("r.csv", regression(200, 1));
    dir.run("train b.csv --target sold --method greedy --trees 3 --quiet --out model.json").works();
    dir
}

/// Kills a command so many times, and compares; the number of kills.
fn torture(case: &KillCase, kills: usize, times: &mut KillTimes) -> usize {
    let whole = prepared();
    let begun = Instant::now();
    whole.run(&case.line).works();
    let longest = begun.elapsed();

    let dir = prepared();
    let mut killed = 0;
    for _ in 0..kills {
        if start_and_kill(&dir, &case.line, times.next(longest)) {
            killed += 1;
        } else {
            // It has ended, and would have nothing left to do.
            for name in ["c", "study.jsonl"] {
                let _ = std::fs::remove_file(dir.path().join(name));
            }
        }
        if dir.path().join(case.output).exists() {
            assert_eq!(dir.read(case.output), whole.read(case.output), "torn: {case:?}");
        }
    }
    dir.run(&case.line).works();
    assert!(dir.read(case.output) == whole.read(case.output), "other bytes: {case:?}");
    assert_eq!(dir.names(), whole.names(), "other files: {case:?}");
    killed
}

#[test]
fn a_sample_of_commands_survives_kills() {
    let mut times = KillTimes(1);
    let cases = cases();
    for case in cases.iter().step_by(11).chain(&cases[cases.len() - 5..]) {
        torture(case, 2, &mut times);
    }
}

#[test]
#[ignore = "takes many minutes; make torture"]
fn torture_every_command_survives_kills() {
    let mut times = KillTimes(2);
    let mut kills = 0;
    for case in cases() {
        kills += torture(&case, 40, &mut times);
    }
    println!("{kills} kills");
}
