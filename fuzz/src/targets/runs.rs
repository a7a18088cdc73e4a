//! What runs leave behind to go on from: journals of studies and checkpoints.

use std::path::Path;
use std::sync::OnceLock;

use swarmwood::checkpoint::{Checkpoint, Keep, snapshot};
use swarmwood::learn::budget::Budget;
use swarmwood::params::{Gather, ValidParams};
use swarmwood::read::Rows;
use swarmwood::search::Datum;
use swarmwood::search::options::EngineOptions;
use swarmwood::search::rng::{Stream, fingerprint};
use swarmwood::store;
use swarmwood::train::{TrainOptions, train_with};
use swarmwood::tune::{
    FoldResult, Proposal, Study, StudyHeader, StudyLimits, StudyMetric, StudyTask, TrialObjective,
    read_study, space_file,
};

use super::tables::rows;
use crate::json_text::mutate_json;
use crate::lines::mutate_lines;
use crate::mutate::below;
use crate::scratch;
use crate::target::FuzzTarget;

/// Journals of studies: reading one, and going on with it.
pub const JOURNAL: FuzzTarget = FuzzTarget {
    name: "journal",
    description: "journals of studies, read and continued",
    seeds: journal_seeds,
    mutators: &[mutate_json, mutate_json, mutate_lines],
    repair: Some(seal),
    describe: None,
    run: run_journal,
};

/// Checkpoints of training runs.
pub const CHECKPOINT: FuzzTarget = FuzzTarget {
    name: "checkpoint",
    description: "checkpoints, and runs that go on from them",
    seeds: checkpoint_seeds,
    mutators: &[mutate_state],
    repair: None,
    describe: None,
    run: run_checkpoint,
};

struct Distance;

impl TrialObjective for Distance {
    fn folds(&self) -> usize {
        2
    }

    fn evaluate_fold(
        &self,
        trial: &Proposal<'_>,
        fold: usize,
        _: &Budget,
    ) -> Result<FoldResult, String> {
        let numbers = (0..trial.space.params().len())
            .filter_map(|at| trial.space.number(at, trial.point[at]));
        Ok(FoldResult { loss: numbers.sum::<f64>().abs() + fold as f64, rounds: Some(3) })
    }
}

fn header(engine: &str, prune: bool) -> StudyHeader {
    let text = "a = { type = 'integer', low = 1, high = 40 }\n\
        b = { type = 'real', low = 0.001, high = 1.0, scale = 'log' }\n\
        c = { type = 'choice', values = ['x', 'y'] }\n";
    StudyHeader {
        engine: engine.into(),
        engine_options: EngineOptions::DEFAULTS,
        seed: 3,
        space: space_file::parse("space", text).expect("a valid space"),
        parallel_trials: 2,
        folds: 2,
        prune,
        task: StudyTask {
            text: "distance".into(),
            fingerprint: 7,
            metric: StudyMetric { name: "loss".into(), from: None },
            fixed: Vec::new(),
        },
    }
}

fn journal_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (engine, prune) in [("random", true), ("tpe", false), ("pso", true)] {
        let path = scratch::path("seed.jsonl");
        let _ = std::fs::remove_file(&path);
        let mut study = Study::open(Some(&path), header(engine, prune)).expect("a new study");
        let limits = StudyLimits { trials: 5, threads: 1, ..StudyLimits::default() };
        study.run(&Distance, &limits, &mut |_| {}).expect("a short study");
        drop(study);
        seeds.extend(std::fs::read(&path));
        let _ = std::fs::remove_file(&path);
    }
    seeds
}

/// Computes the checksums of all lines anew, as somebody would who wants to be believed.
fn seal(input: &mut Vec<u8>) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut last = 0_u64;
    let mut out = String::new();
    for line in text.lines() {
        let rest = line.rfind(",\"checksum\":\"").map_or(line, |at| &line[..at]);
        let body = format!("{}}}", rest.strip_suffix('}').filter(|_| rest == line).unwrap_or(rest));
        last = fingerprint([last].into_iter().chain(body.bytes().map(u64::from))) as u64;
        out.push_str(&format!("{},\"checksum\":\"{last:016x}\"}}\n", &body[..body.len() - 1]));
    }
    *input = out.into_bytes();
}

fn run_journal(input: &[u8]) -> bool {
    let path = scratch::file("study.jsonl", input);
    let accepted = continue_study(&path);
    let _ = std::fs::remove_file(&path);
    accepted
}

fn continue_study(path: &Path) -> bool {
    let Ok(record) = read_study(path) else { return false };
    record.best();
    let known = record.trials.len();
    if record.header.folds != 2 || known > 200 {
        return true;
    }
    let Ok(mut study) = Study::open(Some(path), record.header) else { return true };
    let limits = StudyLimits { trials: known + 1, threads: 1, ..StudyLimits::default() };
    if study.run(&Distance, &limits, &mut |_| {}).is_ok() {
        drop(study);
        read_study(path).expect("a study that went on can be read");
    }
    true
}

/// A run whose checkpoints are mutated.
struct ResumedRun {
    rows: Rows,
    params: ValidParams,
    /// Its last checkpoint.
    checkpoint: Checkpoint,
}

const RUNS: [(&str, &[(&str, &str)]); 6] = [
    ("price", &[("method", "swarm"), ("trees", "2"), ("max_leaves", "3"), ("budget", "30")]),
    ("grade", &[("method", "swarm"), ("trees", "2"), ("max_leaves", "3"), ("budget", "30")]),
    ("grade", &[("method", "swarm-tree"), ("budget", "3"), ("population", "2"), ("depth", "2")]),
    ("grade", &[("method", "tso-tree"), ("iterations", "3"), ("population", "4"), ("depth", "2")]),
    (
        "bought",
        &[("method", "split-tree"), ("iterations", "3"), ("population", "4"), ("depth", "2")],
    ),
    (
        "price",
        &[
            ("method", "sgbdt"),
            ("iterations", "3"),
            ("population", "4"),
            ("trees", "2"),
            ("depth", "2"),
        ],
    ),
];

fn runs() -> &'static [ResumedRun] {
    static RUNS_ONCE: OnceLock<Vec<ResumedRun>> = OnceLock::new();
    RUNS_ONCE.get_or_init(|| RUNS.iter().map(|(target, given)| first_run(target, given)).collect())
}

fn first_run(target: &str, given: &[(&str, &str)]) -> ResumedRun {
    let mut gather = Gather::default();
    gather.set("threads", "1");
    given.iter().for_each(|(name, value)| gather.set(name, value));
    let params = gather.finish().expect("valid parameters");
    let rows = rows(20, target);

    let path = scratch::path("first.checkpoint");
    let keep = Keep { path: path.clone(), every: 1, resume: false };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    let mut stored = Vec::new();
    let mut observer = |_: &_| stored.extend(Checkpoint::load(&path).ok());
    train_with(&rows, None, &params, &options, &mut observer).expect("a short run");
    stored.extend(Checkpoint::load(&path).ok());
    // One from the middle: at the end there is little left to do with a state.
    let checkpoint = stored.swap_remove(stored.len() / 2);
    ResumedRun { rows, params, checkpoint }
}

fn checkpoint_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (at, run) in runs().iter().enumerate() {
        seeds.push([&[2 * at as u8 + 1], &run.checkpoint.payload[..]].concat());
        let path = scratch::path("seed.checkpoint");
        run.checkpoint.save(&path).expect("a checkpoint");
        let file = std::fs::read(&path).expect("the checkpoint");
        seeds.push([&[2 * at as u8], &file[..]].concat());
    }
    seeds
}

/// Changes a value of a state.
fn mutate_state(input: &mut Vec<u8>, stream: &mut Stream) {
    let Some((&first, payload)) = input.split_first() else { return };
    let Some(mut state) = snapshot::decode(payload).filter(|_| first % 2 == 1) else { return };
    let mut at = below(stream, count_values(&state));
    visit(&mut state, &mut at, &mut |datum| forge(datum, stream));
    *input = [&[first], &snapshot::encode(&state)[..]].concat();
}

fn count_values(datum: &Datum) -> usize {
    1 + match datum {
        Datum::List(items) => items.iter().map(count_values).sum(),
        Datum::Record(fields) => fields.iter().map(|(_, item)| count_values(item)).sum(),
        _ => 0,
    }
}

fn visit(datum: &mut Datum, at: &mut usize, change: &mut dyn FnMut(&mut Datum)) {
    if *at == 0 {
        change(datum);
    }
    *at = at.wrapping_sub(1);
    match datum {
        Datum::List(items) => items.iter_mut().for_each(|item| visit(item, at, change)),
        Datum::Record(fields) => fields.iter_mut().for_each(|(_, item)| visit(item, at, change)),
        _ => {}
    }
}

fn forge(datum: &mut Datum, stream: &mut Stream) {
    const NUMBERS: [u64; 8] = [0, 1, 2, 3, 255, 1 << 20, u32::MAX as u64, u64::MAX];
    const REALS: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1.0, 0.5, 5e-324];
    match datum {
        Datum::Natural(number) => match below(stream, 10) {
            8 => *number = number.wrapping_add(1),
            9 => *datum = Datum::Real(0.0),
            at => *number = NUMBERS[at],
        },
        Datum::Integer(number) => {
            *number = [i64::MIN, i64::MAX, number.wrapping_neg(), number.wrapping_add(1)]
                [below(stream, 4)];
        }
        Datum::Real(number) => *number = REALS[below(stream, REALS.len())],
        Datum::Text(text) => {
            *text = if below(stream, 2) == 0 { String::new() } else { text.clone() + "x" }
        }
        Datum::List(items) => match (below(stream, 4), items.len()) {
            (0, _) => items.clear(),
            (1, 1..) => drop(items.pop()),
            (2, 2..) => items.swap(0, 1),
            _ => items.extend(items.last().cloned()),
        },
        Datum::Record(fields) => {
            if !fields.is_empty() {
                fields.remove(below(stream, fields.len()));
            }
        }
    }
}

/// An even first byte: a file; an odd one: the state of a run, in a valid file.
fn run_checkpoint(input: &[u8]) -> bool {
    let Some((&first, bytes)) = input.split_first() else { return false };
    let run = &runs()[usize::from(first / 2) % RUNS.len()];
    let path = if first % 2 == 0 {
        scratch::file("run.checkpoint", bytes)
    } else {
        let path = scratch::path("run.checkpoint");
        let checkpoint = Checkpoint { payload: bytes.to_vec(), ..run.checkpoint.clone() };
        checkpoint.save(&path).expect("a checkpoint");
        path
    };

    let keep = Keep { path: path.clone(), every: 1000, resume: true };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    match train_with(&run.rows, None, &run.params, &options, &mut |_| {}) {
        Ok(trained) => {
            store::to_text(&trained.model).expect("the model of a resumed run can be stored");
            true
        }
        Err(_) => false,
    }
}
