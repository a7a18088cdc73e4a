//! The model of a run has the same bytes with one, two and eight threads, with every set of vector
//! instructions that the machine has, and with messages that pass through bytes: for every method,
//! on five tables.
//!
//! The choice of instructions holds for the process, so all comparisons are one test. It needs the
//! feature `test-hooks`, which `make test` enables.
#![cfg(feature = "test-hooks")]

use std::fmt::Write;

use swarmwood::learn::execution::{InstructionLimit, limit_instructions, route_through_loopback};
use swarmwood::params::{Gather, Method, TargetSupport};
use swarmwood::read::{self, ReadOptions, Rows, Source, TaskChoice};
use swarmwood::search::rng::Stream;
use swarmwood::{store, train};

/// How a run is executed.
#[derive(Debug, Clone, Copy)]
struct Execution {
    threads: usize,
    limit: InstructionLimit,
    loopback: bool,
}

const WIDEST: InstructionLimit = InstructionLimit::Avx512;
const EXECUTIONS: [Execution; 5] = [
    Execution { threads: 2, limit: WIDEST, loopback: false },
    Execution { threads: 8, limit: WIDEST, loopback: false },
    Execution { threads: 1, limit: InstructionLimit::Plain, loopback: false },
    Execution { threads: 2, limit: InstructionLimit::Avx2, loopback: false },
    Execution { threads: 2, limit: WIDEST, loopback: true },
];

/// A table, and whether its target has classes.
struct Sample {
    name: &'static str,
    csv: &'static [u8],
    has_classes: bool,
    has_categories: bool,
}

/// Numbers alone; many ties; missing values and categories; two classes; one column and few rows.
fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (at, (name, rows)) in
        [("smooth", 700), ("ties", 500), ("mixed", 600), ("two classes", 400), ("narrow", 90)]
            .into_iter()
            .enumerate()
    {
        let mut stream = Stream::new(11, at as u64, 0);
        let has_categories = matches!(at, 1 | 2);
        let mut csv = String::from(match at {
            4 => "a,y\n",
            2 => "a,b,c,town,y\n",
            _ => "a,b,c,y\n",
        });
        for _ in 0..rows {
            let (a, b, c) = (stream.unit(), stream.unit(), stream.normal());
            let signal = (a * 7.0).sin() + b * c.signum() + stream.normal() * 0.1;
            let class = ["low", "middle", "high"][((signal + 1.0).max(0.0) as usize).min(2)];
            // Writing to a string never fails.
            let _ = match at {
                0 => writeln!(csv, "{a},{b},{c},{signal}"),
                1 => writeln!(csv, "{},{},{},{}", stream.below(4), stream.below(3), b > 0.5, class),
                2 if stream.below(10) == 0 => writeln!(csv, ",{b},,t{},{signal}", stream.below(4)),
                2 => writeln!(csv, "{a:.2},{b:.1},{c:.1},t{},{signal:.2}", stream.below(4)),
                3 => writeln!(
                    csv,
                    "{a:.3},{b:.3},{c:.3},{}",
                    if signal > 0.0 { "yes" } else { "no" }
                ),
                _ => writeln!(csv, "{a:.2},{class}"),
            };
        }
        let has_classes = matches!(at, 1 | 3 | 4);
        samples.push(Sample { name, csv: csv.leak().as_bytes(), has_classes, has_categories });
    }
    samples
}

fn rows(sample: &Sample) -> Rows {
    let task = if sample.has_classes { TaskChoice::Classification } else { TaskChoice::Regression };
    let options = ReadOptions { target: "y".into(), task, ..ReadOptions::default() };
    read::training(&Source::Bytes(format!("{}.csv", sample.name), sample.csv), &options).unwrap()
}

/// The bytes of the model; `None` if the method does not take such a table.
fn model(method: Method, rows: &Rows, execution: Execution) -> Option<String> {
    limit_instructions(execution.limit);
    route_through_loopback(execution.loopback);
    let mut gather = Gather::default();
    gather.set("method", method.name());
    gather.set("threads", &execution.threads.to_string());
    let small = [
        ("trees", "3"),
        ("population", "6"),
        ("iterations", "5"),
        ("budget", "24"),
        ("depth", "4"),
    ];
    for (name, value) in small.into_iter().filter(|(name, _)| method.spec().uses(name)) {
        gather.set(name, value);
    }
    let params = gather.finish().unwrap();
    let trained = train::train(rows, None, &params, &mut |_| {});
    limit_instructions(WIDEST);
    route_through_loopback(false);
    trained.ok().map(|trained| store::to_text(&trained.model).unwrap())
}

/// Writes the models of this build, to be compared with those of another one (`make torture`).
#[test]
#[ignore = "make torture"]
fn store_models_of_this_build() {
    let directory = std::path::PathBuf::from(std::env::var_os("MODELS").unwrap());
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let execution = Execution { threads: 2, limit: WIDEST, loopback: false };
    for sample in samples() {
        for &method in Method::ALL {
            let model = model(method, &rows(&sample), execution).unwrap_or_default();
            let name = format!("{} {}.json", method.name(), sample.name);
            std::fs::write(directory.join(name), model).unwrap();
        }
    }
}

#[test]
fn neither_threads_nor_instructions_nor_messages_change_a_model() {
    for sample in samples() {
        let rows = rows(&sample);
        for &method in Method::ALL {
            let takes_target = method.spec().targets == TargetSupport::Any || sample.has_classes;
            let first = Execution { threads: 1, limit: WIDEST, loopback: false };
            let Some(expected) = model(method, &rows, first) else {
                // A grid has numbers alone.
                let is_grid = method == Method::APSO_TREE && sample.has_categories;
                assert!(!takes_target || is_grid, "{} {}", method.name(), sample.name);
                continue;
            };
            for execution in EXECUTIONS {
                let found = model(method, &rows, execution).unwrap();
                assert!(found == expected, "{} {} {execution:?}", method.name(), sample.name);
            }
        }
    }
}
