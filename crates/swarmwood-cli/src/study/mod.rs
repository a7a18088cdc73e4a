//! `swarmwood study`: looks into the journal of a study, also while it is being written.

mod axis;
pub mod charts;
pub mod parallel_coordinates;
pub mod slices;
pub mod table;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use swarmwood::tune::{self, Recorded};
use swarmwood::write::write_atomically;
use swarmwood::{Result, store};

use crate::console;
use crate::flags;
use crate::format::count;

const AFTER: &str = "\
Examples:
  swarmwood study show study.jsonl
  swarmwood study best study.jsonl --format flags
  swarmwood study export study.jsonl --out trials.csv
  swarmwood study plot study.jsonl --kind slice --out slice.svg";

/// How the best configuration is written.
const FORMATS: [(&str, &str); 3] = [
    ("toml", "a line a parameter: a file for --config"),
    ("json", "an object"),
    ("flags", "flags for a command line"),
];

/// What can be drawn.
const KINDS: [(&str, &str); 4] = [
    ("best", "every trial, and the best so far"),
    ("slice", "a chart a parameter: its values and what came of them"),
    ("parallel", "a line a trial across all parameters"),
    ("importance", "the share of the differences that each parameter alone explains"),
];

/// The subcommand.
pub fn command() -> Command {
    let study = || flags::path_arg("study", "STUDY", "the journal of a study");
    Command::new("study")
        .about("Show, export and draw the trials of a study")
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("show")
                .about("What the study is about and how its trials went")
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
                .about("The best configuration")
                .args_override_self(true)
                .arg(study())
                .arg(flags::choice_flag("format", FORMATS, "how it is written"))
                .arg(flags::switch_flag("quiet", "no notes: results and errors only").short('q')),
        )
        .subcommand(
            Command::new("export")
                .about("All trials as CSV")
                .args_override_self(true)
                .arg(study())
                .arg(
                    flags::file_flag("out", "file for the table; - for standard output")
                        .short('o')
                        .default_value("-"),
                )
                .arg(flags::switch_flag("quiet", "no notes: results and errors only").short('q')),
        )
        .subcommand(
            Command::new("plot")
                .about("Draw the trials as SVG")
                .args_override_self(true)
                .arg(study())
                .arg(flags::choice_flag("kind", KINDS, "what is drawn"))
                .arg(
                    flags::file_flag("out", "file for the picture; - for standard output")
                        .short('o')
                        .required(true),
                )
                .arg(flags::switch_flag("quiet", "no notes: results and errors only").short('q')),
        )
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let Some((what, flags)) = flags.subcommand() else { return Ok(()) };
    let path = flags.get_one::<PathBuf>("study").cloned().unwrap_or_default();
    let out =
        flags.try_get_one::<PathBuf>("out").ok().flatten().filter(|path| path.as_os_str() != "-");
    if let Some(out) = out {
        store::probe(out)?;
    }
    let study = tune::read_study(&path)?;
    flags::console(flags).notes(&study.notes);
    let text = match what {
        "show" if flags.get_flag("json") => return console::print_json(&table::json(&study)),
        "show" => {
            let top = flags
                .get_one::<u64>("top")
                .map_or(usize::MAX, |&top| usize::try_from(top).unwrap_or(usize::MAX));
            table::show(&study, if flags.get_flag("all") { None } else { Some(top) })
        }
        "best" => {
            let format = flags.get_one::<String>("format").map_or("toml", String::as_str);
            table::best(&study, &path, format)?
        }
        "export" => table::csv(&study),
        _ => picture(&study, flags.get_one::<String>("kind").map_or("best", String::as_str)),
    };
    match out {
        Some(out) => {
            write_atomically(out, |file| file.write_all(text.as_bytes()))?;
            flags::console(flags).line(&format!("{} written to {}", noun(what), out.display()));
            Ok(())
        }
        None => console::print_result(&text),
    }
}

fn noun(what: &str) -> &'static str {
    if what == "plot" { "picture" } else { "table" }
}

fn picture(study: &Recorded, kind: &str) -> String {
    match kind {
        "slice" => slices::draw(study),
        "parallel" => parallel_coordinates::draw(study),
        "importance" => charts::importance(study),
        _ => charts::best(study),
    }
}

/// The headline of every picture.
fn title(study: &Recorded) -> String {
    let text = &study.head.task.text;
    let first = text.split_whitespace().next().unwrap_or("study");
    let name = Path::new(first).file_name().map_or(first.into(), |name| name.to_string_lossy());
    let short = if text.chars().count() <= 60 { text.clone() } else { format!("{name} …") };
    format!("{short}: {} by {}", count(study.trials.len(), "trial"), study.head.engine)
}
