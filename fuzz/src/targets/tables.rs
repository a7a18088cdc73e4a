//! Tables as text: training and scoring.
//!
//! The first byte of an input says how the rest is read.
//!
//! **Unsafe code.** Bytes in memory are a source only for the whole program: an input is leaked for
//! the time of an execution and taken back behind it.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::OnceLock;

use swarmwood::model::Model;
use swarmwood::params::Gather;
use swarmwood::predict::{PredictionColumns, PredictionRequest, Scorer, TableFormat, write_table};
use swarmwood::read::{
    self, DecimalSign, KeepColumns, ReadOptions, Rows, Source, TaskChoice, TextFormat,
};
use swarmwood::search::rng::Stream;
use swarmwood::train;

use crate::lines::{mutate_fields, mutate_lines, mutate_quotes};
use crate::target::FuzzTarget;

/// Reading rows to train on.
pub const CSV_TRAIN: FuzzTarget = FuzzTarget {
    name: "csv-train",
    description: "rows of a text file to train on",
    seeds: training_seeds,
    mutators: &[mutate_lines, mutate_fields, mutate_fields, mutate_quotes],
    repair: Some(repair_training),
    describe: None,
    run: run_training,
};

/// Reading rows to predict, and writing predictions.
pub const CSV_SCORE: FuzzTarget = FuzzTarget {
    name: "csv-score",
    description: "rows of a text file to predict, and the predictions as text",
    seeds: scoring_seeds,
    mutators: &[mutate_lines, mutate_fields, mutate_fields, mutate_quotes],
    repair: Some(repair_scoring),
    describe: None,
    run: run_scoring,
};

/// A table with numbers, missing values and categories, and three targets.
pub fn table(rows: usize) -> String {
    let mut stream = Stream::new(1, 2, 3);
    let mut csv = String::from("a,b,colour,w,price,bought,grade\n");
    for _ in 0..rows {
        let (a, b, colour) = (stream.unit(), stream.below(9), stream.below(4) as usize);
        let price = 5.0 * a + b as f64 + stream.normal() * 0.1;
        let bought = if price > 6.0 { "yes" } else { "no" };
        let grade = ["low", "middle", "high"][(price / 5.0).clamp(0.0, 2.0) as usize];
        let colour = ["red", "green", "dark blue", ""][colour];
        let a = if b == 3 { String::new() } else { format!("{a:.3}") };
        csv.push_str(&format!("{a},{b},{colour},{},{price:.3},{bought},{grade}\n", 1 + b % 3));
    }
    csv
}

/// The rows of [`table`] with one target.
pub fn rows(count: usize, target: &str) -> Rows {
    let others = ["w", "price", "bought", "grade"].into_iter().filter(|name| *name != target);
    let options = ReadOptions {
        target: target.into(),
        ignore: others.map(String::from).collect(),
        ..ReadOptions::default()
    };
    let source = Source::Bytes("table.csv".into(), table(count).leak().as_bytes());
    read::training(&source, &options).expect("the table is valid")
}

/// A model that was trained on [`table`].
pub fn model(target: &str, given: &[(&str, &str)]) -> Model {
    let mut gather = Gather::default();
    gather.set("threads", "1");
    given.iter().for_each(|(name, value)| gather.set(name, value));
    let params = gather.finish().expect("valid parameters");
    train::train(&rows(60, target), None, &params, &mut |_| {}).expect("a model").model
}

/// Calls a function with bytes as a source.
pub fn with_source<R>(name: &str, bytes: &[u8], work: impl FnOnce(&Source) -> R) -> R {
    let owned = Box::into_raw(bytes.to_vec().into_boxed_slice());
    // SAFETY: the slice lives until the end of this function, and `work` returns nothing that
    // borrows from the source: rows of a source in memory are copied or read again from the source,
    // and all rows are dropped in `work`.
    let result = work(&Source::Bytes(name.to_string(), unsafe { &*owned }));
    // SAFETY: made by `into_raw` above.
    drop(unsafe { Box::from_raw(owned) });
    result
}

fn training_seeds() -> Vec<Vec<u8>> {
    let csv = table(12).replace("price", "y");
    let classes = table(9).replace("bought", "y").replace(',', ";");
    let quoted = "a,\"b\"\"c\",y\r\n1,\"x,\r\ny\",0\r\n?,NA,1\r\n\"2.5\",z,1\r\n";
    let numbers = "y\ta\n1e308\tinf\n-5e-324\tnan\n0\t-0\n";
    let one = |first: u8, text: &str| [&[first], text.as_bytes()].concat();
    vec![one(0, &csv), one(4, &csv), one(2 + 8, &classes), one(16, quoted), one(1, numbers)]
}

/// Puts the target back: without it nothing else is read.
fn repair_training(input: &mut Vec<u8>) {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    let separator = if input[..end].contains(&b';') { b';' } else { b',' };
    let mut names = input[..end].split(|&byte| byte == separator).skip(1);
    if !names.any(|name| name == b"y") {
        input.splice(end..end, [separator, b'y']);
    }
}

fn read_options(first: u8) -> ReadOptions {
    let given = |bit: u8, name: &str| (first & bit != 0).then(|| name.to_string());
    ReadOptions {
        target: "y".into(),
        weight: given(4, "w"),
        categorical: given(8, "a").into_iter().collect(),
        ignore: given(16, "b").into_iter().collect(),
        format: TextFormat {
            delimiter: (first & 32 != 0).then_some(b';'),
            decimal: (first & 64 != 0).then_some(DecimalSign::Comma),
            thousands: (first & 128 != 0).then_some('.'),
            encoding: None,
        },
        task: [TaskChoice::Auto, TaskChoice::Regression, TaskChoice::Classification]
            [usize::from(first & 3) % 3],
        ..ReadOptions::default()
    }
}

/// Reads rows as `first` says and goes through all of them.
pub fn read_training(first: u8, bytes: &[u8]) -> bool {
    with_source("input", bytes, |source| {
        let Ok(rows) = read::training(source, &read_options(first)) else { return false };
        let mut count = 0;
        let again = rows.for_each_chunk(&mut |chunk| {
            count += chunk.rows;
            assert!(chunk.target.iter().all(|value| value.is_finite()), "a target is not finite");
            Ok(())
        });
        again.expect("rows that were read can be read again");
        assert_eq!(count, rows.rows, "rows that were read are counted");
        true
    })
}

fn run_training(input: &[u8]) -> bool {
    let Some((&first, bytes)) = input.split_first() else { return false };
    read_training(first, bytes)
}

fn scoring_seeds() -> Vec<Vec<u8>> {
    let csv = table(10);
    let quoted = "colour,a,b\n\"red\",1,2\n\"=1+1\",,\n";
    let one = |first: u8, text: &str| [&[first], text.as_bytes()].concat();
    vec![one(0, &csv), one(1, &csv), one(2, quoted), one(3, &csv), one(4, quoted)]
}

/// Puts the header back: without its columns nothing is read.
fn repair_scoring(input: &mut Vec<u8>) {
    let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(input.len());
    let first = input.first().copied().unwrap_or(0);
    let header = if first & 16 == 0 { "a,b,colour" } else { "b,colour,x,a" };
    input.splice(..end, [&[first], header.as_bytes()].concat());
}

fn scorer() -> &'static Scorer<'static> {
    static SCORER: OnceLock<Scorer<'static>> = OnceLock::new();
    SCORER.get_or_init(|| {
        let given = [("method", "greedy"), ("trees", "3"), ("depth", "3")];
        let model = Box::leak(Box::new(model("grade", &given)));
        Scorer::new(model, None, 1).expect("no threads are started")
    })
}

fn run_scoring(input: &[u8]) -> bool {
    let Some((&first, bytes)) = input.split_first() else { return false };
    let what = [
        PredictionColumns::Prediction,
        PredictionColumns::Raw,
        PredictionColumns::Leaves,
        PredictionColumns::Contributions,
    ][usize::from(first) % 4];
    with_source("input", bytes, |source| {
        let options = ReadOptions::default();
        let request = PredictionRequest {
            keep: &KeepColumns::None,
            source,
            options: &options,
            what,
            format: TableFormat::Csv,
            safe_csv: first & 8 != 0,
            reasons: usize::from(first & 16 != 0),
        };
        let mut out = Vec::new();
        let written = write_table(scorer(), &request, &mut out, Path::new("out"), &|| true);
        let Ok(report) = written else { return false };
        let lines = out.iter().filter(|&&byte| byte == b'\n').count() as u64;
        assert!(report.rows == 0 || lines == report.rows + 1, "one line per row and a header");
        true
    })
}
