//! Executes a target on mutated inputs, under limits.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use swarmwood::search::rng::{Stream, fingerprint};

use crate::coverage::{self, SeenEdges};
use crate::memory;
use crate::mutate::{below, mutate_bytes};
use crate::target::{FuzzTarget, MAX_INPUT, MAX_MEMORY, MAX_SECONDS};

/// How long an execution may take on the clock before the process is ended: it will never end.
const ENDLESS: Duration = Duration::from_secs(60);

/// How much, and from where.
#[derive(Debug, Clone)]
pub struct FuzzOptions {
    /// Names the sequence of inputs, together with the corpus.
    pub seed: u64,
    /// Ends the run after so many executions.
    pub executions: u64,
    /// Ends the run after so many seconds.
    pub seconds: f64,
    /// Inputs beside the seeds of the target.
    pub corpus: Vec<Vec<u8>>,
    /// Where failures are stored, and the input that is being executed.
    pub directory: Option<PathBuf>,
}

/// What a run did.
#[derive(Debug, Default)]
pub struct FuzzReport {
    /// Executions, those of the corpus included.
    pub executions: u64,
    /// Executions whose input was accepted.
    pub accepted: u64,
    /// The corpus at the end.
    pub corpus: Vec<Vec<u8>>,
    /// Which of it were accepted.
    pub accepted_inputs: Vec<usize>,
    /// Edges that were taken.
    pub edges: usize,
    /// The most memory of an execution.
    pub memory: usize,
    /// The longest execution in seconds on the clock.
    pub seconds: f64,
    /// Broken promises, each kind once.
    pub failures: Vec<Failure>,
}

/// A broken promise and the input that breaks it.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// On which input.
    pub input: Vec<u8>,
}

/// One execution.
#[derive(Debug)]
pub struct Execution {
    /// Whether the input was accepted, or which promise was broken.
    pub outcome: Result<bool, String>,
    /// Memory at the peak.
    pub memory: usize,
    /// Seconds on the clock.
    pub seconds: f64,
}

static PANIC: Mutex<String> = Mutex::new(String::new());
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Keeps the message of a panic instead of printing it; for the whole process.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut message = PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *message = info.to_string();
    }));
}

/// The message of the last panic.
pub fn last_panic() -> String {
    PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

/// Ends the process if an execution never does.
pub fn watch_for_endless_executions(target: &'static str) {
    let begun = Instant::now();
    std::thread::spawn(move || {
        let mut last = (0, begun);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = STARTED.load(Ordering::Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if now != 0 && last.1.elapsed() > ENDLESS {
                let seconds = ENDLESS.as_secs();
                eprintln!("FAILED  {target}: an execution has taken more than {seconds} s");
                std::process::exit(3);
            }
        }
    });
}

/// Executes a target on one input.
pub fn execute(target: &FuzzTarget, input: &[u8]) -> Execution {
    STARTED.fetch_add(1, Ordering::Relaxed);
    let mark = memory::start();
    let begun = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let (memory, seconds) = (mark.peak(), begun.elapsed().as_secs_f64());

    let outcome = match result {
        Err(payload) => {
            drop(payload);
            Err(format!("panic: {}", last_panic()))
        }
        Ok(_) if memory > MAX_MEMORY => {
            Err(format!("memory: {memory} bytes for an input of {}", input.len()))
        }
        Ok(accepted) => Ok(accepted),
    };
    Execution { outcome, memory, seconds }
}

/// The same, and a slow execution is repeated: other processes may have had the processor.
pub fn execute_timed(target: &FuzzTarget, input: &[u8]) -> Execution {
    let mut execution = execute(target, input);
    if execution.outcome.is_ok() && execution.seconds > MAX_SECONDS {
        let before = processor_seconds();
        execution = execute(target, input);
        let used = (processor_seconds() - before).min(execution.seconds);
        if used > MAX_SECONDS {
            execution.outcome = Err(format!("time: {used:.2} s for an input of {}", input.len()));
        }
    }
    execution
}

/// Processor time of this process, in steps of a hundredth of a second; where the system does not
/// say, the time on the clock.
fn processor_seconds() -> f64 {
    static BEGUN: Mutex<Option<Instant>> = Mutex::new(None);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> =
        behind_name.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // The fields that are no numbers are the state alone: 10 numbers stand before the two times.
    match fields.get(10..12) {
        Some(times) => (times[0] + times[1]) / 100.0,
        None => {
            let mut begun = BEGUN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            begun.get_or_insert_with(Instant::now).elapsed().as_secs_f64()
        }
    }
}

/// Fuzzes a target.
pub fn fuzz(target: &FuzzTarget, options: &FuzzOptions) -> FuzzReport {
    let mut run = FuzzRun {
        target,
        seen: SeenEdges::new(),
        report: FuzzReport::default(),
        known: BTreeSet::new(),
        current: options.directory.as_deref().and_then(|path| current_file(path, target.name)),
        directory: options.directory.clone(),
    };
    let begun = Instant::now();
    for input in (target.seeds)().into_iter().chain(options.corpus.iter().cloned()) {
        let outcome = run.step(&input);
        let is_kept = run.is_new() || coverage::counters() == 0;
        run.keep(outcome.filter(|_| is_kept), input);
    }

    let is_over = |run: &FuzzRun<'_>| {
        run.report.executions >= options.executions
            // The clock is asked now and then: asking costs as much as a short execution.
            || run.report.executions.is_multiple_of(16)
                && begun.elapsed().as_secs_f64() > options.seconds
    };
    while !is_over(&run) {
        let mut stream = Stream::new(options.seed, 0, run.report.executions);
        let input = mutated(target, &run.report, &mut stream);
        let outcome = run.step(&input);
        let is_kept = run.is_new();
        run.keep(outcome.filter(|_| is_kept), input);
    }
    run.report.edges = run.seen.edges();
    run.report
}

/// A mutation of an input of the corpus; newer ones are taken more often, and accepted ones, behind
/// which there is more to reach.
fn mutated(target: &FuzzTarget, report: &FuzzReport, stream: &mut Stream) -> Vec<u8> {
    let newer = |stream: &mut Stream, count| below(stream, count).max(below(stream, count));
    let choose = |stream: &mut Stream| {
        let accepted = &report.accepted_inputs;
        let at = match accepted.is_empty() || below(stream, 4) == 0 {
            true => newer(stream, report.corpus.len()),
            false => accepted[newer(stream, accepted.len())],
        };
        report.corpus.get(at).map_or(&[][..], |input| &input[..])
    };
    let mut input = choose(stream).to_vec();
    let other = choose(stream);

    let count = 1 + below(stream, 5).saturating_sub(1) * below(stream, 2);
    for _ in 0..count {
        let structured = !target.mutators.is_empty() && below(stream, 4) > 0;
        if structured {
            target.mutators[below(stream, target.mutators.len())](&mut input, stream);
        } else {
            mutate_bytes(&mut input, other, stream);
        }
    }
    if let Some(repair) = target.repair.filter(|_| below(stream, 8) > 0) {
        repair(&mut input);
    }
    input.truncate(MAX_INPUT);
    input
}

struct FuzzRun<'a> {
    target: &'a FuzzTarget,
    seen: SeenEdges,
    report: FuzzReport,
    /// Failures that were seen, without their numbers.
    known: BTreeSet<String>,
    current: Option<File>,
    directory: Option<PathBuf>,
}

impl FuzzRun<'_> {
    /// Executes an input and counts it; whether it was accepted, `None` after a failure.
    fn step(&mut self, input: &[u8]) -> Option<bool> {
        if let Some(file) = &mut self.current {
            note_current(file, input);
        }
        if coverage::counters() > 0 {
            coverage::clear();
        }
        let execution = execute_timed(self.target, input);

        let report = &mut self.report;
        report.executions += 1;
        report.memory = report.memory.max(execution.memory);
        report.seconds = report.seconds.max(execution.seconds);
        match execution.outcome {
            Ok(accepted) => {
                report.accepted += u64::from(accepted);
                Some(accepted)
            }
            Err(message) => {
                self.fail(message, input);
                None
            }
        }
    }

    /// Adds an input to the corpus, with whether it was accepted.
    fn keep(&mut self, accepted: Option<bool>, input: Vec<u8>) {
        let Some(accepted) = accepted else { return };
        if accepted {
            self.report.accepted_inputs.push(self.report.corpus.len());
        }
        self.report.corpus.push(input);
    }

    fn is_new(&mut self) -> bool {
        coverage::counters() > 0 && self.seen.add() > 0
    }

    fn fail(&mut self, message: String, input: &[u8]) {
        let kind: String = message.lines().next().unwrap_or_default().into();
        let kind = kind.split(" for an input").next().unwrap_or_default();
        let is_size = kind.starts_with("memory") || kind.starts_with("time");
        let kind = if is_size { kind.split(':').next().unwrap_or_default() } else { kind };
        if !self.known.insert(kind.to_string()) {
            return;
        }
        eprintln!("FAILED  {}: {message}", self.target.name);
        if let Some(directory) = &self.directory {
            let print = fingerprint(input.iter().map(|&byte| u64::from(byte))) as u64;
            let path = directory.join(format!("failure-{}-{print:016x}.bin", self.target.name));
            match std::fs::write(&path, input) {
                Ok(()) => eprintln!(
                    "  repeat: swarmwood-fuzz replay {} {}",
                    self.target.name,
                    path.display()
                ),
                Err(error) => eprintln!("  {}: {error}", path.display()),
            }
        }
        self.report.failures.push(Failure { message, input: input.to_vec() });
    }
}

/// The file that holds the input that is being executed, for the case that the process dies.
fn current_file(directory: &Path, target: &str) -> Option<File> {
    std::fs::create_dir_all(directory).ok()?;
    File::create(directory.join(format!("current-{target}.bin"))).ok()
}

fn note_current(file: &mut File, input: &[u8]) {
    use std::io::{Seek, SeekFrom};
    let mut bytes = (input.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(input);
    // It only helps to find a failure again.
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes));
}
