//! `swarmwood report`: runs on one self-contained HTML page.
//!
//! Every section is made from the files of a run; nothing is trained, and nothing on the page depends
//! on when or where it was made.

mod comparison;
mod cost;
mod data;
mod downloads;
mod drift;
mod effect_panel;
mod effects;
mod evaluation;
mod experiment;
mod html;
mod markdown;
mod metrics;
mod missing_inputs;
mod model;
mod page;
mod parameters;
mod row_sample;
mod runs;
mod script;
mod sha256;
mod subgroups;
mod test_evaluation;
mod threshold;
mod training;
mod tuning;
mod whatif;

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use swarmwood::error::Violation;
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result};

use self::page::{PageSection, document};
use self::runs::ReportRun;
use crate::console::{self, Console};
use crate::files::CommandFiles;
use crate::flags;
use crate::format::count;

const AFTER: &str = "\
A RUN is recognized by its content: a model; the output of 'train --json' or 'tune --json'; the CSV
file of 'train --trace'; the journal of a study; or a directory with the results of an experiment
(summary.md or README.md, figures, raw.csv). Files of the same run are combined: a record with its
model and its study, by their content; a trace with the training run before it.

Examples:
  swarmwood train houses.csv --target price --json --trace run.csv --out model.json > run.json
  swarmwood report run.json run.csv --data test.csv --out report.html
  swarmwood report small.json large.json --data test.csv --out compared.html
  swarmwood report study.jsonl tuned.json --out tuning.html";

/// The subcommand.
pub fn command() -> Command {
    Command::new("report")
        .about("Write a self-contained HTML page about runs")
        .after_help(AFTER)
        .args_override_self(true)
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .action(ArgAction::Append)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("files and directories of runs"),
        )
        .arg(flags::out_flag("HTML file; - for standard output").default_value("report.html"))
        .arg(flags::file_flag(
            "data",
            "rows with the target to evaluate the models on, with confidence intervals",
        ))
        .arg(flags::text_flag(
            "target",
            "COLUMN",
            "column of the target in the data [default: the name in the model]",
        ))
        .arg(flags::text_flag("weight", "COLUMN", "column with the weight of each row of the data"))
        .arg(flags::file_flag(
            "plot",
            "SVG file for the effects of the features on the predictions of --data",
        ))
        .arg(flags::text_flag(
            "title",
            "TEXT",
            "title of the page [default: the names of the runs]",
        ))
        .args(flags::text_format_flags())
        .arg(flags::max_memory_flag())
        .arg(flags::threads_flag())
        .arg(flags::quiet_flag())
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let console = flags::console(flags);
    let out = flags::out_file(flags);
    let plot = flags.get_one::<PathBuf>("plot");
    let paths: Vec<PathBuf> =
        flags.get_many::<PathBuf>("run").into_iter().flatten().cloned().collect();
    let files = CommandFiles::default()
        .output("out", out)
        .output("plot", plot)
        .input("the data", flags.get_one::<PathBuf>("data"));
    let files = paths.iter().fold(files, |files, path| files.folder_or_file("a run", path));
    files.check_writable()?;

    let mut warnings = Vec::new();
    let mut runs = runs::read(&paths, &mut warnings)?;
    // A record names its model.
    let models = runs.iter().filter_map(|run| run.model.as_ref());
    let files = models.fold(files, |files, model| files.input("a model", Some(&model.path)));
    files.check()?;

    console.warnings(&warnings);
    if let Some(data) = flags.get_one::<PathBuf>("data") {
        evaluate_models(flags, data, &mut runs, console)?;
    }
    let effects = plot.map(|path| effects_plot(&runs).map(|svg| (path, svg))).transpose()?;
    let page = build(&runs, flags.get_one::<String>("title"))?;

    if let Some((path, svg)) = effects {
        write_atomically(path, |file| file.write_all(svg.as_bytes()))?;
        console.line(&format!("effects written to {}", path.display()));
    }

    match out {
        Some(path) => {
            write_atomically(path, |file| file.write_all(page.as_bytes()))?;
            console.line(&format!(
                "report of {} written to {}",
                count(runs.len(), "run"),
                path.display()
            ));
            Ok(())
        }
        None => console::print_result(&page),
    }
}

/// Evaluates every model on the rows of a file.
fn evaluate_models(
    flags: &ArgMatches,
    data: &Path,
    runs: &mut [ReportRun],
    console: Console,
) -> Result<()> {
    let violation = |message: &str| Error::Parameters(vec![Violation::new("data", message)]);
    let models = runs.iter().filter(|run| run.model.is_some()).count();
    if models == 0 {
        return Err(violation(
            "is given, but there is no model to evaluate; name the model file among the runs",
        ));
    }

    if models > 1 && data.as_os_str() == "-" {
        return Err(violation(
            "is '-', which can be read once, but there is more than one model; name a file",
        ));
    }

    for loaded in runs.iter_mut().filter_map(|run| run.model.as_mut()) {
        loaded.evaluation = Some(test_evaluation::evaluate(flags, data, &loaded.model, console)?);
    }
    Ok(())
}

/// The effects of the only model as an SVG document.
fn effects_plot(runs: &[ReportRun]) -> Result<String> {
    let models: Vec<_> = runs.iter().filter_map(|run| run.model.as_ref()).collect();
    let violation = |message: &str| Error::Parameters(vec![Violation::new("plot", message)]);
    match models.as_slice() {
        [loaded] => match &loaded.evaluation {
            Some(evaluation) => {
                let title = format!("Effects on {}", loaded.model.schema.target.name);
                Ok(evaluation.effects.plot(&loaded.model, &title))
            }
            None => Err(violation("is given, but not --data, whose rows the effects are over")),
        },
        models => Err(violation(&format!(
            "draws the effects of one model, but there are {}; name one",
            models.len()
        ))),
    }
}

/// The HTML page.
fn build(runs: &[ReportRun], title: Option<&String>) -> Result<String> {
    let mut sections: Vec<PageSection> = comparison::section(0, runs).into_iter().collect();
    for (at, run) in runs.iter().enumerate() {
        let number = at + 1;
        sections.push(match &run.experiment {
            Some(folder) => experiment::section(number, folder)?,
            None if run.study.is_some() || run.tuned.is_some() => tuning::section(number, run)?,
            None => training::section(number, run)?,
        });
    }
    let names: Vec<String> = runs.iter().map(ReportRun::name).collect();
    let title = title.cloned().unwrap_or_else(|| format!("Report of {}", names.join(", ")));
    Ok(document(&title, &sections))
}
