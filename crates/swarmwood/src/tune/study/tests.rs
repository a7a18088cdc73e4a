mod journals;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use swarmwood_search::options::EngineOptions;
use swarmwood_search::rng::hash;
use swarmwood_search::{
    BestTrial, Capabilities, De, ExternalTrial, Param, RandomSearch, Snapshot, Space, Trial,
    TrialResult,
};

use self::journals::without_checksums;
use super::*;
use crate::tune::{FoldResult, Proposal, StudyMetric, StudyTask, TrialOutcome, read_study};

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "swarmwood-study-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("s.jsonl")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn space() -> Space {
    Space::new(vec![
        Param::choice("kind", &["a", "b"]),
        Param::integer("depth", 1, 30).when("kind", &["a"]),
        Param::real("rate", 0.001, 1.0).log(),
    ])
    .unwrap()
}

fn header(folds: usize) -> StudyHeader {
    let metric = StudyMetric { name: "loss".to_string(), from: None };
    let task = StudyTask { text: "made up".to_string(), fingerprint: 7, metric, fixed: Vec::new() };
    StudyHeader {
        engine: "random".to_string(),
        engine_options: EngineOptions::DEFAULTS,
        seed: 11,
        space: space(),
        parallel_trials: 4,
        folds,
        prune: folds > 1,
        task,
    }
}

/// A made-up loss with noise that belongs to the fold, and a count of who was evaluated how often.
#[derive(Default)]
struct Made {
    folds: usize,
    counts: Mutex<BTreeMap<(u64, usize), usize>>,
    /// Every so many trials fail at their second fold, or panic at their first.
    fails: bool,
}

impl Made {
    fn new(folds: usize) -> Self {
        Made { folds, ..Made::default() }
    }

    fn evaluations(&self) -> usize {
        self.counts.lock().unwrap().values().sum()
    }
}

impl TrialObjective for Made {
    fn folds(&self) -> usize {
        self.folds
    }

    fn evaluate_fold(
        &self,
        trial: &Proposal<'_>,
        at: usize,
        _: &Budget,
    ) -> std::result::Result<FoldResult, String> {
        *self.counts.lock().unwrap().entry((trial.id, at)).or_default() += 1;
        let name = trial.point.fingerprint() as u64;
        match (self.fails, name % 7, at) {
            (true, 3, 1) => return Err("seven".to_string()),
            (true, 4, 0) => panic!("planted"),
            (true, 5, 0) => return Ok(FoldResult { loss: f64::NAN, rounds: None }),
            _ => (),
        }
        let noise = |a: u64, b: u64| hash(a, b, 0) as f64 / u64::MAX as f64;
        let rate = trial.space.number(2, trial.point[2]).unwrap();
        let loss = rate.ln().abs() + 2.0 * noise(at as u64, 1) + 0.3 * noise(name, at as u64);
        // Folds take different times, so that they overtake each other.
        std::thread::sleep(std::time::Duration::from_micros(hash(name, at as u64, 9) % 300));
        Ok(FoldResult { loss, rounds: Some(at + 1) })
    }
}

fn run(path: Option<&std::path::Path>, made: &Made, trials: usize, threads: usize) -> StudyOutcome {
    let mut study = Study::open(path, header(made.folds)).unwrap();
    study
        .run(made, &StudyLimits { trials, threads, ..StudyLimits::default() }, &mut |_| {})
        .unwrap()
}

/// What must not depend on the worker and the time.
fn timeless(trials: &[TrialRecord]) -> Vec<TrialRecord> {
    trials.iter().map(|trial| TrialRecord { seconds: 0.0, worker: 0, ..trial.clone() }).collect()
}

#[test]
fn threads_change_nothing() {
    for fails in [false, true] {
        let outcomes: Vec<StudyOutcome> = [1, 2, 8]
            .map(|threads| run(None, &Made { fails, ..Made::new(5) }, 60, threads))
            .into_iter()
            .collect();
        for outcome in &outcomes {
            assert_eq!(outcome.stop_reason, StopReason::Trials);
            assert_eq!(timeless(&outcome.trials), timeless(&outcomes[0].trials));
            assert_eq!(outcome.tally, outcomes[0].tally);
        }
        let tally = outcomes[0].tally;
        assert!(tally.folds_skipped > 20 && tally.pruned > 10, "nothing was pruned: {tally:?}");
        assert_eq!(tally.failed > 0, fails);
    }
}

#[test]
fn pruning_skips_folds_and_finds_the_same_best() {
    let whole = {
        let mut study = Study::open(None, StudyHeader { prune: false, ..header(5) }).unwrap();
        let limits = StudyLimits { trials: 80, threads: 2, ..StudyLimits::default() };
        study.run(&Made::new(5), &limits, &mut |_| {}).unwrap()
    };
    let pruned = run(None, &Made::new(5), 80, 2);
    assert_eq!(whole.tally.folds, 400);
    assert_eq!(pruned.tally.folds + pruned.tally.folds_skipped, 400);
    assert!(pruned.tally.folds < 260, "{:?}", pruned.tally);
    assert_eq!(pruned.best().unwrap().id, whole.best().unwrap().id);
    // A random search asks the same whatever it is told.
    assert!(whole.trials.iter().zip(&pruned.trials).all(|(a, b)| a.point == b.point));
}

#[test]
fn one_thread_evaluates_no_fold_that_pruning_skips() {
    let made = Made::new(5);
    let outcome = run(None, &made, 60, 1);
    assert_eq!(made.evaluations(), outcome.tally.folds);
}

/// An engine that writes down what it knew when it was asked.
struct Witness {
    engine: RandomSearch,
    told: Vec<u64>,
    asked: std::sync::Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Engine for Witness {
    fn capabilities(&self) -> Capabilities {
        self.engine.capabilities()
    }
    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        self.asked.lock().unwrap().push(self.told.clone());
        self.engine.ask(at_most)
    }
    fn tell(&mut self, outcomes: &[TrialResult]) {
        self.told.extend(outcomes.iter().map(TrialResult::id));
        self.engine.tell(outcomes);
    }
    fn add_trial(&mut self, trial: ExternalTrial) {
        self.engine.add_trial(trial);
    }
    fn best(&self) -> Option<BestTrial<'_>> {
        self.engine.best()
    }
    fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }
}

#[test]
fn a_trial_follows_from_the_outcomes_that_the_header_says() {
    for (parallel_trials, threads) in [(1, 3), (3, 1), (3, 8), (16, 2)] {
        let asked = std::sync::Arc::new(Mutex::new(Vec::new()));
        let header = StudyHeader { parallel_trials, ..header(2) };
        let engine = RandomSearch::new(&header.space, header.seed).unwrap();
        let witness = Witness { engine, told: Vec::new(), asked: asked.clone() };
        let mut study = Study::with_engine(None, header, Box::new(witness)).unwrap();
        let limits = StudyLimits { trials: 40, threads, ..StudyLimits::default() };
        study.run(&Made::new(2), &limits, &mut |_| {}).unwrap();
        let expected: Vec<Vec<u64>> = (0..40u64)
            .map(|t| (0..(t + 1).saturating_sub(parallel_trials as u64)).collect())
            .collect();
        assert_eq!(*asked.lock().unwrap(), expected, "parallel_trials {parallel_trials}");
    }
}

#[test]
fn an_engine_that_needs_a_generation_gets_it() {
    // A population of its own size and a parallel_trials beyond it: the engine gives nothing until its round is
    // done.
    let make = |threads: usize| {
        let space = Space::new(vec![
            Param::real("a", 0.0, 1.0),
            Param::real("b", 0.0, 1.0),
            Param::real("rate", 0.1, 1.0),
        ]);
        let header = StudyHeader { parallel_trials: 50, space: space.unwrap(), ..header(3) };
        let engine = De::new(&header.space, swarmwood_search::de::DeConfig::default(), 3).unwrap();
        let mut study = Study::with_engine(None, header, Box::new(engine)).unwrap();
        let limits = StudyLimits { trials: 150, threads, ..StudyLimits::default() };
        study.run(&Made::new(3), &limits, &mut |_| {}).unwrap()
    };
    let (one, eight) = (make(1), make(8));
    assert_eq!(one.trials.len(), 150);
    assert_eq!(timeless(&one.trials), timeless(&eight.trials));
}

#[test]
fn an_exhausted_engine_ends_the_study() {
    let space = Space::new(vec![Param::list("a", &[1.0, 2.0]), Param::choice("b", &["x", "y"]), {
        Param::list("rate", &[0.5, 1.0, 2.0])
    }]);
    let mut study = Study::open(None, StudyHeader { space: space.unwrap(), ..header(2) }).unwrap();
    let outcome = study.run(&Made::new(2), &StudyLimits::default(), &mut |_| {}).unwrap();
    assert_eq!((outcome.stop_reason, outcome.trials.len()), (StopReason::Exhausted, 12));
}

#[test]
fn failures_are_recorded() {
    let outcome = run(None, &Made { fails: true, ..Made::new(3) }, 60, 2);
    let reasons: std::collections::BTreeSet<&str> = outcome
        .trials
        .iter()
        .filter_map(|trial| match &trial.outcome {
            Some(TrialOutcome::Failed { reason }) => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        ["panicked: planted", "seven", "the loss is NaN"]
    );
    assert!(outcome.best().is_some());
}

/// A journal cut anywhere, also within a line, is what a kill leaves.
#[test]
fn a_study_killed_anywhere_resumes_to_the_same_trials() {
    let dir = Scratch::new();
    let whole = run(Some(&dir.journal()), &Made { fails: true, ..Made::new(4) }, 25, 2);
    let bytes = fs::read(dir.journal()).unwrap();
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1, "a lock file was left behind");
    let cuts = (0..bytes.len()).step_by(97).chain([0, 1, 19, bytes.len() - 1, bytes.len()]);
    for (at, cut) in cuts.enumerate() {
        let dir = Scratch::new();
        fs::write(dir.journal(), &bytes[..cut]).unwrap();
        let before = bytes[..cut].iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        let known = if before == 0 {
            Vec::new()
        } else {
            let recorded = read_study(&dir.journal()).unwrap();
            assert_eq!(recorded.notes.is_empty(), cut == before);
            recorded.trials
        };
        let made = Made { fails: true, ..Made::new(4) };
        let mut study = Study::open(Some(&dir.journal()), header(4)).unwrap();
        assert_eq!(study.notes().is_empty(), cut == before, "an unfinished line is noted");
        let limits = StudyLimits { trials: 25, threads: 1 + at % 3, ..StudyLimits::default() };
        let resumed = study.run(&made, &limits, &mut |_| {}).unwrap();
        assert_eq!(timeless(&resumed.trials), timeless(&whole.trials), "cut at {cut}");
        for trial in &known {
            for at in 0..trial.folds.len() {
                assert!(
                    !made.counts.lock().unwrap().contains_key(&(trial.id, at)),
                    "a fold was evaluated again"
                );
            }
            if trial.outcome.is_some() {
                assert!(
                    made.counts.lock().unwrap().keys().all(|(id, _)| *id != trial.id),
                    "a trial was repeated"
                );
            }
        }
        // What is written is what was returned.
        drop(study);
        assert_eq!(timeless(&read_study(&dir.journal()).unwrap().trials), timeless(&whole.trials));
    }
}

/// Journals of version 1, which had other keys, can still be read and resumed.
#[test]
fn a_journal_of_the_first_version_can_be_resumed() {
    let path = "tests/formats/study-v1-complete.jsonl";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&path).unwrap();
    let complete = run(None, &Made { fails: true, ..Made::new(4) }, 25, 1);
    let recorded = read_study(&path).unwrap();
    assert_eq!(recorded.header, header(4));
    assert_eq!(timeless(&recorded.trials), timeless(&complete.trials));

    let lines: Vec<&str> = text.lines().collect();
    for kept in [1, 12, 40, lines.len()] {
        let dir = Scratch::new();
        fs::write(dir.journal(), format!("{}\n", lines[..kept].join("\n"))).unwrap();
        let resumed = run(Some(&dir.journal()), &Made { fails: true, ..Made::new(4) }, 25, 2);
        assert_eq!(timeless(&resumed.trials), timeless(&complete.trials), "{kept} lines");
        let stored = read_study(&dir.journal()).unwrap();
        assert_eq!(timeless(&stored.trials), timeless(&complete.trials), "{kept} lines");
    }
}

#[test]
fn two_processes_on_a_journal_lose_and_repeat_nothing() {
    let dir = Scratch::new();
    let made = Made::new(1);
    let quick = StudyLimits { trials: 500, threads: 2, ..StudyLimits::default() };
    let outcomes: Vec<StudyOutcome> = std::thread::scope(|scope| {
        let work = || {
            let mut study = Study::open(Some(&dir.journal()), header(1)).unwrap();
            study.run(&made, &quick, &mut |_| {}).unwrap()
        };
        let both = [scope.spawn(work), scope.spawn(work)];
        both.map(|one| one.join().unwrap()).into_iter().collect()
    });
    let counts = made.counts.lock().unwrap();
    assert_eq!(counts.len(), 500);
    assert!(counts.values().all(|&count| count == 1), "a trial was repeated");
    let recorded = read_study(&dir.journal()).unwrap();
    let alone = run(None, &Made::new(1), 500, 1);
    for trials in [&recorded.trials, &outcomes[0].trials, &outcomes[1].trials] {
        assert_eq!(timeless(trials), timeless(&alone.trials), "two find what one does");
    }
    let workers: std::collections::BTreeSet<u64> =
        recorded.trials.iter().map(|trial| trial.worker).collect();
    assert_eq!(workers.len(), 2, "both must have worked");
}

#[test]
fn running_trials_of_dead_processes_are_taken_over_once() {
    let dir = Scratch::new();
    let whole = run(Some(&dir.journal()), &Made::new(3), 12, 1);
    // The first four belong to a process 5 that is gone.
    let text = fs::read_to_string(dir.journal()).unwrap();
    let head_line = text.lines().next().unwrap();
    let asks: Vec<&str> =
        text.lines().filter(|line| line.contains("\"event\":\"ask\"")).take(4).collect();
    let asks = asks.join("\n").replace("\"worker\":0", "\"worker\":5");
    fs::write(dir.journal(), without_checksums(&format!("{head_line}\n{asks}\n"))).unwrap();
    fs::write(dir.0.join("s.jsonl.worker-5"), "").unwrap();
    let made = Made::new(3);
    let resumed = run(Some(&dir.journal()), &made, 12, 2);
    assert_eq!(timeless(&resumed.trials), timeless(&whole.trials));
    assert_eq!(
        fs::read_dir(&dir.0).unwrap().count(),
        1,
        "the lock file of a dead process was left behind"
    );
    assert!(resumed.trials.iter().all(|trial| trial.worker == 0));
    let takes = fs::read_to_string(dir.journal()).unwrap().matches("\"event\":\"take\"").count();
    assert_eq!(takes, 4);
}

#[test]
fn a_cancelled_study_can_be_resumed() {
    let dir = Scratch::new();
    let whole = run(None, &Made::new(3), 30, 1);
    for stop_at in [0, 1, 7] {
        let mut study = Study::open(Some(&dir.journal()), header(3)).unwrap();
        let mut seen = 0;
        let limits = StudyLimits { trials: 30, threads: 2, ..StudyLimits::default() };
        let outcome = study.run(&Made::new(3), &limits, &mut |event| {
            seen += usize::from(matches!(event.update, StudyUpdate::TrialFinished(_)));
            if seen >= stop_at {
                limits.budget.cancel();
            }
        });
        assert_eq!(outcome.unwrap().stop_reason, StopReason::Stopped);
    }
    let mut study = Study::open(Some(&dir.journal()), header(3)).unwrap();
    let late = study.run(
        &Made::new(3),
        &StudyLimits { trials: 30, seconds: Some(0.0), threads: 2, ..StudyLimits::default() },
        &mut |_| {},
    );
    assert_eq!(late.unwrap().stop_reason, StopReason::Time);
    drop(study);
    let resumed = run(Some(&dir.journal()), &Made::new(3), 30, 2);
    assert_eq!(timeless(&resumed.trials), timeless(&whole.trials));
}

#[test]
fn a_study_can_be_extended() {
    let dir = Scratch::new();
    let whole = run(None, &Made::new(3), 30, 1);
    for trials in [5, 5, 17, 30] {
        let outcome = run(Some(&dir.journal()), &Made::new(3), trials, 2);
        assert_eq!(timeless(&outcome.trials), timeless(&whole.trials[..trials]));
    }
}

#[test]
fn each_difference_to_the_journal_is_an_error() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(3), 5, 1);
    let before = fs::read(dir.journal()).unwrap();
    let other_space = |params| StudyHeader { space: Space::new(params).unwrap(), ..header(3) };
    let task = |change: &dyn Fn(&mut StudyTask)| {
        let mut header = header(3);
        change(&mut header.task);
        header
    };
    for (asked, words) in [
        (StudyHeader { seed: 12, ..header(3) }, "the seed is 11 in the study, not 12"),
        (
            StudyHeader { engine: "grid".to_string(), ..header(3) },
            "the engine is random in the study, not grid",
        ),
        (
            StudyHeader { parallel_trials: 8, ..header(3) },
            "the number of parallel trials is 4 in the study, not 8",
        ),
        (StudyHeader { prune: false, ..header(3) }, "pruning is on in the study, not off"),
        (StudyHeader { prune: true, ..header(2) }, "the number of folds is 3 in the study, not 2"),
        (
            task(&|task| task.text = "other".to_string()),
            "the task is 'made up' in the study, not 'other'",
        ),
        (
            task(&|task| task.fingerprint = 8),
            "the data or the settings of 'made up' are not those of the study",
        ),
        (
            task(&|task| task.metric.name = "rmse".to_string()),
            "the metric is loss in the study, not rmse",
        ),
        (
            other_space(vec![Param::choice("kind", &["a", "b"])]),
            "parameter 'depth' of the study's space is not in",
        ),
        (
            other_space([space().params().to_vec(), vec![Param::integer("new", 1, 2)]].concat()),
            "parameter 'new' is not in the study's space",
        ),
        (
            other_space(vec![
                Param::choice("kind", &["a", "b"]),
                Param::integer("depth", 1, 31).when("kind", &["a"]),
                Param::real("rate", 0.001, 1.0).log(),
            ]),
            "parameter 'depth' is another one",
        ),
    ] {
        let fault = Study::open(Some(&dir.journal()), asked).err().unwrap();
        assert!(fault.to_string().contains(words), "{fault}");
        assert_eq!(fault.exit_code(), 2);
    }
    assert_eq!(fs::read(dir.journal()).unwrap(), before, "a refused journal was touched");
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1, "a lock file was left behind");
}

#[test]
fn damage_is_reported_with_its_line_and_nothing_is_changed() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(3), 5, 1);
    let text = without_checksums(&fs::read_to_string(dir.journal()).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        format!("{}\n", lines.join("\n"))
    };
    let swapped = {
        let mut lines = lines.clone();
        lines.swap(1, 2);
        format!("{}\n", lines.join("\n"))
    };
    let other_point = text.replacen("\"rate\":0.", "\"rate\":0.1", 1);
    for (damaged, words) in [
        (with(3, "{\"event\":\"ta"), "line 4: is damaged"),
        (with(2, ""), "line 3: is damaged"),
        (with(0, "{\"swarmwood_study\":99}"), "line 1: has version 99"),
        (with(0, "{\"swarmwood_study\":1}"), "line 1"),
        (
            format!("{text}{}\n", lines[6]),
            &format!("line {}: does not follow", lines.len() + 1)[..],
        ),
        (swapped, "line 2: trial 1 does not follow"),
        (other_point, "line 2"),
        ("x,y\n1,2\n".to_string(), "is not a study; name another file"),
        ("x,y".to_string(), "is not a study; name another file"),
    ] {
        fs::write(dir.journal(), &damaged).unwrap();
        let fault =
            Study::open(Some(&dir.journal()), header(3)).err().unwrap_or_else(|| panic!("{words}"));
        assert!(fault.to_string().contains(words), "{fault}");
        assert_eq!(fs::read_to_string(dir.journal()).unwrap(), damaged);
    }
}

#[test]
fn a_directory_is_not_a_study() {
    let dir = Scratch::new();
    let fault = Study::open(Some(&dir.0), header(1)).err().unwrap();
    assert!(fault.to_string().contains("is not a file"), "{fault}");
    let fault = Study::open(Some(&dir.0.join("no/s.jsonl")), header(1)).err().unwrap();
    assert!(fault.to_string().contains("cannot write"), "{fault}");
}

fn with_options(engine: &str, options: &str) -> StudyHeader {
    let engine_options = EngineOptions::parse(options);
    StudyHeader { engine: engine.to_string(), engine_options, ..header(1) }
}

/// A study continues with its options however they are written, and with no others.
#[test]
fn engine_options_belong_to_the_study() {
    let dir = Scratch::new();
    let limits = |trials| StudyLimits { trials, threads: 1, ..StudyLimits::default() };
    let run = |options: &str, trials| {
        let mut study = Study::open(Some(&dir.journal()), with_options("sse", options))?;
        study.run(&Made::new(1), &limits(trials), &mut |_| {})
    };
    run("mutation=rank,rate=0.40,population=5", 12).unwrap();
    let stored = read_study(&dir.journal()).unwrap().header;
    assert_eq!(stored.engine_options.to_string(), "mutation=rank, rate=0.4, population=5");

    let outcome = run("population=5, generations=unlimited, rate=.4, mutation=rank", 24).unwrap();
    let mut whole =
        Study::open(None, with_options("sse", "mutation=rank,rate=0.4,population=5")).unwrap();
    let whole = whole.run(&Made::new(1), &limits(24), &mut |_| {}).unwrap();
    assert_eq!(timeless(&outcome.trials), timeless(&whole.trials));

    let refused = |options: &str| {
        Study::open(Some(&dir.journal()), with_options("sse", options)).err().unwrap().to_string()
    };
    let has = "engine_options is 'mutation=rank, rate=0.4, population=5' in the study";
    assert!(refused("").contains(&format!("{has}, not the default")), "{}", refused(""));
    assert!(refused("rate=0.4").contains(&format!("{has}, not 'rate=0.4'")));
    assert!(refused("rate=4,x=1").contains("must be a number from 0 to 1"));
}

/// Journals without options are older: defaults, and `pso` was the discrete swarm.
#[test]
fn journals_without_options_have_the_defaults() {
    for (engine, old) in [("pso-discrete", "pso"), ("sse", "sse")] {
        let dir = Scratch::new();
        let limits = |trials| StudyLimits { trials, threads: 1, ..StudyLimits::default() };
        let mut study = Study::open(Some(&dir.journal()), with_options(engine, "")).unwrap();
        study.run(&Made::new(1), &limits(30), &mut |_| {}).unwrap();
        drop(study);

        let text = fs::read_to_string(dir.journal()).unwrap();
        let new = format!("\"engine\":\"{engine}\",\"engine_options\":{{}},");
        assert!(text.contains(&new), "{text}");
        let text = without_checksums(&text).replace(&new, &format!("\"engine\":\"{old}\","));
        fs::write(dir.journal(), text).unwrap();
        let stored = read_study(&dir.journal()).unwrap().header;
        assert_eq!((stored.engine.as_str(), stored.engine_options.is_empty()), (engine, true));
        let mut study = Study::open(Some(&dir.journal()), with_options(engine, "")).unwrap();
        assert_eq!(study.run(&Made::new(1), &limits(40), &mut |_| {}).unwrap().trials.len(), 40);
    }
}
