//! Runs an export with the program that its format is for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use swarmwood_model::export::{Harness, rows_json, rows_text};
use swarmwood_model::{FeatureValue, Model};

use crate::{Error, Result};

/// The exit code of a script whose packages are not installed.
const UNAVAILABLE: i32 = 3;

/// What a run printed.
pub(super) enum RunOutcome {
    /// The numbers of each row.
    Numbers(Vec<Vec<f64>>),
    /// The runtime is not installed; what is missing.
    Unavailable(String),
}

/// A directory that is removed at the end.
struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    fn new() -> Result<TemporaryDirectory> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("swarmwood-export-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(|source| Error::Write { path: path.clone(), source })?;
        Ok(TemporaryDirectory(path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, bytes).map_err(|source| Error::Write { path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // A directory for temporary files is cleaned by the system at the latest.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An export with the files that belong to it, as `export.EXTENSION`.
pub(super) struct RunFiles<'a> {
    pub(super) extension: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) companions: &'a [swarmwood_model::export::CompanionFile],
}

/// Runs an export on rows.
pub(super) fn run(
    harness: &Harness,
    files: &RunFiles<'_>,
    model: &Model,
    rows: &[Vec<FeatureValue>],
    python: &Path,
) -> Result<RunOutcome> {
    if *harness == Harness::ReadBack {
        return read_back(files.bytes, rows);
    }
    let directory = TemporaryDirectory::new()?;
    let export = directory.write(&format!("export.{}", files.extension), files.bytes)?;
    for companion in files.companions {
        directory.write(&format!("export.{}", companion.extension), &companion.bytes)?;
    }

    let mut input = Stdio::null();
    let mut command = match harness {
        Harness::ReadBack => unreachable!("it needs no other program"),
        Harness::Python(script) => {
            directory.write("rows.json", rows_json(model, rows).as_bytes())?;
            let script = directory.write("harness.py", script.as_bytes())?;
            let mut command = Command::new(python);
            command.arg(script).arg(export).arg("rows.json");
            command
        }
        Harness::Node(script) => {
            directory.write("rows.json", rows_json(model, rows).as_bytes())?;
            // Without a package file, Node takes only this extension for a module.
            let export = directory.write("export.mjs", files.bytes)?;
            let script = directory.write("harness.mjs", script.as_bytes())?;
            let mut command = Command::new("node");
            command.arg(script).arg(export).arg("rows.json");
            command
        }
        Harness::C(main) => {
            let text = format!("{}\n{}", rows.len(), rows_text(rows));
            let path = directory.write("rows.txt", text.as_bytes())?;
            let file = fs::File::open(&path).map_err(|source| Error::Read { path, source })?;
            input = Stdio::from(file);
            directory.write("main.c", main.as_bytes())?;
            let mut compiler = Command::new("gcc");
            compiler
                .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"])
                .args(["export.c", "main.c", "-o", "program", "-lm"])
                .current_dir(&directory.0);
            match start(&mut compiler, Stdio::null())? {
                Ok(_) => Command::new(directory.0.join("program")),
                Err(missing) => return Ok(RunOutcome::Unavailable(missing)),
            }
        }
    };
    command.current_dir(&directory.0);
    Ok(match start(&mut command, input)? {
        Ok(printed) => RunOutcome::Numbers(parse(&printed)?),
        Err(missing) => RunOutcome::Unavailable(missing),
    })
}

/// Runs a program to its end; the inner error says what is not installed.
fn start(command: &mut Command, input: Stdio) -> Result<std::result::Result<String, String>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failure = |what: String| Error::Run(format!("verification: {program}: {what}"));
    let output = match command.stdin(input).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Err(format!("the program '{program}' is not installed")));
        }
        Err(error) => return Err(failure(error.to_string())),
    };

    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.code() {
        Some(0) => Ok(Ok(text(&output.stdout))),
        Some(UNAVAILABLE) => Ok(Err(text(&output.stdout).trim().to_string())),
        _ => {
            let errors = text(&output.stderr);
            let last: Vec<&str> = errors.lines().rev().take(8).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            Err(failure(format!("ended with {}\n{}", output.status, last.join("\n"))))
        }
    }
}

fn parse(printed: &str) -> Result<Vec<Vec<f64>>> {
    let number = |text: &str| {
        text.parse::<f64>()
            .map_err(|_| Error::Run(format!("verification: the export printed '{text}'")))
    };
    printed.lines().map(|line| line.split_ascii_whitespace().map(number).collect()).collect()
}

/// The raw scores of a file that is read as a model again.
fn read_back(bytes: &[u8], rows: &[Vec<FeatureValue>]) -> Result<RunOutcome> {
    let failure = |error: String| Error::Run(format!("verification: {error}"));
    let model = swarmwood_model::format::read(bytes).map_err(|error| failure(error.to_string()))?;
    let raw = |row: &Vec<FeatureValue>| {
        model.raw_row(row, None).map_err(|error| failure(error.to_string()))
    };
    Ok(RunOutcome::Numbers(rows.iter().map(raw).collect::<Result<_>>()?))
}
