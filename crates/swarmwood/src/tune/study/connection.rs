//! A study's journal in use: replays its events, appends new ones, knows the other processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::tune::header::StudyHeader;
use crate::tune::journal::record::Record;
use crate::tune::journal::worker::{Worker, sign_of_life};
use crate::tune::journal::{Journal, header};
use crate::tune::sequence::{NextTrial, Sequence};
use crate::{Error, Result};

/// Time between two signs of life.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

/// How long to wait for the lock at the end, when only the lock file is to be removed.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The last sign of life of each process, and when it was seen first. Clocks of processes are never
/// compared: what counts is whether the sign changes.
type SignsOfLife = BTreeMap<u64, (SystemTime, Instant)>;

/// The journal and this process's worker number in it.
pub(super) struct JournalConnection {
    journal: Journal,
    /// `None` only while it is dropped.
    worker: Option<Worker>,
    /// The greatest number of a process seen in the journal.
    highest: u64,
    created_by: String,
    signs: SignsOfLife,
    /// When this process showed that it runs.
    last_beat: Instant,
}

/// The other processes.
pub(super) struct PeerProcesses<'a> {
    journal: &'a Path,
    pub own: u64,
    highest: u64,
    signs: &'a mut SignsOfLife,
    lease: Duration,
}

/// What other processes did since the last exchange.
#[derive(Debug, Default)]
pub(super) struct PeerProgress {
    /// Trials that they finished.
    pub ended: Vec<u64>,
    /// Trials of this process that they have taken over.
    pub lost: Vec<u64>,
}

impl PeerProcesses<'_> {
    /// Whether a process is alive and has shown so within the lease.
    pub fn is_alive(&mut self, number: u64) -> bool {
        if number == self.own {
            return true;
        }
        let Some(sign) = sign_of_life(self.journal, number) else {
            self.signs.remove(&number);
            return false;
        };
        let seen = self.signs.entry(number).or_insert_with(|| (sign, Instant::now()));
        if seen.0 != sign {
            *seen = (sign, Instant::now());
        }
        seen.1.elapsed() < self.lease
    }

    /// Whether no other process is running. A process that has asked for nothing yet has the least free
    /// number, which is at most one above all that were seen.
    pub fn is_alone(&mut self) -> bool {
        (0..=self.highest + 1).all(|number| number == self.own || !self.is_alive(number))
    }
}

impl JournalConnection {
    /// Opens or begins a journal and replays it into the sequence.
    pub fn open(
        path: &Path,
        requested: &StudyHeader,
        sequence: &mut Sequence,
        notes: &mut Vec<String>,
    ) -> Result<JournalConnection> {
        let mut journal = Journal::open(path)?;
        let mut locked = journal.lock()?;
        let mut lines = locked.new_lines()?.into_iter();
        if locked.truncated {
            notes.push(truncation_note(path));
        }
        let created_by = match lines.next() {
            Some((_, first)) => check_head(path, &first, requested)?,
            None => {
                locked.append(&[header::line(requested)])?;
                header::program()
            }
        };
        let mut highest = 0;
        for (number, line) in lines {
            let record = Record::parse(&line, &requested.space);
            record
                .and_then(|record| replay(record, requested, sequence, &mut highest))
                .map_err(|message| fault(path, number, &message, &created_by))?;
        }
        let worker = Worker::join(&locked)?;
        worker.sweep(&locked);
        drop(locked);
        let highest = highest.max(worker.number);
        Ok(JournalConnection {
            journal,
            worker: Some(worker),
            highest,
            created_by,
            signs: SignsOfLife::new(),
            last_beat: Instant::now(),
        })
    }

    /// This process's number.
    pub fn number(&self) -> u64 {
        self.worker.as_ref().map_or(0, |worker| worker.number)
    }

    /// Whether another process added to the journal since the last exchange.
    pub fn has_grown(&self) -> bool {
        self.journal.has_grown()
    }

    /// Shows the others that this process runs; how long ago it did so before.
    pub fn beat(&mut self) -> Duration {
        let silent = self.last_beat.elapsed();
        if silent >= BEAT_INTERVAL {
            self.worker.as_ref().into_iter().for_each(Worker::beat);
            self.last_beat = Instant::now();
        }
        silent
    }

    /// Brings the sequence up to date, lets `work` ask for trials, and appends the pending records
    /// and those of `work`, all under the lock.
    pub fn exchange(
        &mut self,
        (header, lease): (&StudyHeader, Duration),
        sequence: &mut Sequence,
        notes: &mut Vec<String>,
        mut pending: Vec<Record>,
        work: impl FnOnce(&mut Sequence, &mut PeerProcesses<'_>) -> Vec<Record>,
    ) -> Result<PeerProgress> {
        let own = self.number();
        let JournalConnection { journal, highest, created_by, signs, .. } = self;
        let path = journal.path().to_path_buf();
        let mut locked = journal.lock()?;

        let mut progress = PeerProgress::default();
        for (number, line) in locked.new_lines()? {
            let wrong = |message: String| fault(&path, number, &message, created_by);
            let record = Record::parse(&line, &header.space).map_err(wrong)?;
            if let Record::Take { id, worker } = record
                && worker != own
                && sequence.trial(id).is_some_and(|trial| trial.worker == own)
            {
                if pending.iter().any(|pending| pending.id() == id) {
                    return Err(taken_over(id, lease));
                }
                progress.lost.push(id);
            }
            progress.ended.extend(replay(record, header, sequence, highest).map_err(wrong)?);
        }

        if locked.truncated {
            notes.push(truncation_note(&path));
        }
        let mut peers = PeerProcesses { journal: &path, own, highest: *highest, signs, lease };
        pending.extend(work(sequence, &mut peers));
        let lines: Vec<String> = pending.iter().map(|record| record.line(&header.space)).collect();
        locked.append(&lines)?;
        Ok(progress)
    }
}

impl Drop for JournalConnection {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        if let Ok(locked) = self.journal.lock_within(LAST_WAIT) {
            worker.leave(&locked);
        }
    }
}

/// The error of a process that was stopped for so long that others do its work.
fn taken_over(id: u64, lease: Duration) -> Error {
    Error::Run(format!(
        "this process gave no sign of life for {} s, and another one has taken over its trial \
         {id}; start the same command again to go on",
        lease.as_secs_f64()
    ))
}

fn truncation_note(path: &Path) -> String {
    format!("{}: the last line was not finished and was removed", path.display())
}

fn fault(path: &Path, line: usize, message: &str, created_by: &str) -> Error {
    let program = header::program();
    let other = match created_by == program {
        true => String::new(),
        false => format!(" (the study was begun by {created_by}, this is {program})"),
    };
    Error::Study { path: path.to_path_buf(), message: format!("line {line}: {message}{other}") }
}

/// The program that wrote the header, if it equals the requested one.
fn check_head(path: &Path, line: &str, requested: &StudyHeader) -> Result<String> {
    let wrong = |message: String| Error::Study { path: path.to_path_buf(), message };
    let (study, created_by) =
        header::parse(line).map_err(|message| wrong(format!("line 1: {message}")))?;
    let differences = header::differences(&study, requested);
    if !differences.is_empty() {
        let message =
            format!("cannot resume this study: {}; request the same, or name a new file", {
                differences.join("; ")
            });
        return Err(wrong(message));
    }
    Ok(created_by)
}

/// Applies one record to the sequence; the trial it finished, or what is wrong with it.
fn replay(
    record: Record,
    header: &StudyHeader,
    sequence: &mut Sequence,
    highest: &mut u64,
) -> std::result::Result<Option<u64>, String> {
    let mut ended = None;
    let fits = match record {
        Record::Ask { id, point, worker } => {
            *highest = (*highest).max(worker);
            let next =
                if id == sequence.len() as u64 { sequence.ask(worker) } else { NextTrial::Wait };
            if next != NextTrial::Trial(id) {
                return Err(format!("trial {id} does not follow from what stands before it"));
            }
            if sequence.trial(id).is_none_or(|trial| trial.point != point) {
                let engine = &header.engine;
                return Err(format!(
                    "trial {id} is not the one that engine '{engine}' of this program proposes"
                ));
            }
            true
        }
        Record::Take { id, worker } => {
            *highest = (*highest).max(worker);
            sequence.reassign(id, worker)
        }
        Record::Fold { id, fold, result, seconds } => sequence.add_fold(id, fold, result, seconds),
        Record::Tell { id, outcome, seconds } => {
            ended = Some(id);
            sequence.finish(id, outcome, seconds)
        }
    };
    if fits { Ok(ended) } else { Err("does not follow from what stands before it".to_string()) }
}
