//! `swarmwood predict`: a model and rows in, a table out.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{ArgAction, ArgGroup, ArgMatches, Command};
use serde_json::json;
use swarmwood::predict::{
    PredictionColumns, PredictionReport, PredictionRequest, Scorer, TableFormat, write_table,
};
use swarmwood::read::KeepColumns;
use swarmwood::write::Output;
use swarmwood::{Result, store};

use crate::console;
use crate::files::CommandFiles;
use crate::flags;
use crate::format::count;
use crate::interrupt::InterruptFlag;
use crate::memory;
use crate::scoring::ScoringOptions;

/// The subcommand.
pub fn command() -> Command {
    Command::new("predict")
        .about("Predict the rows of a file")
        .args_override_self(true)
        .arg(flags::model_arg())
        .arg(
            flags::data_arg(
                "rows to predict: CSV (plain or gzip), Parquet, or - for standard input",
            )
            .required(true),
        )
        .arg(
            flags::out_flag(
                "file for the predictions: Parquet if its name ends in .parquet, else CSV; \
                 - for standard output",
            )
            .default_value("-"),
        )
        .arg(flags::switch_flag("raw", "raw scores instead of predictions"))
        .arg(flags::switch_flag("leaves", "index of the leaf each row reaches in each tree"))
        .arg(flags::switch_flag(
            "contributions",
            "contribution of each feature to the raw score (exact SHAP values)",
        ))
        .arg(flags::count_flag(
            "reasons",
            "K",
            "add the K features with the largest contributions to the prediction of each row",
        ))
        .arg(
            flags::text_flag(
                "keep",
                "COLUMNS",
                "copy these columns of the rows into the output, or 'all'; repeat the flag or \
                 separate names with commas",
            )
            .action(ArgAction::Append)
            .value_delimiter(','),
        )
        .arg(flags::switch_flag(
            "safe-csv",
            "put an apostrophe before texts that spreadsheets would take for formulas",
        ))
        .group(ArgGroup::new("what").args(["raw", "leaves", "contributions"]))
        .arg(flags::threshold_flag())
        .arg(flags::first_rounds_flag())
        .args(flags::text_format_flags())
        .arg(flags::threads_flag())
        .args(flags::console_flags())
        .after_help("With --out - the report of --json goes to standard error.")
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &InterruptFlag) -> Result<()> {
    let console = flags::console(flags);
    let options = ScoringOptions::new(flags)?;
    let source = flags::data_source(flags);
    let out = flags::out_file(flags);
    CommandFiles::default()
        .input("the model", Some(&options.model))
        .rows("the rows to predict", &source)
        .output("out", out)
        .check()?;

    let model = options.decide(store::load(&options.model)?)?;
    let scorer = Scorer::new(&model, options.first_rounds, options.threads)?;
    let keep = kept_columns(flags);
    let request = PredictionRequest {
        keep: &keep,
        source: &source,
        options: &options.read,
        what: prediction_columns(flags),
        reasons: flags::count_value(flags, "reasons").unwrap_or(0),
        format: out.map_or(TableFormat::Csv, |path| TableFormat::of(path)),
        safe_csv: flags.get_flag("safe-csv"),
    };

    let go_on = || !interrupt.is_raised();

    let report = match out {
        Some(path) => {
            // From here on there is a temporary file that an interrupted run must remove.
            interrupt.arm();
            let mut output = Output::create(path)?;
            let report = write_table(&scorer, &request, &mut output, path, &go_on)?;
            output.commit()?;
            report
        }
        None => {
            let mut stdout = BufWriter::new(console::stdout());
            write_table(&scorer, &request, &mut stdout, Path::new("standard output"), &go_on)?
        }
    };

    console.warnings(&report.warnings);

    if flags.get_flag("json") {
        let line = report_json(&scorer, &report, out);
        return match out {
            Some(_) => console::print_json(&line),
            // The table is on standard output; the report must not end up in it.
            None => writeln!(io::stderr(), "{line}").or(Ok(())),
        };
    }

    if let Some(path) = out {
        let rows = count(report.rows as usize, "row");
        console.line(&format!("{rows} predicted, written to {}", path.display()));
    }

    Ok(())
}

fn kept_columns(flags: &ArgMatches) -> KeepColumns {
    let names: Vec<String> = flags.get_many("keep").into_iter().flatten().cloned().collect();
    match names.as_slice() {
        [] => KeepColumns::None,
        [all] if all == "all" => KeepColumns::All,
        _ => KeepColumns::Named(names),
    }
}

fn prediction_columns(flags: &ArgMatches) -> PredictionColumns {
    let table = [
        ("raw", PredictionColumns::Raw),
        ("leaves", PredictionColumns::Leaves),
        ("contributions", PredictionColumns::Contributions),
    ];
    table
        .into_iter()
        .find(|(name, _)| flags.get_flag(name))
        .map_or(PredictionColumns::Prediction, |(_, what)| what)
}

fn report_json(
    scorer: &Scorer<'_>,
    report: &PredictionReport,
    out: Option<&PathBuf>,
) -> serde_json::Value {
    json!({
        "rows": report.rows,
        "seconds": {
            "read": report.read_seconds,
            "predict": report.predict_seconds,
            "write": report.write_seconds,
        },
        "peak_memory_bytes": memory::peak_bytes(),
        "warnings": report.warnings,
        "interval": scorer.interval().map(|interval| interval.level),
        "class_sets": scorer.class_sets().map(|sets| sets.level),
        "out": out.map(|path| path.display().to_string()),
    })
}
