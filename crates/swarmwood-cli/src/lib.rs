//! The command line: reads arguments, calls the library, prints.
//!
//! The program and the Python package run it; the package also writes report pages with it.

mod calibration;
mod chart;
mod cli;
mod compress;
mod console;
mod evaluate;
mod export;
mod files;
mod flags;
mod format;
mod help;
mod inputs;
mod inspect;
mod interactions;
mod interrupt;
mod json;
mod memory;
mod predict;
mod presets;
mod report;
mod rules;
mod scoring;
mod study;
mod trace;
mod train;
mod training_chart;
mod tune;

use std::ffi::OsString;

use clap::ArgMatches;
use swarmwood::{Error, Result};

use crate::interrupt::InterruptFlag;

/// Runs the command line with the arguments of a process, the program's name first; returns the exit
/// code.
pub fn run(arguments: Vec<OsString>) -> u8 {
    interrupt::report_file_size_limit();
    let texts = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
    if let Some(help) = help::requested(cli::command(), texts) {
        // Help into a closed pipe is not an error.
        let _ = console::print_result(&help);
        return 0;
    }
    let matches = match cli::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(usage) => {
            // Help into a closed pipe is not an error.
            let _ = usage.print();
            return if usage.use_stderr() { 2 } else { 0 };
        }
    };

    let interrupt = InterruptFlag::default();
    exit_code(dispatch(&matches, &interrupt), &interrupt)
}

/// Writes a report page; the arguments are those of `swarmwood report`. Nothing is printed.
pub fn write_report(arguments: Vec<OsString>) -> Result<()> {
    let command = ["swarmwood", "report", "--quiet"].map(OsString::from);
    let arguments = command.into_iter().chain(arguments);
    let matches = cli::command()
        .try_get_matches_from(arguments)
        .map_err(|usage| Error::Run(usage.to_string()))?;
    dispatch(&matches, &InterruptFlag::default())
}

/// Prints a panic in one line.
pub fn report_panic(panic: &str) {
    console::print_internal_error(panic);
}

fn dispatch(matches: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    match matches.subcommand() {
        Some(("train", flags)) => train::run(flags, interrupt),
        Some(("tune", flags)) => tune::run(flags, interrupt),
        Some(("study", flags)) => study::run(flags),
        Some(("predict", flags)) => predict::run(flags, interrupt),
        Some(("evaluate", flags)) => evaluate::run(flags),
        Some(("inspect", flags)) => inspect::run(flags),
        Some(("rules", flags)) => rules::run(flags),
        Some(("export", flags)) => export::run(flags),
        Some(("compress", flags)) => compress::run(flags, interrupt),
        Some(("report", flags)) => report::run(flags),
        Some(("completions", flags)) => cli::print_completions(flags),
        // Clap requires a subcommand and knows no others.
        _ => Ok(()),
    }
}

/// The only place where an outcome becomes an exit code: 0 success, 1 the run failed, 2 invalid
/// arguments or data, 130 interrupted without a result.
fn exit_code(outcome: Result<()>, interrupt: &InterruptFlag) -> u8 {
    match outcome {
        Ok(()) => 0,
        // A reader that closes the pipe early, such as `head`, is not an error.
        Err(Error::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            console::print_error(&error);
            if interrupt.is_raised() { 130 } else { error.exit_code() }
        }
    }
}
