//! Building blocks of the command line: constructors of flags, and readers of their values.
//!
//! The flags of training parameters are made from the parameter table.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use swarmwood::memory::parse_size;
use swarmwood::params::{AllowedValues, Gather, ParamSpec, TABLE};
use swarmwood::read::{DecimalSign, Source, TaskChoice, TextEncoding, TextFormat};
use swarmwood::{Error, Result};

use crate::console::Console;

/// The values of `--task`.
pub const TASKS: &[(&str, TaskChoice)] = &[
    ("auto", TaskChoice::Auto),
    ("regression", TaskChoice::Regression),
    ("classification", TaskChoice::Classification),
];

/// Help of the flags that turn off diagnostics.
const QUIET: &str = "print no progress, notes or warnings: results and errors only";

/// A flag of the parameter table. Any text is accepted here, so that all violations can be reported
/// together later.
pub fn parameter_flag(spec: &'static ParamSpec) -> Arg {
    let names = spec.aliases.iter().copied().chain([spec.name]);
    let aliases = names
        .flat_map(|name| [name.to_string(), name.replace('_', "-")])
        .filter(|name| *name != spec.flag());

    let arg = Arg::new(spec.name)
        .long(spec.flag())
        .aliases(aliases.collect::<Vec<String>>())
        .value_name(match spec.allowed {
            AllowedValues::Choices(_) => "NAME",
            AllowedValues::Switch => "BOOL",
            AllowedValues::Matrix => "MATRIX",
            AllowedValues::ByFeature { .. } => "FEATURES",
            AllowedValues::Text(_) => "TEXT",
            AllowedValues::FeatureGroups { .. } => "GROUPS",
            AllowedValues::Splits(_) => "SPLITS",
            AllowedValues::Whole { .. } => "INTEGER",
            AllowedValues::Number { .. } => "NUMBER",
        })
        .help(short_help(spec))
        .long_help(format!("{} [default: {}]", spec.help, spec.defaults_text()))
        .help_heading(spec.group.title())
        .allow_negative_numbers(true)
        .value_parser(ParameterTextParser(spec));

    match spec.allowed {
        // The value is optional, so it must not be mistaken for the name of the file that may
        // follow.
        AllowedValues::Switch => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        _ => arg,
    }
}

/// What the parameter is, and its default if that is a value of its own.
fn short_help(spec: &ParamSpec) -> String {
    let first_clause = spec.help.split(';').next().unwrap_or(spec.help);
    match spec.default_text().as_str() {
        "0" | "none" => first_clause.to_string(),
        default => format!("{first_clause} [default: {default}]"),
    }
}

/// The text of a parameter. One with values by feature may be given as a file: JSON, or CSV with a
/// header and lines of a name and a value; splits as a file of JSON.
pub fn parameter_text(spec: &ParamSpec, text: &str) -> Result<String> {
    let path = Path::new(text);
    let is_by_feature = matches!(spec.allowed, AllowedValues::ByFeature { .. });
    let is_splits = matches!(spec.allowed, AllowedValues::Splits(_));
    if !(is_by_feature || is_splits) || !path.is_file() {
        return Ok(text.to_string());
    }
    let content = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let content = content.trim();
    if is_splits || content.starts_with(['{', '[']) {
        return Ok(content.to_string());
    }
    let entry = |line: &str| match line.rsplit_once(',') {
        Some((name, value)) if name.starts_with('"') => format!("{name}:{value}"),
        Some((name, value)) => format!("\"{}\":{value}", name.trim().replace('"', "\"\"")),
        None => line.to_string(),
    };
    let lines = content.lines().skip(1).filter(|line| !line.trim().is_empty());
    Ok(lines.map(entry).collect::<Vec<_>>().join(","))
}

/// Accepts any text, but knows the values of a choice for help and completions.
#[derive(Clone)]
struct ParameterTextParser(&'static ParamSpec);

impl TypedValueParser for ParameterTextParser {
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
            AllowedValues::Choices(choices) => Some(Box::new(
                choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help)),
            )),
            _ => None,
        }
    }
}

/// The number of threads.
pub fn threads_flag() -> Arg {
    let spec = TABLE
        .iter()
        .find(|spec| spec.is_called("threads"))
        .expect("the table has the number of threads");
    parameter_flag(spec).help_heading(None)
}

/// The model file, as a positional argument.
pub fn model_arg() -> Arg {
    path_arg("model", "MODEL", "model file")
}

/// The file with the rows, as a positional argument.
pub fn data_arg(help: &'static str) -> Arg {
    Arg::new("data").value_name("DATA").value_parser(value_parser!(PathBuf)).help(help)
}

/// A required file, as a positional argument.
pub fn path_arg(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).required(true).value_parser(value_parser!(PathBuf)).help(help)
}

/// A flag with one text.
pub fn text_flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// A flag with several columns.
fn columns_flag(name: &'static str, help: &'static str) -> Arg {
    text_flag(name, "COLUMNS", help).action(ArgAction::Append).value_delimiter(',')
}

/// A flag with the name of a file.
pub fn file_flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help)
}

/// A flag with the names of files; it may be repeated.
pub fn files_flag(name: &'static str, help: &'static str) -> Arg {
    file_flag(name, help).action(ArgAction::Append)
}

/// The output file of a command, where `-` is standard output.
pub fn out_flag(help: &'static str) -> Arg {
    file_flag("out", help).short('o')
}

/// A flag with a fixed set of values, the first by default.
pub fn choice_flag(
    name: &'static str,
    choices: impl IntoIterator<Item = (&'static str, &'static str)>,
    help: &'static str,
) -> Arg {
    let choices: Vec<(&str, &str)> = choices.into_iter().collect();
    let values =
        choices.iter().map(|&(name, help)| PossibleValue::new(name).help(help)).collect::<Vec<_>>();
    let arg = text_flag(name, "NAME", help).value_parser(PossibleValuesParser::new(values));
    match choices.first() {
        Some(&(first, _)) => arg.default_value(first),
        None => arg,
    }
}

/// A flag without a value.
pub fn switch_flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// A flag with a number; the text is parsed later, so that all violations can be reported
/// together.
pub fn number_flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    text_flag(name, value, help).allow_negative_numbers(true)
}

/// The number of a flag, if it was given; any other text is a violation.
pub fn number_value(flags: &ArgMatches, name: &str, gather: &mut Gather) -> Option<f64> {
    let text = flags.get_one::<String>(name)?;
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    if number.is_none() {
        gather.violate(name, format!("is '{text}', must be a number"));
    }
    number
}

/// A flag with a whole number.
pub fn count_flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_parser(value_parser!(u64)).help(help)
}

/// The whole number of a flag, if it was given.
pub fn count_value(flags: &ArgMatches, name: &str) -> Option<usize> {
    let value = flags.get_one::<u64>(name)?;
    Some(usize::try_from(*value).unwrap_or(usize::MAX))
}

/// How the columns of a file with a target are read.
pub fn table_flags() -> Vec<Arg> {
    let tasks = TASKS.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    let columns = [
        text_flag("weight", "COLUMN", "column with the weight of each row"),
        text_flag(
            "class-weight",
            "WEIGHTS",
            "'balanced', or weights of classes that those of training rows are multiplied by: \
             'yes:5,no:1'",
        ),
        text_flag(
            "scale-pos-weight",
            "NUMBER",
            "weight of the positive one of two classes in training; the other has 1",
        ),
        columns_flag(
            "ignore",
            "columns that are not features; repeat the flag or separate names with commas",
        ),
        columns_flag("categorical", "columns of numbers to read as categories"),
        text_flag(
            "dates",
            "FORMAT",
            "columns of dates: auto, ignore (leave them out), or how they are written, such as \
             %d/%m/%Y [default: auto]",
        ),
        text_flag("task", "TASK", "type of the target")
            .help(format!("type of the target: {tasks} [default: auto]")),
        text_flag("positive", "CLASS", "positive class of a binary target"),
    ];
    columns.into_iter().chain(text_format_flags()).chain([max_memory_flag()]).collect()
}

/// Prediction with the first rounds of a model only.
pub fn first_rounds_flag() -> Arg {
    count_flag("first", "K", "use only the first K rounds of the model")
}

/// How a text file is written.
pub fn text_format_flags() -> [Arg; 4] {
    [
        text_flag("delimiter", "CHARACTER", "field separator, or 'tab' [default: detected]"),
        text_flag("decimal", "SIGN", "decimal sign of numbers: . or , [default: detected]"),
        text_flag(
            "thousands",
            "CHARACTER",
            "separator of thousands in numbers [default: any usual one]",
        ),
        text_flag(
            "encoding",
            "NAME",
            "encoding of the text, such as utf-16le or windows-1252 [default: detected]",
        ),
    ]
}

/// How a text file is written, where the texts of the flags come from a command line or a file.
pub fn text_format(
    text: impl Fn(&str, &mut Gather) -> Option<String>,
    gather: &mut Gather,
) -> TextFormat {
    let delimiter = text("delimiter", gather).and_then(|text| {
        parse_delimiter(&text).map_err(|message| gather.violate("delimiter", message)).ok()
    });
    let decimal = text("decimal", gather).and_then(|text| match text.as_str() {
        "." => Some(DecimalSign::Point),
        "," => Some(DecimalSign::Comma),
        _ => {
            gather.violate("decimal", format!("is '{text}', must be . or ,"));
            None
        }
    });
    let thousands = text("thousands", gather).and_then(|text| {
        parse_thousands(&text, decimal).map_err(|message| gather.violate("thousands", message)).ok()
    });
    let encoding = text("encoding", gather).and_then(|text| {
        let encoding = TextEncoding::of(&text);
        if encoding.is_none() {
            let message = format!(
                "is '{text}', must be the name of an encoding, such as utf-8, utf-16le, \
                 windows-1252 or shift_jis"
            );
            gather.violate("encoding", message);
        }
        encoding
    });
    TextFormat { delimiter, decimal, thousands, encoding }
}

/// How a text file is written, by the flags of a command.
pub fn text_format_of(flags: &ArgMatches, gather: &mut Gather) -> TextFormat {
    text_format(|name, _| flags.get_one::<String>(name).cloned(), gather)
}

/// Another decision threshold than the model's.
pub fn threshold_flag() -> Arg {
    text_flag(
        "threshold",
        "NUMBER",
        "two classes: predict the second one where its probability is greater [default: the model's]",
    )
}

/// The memory that rows may need.
pub fn max_memory_flag() -> Arg {
    text_flag(
        "max-memory",
        "SIZE",
        "memory that the rows may need, such as 4G [default: half of the machine's]",
    )
}

/// The memory that rows may need, if it was given; any other text is a violation.
pub fn max_memory(flags: &ArgMatches, gather: &mut Gather) -> Option<u64> {
    let text = flags.try_get_one::<String>("max-memory").ok().flatten()?;
    parse_size(text).map_err(|message| gather.violate("max-memory", message)).ok()
}

/// How much is printed, and in which form.
pub fn console_flags() -> [Arg; 2] {
    [switch_flag("json", "print the report as one JSON object on standard output"), quiet_flag()]
}

/// No diagnostics.
pub fn quiet_flag() -> Arg {
    switch_flag("quiet", QUIET).short('q')
}

/// The console as `--quiet` has it.
pub fn console(flags: &ArgMatches) -> Console {
    Console { quiet: flags.get_flag("quiet") }
}

/// The file with the rows.
pub fn data_source(flags: &ArgMatches) -> Source {
    source(flags.get_one::<PathBuf>("data").map_or(Path::new("-"), PathBuf::as_path))
}

/// The source a path names; `-` is standard input.
pub fn source(path: &Path) -> Source {
    if path.as_os_str() == "-" { Source::Stdin } else { Source::File(path.to_path_buf()) }
}

/// The output file, or `None` for standard output.
pub fn out_file(flags: &ArgMatches) -> Option<&PathBuf> {
    let out = flags.try_get_one::<PathBuf>("out").ok().flatten();
    out.filter(|path| path.as_os_str() != "-")
}

/// One character that is not the decimal sign; the error says what is allowed.
fn parse_thousands(text: &str, decimal: Option<DecimalSign>) -> std::result::Result<char, String> {
    let mut chars = text.chars();
    let (Some(char), None) = (chars.next(), chars.next()) else {
        return Err(format!("is '{text}', must be one character"));
    };
    if char.is_ascii_alphanumeric() || matches!(char, '"' | '-' | '+') {
        return Err(format!("is '{text}', must not be a letter, a digit, a sign or a quote"));
    }
    let is_decimal = match decimal {
        Some(DecimalSign::Comma) => char == ',',
        Some(DecimalSign::Point) => char == '.',
        None => false,
    };
    if is_decimal {
        return Err(format!("is '{text}', which is the decimal sign already"));
    }
    Ok(char)
}

/// One byte, or `tab`; the error says what is allowed.
fn parse_delimiter(text: &str) -> std::result::Result<u8, String> {
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
