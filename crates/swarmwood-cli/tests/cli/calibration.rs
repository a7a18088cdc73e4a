//! Calibration: metrics and charts.

use std::fmt::Write;

use crate::scratch::Scratch;
use crate::tables::regression;

/// Rows whose probability of a hit, in thousandths, depends on one column.
fn random_hits(rows: usize, probability: impl Fn(usize) -> usize) -> String {
    let mut text = String::from("x,hit\n");
    let mut state = 9_u32;
    for row in 0..rows {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let x = row % 4;
        let hit = (state >> 16) as usize % 1000 < probability(x);
        writeln!(text, "{x},{}", if hit { "yes" } else { "no" }).unwrap();
    }
    text
}

#[test]
fn calibrated_probabilities_have_a_small_calibration_error() {
    let dir = Scratch::new();
    let probability = |x: usize| [100, 300, 600, 900][x];
    dir.file("train.csv", random_hits(8000, probability))
        .file("same.csv", random_hits(6001, probability));
    dir.file("other.csv", random_hits(6001, |x| probability(x) / 2));
    dir.run("train train.csv --target hit --trees 4 --max-leaves 4 --quiet --out m.json").works();
    let same = dir.run("evaluate m.json same.csv --json --plot same.svg").works().json();
    let other = dir.run("evaluate m.json other.csv --json").works().json();
    assert!(same["ece"].as_f64().unwrap() < 0.03, "{same}");
    // Half of the predicted hits occur: errors of 0.05, 0.15, 0.3 and 0.45.
    assert!((other["ece"].as_f64().unwrap() - 0.2375).abs() < 0.03, "{other}");
    assert!(same["brier"].as_f64().unwrap() < other["brier"].as_f64().unwrap());
    let bins = same["calibration_bins"].as_array().unwrap();
    assert_eq!(bins.len(), 4, "{same}");
    assert_eq!(bins.iter().map(|bin| bin["rows"].as_u64().unwrap()).sum::<u64>(), 6001);
    assert!(
        bins.iter().zip([0.1, 0.3, 0.6, 0.9]).all(|(bin, p)| (bin["mean_actual"]
            .as_f64()
            .unwrap()
            - p)
            .abs()
            < 0.05)
    );
    let svg = dir.read("same.svg");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    for part in [
        "m.json on 6001 rows: ece 0.0",
        ", brier 0.1",
        ">observed frequency<",
        ">rows<",
        ">95 % interval<",
    ] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    // Four bins and their dots.
    assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
}

#[test]
fn regression_is_drawn_as_actual_against_predicted() {
    let dir = Scratch::new();
    dir.file("r.csv", regression(500, 1));
    dir.run("train r.csv --target price --method greedy --trees 20 --quiet --out m.json").works();
    let metrics = dir.run("evaluate m.json r.csv --plot numbers.svg --json").works().json();
    assert!(
        metrics.get("ece").is_none() && metrics["calibration_bins"].as_array().unwrap().len() > 5,
        "{metrics}"
    );
    let svg = dir.read("numbers.svg");
    for part in [">predicted<", ">actual<", ">residual (actual - predicted)<", "rmse ", "r2 "] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
    dir.fails("evaluate m.json r.csv --plot no/such/p.svg", 1, &["no/such/p.svg"]);
}
