//! Peak memory of training: a bound per row, above what is needed and below the cost of a copy.

use std::fmt::Write;

use crate::scratch::Scratch;
use crate::tables::regression;

const ROWS: usize = 1_000_000;

/// Two columns of small integers and a target computed from them: the fewer columns, the larger is
/// the fraction of memory beside the bins.
fn narrow(target: impl Fn(u32, u32) -> u32) -> String {
    let mut text = String::from("a,b,y\n");
    let mut state = 12_345u32;
    for _ in 0..ROWS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (a, b) = (state >> 24, state >> 16 & 63);
        writeln!(text, "{a},{b},{}", target(a, b)).unwrap();
    }
    text
}

/// The peak memory of training in bytes; `None` where the operating system does not report it.
fn peak(target: impl Fn(u32, u32) -> u32, options: &str) -> Option<u64> {
    let dir = Scratch::new();
    dir.file("narrow.csv", narrow(target));
    let report = dir.run(&format!(
        "train narrow.csv --target y --trees 2 --threads 1 {options} --out m.json --json --quiet"
    ));
    report.works().json()["peak_memory_bytes"].as_u64()
}

/// A row has 3 bytes of packed cells, 2 of codes and 4 of their record, 5 of target, 4 of score, 8
/// of derivatives and 4 of its leaf: 30 bytes, beside about 10 MB of program, sample and chunk. A
/// second copy of derivatives or targets, or predictions of all rows at once, took more than 85
/// bytes per row.
#[test]
fn a_million_classified_rows_take_little_more_than_their_bins() {
    let Some(peak) = peak(|a, b| u32::from(a > 100 + b), "--method greedy --task classification")
    else {
        return;
    };
    assert!(peak < 60 * ROWS as u64, "{peak} bytes");
}

/// Numeric targets take 3 bytes more, and the median error needs all errors at once, after the bins
/// were freed. With second copies as above it took 66 bytes per row.
#[test]
fn a_million_regression_rows_take_little_more_than_their_bins() {
    let Some(peak) = peak(|a, b| 3 * a + b, "--method greedy --task regression") else { return };
    assert!(peak < 56 * ROWS as u64, "{peak} bytes");
}

/// The default search copies the codes of its rows once for each of two folds, 11 bytes per row
/// each. For the current fold and its test rows it stores what greedy boosting stores, and the leaf
/// of every row in every tree. Folds that are all fitted at once, or a copy of the rows for each
/// candidate, would take twice as much.
#[test]
fn a_search_takes_a_small_multiple() {
    let Some(peak) = peak(|a, b| 3 * a + b, "--max-leaves 4 --budget 12 --task regression") else {
        return;
    };
    assert!(peak < 120 * ROWS as u64, "{peak} bytes");
}

/// A small compressed file with very many rows is refused before it fills the memory.
#[test]
fn rows_that_need_too_much_memory_are_an_early_error() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    let dir = Scratch::new();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(b"a,y\n").unwrap();
    let lines = "1,2\n2,3\n3,1\n".repeat(10_000);
    for _ in 0..60 {
        gzip.write_all(lines.as_bytes()).unwrap();
    }
    let bytes = gzip.finish().unwrap();
    assert!(bytes.len() < 100_000);
    dir.file("bomb.csv.gz", bytes);
    dir.file("t.csv", regression(200, 1));
    dir.run("train t.csv --target price --trees 3 --out m.json").works();

    let train = "train bomb.csv.gz --target y --out n.json";
    dir.fails(&format!("{train} --max-memory 4M"), 2, &["memory", "4.0 MB", "--max-memory"]);
    dir.fails(&format!("{train} --max-memory 4X"), 2, &["max-memory: is '4X', must be a size"]);
    dir.fails("evaluate m.json t.csv --max-memory 1k", 2, &["200 rows", "1.0 kB"]);
    // Sixteen bytes per cell are more than the codes and the scores of a wide table.
    let line = |row: usize| (0..12).map(|at| (row * (at + 3) % 17).to_string()).collect::<Vec<_>>();
    let lines: Vec<String> = (0..200).map(|row| line(row).join(",") + "\n").collect();
    dir.file("columns.csv", format!("a,b,c,d,e,f,g,h,i,j,k,y\n{}", lines.concat()));
    let cart =
        "train columns.csv --target y --task regression --method cart --out n.json --max-memory";
    dir.fails(&format!("{cart} 30k"), 1, &["all rows in memory", "--max-memory"]);
    dir.run(&format!("{cart} 10M")).works();
    // Predicting needs memory for some rows only.
    dir.file("wide.csv", regression(3000, 1));
    dir.run("predict m.json wide.csv --out p.csv").works();
}
