//! A temporary directory per test, and the binary run in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// Exit code and output of the binary.
#[derive(Debug)]
pub struct RunOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl RunOutput {
    /// Asserts the exit code, and that standard error contains all of `parts`.
    #[track_caller]
    pub fn ends(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "no '{part}' in {self:#?}");
        }
        assert!(!self.err.contains("internal error"), "{self:#?}");
        self
    }

    /// Asserts success.
    #[track_caller]
    pub fn works(self) -> Self {
        self.ends(0, &[])
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A directory that is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "swarmwood-cli-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs the binary with arguments separated by spaces.
    pub fn run(&self, line: &str) -> RunOutput {
        self.feed(line, b"")
    }

    /// Runs the binary with bytes on standard input.
    pub fn feed(&self, line: &str, input: &[u8]) -> RunOutput {
        let mut child = Command::new(env!("CARGO_BIN_EXE_swarmwood"))
            .args(line.split_whitespace())
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // Written by another thread, because both processes could wait for each other. A binary
        // that needs no input may close it.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs the binary and asserts that it fails with this code and these parts of a message, and
    /// leaves no file behind.
    #[track_caller]
    pub fn fails(&self, line: &str, code: i32, parts: &[&str]) -> RunOutput {
        let before = self.names();
        let output = self.run(line).ends(code, parts);
        assert_eq!(self.names(), before, "files were left behind");
        assert!(
            output.err.starts_with("error: ") || output.err.contains("\nerror: "),
            "{output:#?}"
        );
        output
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
