//! `swarmwood study`: shows, exports and draws the journal of a study, even while it is written.

mod axis;
pub mod charts;
pub mod parallel_coordinates;
pub mod slices;
pub mod table;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Command};
use swarmwood::Result;
use swarmwood::tune::{self, StudyRecord};
use swarmwood::write::write_atomically;

use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::format::count;

const AFTER: &str = "\
Examples:
  swarmwood study show study.jsonl
  swarmwood study best study.jsonl --format flags
  swarmwood study export study.jsonl --out trials.csv
  swarmwood study plot study.jsonl --kind slice --out slice.svg";

/// Formats of the best configuration.
const FORMATS: [(&str, &str); 3] = [
    ("toml", "one line per parameter, as a file for --config"),
    ("json", "one JSON object"),
    ("flags", "command-line flags"),
];

/// Kinds of charts.
const KINDS: [(&str, &str); 4] = [
    ("history", "every trial, and the best value so far"),
    ("slice", "one chart per parameter: its values and the values of the metric"),
    ("parallel", "one line per trial across all parameters"),
    ("importance", "fraction of the variance explained by each parameter alone"),
];

/// The subcommand.
pub fn command() -> Command {
    let study = || flags::path_arg("study", "STUDY", "journal of a study");

    Command::new("study")
        .about("Show, export and draw the trials of a study")
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("show")
                .about("Show the study and its trials")
                .args_override_self(true)
                .arg(study())
                .arg(
                    flags::count_flag("top", "N", "show the N best trials")
                        .default_value("20")
                        .conflicts_with("all"),
                )
                .arg(flags::switch_flag("all", "show all trials, in order"))
                .args(flags::console_flags()),
        )
        .subcommand(
            Command::new("best")
                .about("Print the best configuration")
                .args_override_self(true)
                .arg(study())
                .arg(flags::choice_flag("format", FORMATS, "output format"))
                .arg(flags::quiet_flag()),
        )
        .subcommand(
            Command::new("export")
                .about("Export all trials as CSV")
                .args_override_self(true)
                .arg(study())
                .arg(flags::out_flag("CSV file; - for standard output").default_value("-"))
                .arg(flags::quiet_flag()),
        )
        .subcommand(
            Command::new("plot")
                .about("Draw the trials as SVG")
                .args_override_self(true)
                .arg(study())
                .arg(kind_flag())
                .arg(flags::out_flag("SVG file; - for standard output").required(true))
                .arg(flags::quiet_flag()),
        )
}

/// The kind of chart; `best` is the former name of `history`.
fn kind_flag() -> Arg {
    let values = KINDS.map(|(name, help)| PossibleValue::new(name).help(help));
    let values = values.into_iter().map(|value| match value.get_name() {
        "history" => value.alias("best"),
        _ => value,
    });
    flags::text_flag("kind", "NAME", "kind of chart")
        .value_parser(PossibleValuesParser::new(values))
        .default_value("history")
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let Some((action, flags)) = flags.subcommand() else { return Ok(()) };
    let path = flags.get_one::<PathBuf>("study").cloned().unwrap_or_default();
    let out = flags::out_file(flags);
    CommandFiles::default()
        .input("the journal of the study", Some(&path))
        .output("out", out)
        .check_writable()?;
    let study = tune::read_study(&path)?;
    flags::console(flags).notes(&study.notes);

    let text = match action {
        "show" if flags.get_flag("json") => return console::print_json(&table::json(&study)),
        "show" => {
            let top = flags::count_value(flags, "top").unwrap_or(usize::MAX);
            table::show(&study, if flags.get_flag("all") { None } else { Some(top) })
        }
        "best" => {
            let format = flags.get_one::<String>("format").map_or("toml", String::as_str);
            table::best(&study, &path, format)?
        }
        "export" => table::csv(&study),
        _ => draw(&study, flags.get_one::<String>("kind").map_or("history", String::as_str)),
    };

    match out {
        Some(out) => {
            write_atomically(out, |file| file.write_all(text.as_bytes()))?;
            flags::console(flags).line(&format!(
                "{} written to {}",
                output_noun(action),
                out.display()
            ));
            Ok(())
        }
        None => console::print_result(&text),
    }
}

fn output_noun(action: &str) -> &'static str {
    if action == "plot" { "chart" } else { "table" }
}

/// The chart of a kind. Older versions called the history `best`.
fn draw(study: &StudyRecord, kind: &str) -> String {
    match kind {
        "slice" => slices::draw(study),
        "parallel" => parallel_coordinates::draw(study),
        "importance" => charts::draw_importance(study),
        _ => charts::draw_history(study),
    }
}

/// The title of every chart.
fn title(study: &StudyRecord) -> String {
    let text = &study.header.task.text;
    let first = text.split_whitespace().next().unwrap_or("study");
    let name = Path::new(first).file_name().map_or(first.into(), |name| name.to_string_lossy());
    let short = if text.chars().count() <= 60 { text.clone() } else { format!("{name} …") };
    format!("{short}: {} by {}", count(study.trials.len(), "trial"), study.header.engine)
}
