//! The command line: reads arguments, calls the facade, prints.

mod args;
mod calibration;
mod chart;
mod evaluate;
mod inspect;
mod interrupt;
mod memory;
mod picture;
mod plan;
mod plot;
mod predict;
mod progress;
mod record;
mod report;
mod rules;
mod study;
mod talk;
mod train;
mod tune;

use std::process::ExitCode;

use swarmwood::{Error, Result};

use crate::interrupt::Interrupt;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| talk::internal_error(&panic.to_string())));
    // Unwinding removes unfinished files, which leaving from the hook would not.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(1))
}

fn run() -> ExitCode {
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(usage) => {
            // Help into a closed pipe is no fault.
            let _ = usage.print();
            return ExitCode::from(if usage.use_stderr() { 2 } else { 0 });
        }
    };
    let interrupt = Interrupt::default();
    let outcome = match matches.subcommand() {
        Some(("train", args)) => train::run(args, &interrupt),
        Some(("tune", args)) => tune::run(args, &interrupt),
        Some(("study", args)) => study::run(args),
        Some(("predict", args)) => predict::run(args, &interrupt),
        Some(("evaluate", args)) => evaluate::run(args),
        Some(("inspect", args)) => inspect::run(args),
        Some(("rules", args)) => rules::run(args),
        Some(("report", args)) => report::run(args),
        Some(("completions", args)) => args::completions(args),
        // Clap asks for a subcommand and knows no others.
        _ => Ok(()),
    };
    exit_code(outcome, &interrupt)
}

/// The one place where an outcome becomes an exit code: 0 done, 1 the run failed, 2 the arguments
/// or the data must change, 130 interrupted with nothing to keep.
fn exit_code(outcome: Result<()>, interrupt: &Interrupt) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever closed the pipe has read enough.
        Err(Error::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            talk::error(&error);
            ExitCode::from(if interrupt.raised() { 130 } else { error.exit_code() })
        }
    }
}
