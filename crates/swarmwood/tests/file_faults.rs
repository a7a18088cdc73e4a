//! Every operation that changes a file fails once, in every way, and kills the process once: what is
//! left is whole, and the same command ends with the same bytes afterwards.
//!
//! Needs the feature `test-hooks`, which `make test` enables.
#![cfg(feature = "test-hooks")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use swarmwood::checkpoint::Keep;
use swarmwood::file_faults::{FileFault, KILLED, clear, inject};
use swarmwood::learn::budget::Budget;
use swarmwood::params::Gather;
use swarmwood::read::{self, ReadOptions, Source};
use swarmwood::search::options::EngineOptions;
use swarmwood::search::{Param, Space};
use swarmwood::train::{TrainOptions, train_with};
use swarmwood::tune::{
    FoldResult, Proposal, Study, StudyHeader, StudyLimits, StudyMetric, StudyTask, TrialObjective,
    read_study,
};
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result, store};

/// The plan of faults is the process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A command that writes files to a directory; the same again goes on from what is there.
type Workload = fn(&Path) -> Result<()>;

const WORKLOADS: [(&str, Workload, &str); 4] = [
    ("train-search", train_search, "model.json"),
    ("train-swarm", train_swarm, "model.json"),
    ("tune", tune, "trials.txt"),
    ("replace", replace, "table.csv"),
];

fn train(directory: &Path, given: &[(&str, &str)]) -> Result<()> {
    let mut csv = String::from("a,b,y\n");
    (0..24).for_each(|i| csv.push_str(&format!("{},{},{}\n", i * 7 % 24, i % 5, i * i % 17)));
    let options = ReadOptions { target: "y".into(), ..ReadOptions::default() };
    let rows = read::training(&Source::Bytes("t.csv".into(), csv.leak().as_bytes()), &options)?;
    let mut gather = Gather::default();
    gather.set("threads", "1");
    given.iter().for_each(|(name, value)| gather.set(name, value));

    let keep = Keep { path: directory.join("run.ckpt"), every: 3, resume: true };
    let options = TrainOptions { keep: Some(keep), ..TrainOptions::default() };
    let trained = train_with(&rows, None, &gather.finish()?, &options, &mut |_| {})?;
    store::save(&trained.model, &directory.join("model.json"))
}

fn train_search(directory: &Path) -> Result<()> {
    train(directory, &[("method", "swarm"), ("trees", "2"), ("max_leaves", "3"), ("budget", "20")])
}

fn train_swarm(directory: &Path) -> Result<()> {
    let given = [("method", "sgbdt"), ("population", "4"), ("iterations", "6"), ("depth", "2")];
    train(directory, &[&given[..], &[("trees", "2")]].concat())
}

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
    ) -> std::result::Result<FoldResult, String> {
        let x = trial.space.number(0, trial.point[0]).ok_or("no x")?;
        Ok(FoldResult { loss: (x - 3.0).abs() + fold as f64, rounds: None })
    }
}

fn tune(directory: &Path) -> Result<()> {
    let path = directory.join("study.jsonl");
    let header = StudyHeader {
        engine: "tpe".into(),
        engine_options: EngineOptions::DEFAULTS,
        seed: 1,
        space: Space::new(vec![Param::integer("x", -50, 50)]).unwrap(),
        parallel_trials: 2,
        folds: 2,
        prune: true,
        task: StudyTask {
            text: "distance".into(),
            fingerprint: 1,
            metric: StudyMetric { name: "loss".into(), from: None },
            fixed: Vec::new(),
        },
    };
    let mut study = Study::open(Some(&path), header)?;
    let limits = StudyLimits { trials: 5, threads: 1, ..StudyLimits::default() };
    study.run(&Distance, &limits, &mut |_| {})?;
    drop(study);

    let trials = read_study(&path)?.trials;
    let lines = trials.iter().map(|trial| format!("{:?} {:?}\n", trial.point, trial.outcome));
    let text: String = lines.collect();
    write_atomically(&directory.join("trials.txt"), |out| out.write_all(text.as_bytes()))
}

/// Replaces a file by a longer one, in more than one write.
fn replace(directory: &Path) -> Result<()> {
    write_atomically(&directory.join("table.csv"), |out| {
        (0..40_000).try_for_each(|row| writeln!(out, "{row}"))
    })
}

fn fresh(name: &str) -> PathBuf {
    // In memory, where the system has such a place: every file is synced.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let directory = parent.join(format!("swarmwood-faults-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What an undisturbed run leaves, and how many operations it makes.
struct Expected {
    names: Vec<String>,
    result: Vec<u8>,
    operations: u64,
}

fn undisturbed(name: &str, workload: Workload, result: &str) -> Expected {
    let directory = fresh(&format!("{name}-expected"));
    clear();
    workload(&directory).unwrap();
    let operations = clear();
    let expected = Expected {
        names: names(&directory),
        result: std::fs::read(directory.join(result)).unwrap(),
        operations,
    };
    std::fs::remove_dir_all(directory).unwrap();
    expected
}

/// The result is the old one, a whole new one, or not there.
fn check_result(path: &Path, expected: &Expected, place: &str) {
    if let Ok(found) = std::fs::read(path) {
        assert!(found == b"old" || found == expected.result, "{place}: a torn file");
    }
}

fn check_again(
    directory: &Path,
    workload: Workload,
    result: &str,
    expected: &Expected,
    place: &str,
) {
    workload(directory).unwrap_or_else(|error| panic!("{place}: the next start fails: {error}"));
    let found = std::fs::read(directory.join(result)).unwrap();
    assert!(found == expected.result, "{place}: the next start ends with other bytes");
    assert_eq!(names(directory), expected.names, "{place}: files are left behind");
}

#[test]
fn failed_operations_are_errors_that_leave_whole_files() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (name, workload, result) in WORKLOADS {
        let expected = undisturbed(name, workload, result);
        assert!(expected.operations > 3, "{name} makes {} operations", expected.operations);
        for fault in [FileFault::Fail, FileFault::ShortWrite, FileFault::DiskFull] {
            for operation in 0..expected.operations {
                let place = format!("{name}, {fault:?} at operation {operation}");
                let directory = fresh(name);
                std::fs::write(directory.join(result), "old").unwrap();
                inject(operation, fault);
                let outcome = workload(&directory);
                clear();

                check_result(&directory.join(result), &expected, &place);
                match outcome {
                    Err(Error::Write { .. } | Error::Study { .. }) => {}
                    Err(other) => panic!("{place}: {other}"),
                    // A temporary file has another name where the first cannot be had.
                    Ok(()) => check_result(&directory.join(result), &expected, &place),
                }
                let is_side = |name: &String| name.ends_with(".tmp");
                assert!(!names(&directory).iter().any(is_side), "{place}: a temporary file stays");
                check_again(&directory, workload, result, &expected, &place);
            }
        }
    }
}

#[test]
fn a_process_that_is_killed_at_any_operation_goes_on() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (at, (name, workload, result)) in WORKLOADS.into_iter().enumerate() {
        let expected = undisturbed(name, workload, result);
        for operation in 0..expected.operations {
            let place = format!("{name}, killed at operation {operation}");
            let directory = fresh(&format!("{name}-killed"));
            std::fs::write(directory.join(result), "old").unwrap();
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["the_process_that_is_killed", "--exact", "--ignored"])
                .env("FAULT_TEST_DIRECTORY", &directory)
                .env("FAULT_TEST_PLACE", format!("{at} {operation}"))
                .output()
                .unwrap();
            // Results of trials that come at the same time are written together, so that a run of
            // the study may have fewer operations than the undisturbed one.
            if child.status.success() && operation > expected.operations / 2 {
                std::fs::remove_dir_all(directory).unwrap();
                break;
            }
            assert_eq!(child.status.code(), Some(KILLED), "{place}");

            check_result(&directory.join(result), &expected, &place);
            check_again(&directory, workload, result, &expected, &place);
            std::fs::remove_dir_all(directory).unwrap();
        }
    }
}

/// No test of its own: the other process of the test above.
#[test]
#[ignore = "started by a_process_that_is_killed_at_any_operation_goes_on"]
fn the_process_that_is_killed() {
    let Some(directory) = std::env::var_os("FAULT_TEST_DIRECTORY") else { return };
    let place = std::env::var("FAULT_TEST_PLACE").unwrap();
    let (workload, operation) = place.split_once(' ').unwrap();
    let (_, workload, _) = WORKLOADS[workload.parse::<usize>().unwrap()];
    inject(operation.parse().unwrap(), FileFault::Kill);
    let _ = workload(Path::new(&directory));
}
