//! Peak memory of training: a bound per row, above the need and below the cost of keeping too much.

use std::fmt::Write;

use crate::scratch::Scratch;

const ROWS: usize = 1_000_000;

/// Two columns of small whole numbers and what `target` makes of them: the narrower the rows, the
/// more weighs what is kept beside their bins.
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

/// The peak of the process while it trains on the rows, in bytes; nothing where the system does not
/// tell.
fn peak(target: impl Fn(u32, u32) -> u32, options: &str) -> Option<u64> {
    let dir = Scratch::new();
    dir.file("narrow.csv", narrow(target));
    let report = dir.run(&format!(
        "train narrow.csv --target y --trees 2 --threads 1 {options} --out m.json --json --quiet"
    ));
    report.works().json()["peak_memory_bytes"].as_u64()
}

/// A row has 3 bytes of packed cells, 2 of codes and 4 of their record, 5 of target, 4 of score, 8
/// of derivatives and 4 of its place in the tree: 30, beside some 10 MB of program, sample and
/// chunk. Derivatives or targets kept twice, or predictions of all rows at once, have taken more
/// than 85 bytes a row.
#[test]
fn a_million_classified_rows_take_little_more_than_their_bins() {
    let Some(peak) = peak(|a, b| u32::from(a > 100 + b), "--method greedy --task classification")
    else {
        return;
    };
    assert!(peak < 60 * ROWS as u64, "{peak} bytes");
}

/// Numbers as targets take 3 bytes more, and their median error wants all errors at once, when the
/// bins are gone. Kept as carelessly as above they have taken 66 bytes a row.
#[test]
fn a_million_regression_rows_take_little_more_than_their_bins() {
    let Some(peak) = peak(|a, b| 3 * a + b, "--method greedy --task regression") else { return };
    assert!(peak < 56 * ROWS as u64, "{peak} bytes");
}

/// The default search copies the codes of its rows once for each of two folds, 11 bytes a row each,
/// and keeps for the fold in hand and for the rows left out what greedy boosting keeps, and where
/// every row stands in every tree. Folds that are all fitted at once, or a copy of the rows for
/// each candidate, would take twice as much.
#[test]
fn a_search_takes_a_small_multiple() {
    let Some(peak) = peak(|a, b| 3 * a + b, "--max-leaves 4 --budget 12 --task regression") else {
        return;
    };
    assert!(peak < 120 * ROWS as u64, "{peak} bytes");
}
