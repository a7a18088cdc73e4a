//! Journals of older versions, journals that contradict themselves, and processes that are stopped.

use std::time::Duration;

use super::*;
use crate::tune::journal::Journal;

/// A journal as version 2 wrote it.
pub(super) fn without_checksums(text: &str) -> String {
    let line = |line: &str| match line.split_once(",\"checksum\":") {
        Some((body, _)) => format!("{body}}}\n"),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    text.replacen("{\"swarmwood_study\":3,", "{\"swarmwood_study\":2,", 1)
}

/// Journals of version 2, whose lines have no checksums, can still be read and resumed.
#[test]
fn a_journal_of_the_second_version_can_be_resumed() {
    let dir = Scratch::new();
    let whole = run(Some(&dir.journal()), &Made { fails: true, ..Made::new(4) }, 25, 1);
    let text = without_checksums(&fs::read_to_string(dir.journal()).unwrap());
    assert!(!text.contains("checksum"));
    let lines: Vec<&str> = text.lines().collect();
    for kept in [1, 12, 40, lines.len()] {
        fs::write(dir.journal(), format!("{}\n", lines[..kept].join("\n"))).unwrap();
        let resumed = run(Some(&dir.journal()), &Made { fails: true, ..Made::new(4) }, 25, 2);
        assert_eq!(timeless(&resumed.trials), timeless(&whole.trials), "{kept} lines");
        let stored = read_study(&dir.journal()).unwrap();
        assert_eq!(timeless(&stored.trials), timeless(&whole.trials), "{kept} lines");
        assert!(!fs::read_to_string(dir.journal()).unwrap().contains("checksum"));
    }
}

/// What a journal says must follow from what it says before, whether or not lines have checksums.
#[test]
fn a_journal_that_contradicts_itself_is_refused() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(3), 12, 1);
    let sealed = fs::read_to_string(dir.journal()).unwrap();
    let plain = without_checksums(&sealed);
    let refused = |text: &str, part: &str| {
        fs::write(dir.journal(), text).unwrap();
        for fault in [
            Study::open(Some(&dir.journal()), header(3)).err().unwrap_or_else(|| panic!("{part}")),
            read_study(&dir.journal()).err().unwrap_or_else(|| panic!("{part}")),
        ] {
            assert!(fault.to_string().contains(part), "{fault}");
        }
    };

    let find = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        plain.lines().position(|line| line.contains(&event)).unwrap()
    };
    let lines: Vec<&str> = plain.lines().collect();
    let with = |at: usize, line: String| {
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines[at] = line;
        format!("{}\n", lines.join("\n"))
    };

    // A loss that would win, in an outcome and in a fold.
    let (tell, fold) = (find("tell"), find("fold"));
    let forged = |line: &str| {
        let (before, rest) = line.split_once("\"loss\":").unwrap();
        let end = rest.find([',', '}']).unwrap();
        format!("{before}\"loss\":-1e9{}", &rest[end..])
    };
    refused(&with(tell, forged(lines[tell])), &format!("line {}", tell + 1));
    refused(&with(fold, forged(lines[fold])), "line ");
    // An outcome without its folds, one fold too many, an endless number of a process.
    let id = "{\"event\":\"tell\",\"id\":0,\"loss\":0.1,\"seconds\":1}";
    refused(&with(fold, id.to_string()), &format!("line {}", fold + 1));
    let more = "{\"event\":\"fold\",\"id\":0,\"fold\":3,\"loss\":1,\"rounds\":1,\"seconds\":1}";
    refused(&with(tell, more.to_string()), &format!("line {}", tell + 1));
    let worker = lines[1].replace("\"worker\":0", "\"worker\":18446744073709551615");
    refused(&with(1, worker), "line 2: is damaged: no usable 'worker'");

    // With checksums, the line itself is named.
    let changed = sealed.replacen("\"loss\":", "\"loss\":-", 1);
    let at = sealed.lines().position(|line| line.contains("\"loss\":")).unwrap() + 1;
    refused(&changed, &format!("line {at}: is damaged: the checksum does not fit"));
}

/// A process that lives but shows no sign of life loses its trials; another one never waits for
/// ever.
#[test]
fn trials_of_a_stopped_process_are_taken_over() {
    let dir = Scratch::new();
    let whole = run(Some(&dir.journal()), &Made::new(3), 12, 1);
    let text = fs::read_to_string(dir.journal()).unwrap();
    let asks = text.lines().filter(|line| line.contains("\"event\":\"ask\"")).take(4);
    let asks = asks.collect::<Vec<_>>().join("\n").replace("\"worker\":0", "\"worker\":1");
    let head_line = text.lines().next().unwrap();
    fs::write(dir.journal(), without_checksums(&format!("{head_line}\n{asks}\n"))).unwrap();
    // The lock is held, but nobody touches the file.
    let stopped = fs::File::create(dir.0.join("s.jsonl.worker-1")).unwrap();
    stopped.lock().unwrap();

    let mut study = Study::open(Some(&dir.journal()), header(3)).unwrap();
    let limits = StudyLimits {
        trials: 12,
        threads: 2,
        lease: Duration::from_millis(300),
        ..StudyLimits::default()
    };
    let outcome = study.run(&Made::new(3), &limits, &mut |_| {}).unwrap();
    assert_eq!(timeless(&outcome.trials), timeless(&whole.trials));
    drop((study, stopped));

    // The next to come sweeps the file away.
    run(Some(&dir.journal()), &Made::new(3), 12, 1);
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1, "a lock file was left behind");
}

/// A process that comes back gives up the trials that others took over, and goes on.
#[test]
fn a_process_that_was_stopped_goes_on_with_what_is_left() {
    struct Slow(Made, PathBuf);
    impl TrialObjective for Slow {
        fn folds(&self) -> usize {
            self.0.folds
        }
        fn evaluate_fold(
            &self,
            trial: &Proposal<'_>,
            at: usize,
            budget: &Budget,
        ) -> std::result::Result<FoldResult, String> {
            if (trial.id, at) == (0, 0) {
                // Meanwhile another process finishes the trial.
                let mut journal = Journal::open(&self.1).unwrap();
                let mut locked = journal.lock().unwrap();
                locked.new_lines().unwrap();
                let lines = ["{\"event\":\"take\",\"id\":0,\"worker\":7}", {
                    "{\"event\":\"tell\",\"id\":0,\"failed\":\"seven\",\"seconds\":1}"
                }];
                locked.append(&lines.map(str::to_string)).unwrap();
                drop(locked);
                std::thread::sleep(Duration::from_millis(300));
            }
            self.0.evaluate_fold(trial, at, budget)
        }
    }
    let dir = Scratch::new();
    let slow = Slow(Made::new(2), dir.journal());
    let mut study = Study::open(Some(&dir.journal()), header(2)).unwrap();
    let limits = StudyLimits { trials: 10, threads: 2, ..StudyLimits::default() };
    let outcome = study.run(&slow, &limits, &mut |_| {}).unwrap();
    assert_eq!(outcome.trials.len(), 10);
    let failed = TrialOutcome::Failed { reason: "seven".to_string() };
    assert_eq!(outcome.trials[0].outcome, Some(failed));
    drop(study);
    assert_eq!(read_study(&dir.journal()).unwrap().trials, outcome.trials);
}

/// A process that is stopped while it holds the journal's lock keeps nobody waiting for ever.
#[test]
fn waiting_for_the_lock_ends_with_an_error() {
    let dir = Scratch::new();
    run(Some(&dir.journal()), &Made::new(1), 2, 1);
    let held = fs::File::open(dir.journal()).unwrap();
    held.lock().unwrap();
    let journal = Journal::open(&dir.journal()).unwrap();
    let mut journal = journal.with_longest_wait(Duration::from_millis(50));
    let fault = journal.lock().err().unwrap().to_string();
    assert!(fault.contains("has been locked by another process") && fault.contains("-CONT"));
    drop(held);
    assert!(journal.lock().is_ok());
}

#[cfg(unix)]
#[test]
fn lock_files_are_not_followed_through_links() {
    let dir = Scratch::new();
    let precious = dir.0.join("precious");
    fs::write(&precious, "data").unwrap();
    std::os::unix::fs::symlink(&precious, dir.0.join("s.jsonl.worker-0")).unwrap();
    std::os::unix::fs::symlink(dir.0.join("new"), dir.0.join("s.jsonl.worker-1")).unwrap();
    let outcome = run(Some(&dir.journal()), &Made::new(1), 4, 1);
    assert!(outcome.trials.iter().all(|trial| trial.worker == 2), "links are passed over");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "data");
    assert!(!dir.0.join("new").exists(), "a file was made through a link");
}
