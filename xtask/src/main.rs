//! Workspace checks and generators: `cargo xtask <task>`.

mod check;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <task>

  check      everything the continuous integration runs on Rust: format, lints, tests, doctests
  tidy       layers between crates and modules, names, lengths, links (also part of the tests)
  generate   rewrite the files that are generated from code, such as docs/parameters.md
  golden     rewrite all golden files; read the diff before you commit it";

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let result = match task.as_str() {
        "check" => check::check(),
        "tidy" => tidy::tidy(),
        "generate" => check::renew("generated files", &["--workspace", "fresh"]),
        "golden" => check::renew("golden files", &["--workspace"]),
        "" | "help" | "-h" | "--help" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => Err(format!("unknown task '{other}'\n\n{HELP}")),
    };

    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
