//! `swarmwood-fuzz`: see `make fuzz`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use swarmwood_fuzz::coverage::{self, SeenEdges};
use swarmwood_fuzz::runner::{self, FuzzOptions};
use swarmwood_fuzz::target::FuzzTarget;
use swarmwood_fuzz::targets::TARGETS;
use swarmwood_fuzz::{corpus, scratch};

const HELP: &str = "\
swarmwood-fuzz run TARGET|all SECONDS SEED DIRECTORY   fuzz; failures and new inputs go to DIRECTORY
swarmwood-fuzz replay TARGET FILE                      execute one input, or a file current-*.bin
swarmwood-fuzz keep TARGET|all DIRECTORY               renew the kept corpora with the inputs found there
swarmwood-fuzz list                                    the targets";

/// Kept inputs of a target, and their length together.
const KEPT: usize = 60;
const KEPT_BYTES: usize = 48 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The stack of a thread is smaller than that of the program, and users call from threads.
    let result = std::thread::scope(|scope| {
        let work = scope.spawn(|| match words[..] {
            ["list"] => list(),
            ["run", target, seconds, seed, directory] => {
                run(target, seconds, seed, Path::new(directory))
            }
            ["replay", target, file] => replay(target, Path::new(file)),
            ["keep", target, directory] => keep(target, Path::new(directory)),
            _ => Err(HELP.to_string()),
        });
        work.join().unwrap_or_else(|_| Err(format!("the program failed: {}", runner::last_panic())))
    });
    scratch::clean();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<(), String> {
    TARGETS.iter().for_each(|target| println!("{:16} {}", target.name, target.description));
    Ok(())
}

fn chosen(name: &str) -> Result<Vec<&'static FuzzTarget>, String> {
    let found: Vec<_> =
        TARGETS.iter().filter(|target| name == "all" || target.name == name).collect();
    if found.is_empty() { Err(format!("unknown target '{name}'\n\n{HELP}")) } else { Ok(found) }
}

fn found_path(directory: &Path, target: &FuzzTarget) -> PathBuf {
    directory.join(format!("{}.corpus", target.name))
}

/// Fuzzes targets in turn, each for the same time.
fn run(target: &str, seconds: &str, seed: &str, directory: &Path) -> Result<(), String> {
    let targets = chosen(target)?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| format!("'{text}' is no number"));
    let seconds = number(seconds)? / targets.len() as f64;
    let seed = seed.parse().map_err(|_| format!("'{seed}' is no seed"))?;
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    runner::keep_panics();
    runner::watch_for_endless_executions("swarmwood-fuzz");
    println!("seed {seed}, {} edges in the program", coverage::counters());

    let mut failures = 0;
    for target in targets {
        let mut inputs = corpus::load(&corpus::kept_path(target.name));
        inputs.extend(corpus::load(&found_path(directory, target)));
        let options = FuzzOptions {
            seed,
            executions: u64::MAX,
            seconds,
            corpus: inputs,
            directory: Some(directory.to_path_buf()),
        };
        let report = runner::fuzz(target, &options);
        println!(
            "{:16} {:>10} executions, {:>3.0} % accepted, {:>6} edges, {:>5} inputs, {:>3} MB, {:.2} s, {} failures",
            target.name,
            report.executions,
            100.0 * report.accepted as f64 / report.executions.max(1) as f64,
            report.edges,
            report.corpus.len(),
            report.memory >> 20,
            report.seconds,
            report.failures.len()
        );
        failures += report.failures.len();
        corpus::save(&found_path(directory, target), &report.corpus)
            .map_err(|error| error.to_string())?;
    }
    if failures == 0 { Ok(()) } else { Err(format!("FAILED  {failures} kinds of failures")) }
}

/// Executes one input, with the panic's own message.
fn replay(target: &str, file: &Path) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let is_current =
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("current-"));
    let inputs = if is_current { corpus::load(file) } else { vec![bytes] };
    for target in chosen(target)? {
        for input in inputs.iter().take(1) {
            if let Some(describe) = target.describe {
                println!("{}", describe(input));
            }
            let execution = runner::execute_timed(target, input);
            let (megabytes, seconds) = (execution.memory as f64 / 1e6, execution.seconds);
            println!("{:?}, {megabytes:.1} MB, {seconds:.3} s", execution.outcome);
            execution.outcome?;
        }
    }
    Ok(())
}

/// Chooses the shortest inputs that take the edges of all, and stores them with the sources.
fn keep(target: &str, directory: &Path) -> Result<(), String> {
    if coverage::counters() == 0 {
        return Err("keeping inputs needs the coverage pass; see make fuzz".to_string());
    }
    runner::keep_panics();
    for target in chosen(target)? {
        let path = corpus::kept_path(target.name);
        let mut inputs = corpus::load(&path);
        inputs.extend(corpus::load(&found_path(directory, target)));
        inputs.sort_by_key(Vec::len);
        inputs.dedup();

        let mut seen = SeenEdges::new();
        for seed in (target.seeds)() {
            coverage::clear();
            drop(runner::execute(target, &seed));
            seen.add();
        }
        let mut news: Vec<(usize, Vec<u8>)> = Vec::new();
        for input in inputs {
            coverage::clear();
            let accepted = runner::execute(target, &input).outcome;
            let new = seen.add();
            if accepted.is_ok() && new > 0 {
                news.push((new, input));
            }
        }
        news.sort_by_key(|(new, _)| std::cmp::Reverse(*new));
        let mut length = 0;
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for (_, input) in news.into_iter().take(KEPT) {
            if length + input.len() <= KEPT_BYTES {
                length += input.len();
                kept.push(input);
            }
        }
        corpus::save(&path, &kept).map_err(|error| error.to_string())?;
        println!("{:16} {} inputs, {length} bytes", target.name, kept.len());
    }
    Ok(())
}
