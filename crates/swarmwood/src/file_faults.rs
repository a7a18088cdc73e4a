//! The operations that change files, in one place, so that tests can make each of them fail.
//!
//! With the feature `test-hooks` a test chooses an operation by its number and what happens to it
//! ([`inject`]). Without it every function here is the operation alone.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// What can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOperation {
    /// A new file.
    Create,
    /// Bytes on their way to the disk.
    Sync,
    /// A file takes its place.
    Rename,
    /// The end of a file is cut off.
    Truncate,
    /// A file goes.
    Remove,
}

/// Writes bytes, perhaps not all.
pub(crate) fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(feature = "test-hooks")]
    hooks::before_write(file, bytes)?;
    io::Write::write(&mut file, bytes)
}

/// Brings a file to the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    check(FileOperation::Sync)?;
    file.sync_all()
}

/// Gives a file another name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    check(FileOperation::Rename)?;
    fs::rename(from, to)
}

/// Cuts a file off.
pub(crate) fn truncate(file: &File, length: u64) -> io::Result<()> {
    check(FileOperation::Truncate)?;
    file.set_len(length)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    check(FileOperation::Remove)?;
    fs::remove_file(path)
}

/// Called before an operation; an error takes its place.
#[cfg(not(feature = "test-hooks"))]
#[inline(always)]
pub(crate) fn check(_: FileOperation) -> io::Result<()> {
    Ok(())
}

#[cfg(feature = "test-hooks")]
pub(crate) use hooks::check;
#[cfg(feature = "test-hooks")]
pub use hooks::{FileFault, KILLED, clear, inject};

#[cfg(feature = "test-hooks")]
mod hooks {
    use std::fs::File;
    use std::io::{self, Write};
    use std::sync::{Mutex, PoisonError};

    use super::FileOperation;

    /// What happens to the chosen operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FileFault {
        /// It fails, as on a broken disk.
        Fail,
        /// Half of the bytes are written, then the disk is full; other operations fail.
        ShortWrite,
        /// From this operation on nothing can be created or written.
        DiskFull,
        /// The process ends, in the middle of a write or before any other operation.
        Kill,
    }

    /// The exit code of a process that [`FileFault::Kill`] ended.
    pub const KILLED: i32 = 86;

    struct FaultPlan {
        operations: u64,
        fault: Option<(u64, FileFault)>,
    }

    static PLAN: Mutex<FaultPlan> = Mutex::new(FaultPlan { operations: 0, fault: None });

    /// Chooses what happens to an operation, counted from here on and from 0.
    pub fn inject(operation: u64, fault: FileFault) {
        let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
        *plan = FaultPlan { operations: 0, fault: Some((operation, fault)) };
    }

    /// Lets all operations succeed from here on; the number of operations since the last call.
    pub fn clear() -> u64 {
        let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *plan, FaultPlan { operations: 0, fault: None }).operations
    }

    /// What happens to the next operation.
    fn next() -> Option<FileFault> {
        let mut plan = PLAN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = plan.operations;
        plan.operations += 1;
        let (chosen, fault) = plan.fault?;
        let is_hit = number == chosen || fault == FileFault::DiskFull && number > chosen;
        is_hit.then_some(fault)
    }

    fn full() -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, "no space left on device")
    }

    pub(crate) fn check(operation: FileOperation) -> io::Result<()> {
        match next() {
            None => Ok(()),
            Some(FileFault::Kill) => std::process::exit(KILLED),
            // What removes or renames needs no space, and a removal that fails leaves a file.
            Some(_) if operation == FileOperation::Remove => Ok(()),
            Some(FileFault::DiskFull)
                if !matches!(operation, FileOperation::Create | FileOperation::Sync) =>
            {
                Ok(())
            }
            Some(FileFault::Fail) => Err(io::Error::other("input/output error")),
            Some(FileFault::ShortWrite | FileFault::DiskFull) => Err(full()),
        }
    }

    pub(super) fn before_write(mut file: &File, bytes: &[u8]) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        match next() {
            None => Ok(()),
            Some(FileFault::Fail) => Err(io::Error::other("input/output error")),
            Some(FileFault::DiskFull) => Err(full()),
            Some(FileFault::ShortWrite) => {
                file.write_all(half)?;
                Err(full())
            }
            Some(FileFault::Kill) => {
                // Whether or not this works, the process ends.
                let _ = file.write_all(half);
                std::process::exit(KILLED)
            }
        }
    }
}
