//! Who works on a journal: a numbered lock file beside it for every process.
//!
//! A process holds the lock of its file as long as it lives, so others see that it died, however it
//! died, and may take its open trials over. Numbers are taken and given back only while the journal
//! is locked: nobody can take a number between another's look and its deed.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::JournalLock;
use crate::{Error, Result};

/// As many processes as hardly ever work on one journal.
const SWEPT: u64 = 64;

/// A process's number; the file goes with [`Worker::leave`].
pub(in crate::tune) struct Worker {
    pub number: u64,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

fn path_of(journal: &Path, number: u64) -> PathBuf {
    let mut name = journal.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".worker-{number}"));
    journal.with_file_name(name)
}

impl Worker {
    /// Takes the least free number.
    pub fn join(journal: &JournalLock<'_>) -> Result<Worker> {
        let mut number = 0;
        loop {
            let path = path_of(journal.path(), number);
            let fault = |source| Error::Write { path: path.clone(), source };
            let file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(fault)?;
            match file.try_lock() {
                Ok(()) => return Ok(Worker { number, path, _file: file }),
                Err(std::fs::TryLockError::WouldBlock) => number += 1,
                Err(std::fs::TryLockError::Error(source)) => return Err(fault(source)),
            }
        }
    }

    /// Removes what processes that were killed left beside the journal; their numbers are free,
    /// their trials stay open.
    pub fn sweep(&self, journal: &JournalLock<'_>) {
        for number in (0..SWEPT).filter(|&number| number != self.number) {
            let path = path_of(journal.path(), number);
            if path.exists() && !is_alive(journal.path(), number) {
                // A file that cannot be removed harms nobody.
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Gives the number back.
    pub fn leave(self, _: &JournalLock<'_>) {
        // A file that stays is taken by the next process with this number.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a process with this number lives.
pub(in crate::tune) fn is_alive(journal: &Path, number: u64) -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path_of(journal, number)) else {
        return false;
    };
    matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}
