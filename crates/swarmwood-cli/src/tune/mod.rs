//! `swarmwood tune`: searches for good parameters and estimates how good they are on new rows.

mod builtin;
mod command;
mod engine_flags;
mod progress;
mod summary;

use clap::{Arg, ArgMatches, Command};
use swarmwood::params::{Method, ParamSpec, TABLE};
use swarmwood::tune::engine;
use swarmwood::tune::spaces::SPACES;
use swarmwood::{Result, tune};

use crate::flags;
use crate::help;
use crate::interrupt::InterruptFlag;

/// Training parameters that have another meaning here, or none.
const OWN: &[&str] = &["metric", "folds", "valid_fraction", "time_limit"];

/// Default number of folds.
const FOLDS: u64 = 5;

/// Default number of trials.
const TRIALS: u64 = 100;

/// Default number of concurrent trials.
const PARALLEL: u64 = 4;

/// Default fraction of held-out rows.
const HOLDOUT: f64 = 0.2;

/// At the end of the short help.
const EXAMPLES: &str = "\
Examples:
  swarmwood tune houses.csv --target price --study study.jsonl --out model.json
  swarmwood tune --command 'python train.py --rate {rate}' --space space.toml --study study.jsonl

A fifth of the rows is held out: no trial sees them. With --study, the same command continues where
it stopped.";

/// At the end of the long help.
const AFTER: &str = "\
Examples:
  swarmwood tune houses.csv --target price --study study.jsonl --out model.json
  swarmwood tune wine.csv --target quality --space paper-a --metric r2 --trials 200
  swarmwood tune wine.csv --target quality --early-stopping-rounds 20 --trees 2000 --ensemble 5
  swarmwood tune wine.csv --target quality --engine sse --engine-options mutation=rank,rate=0.2
  swarmwood tune --command 'python train.py --rate {rate} --depth {depth}' --space space.toml --study study.jsonl

Flags of training parameters fix their values; everything in the search space is tuned. A fifth of
the rows is held out: no trial sees them. The report gives the cross-validated score, which the best
configuration was chosen by, and its score on the held-out rows. Ctrl-C stops the search and trains
the model of the best configuration so far; a second Ctrl-C exits at once. With --study, the same
command continues where it stopped.";

/// What the shortest help has.
const COMMON: &[&str] = &[
    "target",
    "ignore",
    "task",
    "space",
    "engine",
    "list-engines",
    "trials",
    "study",
    "time-limit",
    "holdout",
    "metric",
    "out",
    "command",
    "quiet",
    "method",
    "seed",
    "threads",
];

/// The subcommand.
pub fn command() -> Command {
    let command = Command::new("tune")
        .about("Tune the parameters of a model on a CSV or Parquet file, or of any program")
        .after_help(EXAMPLES)
        .after_long_help(AFTER)
        .args_override_self(true)
        .arg(
            flags::data_arg("training data: CSV (plain or gzip), Parquet, or - for standard input")
                .required_unless_present_any(["command", "list-engines"]),
        )
        .arg(flags::text_flag("target", "COLUMN", "column to predict"))
        .args(flags::table_flags())
        .args(search_flags())
        .arg(flags::number_flag(
            "holdout",
            "FRACTION",
            "fraction of the rows that no trial sees; 0 for none [default: 0.2]",
        ))
        .arg(flags::count_flag(
            "folds",
            "N",
            "number of cross-validation folds; 1 is a single split with a quarter of the rows for \
             validation [default: 5]",
        ))
        .arg(flags::text_flag(
            "metric",
            "NAME",
            "metric to optimize [default: logloss for classification, rmse for regression]",
        ))
        .arg(flags::count_flag(
            "ensemble",
            "K",
            "average the models of the K best configurations [default: 1]",
        ))
        .arg(flags::out_flag("model file; - for none [default: model.json]"))
        .args(command::flags())
        .args(flags::console_flags())
        .args(TABLE.iter().filter(|spec| !OWN.contains(&spec.name)).map(fixed_parameter_flag));
    help::with_levels(command, COMMON)
}

/// The flags of every search.
fn search_flags() -> Vec<Arg> {
    let names =
        |named: &[(&str, &str)]| named.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let space = format!(
        "search space: a TOML or JSON file, or one of {} [default: default]",
        names(SPACES)
    );

    let engine =
        format!("search algorithm: {} [default: {}]", names(&engine::names()), engine::DEFAULT);

    vec![
        flags::text_flag("space", "SPACE", "search space").help(space),
        flags::text_flag("engine", "NAME", "search algorithm").help(engine),
        engine_flags::options_flag(),
        engine_flags::list_flag(),
        flags::count_flag("trials", "N", "number of configurations to evaluate [default: 100]"),
        flags::count_flag(
            "parallel",
            "N",
            "number of concurrent trials; unlike --threads, it changes which configurations are \
             evaluated [default: 4; 1 for a program]",
        ),
        flags::file_flag(
            "study",
            "journal of the search: the search can be stopped at any time and resumed from it",
        ),
        flags::number_flag(
            "time-limit",
            "SECONDS",
            "seconds after which the search stops with the best configuration so far",
        ),
        flags::switch_flag(
            "no-pruning",
            "evaluate every configuration on all folds, even those that are clearly worse",
        )
        .alias("no-race"),
    ]
}

/// A training parameter that can be fixed.
fn fixed_parameter_flag(spec: &'static ParamSpec) -> Arg {
    let arg = flags::parameter_flag(spec);
    match spec.name {
        "method" => arg.help(format!(
            "training method [default: {}, unlike train, whose default {} tunes itself]",
            tune::DEFAULT_METHOD.name(),
            Method::SWARM.name()
        )),
        "seed" => {
            arg.help("random seed of the search, the folds, the hold-out and the fits [default: 0]")
        }
        _ => engine_flags::with_engine_hint(spec, arg),
    }
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    if flags.get_flag("list-engines") {
        return engine_flags::print_list(flags);
    }
    match flags.get_one::<String>("command") {
        Some(text) => command::run(flags, text, interrupt),
        None => builtin::run(flags, interrupt),
    }
}
