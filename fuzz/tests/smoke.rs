//! Every target on its corpus and on a few thousand mutations; the same ones each time.
//!
//! `make fuzz` runs longer, with coverage.

use swarmwood_fuzz::corpus;
use swarmwood_fuzz::runner::{FuzzOptions, fuzz, keep_panics};
use swarmwood_fuzz::targets::TARGETS;

/// Executions per target beyond its corpus, fewer where an execution trains something.
fn executions(target: &str) -> u64 {
    match target {
        "train" | "checkpoint" => 150,
        "journal" | "exports" => 1000,
        _ => 2500,
    }
}

#[test]
fn corpora_and_mutations_hold_the_limits() {
    keep_panics();
    let mut failures = Vec::new();
    for target in TARGETS {
        let kept = corpus::load(&corpus::kept_path(target.name));
        let count = kept.len() + (target.seeds)().len();
        let options = FuzzOptions {
            seed: 1,
            executions: count as u64 + executions(target.name),
            seconds: 10.0,
            corpus: kept,
            directory: None,
        };
        let report = fuzz(target, &options);
        assert!(report.accepted > 0, "{}: no input was accepted", target.name);
        failures.extend(
            report.failures.iter().map(|failure| {
                format!("{}: {} on {:?}", target.name, failure.message, failure.input)
            }),
        );
    }
    swarmwood_fuzz::scratch::clean();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
