//! The command line: reads arguments, calls the library, prints.

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

use std::process::ExitCode;

use swarmwood::{Error, Result};

use crate::interrupt::InterruptFlag;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| console::print_internal_error(&panic.to_string())));
    // Unwinding removes unfinished files, which exiting from the hook would not.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(1))
}

fn run() -> ExitCode {
    interrupt::report_file_size_limit();
    if let Some(help) = help::requested(cli::command(), std::env::args_os().map(text_of)) {
        // Help into a closed pipe is not an error.
        let _ = console::print_result(&help);
        return ExitCode::SUCCESS;
    }
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(usage) => {
            // Help into a closed pipe is not an error.
            let _ = usage.print();
            return ExitCode::from(if usage.use_stderr() { 2 } else { 0 });
        }
    };

    let interrupt = InterruptFlag::default();
    let outcome = match matches.subcommand() {
        Some(("train", flags)) => train::run(flags, &interrupt),
        Some(("tune", flags)) => tune::run(flags, &interrupt),
        Some(("study", flags)) => study::run(flags),
        Some(("predict", flags)) => predict::run(flags, &interrupt),
        Some(("evaluate", flags)) => evaluate::run(flags),
        Some(("inspect", flags)) => inspect::run(flags),
        Some(("rules", flags)) => rules::run(flags),
        Some(("export", flags)) => export::run(flags),
        Some(("compress", flags)) => compress::run(flags, &interrupt),
        Some(("report", flags)) => report::run(flags),
        Some(("completions", flags)) => cli::print_completions(flags),
        // Clap requires a subcommand and knows no others.
        _ => Ok(()),
    };

    exit_code(outcome, &interrupt)
}

fn text_of(argument: std::ffi::OsString) -> String {
    argument.to_string_lossy().into_owned()
}

/// The only place where an outcome becomes an exit code: 0 success, 1 the run failed, 2 invalid
/// arguments or data, 130 interrupted without a result.
fn exit_code(outcome: Result<()>, interrupt: &InterruptFlag) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that closes the pipe early, such as `head`, is not an error.
        Err(Error::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            console::print_error(&error);
            ExitCode::from(if interrupt.is_raised() { 130 } else { error.exit_code() })
        }
    }
}
