use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use swarmwood_search::rng::hash;
use swarmwood_search::{
    BestTrial, Capabilities, De, ExternalTrial, Param, RandomSearch, Snapshot, Space, Trial,
    TrialResult,
};

use super::*;
use crate::tune::{Ending, FoldResult, Proposal, StudyMetric, StudyTask, read_study};

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

fn head(pieces: usize) -> StudyHeader {
    let measure = StudyMetric { name: "loss".to_string(), from: None };
    let task = StudyTask { text: "made up".to_string(), fingerprint: 7, measure };
    StudyHeader {
        engine: "random".to_string(),
        seed: 11,
        space: space(),
        lag: 4,
        pieces,
        race: pieces > 1,
        task,
    }
}

/// A made-up loss with noise that belongs to the piece, and a count of who was evaluated how often.
#[derive(Default)]
struct Made {
    pieces: usize,
    counts: Mutex<BTreeMap<(u64, usize), usize>>,
    /// Every so many trials fail at their second piece, or panic at their first.
    fails: bool,
}

impl Made {
    fn new(pieces: usize) -> Self {
        Made { pieces, ..Made::default() }
    }

    fn evaluations(&self) -> usize {
        self.counts.lock().unwrap().values().sum()
    }
}

impl TrialObjective for Made {
    fn pieces(&self) -> usize {
        self.pieces
    }

    fn piece(
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
        // Pieces take different times, so that they overtake each other.
        std::thread::sleep(std::time::Duration::from_micros(hash(name, at as u64, 9) % 300));
        Ok(FoldResult { loss, rounds: Some(at + 1) })
    }
}

fn run(path: Option<&std::path::Path>, made: &Made, trials: usize, threads: usize) -> StudyOutcome {
    let mut study = Study::open(path, head(made.pieces)).unwrap();
    study
        .run(made, &StudyLimits { trials, threads, ..StudyLimits::default() }, &mut |_| {})
        .unwrap()
}

/// What must be the same whoever worked, and for how long.
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
            assert_eq!(outcome.ended, StopReason::Trials);
            assert_eq!(timeless(&outcome.trials), timeless(&outcomes[0].trials));
            assert_eq!(outcome.tally, outcomes[0].tally);
        }
        let tally = outcomes[0].tally;
        assert!(
            tally.spared > 20 && tally.raced > 10,
            "racing must have something to do: {tally:?}"
        );
        assert_eq!(tally.failed > 0, fails);
    }
}

#[test]
fn racing_spares_pieces_and_keeps_the_best() {
    let whole = {
        let mut study = Study::open(None, StudyHeader { race: false, ..head(5) }).unwrap();
        let limits = StudyLimits { trials: 80, threads: 2, ..StudyLimits::default() };
        study.run(&Made::new(5), &limits, &mut |_| {}).unwrap()
    };
    let raced = run(None, &Made::new(5), 80, 2);
    assert_eq!(whole.tally.pieces, 400);
    assert_eq!(raced.tally.pieces + raced.tally.spared, 400);
    assert!(raced.tally.pieces < 260, "{:?}", raced.tally);
    assert_eq!(raced.best().unwrap().id, whole.best().unwrap().id);
    // A random search asks the same whatever it is told.
    assert!(whole.trials.iter().zip(&raced.trials).all(|(a, b)| a.point == b.point));
}

#[test]
fn one_thread_evaluates_no_piece_that_racing_spares() {
    let made = Made::new(5);
    let outcome = run(None, &made, 60, 1);
    assert_eq!(made.evaluations(), outcome.tally.pieces);
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
fn a_trial_follows_from_exactly_the_trials_a_lag_before_it() {
    for (lag, threads) in [(1, 3), (3, 1), (3, 8), (16, 2)] {
        let asked = std::sync::Arc::new(Mutex::new(Vec::new()));
        let head = StudyHeader { lag, ..head(2) };
        let engine = RandomSearch::new(&head.space, head.seed).unwrap();
        let witness = Witness { engine, told: Vec::new(), asked: asked.clone() };
        let mut study = Study::with_engine(None, head, Box::new(witness)).unwrap();
        let limits = StudyLimits { trials: 40, threads, ..StudyLimits::default() };
        study.run(&Made::new(2), &limits, &mut |_| {}).unwrap();
        let expected: Vec<Vec<u64>> =
            (0..40u64).map(|t| (0..(t + 1).saturating_sub(lag as u64)).collect()).collect();
        assert_eq!(*asked.lock().unwrap(), expected, "lag {lag}");
    }
}

#[test]
fn engines_that_wait_are_waited_for() {
    // A population of its own size and a lag beyond it: the engine gives nothing until its round is
    // done.
    let make = |threads: usize| {
        let space = Space::new(vec![
            Param::real("a", 0.0, 1.0),
            Param::real("b", 0.0, 1.0),
            Param::real("rate", 0.1, 1.0),
        ]);
        let head = StudyHeader { lag: 50, space: space.unwrap(), ..head(3) };
        let engine = De::new(&head.space, swarmwood_search::de::DeConfig::default(), 3).unwrap();
        let mut study = Study::with_engine(None, head, Box::new(engine)).unwrap();
        let limits = StudyLimits { trials: 150, threads, ..StudyLimits::default() };
        study.run(&Made::new(3), &limits, &mut |_| {}).unwrap()
    };
    let (one, eight) = (make(1), make(8));
    assert_eq!(one.trials.len(), 150);
    assert_eq!(timeless(&one.trials), timeless(&eight.trials));
}

#[test]
fn an_engine_with_nothing_to_ask_ends_the_study() {
    let space = Space::new(vec![Param::list("a", &[1.0, 2.0]), Param::choice("b", &["x", "y"]), {
        Param::list("rate", &[0.5, 1.0, 2.0])
    }]);
    let mut study = Study::open(None, StudyHeader { space: space.unwrap(), ..head(2) }).unwrap();
    let outcome = study.run(&Made::new(2), &StudyLimits::default(), &mut |_| {}).unwrap();
    assert_eq!((outcome.ended, outcome.trials.len()), (StopReason::Exhausted, 12));
}

#[test]
fn failures_are_data() {
    let outcome = run(None, &Made { fails: true, ..Made::new(3) }, 60, 2);
    let reasons: std::collections::BTreeSet<&str> = outcome
        .trials
        .iter()
        .filter_map(|trial| match &trial.ending {
            Some(Ending::Failed { reason }) => Some(reason.as_str()),
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
fn a_study_killed_anywhere_ends_as_if_it_had_not_been() {
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
        let mut study = Study::open(Some(&dir.journal()), head(4)).unwrap();
        assert_eq!(study.notes().is_empty(), cut == before, "a torn line is told");
        let limits = StudyLimits { trials: 25, threads: 1 + at % 3, ..StudyLimits::default() };
        let resumed = study.run(&made, &limits, &mut |_| {}).unwrap();
        assert_eq!(timeless(&resumed.trials), timeless(&whole.trials), "cut at {cut}");
        for trial in &known {
            for at in 0..trial.pieces.len() {
                assert!(
                    !made.counts.lock().unwrap().contains_key(&(trial.id, at)),
                    "a piece was evaluated again"
                );
            }
            if trial.ending.is_some() {
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

#[test]
fn two_at_one_journal_lose_and_repeat_nothing() {
    let dir = Scratch::new();
    let made = Made::new(1);
    let quick = StudyLimits { trials: 500, threads: 2, ..StudyLimits::default() };
    let outcomes: Vec<StudyOutcome> = std::thread::scope(|scope| {
        let work = || {
            let mut study = Study::open(Some(&dir.journal()), head(1)).unwrap();
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
fn open_trials_of_the_dead_are_taken_over_once() {
    let dir = Scratch::new();
    let whole = run(Some(&dir.journal()), &Made::new(3), 12, 1);
    // The first four belong to a process 5 that is gone.
    let text = fs::read_to_string(dir.journal()).unwrap();
    let head_line = text.lines().next().unwrap();
    let asks: Vec<&str> =
        text.lines().filter(|line| line.contains("\"event\":\"ask\"")).take(4).collect();
    let asks = asks.join("\n").replace("\"worker\":0", "\"worker\":5");
    fs::write(dir.journal(), format!("{head_line}\n{asks}\n")).unwrap();
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
fn stopping_leaves_a_study_to_go_on_with() {
    let dir = Scratch::new();
    let whole = run(None, &Made::new(3), 30, 1);
    for stop_at in [0, 1, 7] {
        let mut study = Study::open(Some(&dir.journal()), head(3)).unwrap();
        let mut seen = 0;
        let limits = StudyLimits { trials: 30, threads: 2, ..StudyLimits::default() };
        let outcome = study.run(&Made::new(3), &limits, &mut |event| {
            seen += usize::from(matches!(event.news, StudyNews::Trial(_)));
            if seen >= stop_at {
                limits.budget.cancel();
            }
        });
        assert_eq!(outcome.unwrap().ended, StopReason::Stopped);
    }
    let mut study = Study::open(Some(&dir.journal()), head(3)).unwrap();
    let late = study.run(
        &Made::new(3),
        &StudyLimits { trials: 30, seconds: Some(0.0), threads: 2, ..StudyLimits::default() },
        &mut |_| {},
    );
    assert_eq!(late.unwrap().ended, StopReason::Time);
    drop(study);
    let resumed = run(Some(&dir.journal()), &Made::new(3), 30, 2);
    assert_eq!(timeless(&resumed.trials), timeless(&whole.trials));
}

#[test]
fn a_study_can_be_made_longer() {
    let dir = Scratch::new();
    let whole = run(None, &Made::new(3), 30, 1);
    for trials in [5, 5, 17, 30] {
        let outcome = run(Some(&dir.journal()), &Made::new(3), trials, 2);
        assert_eq!(timeless(&outcome.trials), timeless(&whole.trials[..trials]));
    }
}

#[test]
fn another_study_is_refused_by_name() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(3), 5, 1);
    let before = fs::read(dir.journal()).unwrap();
    let other_space = |params| StudyHeader { space: Space::new(params).unwrap(), ..head(3) };
    let task = |change: &dyn Fn(&mut StudyTask)| {
        let mut head = head(3);
        change(&mut head.task);
        head
    };
    for (asked, words) in [
        (StudyHeader { seed: 12, ..head(3) }, "the seed is 11 in the study, not 12"),
        (
            StudyHeader { lag: 8, ..head(3) },
            "the number of trials at a time is 4 in the study, not 8",
        ),
        (StudyHeader { race: false, ..head(3) }, "racing is on in the study, not off"),
        (
            StudyHeader { race: true, ..head(2) },
            "the number of pieces of a trial is 3 in the study, not 2",
        ),
        (
            task(&|task| task.text = "other".to_string()),
            "the task is 'made up' in the study, not 'other'",
        ),
        (
            task(&|task| task.fingerprint = 8),
            "the data or the settings of 'made up' are not those of the study",
        ),
        (
            task(&|task| task.measure.name = "rmse".to_string()),
            "the measure is loss in the study, not rmse",
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
fn damage_is_told_with_its_line_and_nothing_is_touched() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(3), 5, 1);
    let text = fs::read_to_string(dir.journal()).unwrap();
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
            Study::open(Some(&dir.journal()), head(3)).err().unwrap_or_else(|| panic!("{words}"));
        assert!(fault.to_string().contains(words), "{fault}");
        assert_eq!(fs::read_to_string(dir.journal()).unwrap(), damaged);
    }
}

#[test]
fn a_directory_and_a_device_are_no_studies() {
    let dir = Scratch::new();
    let fault = Study::open(Some(&dir.0), head(1)).err().unwrap();
    assert!(fault.to_string().contains("is not a file"), "{fault}");
    let fault = Study::open(Some(&dir.0.join("no/s.jsonl")), head(1)).err().unwrap();
    assert!(fault.to_string().contains("cannot write"), "{fault}");
}
