//! Reading a journal without taking part in the study: no engine, no lock file, no repair.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use super::checksum::LineChain;
use super::record::Record;
use super::{check_beginning, header, wait_for_lock};
use crate::tune::header::StudyHeader;
use crate::tune::trial::{TrialRecord, best};
use crate::{Error, Result};

/// How long to wait for a process that writes.
const SHORT_WAIT: Duration = Duration::from_secs(5);

/// The contents of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRecord {
    /// The study's header.
    pub header: StudyHeader,
    /// The program that began it.
    pub created_by: String,
    /// All trials, in order.
    pub trials: Vec<TrialRecord>,
    /// Remarks on the file for the user.
    pub notes: Vec<String>,
}

impl StudyRecord {
    /// The best complete trial.
    pub fn best(&self) -> Option<&TrialRecord> {
        best(&self.trials)
    }
}

/// Reads a journal, which others may be writing to.
pub fn read(path: &Path) -> Result<StudyRecord> {
    let fault = |source| Error::Read { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| {
            // Where files cannot be locked, or a stopped process holds the lock, a line that is
            // being written looks like one that was cut.
            let _ = wait_for_lock(SHORT_WAIT, || file.try_lock_shared());
            file.read_to_end(&mut bytes)
        })
        .map_err(fault)?;
    let wrong = |message: String| Error::Study { path: path.to_path_buf(), message };
    check_beginning(&bytes).map_err(|message| wrong(message.to_string()))?;
    let mut notes = Vec::new();
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if whole < bytes.len() {
        notes.push("the last line is not finished and was left out".to_string());
    }
    let text = std::str::from_utf8(&bytes[..whole])
        .map_err(|_| wrong("is damaged: not UTF-8".to_string()))?;
    let mut lines = text.lines().enumerate();
    let (_, first) =
        lines.next().ok_or_else(|| wrong("is empty: no study was begun".to_string()))?;
    let mut chain = LineChain::default();
    let (header, created_by) = chain
        .open(first)
        .and_then(|first| header::parse(&first))
        .map_err(|message| wrong(format!("line 1: {message}")))?;
    let mut trials: Vec<TrialRecord> = Vec::new();
    for (at, line) in lines {
        let fault = |message: String| wrong(format!("line {}: {message}", at + 1));
        let line = chain.open(line).map_err(fault)?;
        let record = Record::parse(&line, &header.space).map_err(fault)?;
        apply(&mut trials, record, &header).map_err(|message| fault(message.to_string()))?;
    }
    Ok(StudyRecord { header, created_by, trials, notes })
}

fn running(
    trials: &mut [TrialRecord],
    id: u64,
) -> std::result::Result<&mut TrialRecord, &'static str> {
    let trial = usize::try_from(id).ok().and_then(|id| trials.get_mut(id));
    trial.filter(|trial| trial.outcome.is_none()).ok_or("is about a trial that is not running")
}

fn apply(
    trials: &mut Vec<TrialRecord>,
    record: Record,
    header: &StudyHeader,
) -> std::result::Result<(), &'static str> {
    let known = trials.len() as u64;
    match record {
        Record::Ask { id, .. } if id != known => return Err("asks a trial out of order"),
        Record::Ask { id, point, worker } => {
            trials.push(TrialRecord {
                id,
                point,
                worker,
                folds: Vec::new(),
                outcome: None,
                seconds: 0.0,
            });
        }
        Record::Take { id, worker } => running(trials, id)?.worker = worker,
        Record::Fold { id, fold, result, seconds } => {
            let trial = running(trials, id)?;
            if trial.folds.len() != fold || fold >= header.folds {
                return Err("has a fold out of order");
            }
            trial.folds.push(result);
            trial.seconds += seconds;
        }
        Record::Tell { id, outcome, seconds } => {
            let trial = running(trials, id)?;
            if !trial.allows(&outcome, header.folds, header.prune) {
                return Err("has an outcome that does not follow from the folds of the trial");
            }
            trial.outcome = Some(outcome);
            trial.seconds = seconds;
        }
    }
    Ok(())
}
