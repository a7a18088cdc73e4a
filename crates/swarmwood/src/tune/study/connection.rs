//! A study's journal in use: replays its events, appends new ones, knows the other processes.

use std::path::Path;

use crate::tune::header::StudyHeader;
use crate::tune::journal::record::Record;
use crate::tune::journal::worker::{Worker, is_alive};
use crate::tune::journal::{Journal, header};
use crate::tune::sequence::{NextTrial, Sequence};
use crate::{Error, Result};

/// The journal and this process's worker number in it.
pub(super) struct JournalConnection {
    journal: Journal,
    /// `None` only while it is dropped.
    worker: Option<Worker>,
    /// The greatest number of a process seen in the journal.
    highest: u64,
    created_by: String,
}

/// The other processes.
pub(super) struct PeerProcesses<'a> {
    journal: &'a Path,
    pub own: u64,
    highest: u64,
}

impl PeerProcesses<'_> {
    /// Whether a process is alive.
    pub fn is_alive(&self, number: u64) -> bool {
        number == self.own || is_alive(self.journal, number)
    }

    /// Whether no other process is running. A process that has asked for nothing yet has the least free
    /// number, which is at most one above all that were seen.
    pub fn is_alone(&self) -> bool {
        (0..=self.highest + 1).all(|number| number == self.own || !is_alive(self.journal, number))
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
            replay(&line, requested, sequence, &mut highest)
                .map_err(|message| fault(path, number, &message, &created_by))?;
        }
        let worker = Worker::join(&locked)?;
        worker.sweep(&locked);
        drop(locked);
        let highest = highest.max(worker.number);
        Ok(JournalConnection { journal, worker: Some(worker), highest, created_by })
    }

    /// This process's number.
    pub fn number(&self) -> u64 {
        self.worker.as_ref().map_or(0, |worker| worker.number)
    }

    /// Whether another process added to the journal since the last exchange.
    pub fn has_grown(&self) -> bool {
        self.journal.has_grown()
    }

    /// Brings the sequence up to date, lets `work` ask for trials, and appends its records, all
    /// under the lock. Returns the trials that other processes finished.
    pub fn exchange(
        &mut self,
        header: &StudyHeader,
        sequence: &mut Sequence,
        notes: &mut Vec<String>,
        work: impl FnOnce(&mut Sequence, &PeerProcesses<'_>) -> Vec<Record>,
    ) -> Result<Vec<u64>> {
        let own = self.number();
        let JournalConnection { journal, highest, created_by, .. } = self;
        let path = journal.path().to_path_buf();
        let mut locked = journal.lock()?;
        let mut ended = Vec::new();
        for (number, line) in locked.new_lines()? {
            let end = replay(&line, header, sequence, highest);
            ended.extend(end.map_err(|message| fault(&path, number, &message, created_by))?);
        }
        if locked.truncated {
            notes.push(truncation_note(&path));
        }
        let records = work(sequence, &PeerProcesses { journal: &path, own, highest: *highest });
        let lines: Vec<String> = records.iter().map(|record| record.line(&header.space)).collect();
        locked.append(&lines)?;
        Ok(ended)
    }
}

impl Drop for JournalConnection {
    fn drop(&mut self) {
        if let (Some(worker), Ok(locked)) = (self.worker.take(), self.journal.lock()) {
            worker.leave(&locked);
        }
    }
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
    line: &str,
    header: &StudyHeader,
    sequence: &mut Sequence,
    highest: &mut u64,
) -> std::result::Result<Option<u64>, String> {
    let mut ended = None;
    let fits = match Record::parse(line, &header.space)? {
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
