//! `swarmwood tune`: find good parameters, and say honestly how good they are.

mod builtin;
mod command;
mod progress;
mod summary;

use clap::{Arg, ArgMatches, Command};
use swarmwood::Result;
use swarmwood::params::{ParamSpec, TABLE};
use swarmwood::tune::engine;
use swarmwood::tune::spaces::SPACES;

use crate::flags;
use crate::interrupt::InterruptFlag;

/// Parameters of training that mean something else here, or nothing.
const OWN: &[&str] = &["metric", "folds", "valid_fraction", "time_limit"];

/// Folds of a cross-validation unless said otherwise.
const FOLDS: u64 = 5;

/// Trials unless said otherwise.
const TRIALS: u64 = 100;

/// Trials under way at a time unless said otherwise.
const PARALLEL: u64 = 4;

/// Share of the rows that no trial sees unless said otherwise.
const HOLDOUT: f64 = 0.2;

const AFTER: &str = "\
Examples:
  swarmwood tune houses.csv --target price --study study.jsonl --out model.json
  swarmwood tune wine.csv --target quality --space paper-a --metric r2 --trials 200
  swarmwood tune wine.csv --target quality --early-stopping-rounds 20 --trees 2000 --ensemble 5
  swarmwood tune --command 'python train.py --rate {rate} --depth {depth}' --space space.toml --study study.jsonl

Flags of training parameters fix them; everything in the space is tuned. A fifth of the rows is never shown to the tuner;
the report tells both the score that configurations were chosen by and the score on these untouched rows. Ctrl-C ends the
search and makes the model of the best configuration so far; a second one leaves at once. With --study the same command
goes on where it stopped.";

/// The subcommand.
pub fn command() -> Command {
    Command::new("tune")
        .about("Tune the parameters of a model on a CSV or Parquet file, or of any program")
        .after_help(AFTER)
        .args_override_self(true)
        .arg(
            flags::data_arg("training data: CSV (plain or gzip), Parquet, or - for standard input")
                .required_unless_present("command"),
        )
        .arg(flags::text_flag("target", "COLUMN", "column to predict"))
        .args(flags::table_flags())
        .args(search())
        .arg(flags::number_flag("holdout", "SHARE", "share of the rows that no trial sees; 0 for none [default: 0.2]"))
        .arg(flags::count_flag(
            "folds",
            "N",
            "folds of the cross-validation; 1 is a single split with a quarter for validation [default: 5]",
        ))
        .arg(flags::text_flag(
            "metric",
            "NAME",
            "what configurations are judged by, a metric of the task [default: logloss for classes, rmse for numbers]",
        ))
        .arg(flags::count_flag(
            "ensemble",
            "K",
            "keep the mean of the K best configurations instead of the best [default: 1]",
        ))
        .arg(flags::file_flag("out", "where the model goes; - for none [default: model.json]").short('o'))
        .args(command::flags())
        .args(flags::console_flags())
        .args(TABLE.iter().filter(|spec| !OWN.contains(&spec.name)).map(fixed))
}

/// What every search has.
fn search() -> Vec<Arg> {
    let named =
        |names: &[(&str, &str)]| names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let space = format!(
        "what is tuned: a TOML or JSON file, or one of {} [default: default]",
        named(SPACES)
    );
    let engine = format!(
        "who proposes configurations: {} [default: {}]",
        named(&engine::names()),
        engine::DEFAULT
    );
    vec![
        flags::text_flag("space", "SPACE", "what is tuned").help(space),
        flags::text_flag("engine", "NAME", "who proposes configurations").help(engine),
        flags::count_flag("trials", "N", "configurations to try [default: 100]"),
        flags::count_flag(
            "parallel",
            "N",
            "configurations under way at a time; changes which are tried, unlike --threads [default: 4; 1 for a program]",
        ),
        flags::file_flag(
            "study",
            "journal of the search: it can be stopped at any moment, and goes on from there",
        ),
        flags::number_flag(
            "time-limit",
            "SECONDS",
            "seconds after which the search stops with the best so far",
        ),
        flags::switch_flag(
            "no-race",
            "evaluate every configuration on all folds, also those that are clearly behind",
        ),
    ]
}

/// A parameter that can be fixed.
fn fixed(spec: &'static ParamSpec) -> Arg {
    let arg = flags::parameter_flag(spec);
    match spec.name {
        "method" => arg.help("how the model is found [default: greedy]"),
        "seed" => {
            arg.help("start of every random stream: of the search, the folds, the holdout and the fits [default: 0]")
        }
        _ => arg,
    }
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    match flags.get_one::<String>("command") {
        Some(text) => command::run(flags, text, interrupt),
        None => builtin::run(flags, interrupt),
    }
}
