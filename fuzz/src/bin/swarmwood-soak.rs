//! `swarmwood-soak`: random methods, tables, threads and kills for hours (`make soak`).
//!
//! A case follows from the seed and its number. A run of the binary is compared with the same run
//! killed and resumed, and with the same run in this process; files, open handles, threads and
//! memory must be as before. The log says which case was running, and how to repeat it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use swarmwood::params::{Gather, Method, TargetSupport};
use swarmwood::read::{self, ReadOptions, Source, TaskChoice};
use swarmwood::search::rng::Stream;
use swarmwood::{store, train};
use swarmwood_fuzz::memory;

const HELP: &str = "\
swarmwood-soak BINARY HOURS SEED DIRECTORY        run random cases
swarmwood-soak BINARY case NUMBER SEED DIRECTORY  repeat one";

/// Memory that this process may gain from the first cases to the last.
const MAX_GROWTH: usize = 4 << 20;

/// Cases before memory is compared: caches and buffers have their size then.
const WARM_UP: u64 = 30;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        [binary, "case", number, seed, directory] => parse(number).and_then(|number| {
            let soak = Soak::new(binary, seed, directory)?;
            soak.case(number).map(|case| println!("{case}"))
        }),
        [binary, hours, seed, directory] => hours
            .parse::<f64>()
            .map_err(|_| format!("'{hours}' is no number of hours"))
            .and_then(|hours| Soak::new(binary, seed, directory)?.run(hours)),
        _ => Err(HELP.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("FAILED  {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number"))
}

struct Soak {
    binary: PathBuf,
    seed: u64,
    directory: PathBuf,
}

impl Soak {
    fn new(binary: &str, seed: &str, directory: &str) -> Result<Soak, String> {
        let binary = fs::canonicalize(binary).map_err(|error| format!("{binary}: {error}"))?;
        fs::create_dir_all(directory).map_err(|error| format!("{directory}: {error}"))?;
        let directory = fs::canonicalize(directory).map_err(|error| error.to_string())?;
        Ok(Soak { binary, seed: parse(seed)?, directory })
    }

    fn run(&self, hours: f64) -> Result<(), String> {
        let begun = Instant::now();
        let mut kills = 0;
        let mut mark = None;
        let mut number = 0;
        while begun.elapsed().as_secs_f64() < hours * 3600.0 {
            let report = self.case(number).map_err(|error| {
                format!(
                    "case {number}: {error}\n  repeat: swarmwood-soak {} case {number} {} {}",
                    self.binary.display(),
                    self.seed,
                    self.directory.display()
                )
            })?;
            kills += report.kills;
            number += 1;
            if number == WARM_UP {
                mark = Some((memory::start(), settled(|(_, threads)| threads == 1)));
            }
            if let Some((memory, in_use)) = mark {
                let growth = memory.growth();
                if growth > MAX_GROWTH {
                    return Err(format!("case {number}: {growth} bytes more than at the start"));
                }
                let left = settled(|now| now == in_use);
                if left != in_use {
                    return Err(format!(
                        "case {number}: (handles, threads) are {left:?} and were {in_use:?}"
                    ));
                }
            }
            if number.is_multiple_of(20) {
                let minutes = begun.elapsed().as_secs() / 60;
                let growth = mark.map_or(0, |(memory, ..)| memory.growth());
                println!("{number} cases, {kills} kills, {growth} bytes gained, {minutes} min");
            }
        }
        println!("  ok  {number} cases, {kills} kills, seed {}, 0 failures", self.seed);
        Ok(())
    }

    /// Runs one case.
    fn case(&self, number: u64) -> Result<CaseReport, String> {
        let mut stream = Stream::new(self.seed, 1, number);
        let case = SoakCase::draw(&mut stream);
        let directory = self.directory.join(format!("case-{number}"));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        fs::write(directory.join("t.csv"), &case.csv).map_err(|error| error.to_string())?;

        let whole = self.execute(&directory, &case.arguments("whole.json"))?;
        let mut resumed = case.arguments("part.json");
        if case.method.spec().checkpoints {
            let every = (1 + stream.below(9)).to_string();
            let more = ["--checkpoint", "c", "--checkpoint-every", &every, "--resume"];
            resumed.extend(more.map(String::from));
        }
        let mut kills = 0;
        for _ in 0..stream.below(6) {
            kills += self.kill(&directory, &resumed, whole.mul_f64(stream.unit() * 1.2))?;
        }
        self.execute(&directory, &resumed)?;

        let read = |name: &str| fs::read(directory.join(name)).map_err(|error| error.to_string());
        let expected = read("whole.json")?;
        if read("part.json")? != expected {
            return Err(format!("killed {kills} times, the run ends with other bytes"));
        }
        if case.train_here()?.into_bytes() != expected {
            return Err("the library and the command line differ".to_string());
        }
        let known = ["t.csv", "whole.json", "part.json", "c"];
        for entry in fs::read_dir(&directory).map_err(|error| error.to_string())? {
            let name = entry.map_err(|error| error.to_string())?.file_name();
            if !known.iter().any(|known| name == *known) {
                return Err(format!("{} is left behind", name.to_string_lossy()));
            }
        }
        let _ = fs::remove_dir_all(&directory);
        Ok(CaseReport { kills, line: resumed.join(" ") })
    }

    fn command(&self, directory: &Path, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn execute(&self, directory: &Path, arguments: &[String]) -> Result<Duration, String> {
        let begun = Instant::now();
        let output = self.command(directory, arguments).output().map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(begun.elapsed());
        }
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{}: {message}", arguments.join(" ")))
    }

    /// Starts a run and kills it after some time; 1 if it was still running.
    fn kill(&self, directory: &Path, arguments: &[String], after: Duration) -> Result<u64, String> {
        let mut child = self
            .command(directory, arguments)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        std::thread::sleep(after);
        let is_running = child.try_wait().is_ok_and(|status| status.is_none());
        // A process that has ended cannot be killed.
        let _ = child.kill();
        child.wait().map_err(|error| error.to_string())?;
        Ok(u64::from(is_running))
    }
}

struct CaseReport {
    kills: u64,
    line: String,
}

impl std::fmt::Display for CaseReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "swarmwood {}, killed {} times", self.line, self.kills)
    }
}

struct SoakCase {
    method: Method,
    params: Vec<(&'static str, String)>,
    has_classes: bool,
    csv: String,
}

impl SoakCase {
    fn draw(stream: &mut Stream) -> SoakCase {
        let method = Method::ALL[stream.below(Method::ALL.len() as u64) as usize];
        let needs_classes = method.spec().targets == TargetSupport::Classes;
        let has_classes = needs_classes || stream.below(2) == 0;
        let has_categories = method != Method::APSO_TREE && stream.below(2) == 0;
        let sizes = [
            ("trees", 1 + stream.below(5)),
            ("population", 4 + stream.below(20)),
            ("iterations", 5 + stream.below(40)),
            ("depth", 2 + stream.below(3)),
            ("budget", [0, 12, 40, 200][stream.below(4) as usize]),
            ("seed", stream.below(1000)),
            ("threads", 1 + stream.below(4)),
        ];
        let used = sizes.into_iter().filter(|(name, _)| method.spec().uses(name));
        let params = used.map(|(name, value)| (name, value.to_string())).collect();
        let csv = random_table(stream, has_classes, has_categories);
        SoakCase { method, params, has_classes, csv }
    }

    fn arguments(&self, out: &str) -> Vec<String> {
        let task = if self.has_classes { "classification" } else { "regression" };
        let fixed = ["train", "t.csv", "--target", "y", "--quiet", "--task", task, "--out", out];
        let mut arguments: Vec<String> = fixed.map(String::from).to_vec();
        arguments.extend(["--method".to_string(), self.method.name().to_string()]);
        for (name, value) in &self.params {
            arguments.extend([format!("--{}", name.replace('_', "-")), value.clone()]);
        }
        arguments
    }

    /// The same run in this process.
    fn train_here(&self) -> Result<String, String> {
        let mut gather = Gather::default();
        gather.set("method", self.method.name());
        self.params.iter().for_each(|(name, value)| gather.set(name, value));
        let params = gather.finish().map_err(|error| error.to_string())?;
        let task =
            if self.has_classes { TaskChoice::Classification } else { TaskChoice::Regression };
        let options = ReadOptions { target: "y".into(), task, ..ReadOptions::default() };
        let path = std::env::temp_dir().join(format!("swarmwood-soak-{}.csv", std::process::id()));
        fs::write(&path, &self.csv).map_err(|error| error.to_string())?;
        let rows = read::training(&Source::File(path.clone()), &options);
        let trained = rows.and_then(|rows| train::train(&rows, None, &params, &mut |_| {}));
        let _ = fs::remove_file(path);
        let trained = trained.map_err(|error| error.to_string())?;
        store::to_text(&trained.model).map_err(|error| error.to_string())
    }
}

fn random_table(stream: &mut Stream, has_classes: bool, has_categories: bool) -> String {
    let (rows, columns) = (60 + stream.below(900), 1 + stream.below(6));
    let classes = 2 + stream.below(3) as usize;
    let mut csv: String = (0..columns).map(|column| format!("c{column},")).collect();
    csv.push_str(if has_categories { "town,y\n" } else { "y\n" });
    for _ in 0..rows {
        let mut sum = 0.0;
        for column in 0..columns {
            let value = stream.normal() * 10.0;
            sum += value.abs().sqrt() * (column as f64 - 1.0);
            match stream.below(20) {
                0 => csv.push(','),
                _ => csv.push_str(&format!("{value:.*},", (column % 4) as usize)),
            }
        }
        let town = stream.below(5);
        if has_categories {
            csv.push_str(&format!("t{town},"));
        }
        sum += town as f64 * f64::from(u8::from(has_categories));
        match has_classes {
            true => csv.push_str(&format!("k{}\n", (sum.abs() as usize) % classes)),
            false => csv.push_str(&format!("{sum:.3}\n")),
        }
    }
    csv
}

/// Open files and threads, as soon as they are as expected, or after some seconds: the system lists
/// a thread for a moment after it was joined.
fn settled(is_expected: impl Fn((usize, usize)) -> bool) -> (usize, usize) {
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let now = (open_handles(), threads());
        if is_expected(now) || begun.elapsed() > Duration::from_secs(5) {
            return now;
        }
    }
}

/// Open files of this process; 0 where the system does not say.
fn open_handles() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Threads of this process; 0 where the system does not say.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}
