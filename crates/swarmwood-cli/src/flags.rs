//! The arguments. Flags of the parameter table are made from the table; only what a front owns is
//! declared here.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use swarmwood::Result;
use swarmwood::params::{Allowed, Gather, ParamSpec, TABLE};
use swarmwood::read::{Source, TaskChoice};

use swarmwood::model::RuleFormat;

use crate::rules::MERGES;
use crate::talk::{self, Talk};
use crate::{report, study, tune};

/// Words for [`TaskChoice`].
pub const TASKS: &[(&str, TaskChoice)] = &[
    ("auto", TaskChoice::Auto),
    ("regression", TaskChoice::Regression),
    ("classification", TaskChoice::Classification),
];

/// Flags of `train` that a configuration file may hold beside the parameters.
pub const FILE_KEYS: &[&str] = &[
    "target",
    "weight",
    "ignore",
    "categorical",
    "delimiter",
    "task",
    "positive",
    "valid",
    "out",
    "pretrained",
    "checkpoint",
    "trace",
    "plot",
];

const ABOUT: &str =
    "Tree models found by search: train, tune, study, predict, evaluate, inspect, rules, report";
const AFTER: &str = "\
Examples:
  swarmwood train houses.csv --target price --trees 200 --out model.json
  swarmwood train wine.csv --target good --method psgbdt --plot run.svg --out model.json
  swarmwood tune houses.csv --target price --trials 100 --out model.json
  swarmwood study plot study.jsonl --kind slice --out slice.svg
  swarmwood predict model.json new.csv --out predictions.csv
  swarmwood evaluate model.json test.csv --json
  swarmwood inspect model.json --plot tree.svg
  swarmwood rules model.json --format sql
  swarmwood report model.json --data test.csv --out report.html

Exit codes: 0 done, 1 the run failed, 2 the arguments or the data must change.";

/// The whole command line.
pub fn command() -> Command {
    Command::new("swarmwood")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .disable_help_subcommand(true)
        .subcommands([
            train(),
            tune::command(),
            study::command(),
            predict(),
            evaluate(),
            inspect(),
            rules(),
            report::command(),
            completions_command(),
        ])
}

fn train() -> Command {
    let command = Command::new("train")
        .visible_alias("fit")
        .about("Train a model on a CSV or Parquet file")
        .after_help("Ctrl-C ends the training and keeps the best model so far; a second one leaves at once.")
        .args_override_self(true)
        .arg(
            data("training data: CSV (plain or gzip), Parquet, or - for standard input")
                .required_unless_present("demo"),
        )
        .arg(switch("demo", "train on the red wine quality data that comes with the program").conflicts_with("data"))
        .arg(word("target", "COLUMN", "column to predict"))
        .args(reading())
        .arg(file("valid", "file with validation rows, for early stopping and the report"))
        .arg(file("out", "where the model goes; - for standard output [default: model.json]").short('o'))
        .arg(file(
            "pretrained",
            "model whose splits psgbdt takes its rules from: ours, XGBoost's, LightGBM's, CatBoost's",
        ))
        .arg(file("checkpoint", "where a search stores its state, so that it can go on after an unplanned end"))
        .arg(count("checkpoint-every", "N", "iterations from one checkpoint to the next [default: 10]"))
        .arg(switch("resume", "go on from the checkpoint if there is one"))
        .arg(file("trace", "CSV file for one line a step: best, mean, diversity, evaluations, seconds and more"))
        .arg(file("plot", "SVG file for a picture of the run"))
        .arg(file("config", "TOML file with the same names as these flags; flags win"))
        .args(talk_flags());
    command.args(TABLE.iter().map(flag))
}

fn predict() -> Command {
    Command::new("predict")
        .about("Predict the rows of a file")
        .args_override_self(true)
        .arg(model())
        .arg(
            data("rows to predict: CSV (plain or gzip), Parquet, or - for standard input")
                .required(true),
        )
        .arg(
            file("out", "CSV file for the predictions; - for standard output")
                .short('o')
                .default_value("-"),
        )
        .arg(switch("raw", "raw scores instead of predictions"))
        .arg(switch("leaves", "index of the leaf each row reaches in each tree"))
        .arg(switch("contributions", "what each feature adds to the raw score (exact SHAP values)"))
        .group(clap::ArgGroup::new("what").args(["raw", "leaves", "contributions"]))
        .arg(first())
        .arg(delimiter())
        .arg(threads())
        .args(talk_flags())
        .after_help("With --out - the report of --json goes to standard error.")
}

fn evaluate() -> Command {
    Command::new("evaluate")
        .visible_alias("eval")
        .about("Measure a model on rows whose target is known")
        .args_override_self(true)
        .arg(model())
        .arg(
            data("rows with the target: CSV (plain or gzip), Parquet, or - for standard input")
                .required(true),
        )
        .arg(word("target", "COLUMN", "column to compare with [default: as the model calls it]"))
        .arg(word("weight", "COLUMN", "column with the weight of each row"))
        .arg(file("plot", "SVG file: how well chances come true, or numbers are met"))
        .arg(first())
        .arg(delimiter())
        .arg(threads())
        .args(talk_flags())
}

fn inspect() -> Command {
    Command::new("inspect")
        .about("Show a model: summary, importances, trees")
        .args_override_self(true)
        .arg(model())
        .arg(count("trees", "N", "trees to print").default_value("1"))
        .arg(file("plot", "picture of a model of one tree: .svg, or .dot for Graphviz"))
        .arg(
            word(
                "map",
                "FEATURE,FEATURE",
                "draw what the model says over two features instead of the tree",
            )
            .action(ArgAction::Append)
            .value_delimiter(',')
            .requires("plot"),
        )
        .arg(
            word(
                "at",
                "FEATURE=VALUE",
                "value of another feature on the map, ? for missing; repeat the flag",
            )
            .action(ArgAction::Append)
            .requires("map"),
        )
        .arg(switch("json", "print one JSON object"))
        .arg(switch("quiet", "no notes: results and errors only").short('q'))
}

fn rules() -> Command {
    Command::new("rules")
        .about("Write a model of one tree as a short set of rules in no order")
        .args_override_self(true)
        .arg(model())
        .arg(choice("format", RuleFormat::ALL.map(|(name, _, help)| (name, help)), "how rules are written"))
        .arg(choice("merge", MERGES.iter().map(|&(name, _, help)| (name, help)), "how leaves become rules"))
        .arg(file("out", "file for the rules; - for standard output").short('o').default_value("-"))
        .arg(file(
            "data",
            "rows with the target to count support, confidence and lift on [default: as the leaves tell]",
        ))
        .arg(word("target", "COLUMN", "column of the target in the data [default: as the model calls it]"))
        .arg(word("weight", "COLUMN", "column with the weight of each row of the data"))
        .arg(delimiter())
        .arg(switch("quiet", "no notes or warnings: results and errors only").short('q'))
        .after_help("The rules say what the model says on every input, missing values and new categories included.")
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
pub fn completions(args: &ArgMatches) -> Result<()> {
    let mut script = Vec::new();
    if let Some(&shell) = args.get_one::<clap_complete::Shell>("shell") {
        clap_complete::generate(shell, &mut command(), "swarmwood", &mut script);
    }
    talk::result(&String::from_utf8_lossy(&script))
}

/// A flag from the table. Every text is taken here, so that all violations can be reported together
/// later.
pub fn flag(spec: &'static ParamSpec) -> Arg {
    let names = spec.aliases.iter().copied().chain([spec.name]);
    let aliases = names
        .flat_map(|name| [name.to_string(), name.replace('_', "-")])
        .filter(|name| *name != spec.flag());
    let arg = Arg::new(spec.name)
        .long(spec.flag())
        .aliases(aliases.collect::<Vec<String>>())
        .value_name(match spec.allowed {
            Allowed::Choices(_) => "NAME",
            Allowed::Switch => "BOOL",
            Allowed::Matrix => "MATRIX",
            Allowed::Whole { .. } => "INTEGER",
            Allowed::Number { .. } => "NUMBER",
        })
        .help(format!("{} [default: {}]", spec.help, spec.defaults_text()))
        .help_heading(spec.group.title())
        .allow_negative_numbers(true)
        .value_parser(AnyText(spec));
    match spec.allowed {
        // The value is optional, so it must not be mistaken for the name of the file that may
        // follow.
        Allowed::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => arg,
    }
}

/// Accepts any text, but knows the words of a choice for help and completions.
#[derive(Clone)]
struct AnyText(&'static ParamSpec);

impl TypedValueParser for AnyText {
    type Value = String;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        text: &std::ffi::OsStr,
    ) -> std::result::Result<String, clap::Error> {
        Ok(text.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        match self.0.allowed {
            Allowed::Choices(choices) => Some(Box::new(
                choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help)),
            )),
            _ => None,
        }
    }
}

/// The number of threads.
pub fn threads() -> Arg {
    let spec = TABLE
        .iter()
        .find(|spec| spec.is_called("threads"))
        .expect("the table has the number of threads");
    flag(spec).help_heading(None)
}

fn model() -> Arg {
    path("model", "MODEL", "model file")
}

/// The file with the rows.
pub fn data(help: &'static str) -> Arg {
    Arg::new("data").value_name("DATA").value_parser(value_parser!(PathBuf)).help(help)
}

/// A flag with one word.
pub fn word(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn words(name: &'static str, help: &'static str) -> Arg {
    word(name, "COLUMNS", help).action(ArgAction::Append).value_delimiter(',')
}

/// A file that must be named, by its place.
pub fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).required(true).value_parser(value_parser!(PathBuf)).help(help)
}

/// A flag with the name of a file.
pub fn file(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help)
}

/// A flag with a few words to choose from, the first by default.
pub fn choice(
    name: &'static str,
    words: impl IntoIterator<Item = (&'static str, &'static str)>,
    help: &'static str,
) -> Arg {
    let words: Vec<(&str, &str)> = words.into_iter().collect();
    let values =
        words.iter().map(|&(word, help)| PossibleValue::new(word).help(help)).collect::<Vec<_>>();
    let arg = word(name, "NAME", help).value_parser(PossibleValuesParser::new(values));
    match words.first() {
        Some(&(first, _)) => arg.default_value(first),
        None => arg,
    }
}

/// What the word of a [`choice`] stands for.
pub fn chosen<T>(
    flags: &ArgMatches,
    name: &str,
    words: impl IntoIterator<Item = (&'static str, T)>,
) -> Option<T> {
    let given = flags.get_one::<String>(name)?;
    words.into_iter().find(|(word, _)| word == given).map(|(_, meaning)| meaning)
}

/// A flag without a value.
pub fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// A flag with a number; the text is read later, so that all faults can be told together.
pub fn number(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    word(name, value, help).allow_negative_numbers(true)
}

/// The number of a flag, if it is there; a text that is none is a violation.
pub fn number_of(flags: &ArgMatches, name: &str, gather: &mut Gather) -> Option<f64> {
    let text = flags.get_one::<String>(name)?;
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    if number.is_none() {
        gather.violate(name, format!("is '{text}', must be a number"));
    }
    number
}

/// How a file with a target is read.
pub fn reading() -> [Arg; 6] {
    [
        word("weight", "COLUMN", "column with the weight of each row"),
        words(
            "ignore",
            "columns that are no features; repeat the flag or separate names with commas",
        ),
        words("categorical", "columns of numbers to read as categories"),
        task(),
        word("positive", "CLASS", "class that counts as positive where there are two"),
        delimiter(),
    ]
}

/// A flag with a whole number.
pub fn count(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_parser(value_parser!(u64)).help(help)
}

fn first() -> Arg {
    count("first", "K", "use the first K rounds of the model alone")
}

/// The separator of fields.
pub fn delimiter() -> Arg {
    word("delimiter", "CHARACTER", "field separator, or 'tab' [default: found in the file]")
}

fn task() -> Arg {
    let names = TASKS.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    word("task", "TASK", "what the target is")
        .help(format!("what the target is: {names} [default: auto]"))
}

/// How much is told.
pub fn talk_flags() -> [Arg; 2] {
    [
        switch("json", "print the report as one JSON object on standard output"),
        switch("quiet", "no progress, notes or warnings: results and errors only").short('q'),
    ]
}

/// Whether to talk.
pub fn talk_of(args: &ArgMatches) -> Talk {
    Talk { quiet: args.get_flag("quiet") }
}

/// The file a word names; `-` is standard input.
pub fn source(path: &std::path::Path) -> Source {
    if path.as_os_str() == "-" { Source::Stdin } else { Source::File(path.to_path_buf()) }
}

/// One byte, or `tab`; the error says what is allowed.
pub fn separator(text: &str) -> std::result::Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err(format!(
                "is '{text}', must be one ASCII character, not a quote or a line end, or 'tab'"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_holds_together() {
        super::command().debug_assert();
    }
}
