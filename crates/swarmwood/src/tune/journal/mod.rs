//! The journal of a study: one line of JSON per event, append-only.
//!
//! The first line is the study's header ([`header`]), every other an event ([`record`]). Several
//! processes may write one journal. A writer holds the file's lock, has read everything
//! before, appends whole lines with one write and syncs them to the disk before it releases the
//! lock, so all processes see the same order.
//!
//! A process that is killed while it writes leaves a line without an end; the next one that holds
//! the lock truncates it. A write that fails half-way, on a full disk say, is undone. Any other
//! damage is an error with its line number: a journal is never repaired by guessing. Every line has
//! a checksum ([`checksum`]).
//!
//! A process that is stopped while it holds the lock would keep all others waiting; they give up
//! after some time with an error that says so.

mod checksum;
pub(super) mod header;
pub(super) mod record;
mod view;
pub(super) mod worker;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use view::{StudyRecord, read};

use checksum::LineChain;

use crate::file_faults::{self, FileOperation};
use crate::{Error, Result};

/// How every journal begins.
pub(super) const MAGIC: &str = "{\"swarmwood_study\":";

/// How long to wait for another process that holds the lock. It does so for milliseconds.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// An open journal.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes that were read or written by this process: all lines up to here are known.
    known: u64,
    /// Lines up to there.
    lines: usize,
    /// Their checksums.
    chain: LineChain,
    longest_wait: Duration,
}

/// A journal that no other process writes to until this is dropped.
pub(super) struct JournalLock<'a> {
    journal: &'a mut Journal,
    /// Whether the unfinished line of a killed process was removed.
    pub truncated: bool,
}

impl Journal {
    /// Opens a journal or makes an empty one.
    pub fn open(path: &Path) -> Result<Journal> {
        let fault = |source| Error::Write { path: path.to_path_buf(), source };
        if let Ok(metadata) = std::fs::metadata(path)
            && !metadata.is_file()
        {
            return Err(Error::Study {
                path: path.to_path_buf(),
                message: "is not a file".to_string(),
            });
        }
        let file = file_faults::check(FileOperation::Create)
            .and_then(|()| OpenOptions::new().read(true).append(true).create(true).open(path))
            .map_err(fault)?;
        if let Some(directory) = path.parent() {
            // So that the name outlives a crash of the machine; what cannot be opened cannot be
            // helped.
            let directory =
                if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
        }
        Ok(Journal {
            path: path.to_path_buf(),
            file,
            known: 0,
            lines: 0,
            chain: LineChain::default(),
            longest_wait: LONGEST_WAIT,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another process added to it since it was last read.
    pub fn has_grown(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() != self.known)
    }

    /// Waits until no other process writes, but not for ever.
    pub fn lock(&mut self) -> Result<JournalLock<'_>> {
        self.lock_within(self.longest_wait)
    }

    /// The same with a limit of its own.
    pub fn lock_within(&mut self, longest: Duration) -> Result<JournalLock<'_>> {
        let is_locked = wait_for_lock(longest, || self.file.try_lock())
            .map_err(|source| Error::Write { path: self.path.clone(), source })?;
        if is_locked {
            return Ok(JournalLock { journal: self, truncated: false });
        }
        Err(self.fault(&format!(
            "has been locked by another process for {} s; continue that process if it is stopped \
             (kill -CONT), or end it, then start the same command again",
            longest.as_secs_f64().round()
        )))
    }

    /// Limits the time to wait for the lock, for tests.
    #[cfg(test)]
    pub fn with_longest_wait(self, longest_wait: Duration) -> Journal {
        Journal { longest_wait, ..self }
    }
}

fn write_all(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file_faults::write(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The bytes alone: when the file was changed is of no interest.
fn sync(file: &File) -> io::Result<()> {
    file_faults::check(FileOperation::Sync)?;
    file.sync_data()
}

/// Tries to lock a file until it works, or for so long; whether it worked.
fn wait_for_lock(
    longest: Duration,
    mut try_lock: impl FnMut() -> std::result::Result<(), TryLockError>,
) -> io::Result<bool> {
    let started = Instant::now();
    // A lock is held for microseconds and soon taken again: who sleeps long never gets it.
    let mut pause = Duration::from_micros(20);
    loop {
        match try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(source)) => return Err(source),
            Err(TryLockError::WouldBlock) if started.elapsed() >= longest => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
        }
        pause = (pause * 5 / 4).min(Duration::from_millis(5));
    }
}

impl JournalLock<'_> {
    /// The lines that were added since the last call, with their numbers, counted from 1.
    pub fn new_lines(&mut self) -> Result<Vec<(usize, String)>> {
        let journal = &mut *self.journal;
        let fault = |path: &Path, source| Error::Read { path: path.to_path_buf(), source };
        let length = journal.file.metadata().map_err(|source| fault(&journal.path, source))?.len();
        if length < journal.known {
            return Err(journal.fault(
                "was truncated by another program while it was in use; end all runs and start again",
            ));
        }
        let mut bytes = Vec::new();
        journal
            .file
            .seek(SeekFrom::Start(journal.known))
            .and_then(|_| journal.file.read_to_end(&mut bytes))
            .map_err(|source| fault(&journal.path, source))?;
        if journal.known == 0 {
            check_beginning(&bytes).map_err(|message| journal.fault(message))?;
        }
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if whole < bytes.len() {
            let source = file_faults::truncate(&journal.file, journal.known + whole as u64);
            source.map_err(|source| Error::Write { path: journal.path.clone(), source })?;
            self.truncated = true;
            bytes.truncate(whole);
        }
        let mut lines = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            journal.lines += 1;
            let text = std::str::from_utf8(&line[..line.len() - 1]).map_err(|_| {
                journal.fault(&format!("line {}: is damaged: not UTF-8", journal.lines))
            })?;
            let line = journal.chain.open(text);
            let line =
                line.map_err(|fault| journal.fault(&format!("line {}: {fault}", journal.lines)))?;
            lines.push((journal.lines, line));
        }
        journal.known += whole as u64;
        Ok(lines)
    }

    /// Adds lines: all of them or none. Needs everything before them to be read, see
    /// [`JournalLock::new_lines`].
    pub fn append(&mut self, lines: &[String]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let journal = &mut *self.journal;
        let mut chain = journal.chain;
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend_from_slice(chain.seal(line).as_bytes());
            bytes.push(b'\n');
        }
        let written = write_all(&journal.file, &bytes).and_then(|()| sync(&journal.file));
        if let Err(source) = written {
            // Part of it may be there. If it cannot be taken away either, the next to open the
            // journal cuts it off.
            let _ = file_faults::truncate(&journal.file, journal.known);
            return Err(Error::Write { path: journal.path.clone(), source: with_help(source) });
        }
        journal.known += bytes.len() as u64;
        journal.lines += lines.len();
        journal.chain = chain;
        Ok(())
    }

    /// Where the journal is.
    pub fn path(&self) -> &Path {
        &self.journal.path
    }
}

impl Drop for JournalLock<'_> {
    fn drop(&mut self) {
        // The lock goes with the file if it cannot be given back.
        let _ = self.journal.file.unlock();
    }
}

impl Journal {
    fn fault(&self, message: &str) -> Error {
        Error::Study { path: self.path.clone(), message: message.to_string() }
    }
}

/// Whether bytes can be the beginning of a journal, so that nobody's data is cut or added to by
/// mistake.
fn check_beginning(bytes: &[u8]) -> std::result::Result<(), &'static str> {
    let shorter = bytes.len().min(MAGIC.len());
    match bytes[..shorter] == MAGIC.as_bytes()[..shorter] {
        true => Ok(()),
        false => Err("is not a study; name another file"),
    }
}

/// What to do about a journal that cannot be written.
fn with_help(source: io::Error) -> io::Error {
    let help = "the study is whole up to here: make room and start the same command again to go on";
    io::Error::new(source.kind(), format!("{source}; {help}"))
}
