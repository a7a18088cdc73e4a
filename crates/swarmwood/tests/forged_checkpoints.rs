//! Checkpoints with a correct checksum and forged content: a run that resumes from one ends with a
//! model or with an error, never with a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use swarmwood::checkpoint::{Checkpoint, Keep, snapshot};
use swarmwood::learn::event::Event;
use swarmwood::params::{Gather, ValidParams};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::Datum;
use swarmwood::search::rng::Stream;
use swarmwood::train::{TrainOptions, TrainResult, train_with};
use swarmwood::{Result, store};

/// A small table with two targets.
fn rows(target: &str) -> Rows {
    let mut stream = Stream::new(5, 0, 0);
    let mut csv = String::from("a,b,town,price,grade\n");
    for _ in 0..48 {
        let (a, b, town) = (stream.unit(), stream.unit(), stream.below(3));
        let price = 3.0 * a + b * b + town as f64;
        let grade = ["low", "middle", "high"][(price / 2.0).min(2.0) as usize];
        csv.push_str(&format!("{a:.3},{b:.3},t{town},{price:.3},{grade}\n"));
    }
    let ignore = if target == "price" { "grade" } else { "price" };
    let options = ReadOptions {
        target: target.into(),
        ignore: vec![ignore.into()],
        ..ReadOptions::default()
    };
    read::training(&Source::Bytes("rows.csv".into(), csv.leak().as_bytes()), &options).unwrap()
}

fn params(given: &[(&str, &str)]) -> ValidParams {
    let mut gather = Gather::default();
    gather.set("threads", "1");
    given.iter().for_each(|(name, value)| gather.set(name, value));
    gather.finish().unwrap()
}

fn train(rows: &Rows, params: &ValidParams, path: &Path, resume: bool) -> Result<TrainResult> {
    let keep = Keep { path: path.to_path_buf(), every: 1, resume };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    train_with(rows, None, params, &options, &mut |_| {})
}

/// The checkpoints that a run writes, a few of them from its whole course.
fn checkpoints(rows: &Rows, params: &ValidParams, path: &Path) -> Vec<Checkpoint> {
    let keep = Keep { path: path.to_path_buf(), every: 1, resume: false };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    let mut stored = Vec::new();
    let mut observer = |_: &Event| stored.extend(Checkpoint::load(path).ok());
    train_with(rows, None, params, &options, &mut observer).unwrap();
    stored.extend(Checkpoint::load(path).ok());
    stored.dedup();
    let step = stored.len().div_ceil(3).max(1);
    stored.into_iter().rev().step_by(step).collect()
}

/// Counts the values of a datum, or replaces the one with the number `at`.
fn visit(datum: &mut Datum, at: &mut usize, forge: &mut dyn FnMut(&mut Datum)) {
    if *at == 0 {
        forge(datum);
    }
    *at = at.wrapping_sub(1);
    match datum {
        Datum::List(items) => items.iter_mut().for_each(|item| visit(item, at, forge)),
        Datum::Record(fields) => fields.iter_mut().for_each(|(_, item)| visit(item, at, forge)),
        _ => {}
    }
}

/// Another value in the place of one.
fn forged(datum: &Datum, stream: &mut Stream) -> Datum {
    const NUMBERS: [u64; 8] = [0, 1, 2, 3, 255, 1 << 20, u32::MAX as u64, u64::MAX];
    const REALS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1.0, 0.5];
    let mut choose = |count: usize| stream.below(count as u64) as usize;
    match datum {
        Datum::Natural(number) => match choose(10) {
            8 => Datum::Natural(number + 1),
            9 => Datum::Real(0.0),
            at => Datum::Natural(NUMBERS[at]),
        },
        Datum::Integer(number) => match choose(4) {
            0 => Datum::Integer(i64::MIN),
            1 => Datum::Integer(i64::MAX),
            2 => Datum::Integer(-number),
            _ => Datum::Integer(number.wrapping_add(1)),
        },
        Datum::Real(_) => Datum::Real(REALS[choose(REALS.len())]),
        Datum::Text(text) => {
            Datum::Text(if choose(2) == 0 { String::new() } else { format!("{text}x") })
        }
        Datum::List(items) => {
            let mut items = items.clone();
            match (choose(4), items.len()) {
                (0, _) => items.clear(),
                (1, 1..) => drop(items.pop()),
                (2, 2..) => items.swap(0, 1),
                _ => items.extend(items.last().cloned()),
            }
            Datum::List(items)
        }
        Datum::Record(fields) => {
            let mut fields = fields.clone();
            if !fields.is_empty() {
                fields.remove(choose(fields.len()));
            }
            Datum::Record(fields)
        }
    }
}

/// Resumes a run from many forged checkpoints.
fn forge_many(name: &str, target: &str, given: &[(&str, &str)], count: usize) {
    let directory =
        std::env::temp_dir().join(format!("swarmwood-forged-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path: PathBuf = directory.join("run.ckpt");
    let (rows, params) = (rows(target), params(given));
    let originals = checkpoints(&rows, &params, &path);
    assert!(!originals.is_empty(), "{name} stores no checkpoint");

    let mut stream = Stream::new(9, 0, 0);
    let mut refused = 0;
    for at in 0..count {
        let original = &originals[at % originals.len()];
        let mut state = snapshot::decode(&original.payload).unwrap();
        let mut all = 0;
        count_values(&state, &mut all);
        let mut chosen = stream.below(all as u64) as usize;
        let number = chosen;
        visit(&mut state, &mut chosen, &mut |datum| *datum = forged(datum, &mut stream));

        let forged = Checkpoint { payload: snapshot::encode(&state), ..original.clone() };
        forged.save(&path).unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| train(&rows, &params, &path, true)));
        let result = result.unwrap_or_else(|_| panic!("{name}: value {number} of {at}"));
        match result {
            Ok(trained) => drop(
                store::to_text(&trained.model)
                    .unwrap_or_else(|error| panic!("{name}: value {number} of {at}: {error}")),
            ),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0, "{name}: every forged checkpoint was believed");
    std::fs::remove_dir_all(directory).unwrap();
}

fn count_values(datum: &Datum, count: &mut usize) {
    *count += 1;
    match datum {
        Datum::List(items) => items.iter().for_each(|item| count_values(item, count)),
        Datum::Record(fields) => fields.iter().for_each(|(_, item)| count_values(item, count)),
        _ => {}
    }
}

#[test]
fn the_search_of_ensembles_survives_forged_checkpoints() {
    let small = [("method", "swarm"), ("trees", "2"), ("max_leaves", "4")];
    forge_many("swarm", "price", &small, 40);
    forge_many("swarm-classes", "grade", &small, 40);
    let limited = [small[0], small[1], small[2], ("budget", "60")];
    forge_many("swarm-budget", "price", &limited, 20);
}

#[test]
fn learners_of_one_tree_survive_forged_checkpoints() {
    forge_many("cart", "price", &[("method", "cart")], 20);
    let limited = [("method", "swarm-tree"), ("budget", "8"), ("population", "2")];
    forge_many("swarm-tree", "grade", &limited, 25);
    let sum = [("method", "tree-sum"), ("budget", "6"), ("total_splits", "4")];
    forge_many("tree-sum", "grade", &sum, 25);
    let short = ("iterations", "4");
    forge_many("tso-tree", "grade", &[("method", "tso-tree"), short, ("depth", "3")], 25);
    let split = [("method", "split-tree"), short, ("population", "6"), ("depth", "3")];
    forge_many("split-tree", "grade", &split, 25);
}

#[test]
fn published_swarms_survive_forged_checkpoints() {
    let (few, short) = (("population", "6"), ("iterations", "4"));
    for method in ["sgbdt", "sgbdt-bins", "psgbdt", "policy-gradient"] {
        let given = [("method", method), few, short, ("trees", "3"), ("depth", "2")];
        forge_many(method, "price", &given, 25);
    }
    let adaptive = [("method", "sgbdt-bins"), few, short, ("depth", "2"), ("adaptive", "true")];
    forge_many("adaptive", "price", &adaptive, 20);
}

#[test]
fn a_checkpoint_without_its_state_is_refused() {
    let directory =
        std::env::temp_dir().join(format!("swarmwood-stateless-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("run.ckpt");
    let (few, short) = (("population", "4"), ("iterations", "3"));
    for (given, missing) in [
        (&[("method", "swarm"), ("trees", "2"), ("max_leaves", "4")][..], "search"),
        (&[("method", "swarm-tree"), ("budget", "4"), ("population", "2")], "search"),
        (&[("method", "cart")], "search"),
        (&[("method", "sgbdt"), ("trees", "2"), ("depth", "2"), few, short], "swarm"),
    ] {
        let (rows, params) = (rows("price"), params(given));
        let original = checkpoints(&rows, &params, &path).remove(0);
        for missing in [missing, "events"] {
            let mut state = snapshot::decode(&original.payload).unwrap();
            let Datum::Record(fields) = &mut state else { panic!("a state has fields") };
            let count = fields.len();
            fields.retain(|(name, _)| name != missing);
            assert_eq!(fields.len(), count - 1, "{given:?} has no {missing}");

            let forged = Checkpoint { payload: snapshot::encode(&state), ..original.clone() };
            forged.save(&path).unwrap();
            let error = train(&rows, &params, &path, true).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{given:?} starts anew without {missing}"));
            assert!(error.contains("leave out --resume"), "{error}");
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// The value at a path of fields.
fn field<'d>(datum: &'d mut Datum, path: &[&str]) -> &'d mut Datum {
    let Some((name, rest)) = path.split_first() else { return datum };
    let Datum::Record(fields) = datum else { panic!("no fields on the way to {name}") };
    let found = fields.iter_mut().find(|(own, _)| own == name);
    field(&mut found.unwrap_or_else(|| panic!("no field {name}")).1, rest)
}

#[test]
fn a_swarm_without_limits_is_refused() {
    let directory = std::env::temp_dir().join(format!("swarmwood-limit-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("run.ckpt");
    let (few, short) = (("population", "4"), ("iterations", "3"));
    let given = [("method", "sgbdt"), ("trees", "2"), ("depth", "2"), few, short];
    let (rows, params) = (rows("price"), params(&given));
    // The first of all: at the end nothing would be left to do.
    let original = checkpoints(&rows, &params, &path).pop().unwrap();
    for (name, value) in [
        (&["swarm", "state", "config", "generations"][..], Datum::List(Vec::new())),
        (&["swarm", "state", "generation"], Datum::Natural(u64::MAX)),
        (&["swarm", "state", "trials", "next"], Datum::Natural(u64::MAX)),
    ] {
        let mut state = snapshot::decode(&original.payload).unwrap();
        *field(&mut state, name) = value;
        let forged = Checkpoint { payload: snapshot::encode(&state), ..original.clone() };
        forged.save(&path).unwrap();
        assert!(matches!(
            train(&rows, &params, &path, true),
            Err(swarmwood::Error::Checkpoint { .. })
        ));
    }
    std::fs::remove_dir_all(directory).unwrap();
}
