//! Who works on a journal: a numbered lock file beside it for every process.
//!
//! A process holds the lock of its file as long as it lives, so others see that it died, however it
//! died, and may take its open trials over. A process that lives but is stopped shows no sign of
//! life ([`Worker::beat`]): after a while its trials are taken over as well. Numbers are taken and
//! given back only while the journal is locked: nobody can take a number between another's look and
//! its deed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::JournalLock;
use crate::file_faults::{self, FileOperation};
use crate::write::is_at;
use crate::{Error, Result};

/// More processes than ever work on one journal.
pub(super) const MOST_WORKERS: u64 = 1024;

/// A process's number; the file goes with [`Worker::leave`].
pub(in crate::tune) struct Worker {
    pub number: u64,
    path: PathBuf,
    /// Holds the lock.
    file: File,
}

fn path_of(journal: &Path, number: u64) -> PathBuf {
    let mut name = journal.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".worker-{number}"));
    journal.with_file_name(name)
}

/// The numbers of all lock files beside a journal.
fn numbers(journal: &Path) -> Vec<u64> {
    let folder = journal.parent().filter(|folder| *folder != Path::new(""));
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let name = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = format!("{name}.worker-");
    let number = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.strip_prefix(&prefix)?.parse::<u64>().ok()
    };
    entries.filter_map(number).collect()
}

/// Opens a lock file; a link in its place is never followed.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if is_at(&file, path) { Ok(file) } else { Err(io::Error::other("is a symbolic link")) }
}

/// Creates a lock file, or opens the one that a dead process left.
fn create(path: &Path) -> io::Result<File> {
    file_faults::check(FileOperation::Create)?;
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(path),
        created => created,
    }
}

impl Worker {
    /// Takes the least free number.
    pub fn join(journal: &JournalLock<'_>) -> Result<Worker> {
        let mut fault = None;
        for number in 0..MOST_WORKERS {
            let path = path_of(journal.path(), number);
            let file = match create(&path) {
                Ok(file) => file,
                // Something else has this name: another number will do.
                Err(_) if fs::symlink_metadata(&path).is_ok_and(|file| !file.is_file()) => continue,
                Err(source) => return Err(Error::Write { path, source }),
            };
            match file.try_lock() {
                Ok(()) => {
                    let worker = Worker { number, path, file };
                    worker.beat();
                    return Ok(worker);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => {
                    fault = Some(Error::Write { path, source });
                    break;
                }
            }
        }
        let message = format!("has more than {MOST_WORKERS} processes, or files in their places");
        Err(fault.unwrap_or(Error::Study { path: journal.path().to_path_buf(), message }))
    }

    /// Shows the others that this process runs.
    pub fn beat(&self) {
        // Where times cannot be set, this process looks as if it were stopped, which costs no more
        // than a repeated trial.
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// Removes what processes that were killed left beside the journal; their numbers are free,
    /// their trials stay open.
    pub fn sweep(&self, journal: &JournalLock<'_>) {
        for number in numbers(journal.path()) {
            if number != self.number && sign_of_life(journal.path(), number).is_none() {
                let path = path_of(journal.path(), number);
                if fs::symlink_metadata(&path).is_ok_and(|file| file.is_file()) {
                    // A file that cannot be removed harms nobody.
                    let _ = file_faults::remove(&path);
                }
            }
        }
    }

    /// Gives the number back.
    pub fn leave(self, journal: &JournalLock<'_>) {
        self.sweep(journal);
        // A file that stays is taken by the next process with this number.
        let _ = file_faults::remove(&self.path);
    }
}

/// The last sign of life of a process with this number; `None` if there is no such process.
pub(in crate::tune) fn sign_of_life(journal: &Path, number: u64) -> Option<SystemTime> {
    let file = open(&path_of(journal, number)).ok()?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Some(file.metadata().and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH))
        }
        _ => None,
    }
}
