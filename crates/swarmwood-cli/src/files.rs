//! The files of a command: no output may be an input, and no two outputs may be one file.
//!
//! Files are compared by what they are, not by their names: hard links, symbolic links and redirected
//! standard streams are found, too.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use swarmwood::error::Violation;
use swarmwood::read::Source;
use swarmwood::write::{destination, standard_stream};
use swarmwood::{Error, Result, store};

/// What makes two files one. Devices and pipes are not compared: nothing in them can be lost.
#[derive(Debug, PartialEq)]
enum FileIdentity {
    /// A file that exists.
    #[cfg(unix)]
    Inode { device: u64, inode: u64 },
    /// A file that will be made, or a file of a system without inodes: the path without links.
    Path(PathBuf),
}

impl FileIdentity {
    fn of(path: &Path) -> Option<FileIdentity> {
        match std::fs::metadata(path) {
            Ok(metadata) => FileIdentity::existing(&metadata, path),
            Err(_) => {
                let place = destination(path).ok()?;
                let name = place.file_name()?;
                let folder = place.parent().filter(|folder| *folder != Path::new(""));
                let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
                Some(FileIdentity::Path(folder.join(name)))
            }
        }
    }

    #[cfg(unix)]
    fn existing(metadata: &Metadata, _: &Path) -> Option<FileIdentity> {
        use std::os::unix::fs::MetadataExt;
        metadata
            .is_file()
            .then(|| FileIdentity::Inode { device: metadata.dev(), inode: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn existing(metadata: &Metadata, path: &Path) -> Option<FileIdentity> {
        metadata.is_file().then(|| std::fs::canonicalize(path).ok().map(FileIdentity::Path))?
    }

    /// The file that a standard stream was redirected from or to.
    fn of_stream(descriptor: u32) -> Option<FileIdentity> {
        let stream = standard_stream(descriptor)?.ok()?;
        FileIdentity::existing(&stream.metadata().ok()?, Path::new(""))
    }
}

struct InputFile {
    /// What the file is, as in "which is the training data".
    role: &'static str,
    identity: FileIdentity,
}

struct OutputFile {
    /// The flag that names the file.
    flag: &'static str,
    path: PathBuf,
    /// Whether the command itself opens the file early, and says if that fails.
    is_opened_early: bool,
}

/// All files that a command reads and writes. Each command declares them before it starts.
#[derive(Default)]
pub struct CommandFiles {
    inputs: Vec<InputFile>,
    outputs: Vec<OutputFile>,
}

impl CommandFiles {
    /// Adds a file that is read, if there is one.
    pub fn input(mut self, role: &'static str, path: Option<impl AsRef<Path>>) -> Self {
        let identity = path.and_then(|path| FileIdentity::of(path.as_ref()));
        self.inputs.extend(identity.map(|identity| InputFile { role, identity }));
        self
    }

    /// Adds rows that are read.
    pub fn rows(mut self, role: &'static str, source: &Source) -> Self {
        match source {
            Source::File(path) => self.input(role, Some(path)),
            Source::Stdin => {
                let identity = FileIdentity::of_stream(0);
                self.inputs.extend(identity.map(|identity| InputFile { role, identity }));
                self
            }
            Source::Bytes(..) => self,
        }
    }

    /// Adds a file or a directory with files that are read.
    pub fn folder_or_file(mut self, role: &'static str, path: &Path) -> Self {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            self = self.input(role, Some(entry.path()));
        }
        self.input(role, Some(path))
    }

    /// Adds a file that is written, if there is one.
    pub fn output(mut self, flag: &'static str, path: Option<impl AsRef<Path>>) -> Self {
        self.outputs.extend(path.map(|path| OutputFile {
            flag,
            path: path.as_ref().to_path_buf(),
            is_opened_early: false,
        }));
        self
    }

    /// Adds a file that is read and appended to, which the command opens itself.
    pub fn journal(mut self, flag: &'static str, path: Option<impl AsRef<Path>>) -> Self {
        self = self.output(flag, path);
        if let Some(last) = self.outputs.last_mut().filter(|last| last.flag == flag) {
            last.is_opened_early = true;
        }
        self
    }

    /// Refuses outputs that would destroy an input or another output.
    pub fn check(&self) -> Result<()> {
        let mut violations = Vec::new();
        let identities: Vec<Option<FileIdentity>> =
            self.outputs.iter().map(|output| FileIdentity::of(&output.path)).collect();

        for (at, output) in self.outputs.iter().enumerate() {
            let Some(identity) = &identities[at] else { continue };
            let shown = output.path.display();

            if let Some(input) = self.inputs.iter().find(|input| input.identity == *identity) {
                let message = format!(
                    "'{shown}' is the same file as {}, which would be lost; name another file",
                    input.role
                );
                violations.push(Violation::new(output.flag, message));
            } else if let Some(other) =
                identities[..at].iter().position(|other| other.as_ref() == Some(identity))
            {
                let message = format!(
                    "'{shown}' is the same file as that of --{}; name another file",
                    self.outputs[other].flag
                );
                violations.push(Violation::new(output.flag, message));
            }
        }

        // The shell has opened the file already; what it contains may be read as data for ever.
        let stdout = FileIdentity::of_stream(1);
        if let Some(input) =
            self.inputs.iter().find(|input| Some(&input.identity) == stdout.as_ref())
        {
            let message = format!(
                "standard output is redirected to the same file as {}; redirect it to another file",
                input.role
            );
            violations.push(Violation { parameter: None, message: message.into(), source: None });
        }

        if violations.is_empty() { Ok(()) } else { Err(Error::Parameters(violations)) }
    }

    /// Checks also that every output can be written: a wrong path should be found before the work.
    pub fn check_writable(&self) -> Result<()> {
        self.check()?;
        let mut late = self.outputs.iter().filter(|output| !output.is_opened_early);
        late.try_for_each(|output| store::probe(&output.path))
    }
}
