//! A run with a work limit that is resumed from any of its checkpoints ends with the same bytes.

use std::path::Path;

use swarmwood::checkpoint::{Checkpoint, Keep};
use swarmwood::learn::event::Event;
use swarmwood::params::{Params, ValidParams};
use swarmwood::read::{self, ReadOptions, Rows, Source};
use swarmwood::search::rng::Stream;
use swarmwood::store;
use swarmwood::train::{TrainOptions, train_with};

fn rows() -> Rows {
    let mut stream = Stream::new(8, 0, 0);
    let mut csv = String::from("a,b,c,y\n");
    for _ in 0..60 {
        let [a, b, c] = [(); 3].map(|()| stream.unit());
        csv.push_str(&format!("{a:.3},{b:.3},{c:.3},{:.3}\n", (6.0 * a).sin() + b * c));
    }
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    read::training(&Source::Bytes("rows.csv".into(), csv.leak().as_bytes()), &options).unwrap()
}

fn params(budget: usize) -> ValidParams {
    let mut params = Params::default();
    let budget = budget.to_string();
    for (name, value) in [
        ("method", "swarm"),
        ("trees", "3"),
        ("max_leaves", "4"),
        ("threads", "1"),
        ("budget", &*budget),
    ] {
        params.set(name, value).unwrap();
    }
    params.check().unwrap()
}

/// The model of a run, and every checkpoint that it wrote.
fn run(rows: &Rows, params: &ValidParams, path: &Path, resume: bool) -> (String, Vec<Checkpoint>) {
    let keep = Keep { path: path.to_path_buf(), every: 1, resume };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    let mut stored = Vec::new();
    let mut observer = |event: &Event| {
        if !event.replayed {
            stored.extend(Checkpoint::load(path).ok());
        }
    };
    let trained = train_with(rows, None, params, &options, &mut observer).unwrap();
    stored.extend(Checkpoint::load(path).ok());
    stored.dedup();
    (store::to_text(&trained.model).unwrap(), stored)
}

#[test]
fn a_run_with_a_budget_resumes_to_the_same_bytes() {
    let path = std::env::temp_dir().join(format!("swarmwood-budget-{}", std::process::id()));
    let rows = rows();
    let mut resumed = 0;
    for budget in [4, 20, 40, 75, 150] {
        let params = params(budget);
        let _ = std::fs::remove_file(&path);
        let (whole, checkpoints) = run(&rows, &params, &path, false);
        let step = checkpoints.len().div_ceil(12).max(1);
        for checkpoint in checkpoints.iter().step_by(step) {
            checkpoint.save(&path).unwrap();
            assert_eq!(run(&rows, &params, &path, true).0, whole, "budget {budget}");
            resumed += 1;
        }
    }
    std::fs::remove_file(path).unwrap();
    assert!(resumed > 20, "only {resumed} runs were resumed");
}
