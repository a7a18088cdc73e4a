//! `swarmwood predict`: a model and rows in, a CSV table out.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::json;
use swarmwood::params::Gather;
use swarmwood::predict::{Report, Request, Scorer, What, write_csv};
use swarmwood::read::ReadOptions;
use swarmwood::write::Output;
use swarmwood::{Result, store};

use crate::args::{self, talk_of};
use crate::interrupt::Interrupt;
use crate::talk::{self, count};

/// The options that `predict`, `evaluate` and `report` share.
pub struct Scoring {
    /// The model file.
    pub model: PathBuf,
    /// How rows are read.
    pub options: ReadOptions,
    /// The first rounds alone, if asked for.
    pub first: Option<usize>,
    /// Threads.
    pub threads: usize,
}

impl Scoring {
    /// Reads the flags; all violations are told at once.
    pub fn new(flags: &ArgMatches) -> Result<Scoring> {
        let mut gather = Gather::default();
        if let Some(text) = flags.get_one::<String>("threads") {
            gather.set("threads", text);
        }
        let delimiter = flags.get_one::<String>("delimiter").and_then(|text| {
            args::separator(text).map_err(|message| gather.violate("delimiter", message)).ok()
        });
        // A front may leave out what it has no use for.
        let first = flags.try_get_one::<u64>("first").ok().flatten();
        let first = first.map(|&first| usize::try_from(first).unwrap_or(usize::MAX));
        if first == Some(0) {
            gather.violate("first", "is 0, must be a whole number from 1");
        }
        let threads = gather.finish()?.threads;
        let model =
            flags.try_get_one::<PathBuf>("model").ok().flatten().cloned().unwrap_or_default();
        Ok(Scoring {
            model,
            options: ReadOptions { delimiter, ..ReadOptions::default() },
            first,
            threads,
        })
    }
}

/// Runs the command.
pub fn run(flags: &ArgMatches, interrupt: &Interrupt) -> Result<()> {
    let talk = talk_of(flags);
    let scoring = Scoring::new(flags)?;
    let model = store::load(&scoring.model)?;
    let scorer = Scorer::new(&model, scoring.first, scoring.threads)?;
    let source =
        args::source(flags.get_one::<PathBuf>("data").map_or(Path::new("-"), PathBuf::as_path));
    let request = Request { source: &source, options: &scoring.options, what: what(flags) };
    let go_on = || !interrupt.raised();
    let out = flags.get_one::<PathBuf>("out").filter(|path| path.as_os_str() != "-");
    let report = match out {
        Some(path) => {
            // From here on there is a file at the side that an interrupted run must take away.
            interrupt.arm();
            let mut output = Output::create(path)?;
            let report = write_csv(&scorer, &request, &mut output, path, &go_on)?;
            output.commit()?;
            report
        }
        None => {
            let mut stdout = BufWriter::new(io::stdout().lock());
            write_csv(&scorer, &request, &mut stdout, Path::new("standard output"), &go_on)?
        }
    };
    talk.warn(&report.warnings);
    if flags.get_flag("json") {
        let line = report_json(&report, out);
        return match out {
            Some(_) => talk::json(&line),
            // The table has standard output; the report must not end up in it.
            None => writeln!(io::stderr(), "{line}").or(Ok(())),
        };
    }
    if let Some(path) = out {
        talk.note(&format!(
            "{} predicted, written to {}",
            count(report.rows as usize, "row"),
            path.display()
        ));
    }
    Ok(())
}

fn what(flags: &ArgMatches) -> What {
    let table =
        [("raw", What::Raw), ("leaves", What::Leaves), ("contributions", What::Contributions)];
    table
        .into_iter()
        .find(|(name, _)| flags.get_flag(name))
        .map_or(What::Prediction, |(_, what)| what)
}

fn report_json(report: &Report, out: Option<&PathBuf>) -> serde_json::Value {
    json!({
        "rows": report.rows,
        "seconds": {
            "read": report.read_seconds,
            "predict": report.predict_seconds,
            "write": report.write_seconds,
        },
        "peak_memory_bytes": crate::memory::peak_bytes(),
        "warnings": report.warnings,
        "out": out.map(|path| path.display().to_string()),
    })
}
