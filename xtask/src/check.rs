//! Runs the tools one after the other, quiet unless one fails.

use std::process::{Command, Stdio};
use std::time::Instant;

/// Format, lints, tests and doctests of the whole workspace; the tests contain the tidy checks.
pub fn check() -> Result<(), String> {
    step("format", "cargo", &["fmt", "--all", "--check"], &[], "cargo fmt --all")?;
    let lints = [
        "clippy",
        "--workspace",
        "--all-features",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];

    step("lints", "cargo", &lints, &[], "fix what clippy reports")?;
    let help = "read the failure above; cargo test --workspace repeats it";
    if has_nextest() {
        // Everything that has tests; examples are only linted, because linking them is slow and
        // tests nothing.
        let tests = ["nextest", "run", "--workspace", "--all-features", "--tests"];
        let quiet = ["--status-level", "fail", "--cargo-quiet"];
        step("tests", "cargo", &[&tests[..], &quiet].concat(), &[], help)?;
        step(
            "doctests",
            "cargo",
            &["test", "--workspace", "--all-features", "--doc", "--quiet"],
            &[],
            help,
        )?;
    } else {
        step(
            "tests and doctests",
            "cargo",
            &["test", "--workspace", "--all-features", "--quiet"],
            &[],
            help,
        )?;
    }

    let docs = ["doc", "--workspace", "--all-features", "--no-deps", "--quiet"];
    step(
        "documentation",
        "cargo",
        &docs,
        &[("RUSTDOCFLAGS", "-D warnings")],
        "fix what rustdoc reports",
    )
}

/// Runs tests in the mode in which they rewrite the files that they otherwise compare with. Tests of
/// generated files have `fresh` in their names, which distinguishes them from those of golden files.
pub fn renew(what: &str, packages: &[&str]) -> Result<(), String> {
    let arguments: Vec<&str> = ["test", "--quiet", "--all-features", "--no-fail-fast"]
        .iter()
        .chain(packages)
        .copied()
        .collect();
    step(what, "cargo", &arguments, &[("UPDATE_GOLDEN", "1")], "read the failure above")
}

fn has_nextest() -> bool {
    let mut command = Command::new("cargo");
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs one tool; its output is shown only if it fails.
fn step(
    name: &str,
    program: &str,
    args: &[&str],
    env: &[(&str, &str)],
    help: &str,
) -> Result<(), String> {
    let start = Instant::now();
    let output = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .output()
        .map_err(|error| format!("{name}: cannot run {program}: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if output.status.success() {
        println!("  ok  {name} ({seconds:.0} s)");
        return Ok(());
    }

    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!("FAILED  {name} ({seconds:.0} s)\n  {program} {}\n  help: {help}", args.join(" ")))
}
