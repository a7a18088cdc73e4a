//! The command line as a whole: all subcommands, and shell completions.

use clap::{Arg, ArgMatches, Command, value_parser};
use swarmwood::Result;

use crate::{
    compress, console, evaluate, export, inspect, predict, report, rules, study, train, tune,
};

const ABOUT: &str = "Tree models found by search: train, tune, study, predict, evaluate, inspect, rules, export, compress, report";

const EXAMPLES: &str = "\
Examples:
  swarmwood train houses.csv --target price --out model.json
  swarmwood train wine.csv --target good --method swarm-tree --max-leaves 8 --out tree.json
  swarmwood tune houses.csv --target price --trials 100 --out model.json
  swarmwood study plot study.jsonl --kind slice --out slice.svg
  swarmwood predict model.json new.csv --out predictions.csv
  swarmwood evaluate model.json test.csv --json
  swarmwood inspect model.json --plot tree.svg
  swarmwood rules model.json --format sql
  swarmwood export model.json --out model.onnx --verify
  swarmwood compress lightgbm.txt rows.csv --total-leaves 192 --out small.json
  swarmwood report model.json --data test.csv --out report.html

Exit codes: 0 success, 1 the run failed, 2 invalid arguments or data, 130 interrupted without a
result.";

/// The whole command line.
pub fn command() -> Command {
    Command::new("swarmwood")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .disable_help_subcommand(true)
        .subcommands([
            train::command(),
            tune::command(),
            study::command(),
            predict::command(),
            evaluate::command(),
            inspect::command(),
            rules::command(),
            export::command(),
            compress::command(),
            report::command(),
            completions_command(),
        ])
}

fn completions_command() -> Command {
    Command::new("completions").about("Print completions for a shell").arg(
        Arg::new("shell")
            .required(true)
            .value_parser(value_parser!(clap_complete::Shell))
            .help("the shell"),
    )
}

/// Prints the completions.
pub fn print_completions(flags: &ArgMatches) -> Result<()> {
    let mut script = Vec::new();
    if let Some(&shell) = flags.get_one::<clap_complete::Shell>("shell") {
        clap_complete::generate(shell, &mut command(), "swarmwood", &mut script);
    }
    console::print_result(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
