//! A program under a clock: started, watched, and ended with all it started.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use swarmwood_learn::budget::Budget;

/// The longest time between two looks at a program.
const GLANCE: Duration = Duration::from_millis(10);
/// What a program gets to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// As much of the end of what a program says is read.
const TAIL: u64 = 1 << 16;
/// Letters of a complaint that are kept.
const COMPLAINT: usize = 300;

/// Runs a program to its end and returns the end of its output; the error says why that is worth
/// nothing.
pub(super) fn run(
    words: &[String],
    trial: u64,
    timeout: Option<Duration>,
    budget: &Budget,
) -> Result<String, String> {
    let broken = |fault: io::Error| format!("cannot keep what the program says: {fault}");
    let (mut said, mut complained) = (spool().map_err(broken)?, spool().map_err(broken)?);
    let (out, err) = (said.try_clone().map_err(broken)?, complained.try_clone().map_err(broken)?);
    let Some((program, rest)) = words.split_first() else {
        return Err("no program is left to start".to_string());
    };
    let mut command = Command::new(program);
    command.args(rest).env("SWARMWOOD_TRIAL", trial.to_string());
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    own_group(&mut command);
    let child = command.spawn().map_err(|fault| format!("cannot start '{program}': {fault}"))?;
    let ended = watch(child, timeout, budget);
    let mut complaint =
        || last_line(&tail(&mut complained)).map_or(String::new(), |line| format!(": {line}"));
    match ended {
        Ok(status) if status.success() => Ok(tail(&mut said)),
        Ok(status) => Err(format!("{}{}", words_of(status), cut(&complaint()))),
        Err(reason) => Err(format!("{reason}{}", cut(&complaint()))),
    }
}

/// Waits for the end, the time or the word to stop.
fn watch(
    mut child: Child,
    timeout: Option<Duration>,
    budget: &Budget,
) -> Result<ExitStatus, String> {
    let started = Instant::now();
    // Short programs are noticed at once, long ones cost no processor.
    let mut nap = Duration::from_micros(200);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => (),
            Err(fault) => {
                end(&mut child);
                return Err(format!("cannot wait for the program: {fault}"));
            }
        }
        if budget.is_interrupted() {
            end(&mut child);
            return Err("stopped".to_string());
        }
        if let Some(limit) = timeout.filter(|&limit| started.elapsed() >= limit) {
            end(&mut child);
            return Err(format!("took longer than {} s", limit.as_secs_f64()));
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(GLANCE);
    }
}

/// Ends a program and what it started: politely first, then for good.
fn end(child: &mut Child) {
    signal(child, false);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(child, true);
    // Whatever is wrong with it, it is not waited for twice.
    let _ = child.wait();
}

/// A group of its own, so that the program can be ended with everything it started, and Ctrl-C
/// reaches us alone.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

#[cfg(unix)]
fn signal(child: &mut Child, kill: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = if kill { Signal::KILL } else { Signal::TERM };
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // A group that is gone already needs no signal.
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal(child: &mut Child, _: bool) {
    // Elsewhere there is no polite way.
    let _ = child.kill();
}

/// How a program ended, in words.
fn words_of(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => format!("ended by a {status}"),
    }
}

/// A file without a name that goes with its last reader.
fn spool() -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("swarmwood-said-{}-{number}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    // Where an open file keeps its name it stays until the system cleans up.
    let _ = std::fs::remove_file(&path);
    Ok(file)
}

/// The end of what was said.
fn tail(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .and_then(|_| file.read_to_end(&mut bytes));
    read.map_or(String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line with anything on it.
pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}

fn cut(text: &str) -> String {
    text.chars().take(COMPLAINT).collect()
}

/// Whether a program can be found.
pub(super) fn exists(program: &str) -> bool {
    if program.contains(std::path::is_separator) {
        return Path::new(program).is_file();
    }
    let Some(path) = std::env::var_os("PATH") else { return false };
    let names = [program.to_string(), format!("{program}{}", std::env::consts::EXE_SUFFIX)];
    std::env::split_paths(&path)
        .any(|directory| names.iter().any(|name| directory.join(name).is_file()))
}
