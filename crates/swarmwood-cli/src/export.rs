//! `swarmwood export`: a model in the format of another program.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Command, value_parser};
use serde_json::json;
use swarmwood::error::Violation;
use swarmwood::export::{
    BUNDLE, BundleEntry, BundleReport, BundleRequest, ExportReport, ExportRequest, VerifyOutcome,
    VerifyReport, VerifyRequest, choose_format, is_bundle, write_bundle, write_export,
};
use swarmwood::model::export::{ExportContent, ExportOption, ExportOptions, OptionValues, formats};
use swarmwood::params::Gather;
use swarmwood::read::{ReadOptions, Source};
use swarmwood::{Error, Result, store};

use crate::console::{self, Console};
use crate::files::CommandFiles;
use crate::flags;

const AFTER: &str = "\
The raw scores of an export are the model's to the last bit, except where docs/export.md says
otherwise. --verify runs the export with the program it is for (gcc, node, python3 and its packages)
on both neighbours of every threshold, on missing values and on new categories. If it differs, or if
the program is not installed, nothing is written and the exit code is 2.

Examples:
  swarmwood export model.json --out model.onnx
  swarmwood export model.json --format c --integer 8 --out model.c --verify
  swarmwood export model.json --format sql --dialect postgres --table customers --out score.sql";

/// The subcommand.
pub fn command() -> Command {
    let names = formats(ExportContent::Model)
        .map(|format| PossibleValue::new(format.name()).help(format.description()))
        .chain([
            PossibleValue::new(BUNDLE).help("all of them in a folder or a zip file, with a README")
        ]);
    Command::new("export")
        .about("Write a model for other programs: C, SQL, JavaScript, Python, ONNX, PMML and more")
        .args_override_self(true)
        .arg(flags::model_arg())
        .arg(
            // The facade checks the name, so that its message is the same everywhere.
            flags::text_flag("format", "NAME", "format [default: by the extension of --out]")
                .long_help(format!(
                    "format [default: by the extension of --out]\n\n{}",
                    list(names)
                )),
        )
        .arg(flags::out_flag("file to write").required(true))
        .args(options().into_iter().map(option_flag))
        .arg(
            Arg::new("verify")
                .long("verify")
                .value_name("DATA")
                .num_args(0..=1)
                .value_parser(value_parser!(PathBuf))
                .help("run the export and compare it with the model, also on the rows of a file"),
        )
        .arg(flags::switch_flag(
            "verify-if-possible",
            "like --verify, but only warn if the program that runs the export is not installed",
        ))
        .arg(
            flags::file_flag("python", "Python interpreter that runs exports for Python packages")
                .default_value("python3"),
        )
        .args(flags::text_format_flags())
        .args(flags::console_flags())
        .after_help(AFTER)
}

fn list(names: impl Iterator<Item = PossibleValue>) -> String {
    let line = |value: PossibleValue| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("  {:9} {help}", value.get_name())
    };
    names.map(line).collect::<Vec<_>>().join("\n")
}

/// The options of all formats, each once, with the formats that take it.
fn options() -> Vec<(ExportOption, Vec<&'static str>)> {
    let mut options: Vec<(ExportOption, Vec<&'static str>)> = Vec::new();
    for format in formats(ExportContent::Model) {
        for option in format.options() {
            match options.iter_mut().find(|(other, _)| other.name == option.name) {
                Some((_, formats)) => formats.push(format.name()),
                None => options.push((*option, vec![format.name()])),
            }
        }
    }
    options
}

fn option_flag((option, formats): (ExportOption, Vec<&'static str>)) -> Arg {
    let (value, default) = match option.values {
        OptionValues::Count { default } => ("INTEGER", default.to_string()),
        OptionValues::Text { default } => ("TEXT", default.to_string()),
        OptionValues::Choice(choices) => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            ("NAME", format!("{}; of {}", names.first().unwrap_or(&""), names.join(", ")))
        }
    };
    let default = if default.is_empty() { "none".to_string() } else { default };
    let help = format!("{}: {} [default: {default}]", formats.join(", "), option.help);
    flags::text_flag(option.name, value, "").help(help).help_heading("Options of formats")
}

/// Runs the command.
pub fn run(flags: &ArgMatches) -> Result<()> {
    let console = flags::console(flags);
    let model_path = flags.get_one::<PathBuf>("model").cloned().unwrap_or_default();
    let Some(path) = flags::out_file(flags) else {
        let message = "must be a file; an export is not written to standard output";
        return Err(Error::Parameters(vec![Violation::new("out", message)]));
    };
    let format = flags.get_one::<String>("format").map(String::as_str);
    if is_bundle(format, path) {
        return run_bundle(flags, &model_path, path);
    }
    let format = choose_format(format, path)?;
    let mut options = ExportOptions::default();
    for (option, _) in self::options() {
        if let Some(value) = flags.get_one::<String>(option.name) {
            options = options.with(option.name, value);
        }
    }

    let model = store::load(&model_path)?;
    let read = read_options(flags)?;
    let source = flags.get_one::<PathBuf>("verify").map(|data| flags::source(data));
    let wants_verification = flags.contains_id("verify") || flags.get_flag("verify-if-possible");
    let verify = wants_verification.then(|| verify_request(flags, source.as_ref(), &read));

    let report = write_export(&ExportRequest {
        model: &model,
        model_path: Some(&model_path),
        format,
        options,
        path,
        verify,
    })?;
    console.warnings(&report.warnings);
    if flags.get_flag("json") {
        return console::print_json(&report_json(&report, format.name()));
    }
    print_report(console, &report);
    Ok(())
}

fn verify_request<'a>(
    flags: &'a ArgMatches,
    source: Option<&'a Source>,
    read: &'a ReadOptions,
) -> VerifyRequest<'a> {
    VerifyRequest {
        data: source.map(|source| (source, read)),
        python: flags.get_one::<PathBuf>("python").map_or(Path::new("python3"), PathBuf::as_path),
        is_required: flags.contains_id("verify") && !flags.get_flag("verify-if-possible"),
    }
}

/// Writes all formats. They are always run where that is possible.
fn run_bundle(flags: &ArgMatches, model_path: &Path, path: &Path) -> Result<()> {
    let console = flags::console(flags);
    let given = self::options().into_iter().find(|(option, _)| flags.contains_id(option.name));
    if let Some((option, _)) = given {
        let message = "is for one format; a bundle has all of them with their defaults";
        return Err(Error::Parameters(vec![Violation::new(option.name, message)]));
    }
    CommandFiles::default()
        .input("the model", Some(model_path))
        .input("the data", flags.get_one::<PathBuf>("verify"))
        .output("out", Some(path))
        .check()?;

    let model = store::load(model_path)?;
    let read = read_options(flags)?;
    let source = flags.get_one::<PathBuf>("verify").map(|data| flags::source(data));
    // Some formats can never be run here; the report says which were not.
    let verify = verify_request(flags, source.as_ref(), &read);
    let verify = VerifyRequest { is_required: false, ..verify };
    let report =
        write_bundle(&BundleRequest { model: &model, model_path: Some(model_path), path, verify })?;
    console.warnings(&report.warnings);
    if flags.get_flag("json") {
        return console::print_json(&bundle_json(&report, path));
    }
    console.line(&format!("written to {}: {} files", path.display(), report.files.len()));
    for BundleEntry { format, outcome, .. } in &report.entries {
        match outcome {
            Ok(found) => print_verification(console, &format!("{format}: "), found),
            Err(reason) => console.line(&format!("{format}: not written: {reason}")),
        }
    }
    Ok(())
}

fn bundle_json(report: &BundleReport, path: &Path) -> serde_json::Value {
    let entry = |entry: &BundleEntry| match &entry.outcome {
        Ok(found) => json!({
            "format": entry.format,
            "files": entry.files,
            "verification": verification_json(found),
        }),
        Err(reason) => json!({ "format": entry.format, "files": [], "reason": reason }),
    };
    json!({
        "format": BUNDLE,
        "path": path.display().to_string(),
        "files": report.files,
        "bytes": report.bytes,
        "formats": report.entries.iter().map(entry).collect::<Vec<_>>(),
        "warnings": report.warnings,
    })
}

fn read_options(flags: &ArgMatches) -> Result<ReadOptions> {
    let mut gather = Gather::default();
    let format = flags::text_format_of(flags, &mut gather);
    gather.finish()?;
    Ok(ReadOptions { format, ..ReadOptions::default() })
}

fn print_report(console: Console, report: &ExportReport) {
    for path in &report.files {
        console.line(&format!("written to {}", path.display()));
    }
    if let Some(note) = &report.note {
        console.line(note);
    }
    if let Some(verification) = &report.verification {
        print_verification(console, "", verification);
    }
}

fn print_verification(console: Console, before: &str, report: &VerifyReport) {
    match &report.outcome {
        VerifyOutcome::Verified { rows, raw, prediction } => {
            let predictions = prediction
                .map_or(String::new(), |prediction| format!(", of predictions {prediction:e}"));
            console.line(&format!(
                "{before}verified on {rows} rows: largest difference of raw scores \
                 {raw:e}{predictions}"
            ));
        }
        VerifyOutcome::Unavailable(reason) => {
            console.warnings([&format!("{before}the export was not verified: {reason}")]);
        }
    }
}

fn verification_json(report: &VerifyReport) -> serde_json::Value {
    let tolerance = json!({
        "absolute": report.tolerance.absolute,
        "relative": report.tolerance.relative,
    });
    match &report.outcome {
        VerifyOutcome::Verified { rows, raw, prediction } => json!({
            "verified": true,
            "rows": rows,
            "largest_raw_difference": raw,
            "largest_prediction_difference": prediction,
            "tolerance": tolerance,
        }),
        VerifyOutcome::Unavailable(reason) => json!({ "verified": false, "reason": reason }),
    }
}

fn report_json(report: &ExportReport, format: &str) -> serde_json::Value {
    json!({
        "format": format,
        "files": report.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "bytes": report.bytes,
        "note": report.note,
        "verification": report.verification.as_ref().map(verification_json),
        "warnings": report.warnings,
    })
}
