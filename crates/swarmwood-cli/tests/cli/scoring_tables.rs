//! Tables of predictions at scale: Parquet out of CSV and Parquet, in constant memory, whole or not
//! at all.

use std::fmt::Write;
use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::scratch::Scratch;
use crate::tables::regression;

/// A table of two columns and a target.
fn rows(count: usize) -> String {
    let mut text = String::from("a,b,y\n");
    let mut state = 12_345u32;
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (a, b) = (state >> 24, state >> 16 & 63);
        writeln!(text, "{a},{b},{}", 3 * a + b).unwrap();
    }
    text
}

/// A model of `a` and `b`, and one of the raw scores of the first, which the first writes.
fn with_models() -> Scratch {
    let dir = Scratch::new();
    dir.file("small.csv", rows(500)).file("raw.csv", "raw,y\n1,1\n200,2\n400,3\n700,4\n");
    dir.run("train small.csv --target y --method greedy --trees 3 --out m.json").works();
    let train = "train raw.csv --target y --task regression --method greedy --trees 2";
    dir.run(&format!("{train} --min-leaf 1 --out n.json")).works();
    dir
}

fn report(dir: &Scratch, line: &str) -> Value {
    dir.run(&format!("{line} --json --quiet")).works().json()
}

/// The peak with ten times as many rows is the same, but for what the allocator keeps; a second copy
/// of one column would take 8 MB more.
#[test]
fn memory_does_not_grow_with_the_rows() {
    let dir = with_models();
    let mut peaks: Vec<Vec<u64>> = Vec::new();
    for count in [100_000, 1_000_000] {
        dir.file("big.csv", rows(count));
        let to_parquet = report(&dir, "predict m.json big.csv --raw --out raw.parquet");
        let through_parquet = report(&dir, "predict n.json raw.parquet --out p.parquet");
        let to_csv = report(&dir, "predict n.json raw.parquet --out p.csv");
        assert_eq!(to_csv["rows"], count);
        let peak = |report: &Value| report["peak_memory_bytes"].as_u64();
        let Some(all) = [to_parquet, through_parquet, to_csv].iter().map(peak).collect() else {
            return;
        };
        peaks.push(all);
    }
    for (few, many) in peaks[0].iter().zip(&peaks[1]) {
        assert!(*many < few + (6 << 20), "{peaks:?}");
    }
}

#[test]
fn parquet_and_csv_hold_the_same_predictions() {
    let dir = with_models();
    dir.run("predict m.json small.csv --raw --out raw.parquet").works();
    dir.run("predict m.json small.csv --raw --out raw.csv").works();
    let of = |source: &str| dir.run(&format!("predict n.json {source} --out -")).works().out;
    assert_eq!(of("raw.parquet"), of("raw.csv"));
    dir.fails("predict m.json small.csv --safe-csv --out p.parquet", 2, &["safe-csv", "Parquet"]);
}

/// Parquet is read from its end, so that a pipe is stored first.
#[test]
fn parquet_is_read_from_a_pipe() {
    let dir = with_models();
    dir.run("predict m.json small.csv --raw --out raw.parquet").works();
    let piped = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
        .args(["predict", "n.json", "-"])
        .current_dir(dir.path())
        .stdin(Stdio::from(File::open(dir.path().join("raw.parquet")).unwrap()))
        .output()
        .unwrap();
    let whole = dir.run("predict n.json raw.parquet").works().out;
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), whole);
}

/// The bad row is in the second chunk, when the first one is already in the temporary file.
#[test]
fn a_bad_late_row_leaves_nothing() {
    let dir = with_models();
    let mut text = rows(70_000);
    text += "1,2\n";
    dir.file("late.csv", text).file("old.parquet", "old");
    for out in ["new.parquet", "new.csv", "old.parquet"] {
        dir.fails(&format!("predict m.json late.csv --out {out}"), 2, &["late.csv:70002"]);
    }
    assert_eq!(dir.read("old.parquet"), "old");

    dir.file("wide.csv", regression(10, 1));
    dir.fails("predict m.json wide.csv --out new.parquet", 2, &["wide.csv"]);
}
