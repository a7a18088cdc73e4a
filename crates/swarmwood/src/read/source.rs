//! A source that can be read more than once, and the detection of its format.

use std::cell::Cell as StdCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::read::MultiGzDecoder;

use super::Source;
use super::location::{PositionUnit, SourceLocation};
use super::source_stamp::SourceStamp;
use crate::{Error, Result};

/// Standard input is kept in memory up to this size and in a temporary file beyond it.
pub(super) const MEMORY_LIMIT: usize = 64 << 20;
/// Bytes that are examined to detect formats and delimiters.
const HEAD: usize = 64 << 10;

/// A source that can be opened more than once.
#[derive(Debug)]
pub(super) enum RereadableSource {
    /// A file of the user, and what it was like when it was opened first.
    File(PathBuf, SourceStamp),
    /// Bytes of the program.
    Bytes(String, &'static [u8]),
    /// A stream that was short.
    Memory(String, Arc<[u8]>),
    /// A stream that was long.
    TempFile(String, TempFile),
}

/// A temporary file. Where the system allows it, its name is removed as soon as it is open, so that
/// nothing is left even if the program is killed; elsewhere it is removed when it is dropped.
#[derive(Debug)]
pub(super) struct TempFile {
    file: File,
    path: PathBuf,
}

impl TempFile {
    fn create() -> Result<TempFile> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir()
                .join(format!("swarmwood-input-{}-{number}.tmp", std::process::id()));
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(file) => {
                    #[cfg(unix)]
                    fs::remove_file(&path)
                        .map_err(|source| Error::Write { path: path.clone(), source })?;
                    return Ok(TempFile { file, path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Write { path, source }),
            }
        }
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !cfg!(unix) {
            // A file that is already gone is what we want.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// How much of a source has been read.
#[derive(Debug, Clone)]
pub(super) struct ReadMeter {
    done: Rc<StdCell<u64>>,
    total: u64,
}

impl ReadMeter {
    pub(super) fn new(total: u64) -> ReadMeter {
        ReadMeter { done: Rc::new(StdCell::new(0)), total }
    }

    pub(super) fn add(&self, more: u64) {
        self.done.set(self.done.get() + more);
    }

    /// The share that has been read, from 0 to 1.
    pub(super) fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { (self.done.get() as f64 / self.total as f64).min(1.0) }
    }
}

/// A reader that counts.
struct CountingReader {
    inner: Box<dyn Read>,
    meter: ReadMeter,
}

impl Read for CountingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.meter.add(read as u64);
        Ok(read)
    }
}

/// An opened source.
pub(super) enum SourceReader {
    /// Text, already decompressed.
    Text(TextInput),
    /// A Parquet file.
    Parquet(ParquetInput),
}

/// The bytes of a text file.
pub(super) struct TextInput {
    pub(super) location: SourceLocation,
    /// The first bytes, taken from `rest` already.
    pub(super) head: Vec<u8>,
    pub(super) rest: Box<dyn Read>,
    pub(super) compressed: bool,
    /// Absent where the length is not known.
    pub(super) meter: Option<ReadMeter>,
}

/// The bytes of a Parquet file, which is read from its end.
pub(super) struct ParquetInput {
    pub(super) location: SourceLocation,
    pub(super) bytes: ParquetBytes,
}

/// Bytes that can be read at any position.
pub(super) enum ParquetBytes {
    File(File),
    Static(&'static [u8]),
    Shared(Arc<[u8]>),
}

impl RereadableSource {
    /// Makes a source readable more than once: standard input and pipes are stored first.
    pub(super) fn new(source: &Source, memory_limit: usize) -> Result<RereadableSource> {
        match source {
            Source::Bytes(name, bytes) => Ok(RereadableSource::Bytes(name.clone(), bytes)),
            Source::Stdin => store(source_name(source), &mut io::stdin().lock(), memory_limit),
            Source::File(path) => {
                let file = open_file(path)?;
                let metadata = file.metadata().map_err(|error| cannot_read(path, error))?;
                if metadata.is_file() {
                    return Ok(RereadableSource::File(path.clone(), SourceStamp::new(&metadata)));
                }
                store(source_name(source), &mut &file, memory_limit)
            }
        }
    }

    /// Opens the source at its beginning.
    pub(super) fn open(&self) -> Result<SourceReader> {
        match self {
            RereadableSource::File(path, stamp) => {
                let failed = |error| cannot_read(path, error);
                let file = open_file(path)?;
                let again = file.try_clone().map_err(failed)?;
                let whole = file.try_clone().map_err(failed)?;
                let opened = open_stream(
                    path.display().to_string(),
                    stamp.checked(Box::new(file)),
                    Some(ParquetBytes::File(again)),
                )?;
                if matches!(opened, SourceReader::Parquet(_)) {
                    stamp.check(&whole).map_err(failed)?;
                }
                Ok(opened)
            }
            RereadableSource::Bytes(name, bytes) => {
                open_stream(name.clone(), Box::new(*bytes), Some(ParquetBytes::Static(bytes)))
            }
            RereadableSource::Memory(name, bytes) => {
                let shared = ParquetBytes::Shared(Arc::clone(bytes));
                open_stream(name.clone(), Box::new(Cursor::new(Arc::clone(bytes))), Some(shared))
            }
            RereadableSource::TempFile(name, temp) => {
                // The clones share one position, and one reading ends before the next begins.
                let failed = |error| cannot_read(&temp.path, error);
                let mut file = temp.file.try_clone().map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                let again = temp.file.try_clone().map_err(failed)?;
                open_stream(name.clone(), Box::new(file), Some(ParquetBytes::File(again)))
            }
        }
    }
}

/// Opens a source for one reading; a stream of text is not stored.
pub(super) fn open_once(source: &Source) -> Result<SourceReader> {
    let stream: Box<dyn Read> = match source {
        Source::Stdin => Box::new(io::stdin()),
        Source::File(path) => {
            let file = open_file(path)?;
            let metadata = file.metadata().map_err(|error| cannot_read(path, error))?;
            if metadata.is_file() {
                return RereadableSource::File(path.clone(), SourceStamp::new(&metadata)).open();
            }
            Box::new(file)
        }
        Source::Bytes(name, bytes) => return RereadableSource::Bytes(name.clone(), bytes).open(),
    };
    open_stream(source_name(source), stream, None)
}

/// The name of a source in messages.
fn source_name(source: &Source) -> String {
    match source {
        Source::File(path) => path.display().to_string(),
        Source::Stdin => String::from("standard input"),
        Source::Bytes(name, _) => name.clone(),
    }
}

fn open_file(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|error| cannot_read(path, error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let error =
            io::Error::new(io::ErrorKind::IsADirectory, "is a directory; name a file in it");
        return Err(cannot_read(path, error));
    }
    Ok(file)
}

fn cannot_read(path: &Path, source: io::Error) -> Error {
    Error::Read { path: path.to_path_buf(), source }
}

/// Reads a stream to its end, into memory or into a temporary file.
fn store(name: String, stream: &mut dyn Read, memory_limit: usize) -> Result<RereadableSource> {
    let failed = |error| cannot_read(Path::new(&name), error);
    let mut bytes = Vec::new();
    stream.take(memory_limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() <= memory_limit {
        return Ok(RereadableSource::Memory(name, bytes.into()));
    }
    let temp = TempFile::create()?;
    let mut file = &temp.file;
    let written = file.write_all(&bytes).and_then(|()| {
        drop(bytes);
        io::copy(stream, &mut file)
    });
    match written {
        Ok(_) => Ok(RereadableSource::TempFile(name, temp)),
        Err(source) => Err(Error::Write { path: temp.path.clone(), source }),
    }
}

/// Detects the format by the first bytes and decompresses. `whole` is the source for
/// reading at any position, where it offers that.
fn open_stream(
    name: String,
    raw: Box<dyn Read>,
    whole: Option<ParquetBytes>,
) -> Result<SourceReader> {
    let location = SourceLocation { file: name, unit: PositionUnit::Line };
    let meter = match &whole {
        Some(ParquetBytes::File(file)) => {
            file.metadata().ok().map(|metadata| ReadMeter::new(metadata.len()))
        }
        Some(ParquetBytes::Static(bytes)) => Some(ReadMeter::new(bytes.len() as u64)),
        Some(ParquetBytes::Shared(bytes)) => Some(ReadMeter::new(bytes.len() as u64)),
        None => None,
    };
    let mut raw = match &meter {
        Some(meter) => Box::new(CountingReader { inner: raw, meter: meter.clone() }),
        None => raw,
    };
    let head = read_head(&mut raw).map_err(|error| read_fault(&location, false, error))?;
    if head.starts_with(b"PAR1") {
        return parquet(location, head, raw, whole);
    }
    let input = if head.starts_with(&[0x1F, 0x8B]) {
        let mut rest: Box<dyn Read> = Box::new(MultiGzDecoder::new(Cursor::new(head).chain(raw)));
        let head = read_head(&mut rest).map_err(|error| read_fault(&location, true, error))?;
        TextInput { location, head, rest, compressed: true, meter }
    } else {
        TextInput { location, head, rest: raw, compressed: false, meter }
    };
    Ok(SourceReader::Text(input))
}

/// Refuses what is no text, once it is decoded.
pub(super) fn check_text(input: &TextInput) -> Result<()> {
    match foreign(&input.head) {
        Some(help) => Err(input.location.fault("is not a text file", help)),
        None => Ok(()),
    }
}

fn parquet(
    location: SourceLocation,
    head: Vec<u8>,
    raw: Box<dyn Read>,
    whole: Option<ParquetBytes>,
) -> Result<SourceReader> {
    let location = SourceLocation { unit: PositionUnit::Row, ..location };
    let bytes = match whole {
        Some(ParquetBytes::File(mut file)) => {
            // The clone shares its position with the handle the head was read from.
            file.seek(SeekFrom::Start(0)).map_err(|error| read_fault(&location, false, error))?;
            ParquetBytes::File(file)
        }
        Some(bytes) => bytes,
        // A stream cannot be read from its end: it is stored, in memory only if it is short.
        None => {
            let mut stream = Cursor::new(head).chain(raw);
            return store(location.file, &mut stream, MEMORY_LIMIT)?.open();
        }
    };
    Ok(SourceReader::Parquet(ParquetInput { location, bytes }))
}

/// A failure to read on. Damage inside gzip is a fault of the data, the rest is the system's
/// answer.
pub(super) fn read_fault(location: &SourceLocation, compressed: bool, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if compressed && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let what = if error.kind() == UnexpectedEof { "is cut short" } else { "is damaged" };
        return location.fault(
            format!("the gzip data {what} ({error})"),
            "get the file again, and test it with gzip -t",
        );
    }
    Error::Read { path: PathBuf::from(&location.file), source: error }
}

pub(super) fn read_head(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// What a file is that is neither text, gzip nor Parquet, and what to do about it.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 6] = [
        (b"PK\x03\x04", "it is a zip archive or a spreadsheet; unpack it, or export it as CSV"),
        (b"\x28\xB5\x2F\xFD", "it is compressed by zstd; decompress it, or use gzip"),
        (b"\xFD7zXZ\0", "it is compressed by xz; decompress it, or use gzip"),
        (b"BZh", "it is compressed by bzip2; decompress it, or use gzip"),
        (b"ARROW1", "it is an Arrow or Feather file; convert it to Parquet or CSV"),
        (b"PAR1", "it is a Parquet file inside gzip; decompress it"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, help)| *help);
    known.or_else(|| {
        head.contains(&0).then_some("it holds zero bytes; give CSV, CSV in gzip, or Parquet")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(opened: SourceReader) -> String {
        let SourceReader::Text(mut input) = opened else { panic!("not text") };
        let mut bytes = input.head;
        input.rest.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn stores_a_long_stream_in_a_file_and_removes_it() {
        let long = "0123456789".repeat(1000);
        let origin = store(String::from("pipe"), &mut long.as_bytes(), 100).unwrap();
        let RereadableSource::TempFile(_, temp) = &origin else { panic!("kept in memory") };
        let path = temp.path.clone();
        assert_eq!(path.exists(), !cfg!(unix));
        assert_eq!(text(origin.open().unwrap()), long);
        assert_eq!(text(origin.open().unwrap()), long);
        drop(origin);
        assert!(!path.exists());
    }

    #[test]
    fn keeps_a_short_stream_in_memory() {
        let origin = store(String::from("pipe"), &mut &b"short"[..], 5).unwrap();
        assert!(matches!(origin, RereadableSource::Memory(..)));
        assert_eq!(text(origin.open().unwrap()), "short");
        assert_eq!(text(origin.open().unwrap()), "short");
    }

    #[test]
    fn a_file_that_changes_between_two_passes_is_an_error() {
        let path = std::env::temp_dir().join(format!("swarmwood-changed-{}", std::process::id()));
        for (before, after) in [("x,y\n1,2\n", "x,y\n1,3\n"), ("x,y\n1,2\n", "x,y\n1,2\n3,4\n")] {
            fs::write(&path, before).unwrap();
            let origin = RereadableSource::new(&Source::File(path.clone()), 100).unwrap();
            assert_eq!(text(origin.open().unwrap()), before);
            assert_eq!(text(origin.open().unwrap()), before);
            fs::write(&path, after).unwrap();
            let error = match origin.open() {
                Ok(SourceReader::Text(mut input)) => {
                    input.rest.read_to_end(&mut Vec::new()).unwrap_err().to_string()
                }
                Ok(_) => panic!("not text"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains("changed while it was being read"), "{error}");
        }

        fs::write(&path, "PAR1....").unwrap();
        let origin = RereadableSource::new(&Source::File(path.clone()), 100).unwrap();
        assert!(origin.open().is_ok());
        fs::write(&path, "PAR1.....").unwrap();
        assert!(origin.open().is_err());
        fs::remove_file(path).unwrap();
    }
}
