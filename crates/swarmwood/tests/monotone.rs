//! Models under random monotone constraints: the exact check proves every one of them, and random
//! pairs of rows find nothing either.

use std::fmt::Write;

use swarmwood::learn::budget::Budget;
use swarmwood::model::monotone::{Direction, MonotoneCheck, check};
use swarmwood::model::{FeatureValue, Model};
use swarmwood::params::{Method, Params};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::rng::Stream;
use swarmwood::train::{self, TrainOptions};

const NUMBERS: usize = 4;
const LEVELS: [&str; 3] = ["red", "green", "blue"];

/// Rows with numbers of many and of few values, missing values, a category, and noise that often
/// contradicts the constraints.
fn rows(stream: &mut Stream, binary: bool) -> Rows {
    let count = 60 + stream.below(200) as usize;
    let signs: Vec<f64> = (0..NUMBERS).map(|_| stream.normal()).collect();
    let mut csv = String::from("a,b,c,d,colour,y\n");
    for _ in 0..count {
        let mut score = 0.0;
        for (at, sign) in signs.iter().enumerate() {
            let value = match at % 2 {
                0 => stream.normal(),
                _ => stream.below(6) as f64,
            };
            score += sign * value + (3.0 * value).sin();
            if stream.unit() < 0.1 {
                csv.push(',');
            } else {
                write!(csv, "{value:.4},").unwrap();
            }
        }
        let level = stream.below(LEVELS.len() as u64 + 1) as usize;
        let colour = LEVELS.get(level).copied().unwrap_or_default();
        score += level as f64 + stream.normal();
        if binary {
            writeln!(
                csv,
                "{colour},{}",
                if (score > 2.0) != (stream.unit() < 0.15) { "yes" } else { "no" }
            )
            .unwrap();
        } else {
            writeln!(csv, "{colour},{:.4}", score.abs() + 0.01).unwrap();
        }
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    read::training(&Source::Bytes("random.csv".into(), csv.leak().as_bytes()), &options).unwrap()
}

/// A random method with random settings.
fn params(stream: &mut Stream, binary: bool) -> Params {
    let pick = |stream: &mut Stream, words: &[&'static str]| {
        words[stream.below(words.len() as u64) as usize]
    };
    let method = pick(stream, &["greedy", "greedy", "greedy", "swarm", "swarm-tree", "cart"]);
    let mut params = Params::of(Method::named(method).unwrap());
    let mut set = |name: &str, value: &str| params.set(name, value).unwrap();
    set("threads", "1");
    set("seed", &stream.below(1000).to_string());
    let numbers = [
        "squared",
        "squared-log",
        "squaredlogerror",
        "absolute",
        "huber",
        "quantile",
        "poisson",
        "gamma",
        "tweedie",
    ];
    match method {
        "greedy" | "swarm" => {
            let growth = pick(stream, &["depth", "leaf", "oblivious"]);
            set("growth", growth);
            set("depth", pick(stream, &["2", "3", "4"]));
            set("objective", if binary { "logistic" } else { pick(stream, &numbers) });
        }
        _ => {
            let criteria: &[&str] =
                if binary { &["gini", "entropy", "auto"] } else { &["squared", "absolute"] };
            set("criterion", pick(stream, criteria));
            set("folds", "3");
            set("min_leaf", pick(stream, &["1", "5"]));
        }
    }
    match method {
        "greedy" => {
            set("trees", pick(stream, &["1", "5", "20"]));
            set("booster", pick(stream, &["gbtree", "dart"]));
            set("learning_rate", pick(stream, &["0.1", "0.5", "1"]));
            set("max_bin", pick(stream, &["0", "8", "255"]));
            set("subsample", pick(stream, &["1", "0.7"]));
            set("lambda", pick(stream, &["0", "1"]));
        }
        "swarm" => {
            set("total_leaves", pick(stream, &["8", "16"]));
            set("budget", "60");
        }
        "swarm-tree" => {
            set("max_leaves", pick(stream, &["0", "4", "9"]));
            set("budget", "4");
            set("population", "2");
        }
        _ => set("prune", pick(stream, &["best", "none"])),
    }
    params
}

/// A random direction for each number, at least one of them.
fn directions(stream: &mut Stream) -> Vec<Option<Direction>> {
    loop {
        let direction = |_| match stream.below(3) {
            0 => None,
            1 => Some(Direction::Increasing),
            _ => Some(Direction::Decreasing),
        };
        let directions: Vec<Option<Direction>> = (0..NUMBERS).map(direction).collect();
        if directions.iter().any(Option::is_some) {
            return directions;
        }
    }
}

fn random_row(stream: &mut Stream) -> Vec<FeatureValue> {
    let mut number = |at: usize| match (stream.unit() < 0.1, at % 2) {
        (true, _) => f64::NAN,
        (false, 0) => 1.5 * stream.normal(),
        (false, _) => (stream.unit() * 14.0).floor() / 2.0 - 0.5,
    };
    let mut row: Vec<FeatureValue> =
        (0..NUMBERS).map(|at| FeatureValue::Number(number(at))).collect();
    row.push(FeatureValue::Category(stream.below(LEVELS.len() as u64 + 1) as u32));
    row
}

/// Compares random rows that differ in one constrained feature.
fn compare_pairs(
    model: &Model,
    directions: &[Option<Direction>],
    count: usize,
    stream: &mut Stream,
) {
    let constrained: Vec<(usize, Direction)> =
        directions.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?))).collect();
    for _ in 0..count {
        let (feature, direction) = constrained[stream.below(constrained.len() as u64) as usize];
        let row = random_row(stream);
        let mut values = [2.0 * stream.normal(), 2.0 * stream.normal()];
        values.sort_by(f64::total_cmp);
        let raw = values.map(|value| {
            let mut row = row.clone();
            row[feature] = FeatureValue::Number(value);
            model.raw_row(&row, None).unwrap()[0]
        });
        assert!(
            (raw[1] - raw[0]) * direction.sign() >= 0.0,
            "{row:?} {feature} {values:?} {raw:?}"
        );
    }
}

/// Trains a random model and checks it; whether constraints made a difference.
fn check_model(seed: u64, pairs: usize) -> bool {
    let mut stream = Stream::new(seed, 77, 0);
    let binary = stream.below(3) == 0;
    let (rows, mut params) = (rows(&mut stream, binary), params(&mut stream, binary));
    let free = seed.is_multiple_of(8).then(|| params.clone());
    let directions = directions(&mut stream);
    let words: Vec<&str> = directions
        .iter()
        .map(|direction| match direction {
            None => "0",
            Some(Direction::Increasing) => "1",
            Some(Direction::Decreasing) => "-1",
        })
        .collect();
    params.set("monotone", &format!("[{},0]", words.join(","))).unwrap();
    let method = params.method.name();
    let train = |params: Params| {
        let options = TrainOptions { budget: Some(Budget::unlimited()), ..TrainOptions::default() };
        train::train_with(&rows, None, &params.check().unwrap(), &options, &mut |_| {})
            .unwrap()
            .model
    };

    let model = train(params);
    let violated = |model: &Model| {
        directions.iter().enumerate().any(|(feature, direction)| {
            direction.is_some_and(|direction| {
                !matches!(check(model, feature, direction).unwrap(), MonotoneCheck::Proven { .. })
            })
        })
    };
    assert!(!violated(&model), "seed {seed}, {method}, {directions:?}");
    compare_pairs(&model, &directions, pairs, &mut stream);
    free.is_some_and(|params| violated(&train(params)))
}

#[test]
fn random_models_satisfy_their_constraints() {
    let fell = (0..240).filter(|&seed| check_model(seed, 100)).count();
    assert!(fell > 10, "only {fell} of 30 models without constraints violate them");
}

#[test]
#[ignore = "takes minutes; 10,000 models and a million pairs"]
fn ten_thousand_random_models_satisfy_their_constraints() {
    (0..10_000).for_each(|seed| {
        check_model(1000 + seed, 100);
    });
}
