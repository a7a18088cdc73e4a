//! Fingerprints of whole training runs: any change of behaviour shows in the diff of
//! `tests/golden/models.tsv`.
//!
//! `UPDATE_GOLDEN=1 cargo test --package swarmwood --test golden` rewrites the file.

use std::fmt::Write;
use std::path::Path;

use swarmwood::model::format;
use swarmwood::params::{Method, Params};
use swarmwood::read::{self, ReadOptions, Source};
use swarmwood::search::rng::{Stream, fingerprint};
use swarmwood::train;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/models.tsv");

/// A table with numbers, missing values, flags and categories, and three kinds of target.
fn table() -> &'static [u8] {
    let mut stream = Stream::new(1, 2, 3);
    let mut csv = String::from("a,b,flag_1,flag_2,colour,price,bought,grade\n");
    for _ in 0..6000 {
        let (a, b) = (stream.unit(), (stream.unit() * 50.0).floor());
        let (flag, colour) = (stream.below(3), stream.below(5));
        let price =
            10.0 * (a * 6.0).sin() + b * 0.2 + flag as f64 + if colour == 2 { 4.0 } else { 0.0 };
        let noisy = price + stream.normal();
        let missing = if stream.unit() < 0.05 { String::new() } else { format!("{a:.6}") };
        let bought = if noisy > 8.0 { "yes" } else { "no" };
        let grade = ["low", "middle", "high"][(noisy.max(0.0) / 7.0).min(2.0) as usize];
        let colour = ["red", "green", "blue", "grey", ""][colour as usize];
        let (one, two) = (u8::from(flag == 1), u8::from(flag == 2));
        writeln!(csv, "{missing},{b},{one},{two},{colour},{:.4},{bought},{grade}", noisy.max(0.0))
            .unwrap();
    }
    csv.leak().as_bytes()
}

/// A name for the line, the target, and the parameters that differ from the defaults.
type Run = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const SMALL: (&str, &str) = ("population", "20");
const SHORT: (&str, &str) = ("iterations", "12");
const ADAPTIVE: (&str, &str) = ("adaptive", "true");

const RUNS: &[Run] = &[
    ("depth", "price", &[]),
    ("leaf", "price", &[("growth", "leaf"), ("depth", "0"), ("max_leaves", "20")]),
    ("oblivious", "price", &[("growth", "oblivious"), ("depth", "5")]),
    ("few bins", "price", &[("max_bin", "16"), ("gamma", "5"), ("lambda", "0")]),
    ("samples", "price", &[("subsample", "0.5"), ("colsample_bytree", "0.6"), ("seed", "7")]),
    ("dart", "price", &[("booster", "dart"), ("rate_drop", "0.3"), ("skip_drop", "0")]),
    ("linear", "price", &[("booster", "gblinear")]),
    ("squared-log", "price", &[("objective", "squared-log")]),
    ("absolute", "price", &[("objective", "absolute")]),
    ("huber", "price", &[("objective", "huber"), ("huber_delta", "2")]),
    ("quantile", "price", &[("objective", "quantile"), ("quantile", "0.9")]),
    ("poisson", "price", &[("objective", "poisson")]),
    ("tweedie", "price", &[("objective", "tweedie"), ("tweedie_power", "1.3")]),
    ("logistic", "bought", &[("growth", "leaf")]),
    ("softmax", "grade", &[("growth", "oblivious"), ("depth", "4")]),
    ("swarm", "price", &[("method", "swarm"), ("trees", "3"), ("max_leaves", "8")]),
    (
        "swarm classes",
        "bought",
        &[("method", "swarm"), ("trees", "3"), ("max_leaves", "8"), ("growth", "leaf")],
    ),
    (
        "swarm levels",
        "grade",
        &[("method", "swarm"), ("trees", "2"), ("growth", "oblivious"), ("depth", "3")],
    ),
    (
        "swarm total",
        "price",
        &[
            ("method", "swarm"),
            ("trees", "0"),
            ("total_leaves", "24"),
            ("growth", "leaf"),
            ("depth", "0"),
        ],
    ),
    (
        "sgbdt",
        "price",
        &[("method", "sgbdt"), ("growth", "oblivious"), SMALL, SHORT, ("trees", "4")],
    ),
    (
        "sgbdt-bins",
        "bought",
        &[
            ("method", "sgbdt-bins"),
            ("growth", "depth"),
            ("max_bin", "20"),
            ("depth", "3"),
            SMALL,
            SHORT,
            ADAPTIVE,
        ],
    ),
    (
        "psgbdt",
        "price",
        &[("method", "psgbdt"), ("growth", "oblivious"), ("mutation", "0.05"), SMALL, SHORT],
    ),
    (
        "seeded",
        "grade",
        &[
            ("method", "psgbdt"),
            ("growth", "depth"),
            ("greedy_seed", "true"),
            ("depth", "3"),
            SMALL,
            SHORT,
        ],
    ),
    ("tree-sum", "price", &[("method", "tree-sum"), ("total_splits", "7"), ("budget", "12")]),
    ("tree-sum classes", "bought", &[("method", "tree-sum"), ("budget", "6"), ("guard", "false")]),
    ("tree-sum grades", "grade", &[("method", "tree-sum"), ("total_splits", "4"), ("budget", "6")]),
    ("cart", "price", &[("method", "cart"), ("max_leaves", "40"), ("depth", "0")]),
    (
        "cart classes",
        "grade",
        &[("method", "cart"), ("prune", "1-se"), ("criterion", "entropy"), ("depth", "6")],
    ),
    (
        "swarm-tree",
        "grade",
        &[("method", "swarm-tree"), ("max_leaves", "8"), ("depth", "0"), ("budget", "8")],
    ),
    (
        "swarm-tree numbers",
        "price",
        &[("method", "swarm-tree"), ("max_leaves", "8"), ("depth", "0")],
    ),
    (
        "swarm-tree costs",
        "bought",
        &[
            ("method", "swarm-tree"),
            ("depth", "3"),
            ("costs", "0,1;5,0"),
            ("budget", "4"),
            ("guard", "false"),
        ],
    ),
    (
        "apso-tree",
        "grade",
        &[("method", "apso-tree"), ("grid_thresholds", "7"), ("depth", "0"), SMALL, SHORT],
    ),
    (
        "apso-tree options",
        "grade",
        &[
            ("method", "apso-tree"),
            ("variables", "forest"),
            ("optimizer", "aco"),
            ("empty_cells", "random"),
            ("grid_thresholds", "12"),
            ("max_leaves", "20"),
            ("depth", "0"),
            SMALL,
            SHORT,
        ],
    ),
    ("tso-tree", "grade", &[("method", "tso-tree"), ("depth", "3"), SMALL, SHORT]),
    (
        "split-tree",
        "bought",
        &[("method", "split-tree"), ("depth", "3"), ("mutation", "0.05"), SMALL, SHORT],
    ),
];

#[test]
fn training_runs_end_where_they_did() {
    let csv = table();
    let mut lines =
        String::from("run\ttrees\ttraining metric\tvalue\tfingerprint of the model file\n");
    for &(name, target, changes) in RUNS {
        let others = ["price", "bought", "grade"]
            .into_iter()
            .filter(|other| *other != target)
            .map(String::from);
        // A grid has numbers alone.
        let category = name.starts_with("apso-tree").then(|| "colour".to_string());
        let ignore = others.chain(category).collect();
        let options = ReadOptions { target: target.into(), ignore, ..ReadOptions::default() };
        let rows = read::training(&Source::Bytes("golden.csv".into(), csv), &options).unwrap();
        let mut params =
            Params { trees: 12, learning_rate: 0.3, threads: 2, ..Params::of(Method::GREEDY) };
        changes.iter().for_each(|(name, value)| params.set(name, value).unwrap());
        let trained = train::train(&rows, None, &params.check().unwrap(), &mut |_| {}).unwrap();
        let json = format::to_json(&trained.model).unwrap();
        let (metric, value) = trained.train_metrics[0];
        let rounds = trained.rounds;
        writeln!(
            lines,
            "{name}\t{rounds}\t{metric}\t{value:.9}\t{:032x}",
            fingerprint(json.bytes().map(u64::from))
        )
        .unwrap();
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &lines).unwrap();
    }
    let golden = std::fs::read_to_string(Path::new(GOLDEN)).unwrap_or_default();
    assert_eq!(
        golden, lines,
        "training has changed; if it was meant to, renew with UPDATE_GOLDEN=1"
    );
}
