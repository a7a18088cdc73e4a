//! The program `swarmwood`.

use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| swarmwood_cli::report_panic(&panic.to_string())));
    // Unwinding removes unfinished files, which exiting from the hook would not.
    let code = std::panic::catch_unwind(|| swarmwood_cli::run(std::env::args_os().collect()));
    ExitCode::from(code.unwrap_or(1))
}
