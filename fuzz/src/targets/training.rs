//! Any small table with any method and any parameters: training ends with a model that can be
//! stored, read and used, or with an error.

use std::fmt::Write;

use swarmwood::model::format;
use swarmwood::params::{AllowedValues, Gather, Method, ParamSpec, TABLE};
use swarmwood::predict::Scorer;
use swarmwood::read::{self, ReadOptions, TaskChoice};
use swarmwood::search::rng::Stream;
use swarmwood::{store, train};

use super::tables::with_source;
use crate::byte_source::ByteSource;
use crate::mutate::below;
use crate::target::FuzzTarget;

/// Training.
pub const TRAIN: FuzzTarget = FuzzTarget {
    name: "train",
    description: "training of any small table with any method",
    seeds,
    mutators: &[mutate_choice, mutate_choice, mutate_choice],
    repair: None,
    describe: Some(describe),
    run,
};

/// Bytes for the method, the shape of the table and the parameters; cells follow.
const CHOICES: usize = 24;

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for method in 0..Method::ALL.len() as u64 {
        for target in 0..3 {
            let mut stream = Stream::new(5, method, target);
            let mut bytes = vec![method as u8, target as u8, 12 + stream.below(12) as u8, 3];
            bytes.extend((0..CHOICES as u64 + 100).map(|_| stream.next_u32() as u8));
            seeds.push(bytes);
        }
    }
    seeds
}

/// A byte becomes another: choices are read from all of them.
// The type of all mutators.
#[allow(clippy::ptr_arg)]
fn mutate_choice(input: &mut Vec<u8>, stream: &mut Stream) {
    let part = if below(stream, 2) == 0 { input.len().min(CHOICES) } else { input.len() };
    let at = below(stream, part);
    if let Some(byte) = input.get_mut(at) {
        *byte = stream.next_u32() as u8;
    }
}

/// Parameters that are limited here, because they multiply the time: a large value is no failure.
const COSTS: [&str; 12] = [
    "trees",
    "iterations",
    "population",
    "repeats",
    "budget",
    "max_leaves",
    "total_leaves",
    "depth",
    "max_bin",
    "grid_thresholds",
    "prune_folds",
    "forest_trees",
];

fn parameter(spec: &ParamSpec, bytes: &mut ByteSource<'_>) -> String {
    match spec.allowed {
        AllowedValues::Choices(choices) => choices[bytes.below(choices.len())].name.to_string(),
        AllowedValues::Switch => ["false", "true"][bytes.below(2)].to_string(),
        AllowedValues::Matrix => bytes.choose(&["none", "0,1;5,0", "0,1,2;1,0,1;0,0,0"]).into(),
        AllowedValues::FeatureGroups { .. } => {
            bytes.choose(&["none", "pairwise", "no_interactions", "a,b;*"]).into()
        }
        AllowedValues::ByFeature { .. } => {
            let texts =
                ["none", "a:+", "a:1,b:2", "[1]", "[1,-1]", "[0,1,0]", "[-1,0,1,0]", "absent:+"];
            bytes.choose(&texts).into()
        }
        AllowedValues::Splits(_) => {
            let texts = [
                "none",
                "a<=0.5",
                "a<=1e300",
                "b in {x,y}",
                "absent<=1",
                "{\"feature\":\"a\",\"threshold\":1,\"left\":{\"feature\":\"a\",\"threshold\":0}}",
            ];
            bytes.choose(&texts).into()
        }
        AllowedValues::Text(_) => {
            bytes.choose(&["none", "f1", "cost=5:1", "recall=0.5", "0..100", "0..1"]).into()
        }
        AllowedValues::Whole { min, max } => {
            let largest = if COSTS.contains(&spec.name) { min + 6 } else { max };
            let number = match bytes.below(8) {
                7 => largest.min(max),
                6 => largest.min(max) / 2,
                small => min + small as u64,
            };
            number.clamp(min, max).to_string()
        }
        AllowedValues::Number { min, max, .. } => {
            let middle = if max.is_finite() { (min + max) / 2.0 } else { min + 1.0 };
            let top = if max.is_finite() { max } else { 1e300 };
            bytes.choose(&[middle, 0.1, 0.5, 1.0, 1e-9, min, top, 10.0]).to_string()
        }
    }
}

/// A cell of a feature.
fn cell(kind: usize, bytes: &mut ByteSource<'_>) -> String {
    const WORDS: [&str; 5] = ["x", "y", "z", "", "a longer word"];
    const EXTREME: [&str; 12] = [
        "1e308",
        "-1e308",
        "5e-324",
        "inf",
        "-inf",
        "",
        "0",
        "-0",
        "1e-300",
        "1",
        "1.0000000000000002",
        "1e16",
    ];
    match kind {
        0 => format!("{}", f64::from(bytes.byte()) / 16.0),
        1 => format!("{}", bytes.below(3)),
        2 => WORDS[bytes.below(WORDS.len())].to_string(),
        3 => EXTREME[bytes.below(EXTREME.len())].to_string(),
        4 => String::from("7"),
        _ => String::new(),
    }
}

fn target(kind: usize, bytes: &mut ByteSource<'_>) -> String {
    const EXTREME: [&str; 8] =
        ["1e308", "-1e308", "1e300", "5e-324", "0", "1e-300", "1e153", "-1e153"];
    match kind {
        0 => format!("{}", f64::from(bytes.byte()) - 100.0),
        1 => bytes.choose(&["no", "yes"]).into(),
        2 => bytes.choose(&["low", "middle", "high", "x"]).into(),
        3 => EXTREME[bytes.below(EXTREME.len())].to_string(),
        4 => format!("{}", bytes.below(4)),
        _ => String::from("1"),
    }
}

/// The table that bytes describe.
fn table(bytes: &mut ByteSource<'_>, target_kind: usize, rows: usize, columns: usize) -> String {
    let kinds: Vec<usize> = (0..columns).map(|_| bytes.below(6)).collect();
    let mut csv: String = (0..columns).map(|column| format!("c{column},")).collect();
    csv.push_str("w,y\n");
    for _ in 0..rows {
        kinds.iter().for_each(|&kind| csv.push_str(&(cell(kind, bytes) + ",")));
        let weight = bytes.choose(&["1", "1", "2", "0", "0.001", "1e20", "1e-20"]);
        // Writing to a string never fails.
        let _ = writeln!(csv, "{weight},{}", target(target_kind, bytes));
    }
    csv
}

/// What an input describes.
struct TrainingCase {
    params: Vec<(&'static str, String)>,
    options: ReadOptions,
    csv: String,
}

fn decode(input: &[u8]) -> TrainingCase {
    let mut bytes = ByteSource::new(input);
    let method = Method::ALL[bytes.below(Method::ALL.len())];
    let (target_kind, rows, columns) = (bytes.below(6), bytes.below(40), bytes.below(6));
    let task =
        bytes.choose(&[TaskChoice::Auto, TaskChoice::Regression, TaskChoice::Classification]);
    let weight = (bytes.below(3) == 0).then(|| "w".to_string());

    let threads = bytes.choose(&["1", "1", "1", "2"]).to_string();
    let mut params = vec![("method", method.name().to_string()), ("threads", threads)];
    for name in COSTS.iter().take(4).filter(|name| method.spec().uses(name)) {
        params.push((name, bytes.choose(&["1", "2", "3", "5"]).to_string()));
    }
    let usable: Vec<&ParamSpec> = TABLE
        .iter()
        .filter(|spec| method.spec().parameters.contains(&spec.name) && spec.name != "time_limit")
        .collect();
    for _ in 0..bytes.below(6) {
        let spec = usable[bytes.below(usable.len())];
        params.push((spec.name, parameter(spec, &mut bytes)));
    }

    let csv = table(&mut bytes, target_kind, rows, columns);
    let ignore = weight.is_none().then(|| "w".to_string()).into_iter().collect();
    let options =
        ReadOptions { target: "y".into(), weight, ignore, task, ..ReadOptions::default() };
    TrainingCase { params, options, csv }
}

fn describe(input: &[u8]) -> String {
    let case = decode(input);
    let params: String = case
        .params
        .iter()
        .map(|(name, value)| format!(" --{} {value}", name.replace('_', "-")))
        .collect();
    let (weight, task) = (&case.options.weight, case.options.task);
    format!("swarmwood train --target y{params}, weight {weight:?}, task {task:?}\n{}", case.csv)
}

fn run(input: &[u8]) -> bool {
    let case = decode(input);
    let mut gather = Gather::default();
    case.params.iter().for_each(|(name, value)| gather.set(name, value));
    let Ok(params) = gather.finish() else { return false };
    with_source("table.csv", case.csv.as_bytes(), |source| {
        let Ok(rows) = read::training(source, &case.options) else { return false };
        let Ok(trained) = train::train(&rows, None, &params, &mut |_| {}) else { return false };

        let text = store::to_text(&trained.model).expect("a trained model can be stored");
        let again = format::from_json(text.as_bytes()).expect("a stored model can be read");
        let scorer = Scorer::new(&again, None, 1).expect("no threads are started");
        let check = rows.for_each_chunk(&mut |chunk| {
            let raw = scorer.raw(chunk)?;
            assert!(!raw.iter().any(|score| score.is_nan()), "a training row has no score");
            Ok(())
        });
        check.expect("training rows can be read again and predicted");
        true
    })
}
