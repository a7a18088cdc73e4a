//! Files that appear whole or not at all.
//!
//! An [`Output`] is written to a temporary file beside its destination and renamed over it by
//! [`Output::commit`]; if it is dropped before that, nothing is left behind and an older file of
//! that name is untouched. What cannot be renamed over (a device such as `/dev/null`, a pipe, a
//! standard stream that the shell redirected to a file) is written directly.
//!
//! A process that is killed cannot clean up. The temporary file is named for its destination and
//! locked while it is written, so that the next write of the same file finds what was left behind,
//! sees that nobody writes it any more, and takes it away.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use swarmwood_search::rng::fingerprint;

use crate::file_faults::{self, FileOperation};
use crate::{Error, Result};

/// A file being written; it takes its place when it is committed.
///
/// ```
/// use std::io::Write;
/// use swarmwood::write::Output;
///
/// let path = std::env::temp_dir().join("swarmwood-doc-output.txt");
/// let mut output = Output::create(&path)?;
/// writeln!(output, "complete").map_err(|source| output.fault(source))?;
/// output.commit()?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "complete\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), swarmwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Output {
    /// What the user called the file: messages name this one.
    named: PathBuf,
    writer: BufWriter<OutputFile>,
    /// The file at the side and the place it will take; `None` for devices and pipes, and after the
    /// commit.
    rename: Option<(PathBuf, PathBuf)>,
}

/// The file behind the buffer.
#[derive(Debug)]
struct OutputFile(File);

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        file_faults::write(&self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Output {
    /// Opens the file beside its destination, so that a wrong path is reported before any work is
    /// done.
    pub fn create(path: &Path) -> Result<Output> {
        Output::open(path).map_err(|source| Error::Write { path: path.to_path_buf(), source })
    }

    fn open(path: &Path) -> io::Result<Output> {
        let named = path.to_path_buf();
        let place = destination(path)?;
        if let Some(file) = open_descriptor(&place) {
            return Ok(Output { named, writer: BufWriter::new(OutputFile(file?)), rename: None });
        }

        let existing = match fs::metadata(&place) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "is a directory; name a file in it",
                ));
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(&place)?;
                return Ok(Output {
                    named,
                    writer: BufWriter::new(OutputFile(file)),
                    rename: None,
                });
            }
            Ok(metadata) => {
                // A rename would overwrite even a file that its owner made read-only.
                OpenOptions::new().write(true).open(&place)?;
                Some(metadata)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };

        let (file, side) = create_beside(&place)?;
        let writer = BufWriter::new(OutputFile(file));
        let output = Output { named, writer, rename: Some((side, place)) };
        if let Some(metadata) = existing {
            let file = &output.writer.get_ref().0;
            // Before the permissions, which a change of the owner may reset.
            keep_owner(file, &metadata);
            file.set_permissions(metadata.permissions())?;
        }
        Ok(output)
    }

    /// A write error that names this file.
    pub fn fault(&self, source: io::Error) -> Error {
        Error::Write { path: self.named.clone(), source }
    }

    /// Brings everything to the disk and puts the file in its place.
    pub fn commit(mut self) -> Result<()> {
        self.finish().map_err(|source| self.fault(source))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        if let Some((side, place)) = &self.rename {
            // Without this a crash of the machine could leave the new name with no content.
            file_faults::sync(&self.writer.get_ref().0)?;
            file_faults::rename(side, place)?;
            self.rename = None;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((side, _)) = &self.rename {
            // Nothing can be done about a failure here, and the destination is untouched either
            // way.
            let _ = file_faults::remove(side);
        }
    }
}

/// Writes a whole file by a function; the file appears complete or not at all.
///
/// ```
/// let path = std::env::temp_dir().join("swarmwood-doc-atomic.txt");
/// swarmwood::write::write_atomically(&path, |out| out.write_all(b"whole"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let mut output = Output::create(path)?;
    fill(&mut output).map_err(|source| output.fault(source))?;
    output.commit()
}

/// The path behind symbolic links, so that a link stays a link and its target is replaced. A link
/// to something that has no path of its own (a pipe, a descriptor of this process) is returned as it
/// is.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..40 {
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.file_type().is_symlink() => {
                if is_descriptor(&place)
                    || fs::metadata(&place)
                        .is_ok_and(|target| !target.is_file() && !target.is_dir())
                {
                    return Ok(place);
                }
                let target = fs::read_link(&place)?;
                place =
                    place.parent().map_or_else(|| target.clone(), |parent| parent.join(&target));
            }
            _ => return Ok(place),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Whether a path is a link of `/proc/self/fd`, which `/dev/stdout` and `/dev/fd` lead to.
fn is_descriptor(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    folder.is_some_and(|folder| folder.starts_with("/proc") && folder.ends_with("fd"))
}

/// Opens the file of a descriptor. It belongs to whoever opened it: what it contains is kept, and
/// the bytes go where the next bytes of that descriptor would go.
fn open_descriptor(path: &Path) -> Option<io::Result<File>> {
    if !is_descriptor(path) {
        return None;
    }
    let number: Option<u32> = path.file_name()?.to_str()?.parse().ok();
    let own = format!("/proc/{}/fd", std::process::id());
    let is_own = fs::canonicalize(path.parent()?).is_ok_and(|folder| folder == Path::new(&own));

    let shared = number.filter(|_| is_own).and_then(standard_stream);
    Some(shared.unwrap_or_else(|| OpenOptions::new().append(true).open(path)))
}

/// A standard stream of this process as a file with the same position: 0 standard input, 1 standard
/// output, 2 standard error. `None` for other numbers, and on systems without descriptors.
#[cfg(unix)]
pub fn standard_stream(descriptor: u32) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let shared = match descriptor {
        0 => io::stdin().as_fd().try_clone_to_owned(),
        1 => io::stdout().as_fd().try_clone_to_owned(),
        2 => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(shared.map(File::from))
}

/// A standard stream of this process as a file.
#[cfg(not(unix))]
pub fn standard_stream(_: u32) -> Option<io::Result<File>> {
    None
}

/// Gives a new file the owner and group of the file that it will replace, as far as that is
/// permitted; only an administrator may give files away.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let Ok(new) = file.metadata() else { return };
    if new.uid() != old.uid() {
        let _ = fchown(file, Some(old.uid()), None);
    }
    if new.gid() != old.gid() {
        let _ = fchown(file, None, Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Creates a new file in the directory of `place`: under the name that belongs to it or, while
/// somebody else writes that one, under a name nothing else uses.
fn create_beside(place: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(name) = place.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not the name of a file"));
    };
    let own = side_name(name);
    let side = place.with_file_name(format!("{own}.tmp"));
    // Whatever goes wrong here, there is another name below.
    remove_side(&side);
    if let Ok(file) = create(&side) {
        // Between the two steps somebody may have taken the file for one that was left behind.
        if file.try_lock().is_ok() && is_at(&file, &side) {
            return Ok((file, side));
        }
    }
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let side = place.with_file_name(format!("{own}-{}-{number}.tmp", std::process::id()));
        match create(&side) {
            Ok(file) => return Ok((file, side)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes away what a process that was killed left beside a file, for a run that may end before it
/// writes the file again.
pub fn remove_left_behind(path: &Path) {
    if let Ok(place) = destination(path)
        && let Some(name) = place.file_name()
    {
        remove_side(&place.with_file_name(format!("{}.tmp", side_name(name))));
    }
}

fn remove_side(side: &Path) {
    if is_left_behind(side) {
        // A file that cannot be removed harms nobody.
        let _ = file_faults::remove(side);
    }
}

/// The beginning of the names of temporary files: short and its own, because the destination's name
/// may already be as long as a name can be.
fn side_name(name: &OsStr) -> String {
    let print = fingerprint(name.as_encoded_bytes().iter().map(|&byte| u64::from(byte))) as u64;
    format!(".swarmwood-{print:016x}")
}

/// Creates a file that was not there; a link in its place is refused.
fn create(side: &Path) -> io::Result<File> {
    file_faults::check(FileOperation::Create)?;
    OpenOptions::new().write(true).create_new(true).open(side)
}

/// Whether a file is there that no process writes: its lock is free, and it is still the one that
/// was asked.
fn is_left_behind(side: &Path) -> bool {
    let plain = fs::symlink_metadata(side).is_ok_and(|metadata| metadata.is_file());
    plain
        && OpenOptions::new()
            .write(true)
            .open(side)
            .is_ok_and(|file| file.try_lock().is_ok() && is_at(&file, side))
}

/// Whether an open file is the one of this name.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, side: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata().map(place), fs::symlink_metadata(side).map(place)), (Ok(a), Ok(b)) if a == b)
}

/// Whether an open file is the one of this name: elsewhere open files can neither be renamed nor
/// removed.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, side: &Path) -> bool {
    side.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let directory =
            std::env::temp_dir().join(format!("swarmwood-write-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn replaces_the_old_file_only_when_committed() {
        let directory = fresh("replace");
        let path = directory.join("model.json");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        output.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&directory), ["model.json"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn leaves_nothing_behind_when_filling_fails() {
        let directory = fresh("fail");
        let path = directory.join("out.csv");
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("stopped"))
        });
        assert_eq!(
            failed.unwrap_err().to_string(),
            format!("{}: cannot write: stopped", path.display())
        );
        assert!(names(&directory).is_empty());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_a_killed_write_left_is_taken_away_and_what_is_alive_is_not() {
        let directory = fresh("left");
        let path = directory.join("model.json");
        let side = |name: &str| directory.join(format!("{}.tmp", side_name(OsStr::new(name))));
        fs::write(side("model.json"), "half").unwrap();
        fs::write(side("other.json"), "half of another").unwrap();
        write_atomically(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let mut left = names(&directory);
        left.sort();
        assert_eq!(left, [side("other.json").file_name().unwrap().to_str().unwrap(), "model.json"]);
        // Two at a time: neither takes the other's file for one that was left behind.
        let mut slow = Output::create(&path).unwrap();
        write_atomically(&path, |out| out.write_all(b"quick")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"quick");
        slow.write_all(b"slow").unwrap();
        slow.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"slow");
        assert_eq!(names(&directory).len(), 2);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn reports_a_directory_and_a_missing_directory() {
        let directory = fresh("wrong");
        assert!(matches!(Output::create(&directory), Err(Error::Write { .. })));
        assert!(matches!(Output::create(&directory.join("no/such/out")), Err(Error::Write { .. })));
        assert!(matches!(Output::create(Path::new("")), Err(Error::Write { .. })));
        assert!(names(&directory).is_empty());
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn writes_through_a_link_and_keeps_it() {
        let directory = fresh("link");
        let link = directory.join("link");
        std::os::unix::fs::symlink("real", &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"1")).unwrap();
        write_atomically(&link, |out| out.write_all(b"2")).unwrap();
        assert_eq!(fs::read(directory.join("real")).unwrap(), b"2");
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        fs::remove_dir_all(directory).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn writes_devices_directly_and_reports_a_full_one() {
        write_atomically(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let full = write_atomically(Path::new("/dev/full"), |out| out.write_all(b"too much"));
        assert!(matches!(full, Err(Error::Write { .. })));
    }
}
