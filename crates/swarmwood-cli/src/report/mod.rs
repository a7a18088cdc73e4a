//! `swarmwood report`: runs on one page of HTML that needs nothing else.
//!
//! Every section is made from what the files of a run hold; nothing is trained, and nothing on the
//! page depends on when or where it was made.

mod asked;
mod comparison;
mod cost;
mod evaluation;
mod html;
mod inside;
mod markdown;
mod measured;
mod outcome;
mod page;
mod runs;
mod training;
mod tuning;
mod words;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use swarmwood::error::Violation;
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result, store};

use self::page::{Section, document};
use self::runs::Run;
use crate::args::{self, talk_of};
use crate::talk::{self, Talk};

const AFTER: &str = "\
A RUN is known by its content: a model; what 'train --json' or 'tune --json' printed; the table of 'train --trace'; the
journal of a study; or a directory with the outcome of an experiment (summary.md or README.md, figures, raw.csv). Files of
one run find each other: a record its model and its study by what they hold, a trace belongs to the training before it.

Examples:
  swarmwood train houses.csv --target price --json --trace run.csv --out model.json > run.json
  swarmwood report run.json run.csv --data test.csv --out report.html
  swarmwood report small.json large.json --data test.csv --out compared.html
  swarmwood report study.jsonl tuned.json --out tuning.html";

/// The subcommand.
pub fn command() -> Command {
    Command::new("report")
        .about("Show runs on one page of HTML that needs nothing else")
        .after_help(AFTER)
        .args_override_self(true)
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .action(ArgAction::Append)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("files and directories that tell of a run"),
        )
        .arg(
            args::file("out", "HTML file; - for standard output")
                .short('o')
                .default_value("report.html"),
        )
        .arg(args::file("data", "rows with the target to measure the models on, with intervals"))
        .arg(args::word(
            "target",
            "COLUMN",
            "column of the target in the data [default: as the model calls it]",
        ))
        .arg(args::word("weight", "COLUMN", "column with the weight of each row of the data"))
        .arg(args::word("title", "TEXT", "headline of the page [default: the names of the runs]"))
        .arg(args::delimiter())
        .arg(args::threads())
        .arg(args::switch("quiet", "no notes or warnings: results and errors only").short('q'))
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let talk = talk_of(flags);
    let out = flags.get_one::<PathBuf>("out").filter(|path| path.as_os_str() != "-");
    if let Some(out) = out {
        // A wrong path should cost no work.
        store::probe(out)?;
    }
    let paths: Vec<PathBuf> =
        flags.get_many::<PathBuf>("run").into_iter().flatten().cloned().collect();
    let mut warnings = Vec::new();
    let mut runs = runs::read(&paths, &mut warnings)?;
    talk.warn(&warnings);
    if let Some(data) = flags.get_one::<PathBuf>("data") {
        measure(flags, data, &mut runs, talk)?;
    }
    let page = build(&runs, flags.get_one::<String>("title"))?;
    match out {
        Some(path) => {
            write_atomically(path, |file| file.write_all(page.as_bytes()))?;
            talk.note(&format!(
                "report of {} written to {}",
                talk::count(runs.len(), "run"),
                path.display()
            ));
            Ok(())
        }
        None => talk::result(&page),
    }
}

/// Measures every model on the rows of a file.
fn measure(flags: &ArgMatches, data: &Path, runs: &mut [Run], talk: Talk) -> Result<()> {
    let violation = |message: &str| {
        Error::Parameters(vec![Violation { name: "data".into(), message: message.into() }])
    };
    let models = runs.iter().filter(|run| run.model.is_some()).count();
    if models == 0 {
        return Err(violation(
            "is given, but no model to measure on it; name the model file among the runs",
        ));
    }
    if models > 1 && data.as_os_str() == "-" {
        return Err(violation(
            "is '-', which can be read once, but there is more than one model; name a file",
        ));
    }
    for loaded in runs.iter_mut().filter_map(|run| run.model.as_mut()) {
        loaded.measured = Some(measured::measure(flags, data, &loaded.model, talk)?);
    }
    Ok(())
}

/// The page of some runs.
fn build(runs: &[Run], title: Option<&String>) -> Result<String> {
    let mut sections: Vec<Section> = comparison::section(0, runs).into_iter().collect();
    for (at, run) in runs.iter().enumerate() {
        let number = at + 1;
        sections.push(match &run.outcome {
            Some(folder) => outcome::section(number, folder)?,
            None if run.study.is_some() || run.tuned.is_some() => tuning::section(number, run)?,
            None => training::section(number, run)?,
        });
    }
    let names: Vec<String> = runs.iter().map(Run::name).collect();
    let title = title.cloned().unwrap_or_else(|| format!("Report of {}", names.join(", ")));
    Ok(document(&title, &sections))
}
