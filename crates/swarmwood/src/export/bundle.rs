//! A model in all formats, with what whoever deploys it needs to check it: a description of its
//! columns, rows with expected results, and what the verification of each format found.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use swarmwood_model::export::{
    ExportContent, ExportFormat, ExportInput, ExportOptions, InputPrecision, OptionValues, export,
    formats, probe_rows,
};
use swarmwood_model::number_format::exact;
use swarmwood_model::{
    DateColumn, DatePart, FeatureSource, FeatureValue, Kind, Link, Model, Prediction, TargetKind,
};

use super::{ExportRequest, VerifyOutcome, VerifyReport, VerifyRequest, verify, zip};
use crate::error::Violation;
use crate::write::write_atomically;
use crate::{Error, Result};

/// The name by which users choose a bundle among the formats.
pub const BUNDLE: &str = "bundle";

/// The extension of a bundle in one file; a bundle without it is a folder.
const ARCHIVE: &str = "zip";

/// At most this number of rows are written with their results.
const MAX_VECTORS: usize = 2000;

/// What is bundled, and where to.
pub struct BundleRequest<'a> {
    /// The model.
    pub model: &'a Model,
    /// The file that the model was read from, which is never overwritten.
    pub model_path: Option<&'a Path>,
    /// A folder that does not exist, or a file with the extension `zip`.
    pub path: &'a Path,
    /// How exports are verified.
    pub verify: VerifyRequest<'a>,
}

/// One format in a bundle.
#[derive(Debug)]
pub struct BundleEntry {
    /// The files, the export first.
    pub files: Vec<String>,
    /// The name of the format, and of its dialect.
    pub format: String,
    /// What the verification found, or why the format cannot express the model.
    pub outcome: std::result::Result<VerifyReport, String>,
}

/// What was bundled.
#[derive(Debug)]
pub struct BundleReport {
    /// Every format.
    pub entries: Vec<BundleEntry>,
    /// The names of all files.
    pub files: Vec<String>,
    /// Size of all files.
    pub bytes: u64,
    /// Warnings about the data of the verification.
    pub warnings: Vec<String>,
}

/// Whether a path and the name of a format ask for a bundle.
pub fn is_bundle(format: Option<&str>, path: &Path) -> bool {
    match format {
        Some(name) => name == BUNDLE,
        None => is_archive(path),
    }
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ARCHIVE))
}

/// A file of a bundle: its name and its content.
type BundleFile = (String, Vec<u8>);

/// Writes a model in all formats. If the verification of one finds a difference, nothing is written.
pub fn write_bundle(request: &BundleRequest<'_>) -> Result<BundleReport> {
    if !is_archive(request.path) && request.path.exists() {
        let message = format!(
            "'{}' exists already; name a folder that does not, or a file with the extension zip",
            request.path.display()
        );
        return Err(Error::Parameters(vec![Violation::new("out", message)]));
    }

    let mut warnings = Vec::new();
    let mut files: Vec<BundleFile> = Vec::new();
    let mut entries = Vec::new();
    for (format, options, stem) in variants() {
        entries.push(entry(request, format, &options, &stem, &mut files, &mut warnings)?);
    }
    files.push(("vectors.csv".to_string(), vectors(request.model)?.into_bytes()));
    files.push(("verification.csv".to_string(), verification_table(&entries).into_bytes()));
    files.push(("README.md".to_string(), readme(request.model, &entries).into_bytes()));
    files.sort();
    warnings.sort();
    warnings.dedup();

    if is_archive(request.path) {
        let archive = zip::archive(&files);
        write_atomically(request.path, |out| out.write_all(&archive))?;
    } else {
        write_folder(request.path, &files)?;
    }
    Ok(BundleReport {
        entries,
        bytes: files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        files: files.into_iter().map(|(name, _)| name).collect(),
        warnings,
    })
}

/// Every format, and every dialect of one that has dialects, with the name of its file.
fn variants() -> Vec<(&'static dyn ExportFormat, ExportOptions, String)> {
    let mut variants = Vec::new();
    for format in formats(ExportContent::Model) {
        let dialects = format.options().iter().find(|option| option.name == "dialect");
        match dialects.map(|option| option.values) {
            Some(OptionValues::Choice(choices)) => {
                for (name, _) in choices {
                    let options = ExportOptions::default().with("dialect", *name);
                    variants.push((format, options, format!("model.{name}")));
                }
            }
            _ => variants.push((format, ExportOptions::default(), "model".to_string())),
        }
    }
    variants
}

/// One format: its files and its verification.
fn entry(
    request: &BundleRequest<'_>,
    format: &'static dyn ExportFormat,
    options: &ExportOptions,
    stem: &str,
    files: &mut Vec<BundleFile>,
    warnings: &mut Vec<String>,
) -> Result<BundleEntry> {
    let dialect = stem.strip_prefix("model.").map_or(String::new(), |name| format!(" {name}"));
    let name = format!("{}{dialect}", format.name());
    let input = ExportInput::new(request.model).with_file_stem(stem);
    let written = export(format, &input, options)
        .and_then(|bytes| Ok((bytes, format.companions(&input, options)?)));
    let (bytes, companions) = match written {
        Ok(written) => written,
        Err(error) => {
            let outcome = Err(error.to_string());
            return Ok(BundleEntry { files: Vec::new(), format: name, outcome });
        }
    };

    let extension = format.extensions().first().copied().unwrap_or_default();
    let mut names = vec![format!("{stem}.{extension}")];
    files.push((names[0].clone(), bytes));
    for companion in companions {
        names.push(format!("{stem}.{}", companion.extension));
        files.push((names[names.len() - 1].clone(), companion.bytes));
    }
    let export_request = ExportRequest {
        model: request.model,
        model_path: request.model_path,
        format,
        options: options.clone(),
        path: request.path,
        verify: Some(request.verify),
    };
    let report = verify(&export_request, &request.verify, warnings)?;
    Ok(BundleEntry { files: names, format: name, outcome: Ok(report) })
}

/// A folder appears with all of its files, or not at all.
fn write_folder(path: &Path, files: &[BundleFile]) -> Result<()> {
    let fault = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Write { path, source }
    };
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.unfinished", std::process::id()));
    let unfinished: PathBuf = path.with_file_name(name);
    std::fs::create_dir(&unfinished).map_err(fault(&unfinished))?;
    let written = files.iter().try_for_each(|(name, bytes)| {
        let file = unfinished.join(name);
        std::fs::write(&file, bytes).map_err(fault(&file))
    });
    let moved = written.and_then(|()| std::fs::rename(&unfinished, path).map_err(fault(path)));
    if moved.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    moved
}

/// Rows at both neighbours of thresholds, with missing values and new categories, and what the model
/// predicts for them.
fn vectors(model: &Model) -> Result<String> {
    let mut text = String::new();
    let features = &model.schema.features;
    let mut header: Vec<String> = features.iter().map(|feature| quoted(&feature.name)).collect();
    header.extend((0..model.outputs()).map(|output| format!("raw_score_{output}")));
    match &model.schema.target.kind {
        TargetKind::Number => header.push("prediction".to_string()),
        TargetKind::Numbers(columns) => {
            header.extend((0..columns.len()).map(|column| format!("prediction_{column}")));
        }
        TargetKind::Classes(classes) => {
            header.extend((0..classes.len()).map(|class| format!("probability_{class}")));
            header.push("prediction".to_string());
        }
    }
    line(&mut text, &header);

    let rows = probe_rows(model, &InputPrecision::Double);
    let step = rows.len().div_ceil(MAX_VECTORS).max(1);
    for row in rows.iter().step_by(step) {
        let raw = model.raw_row(row, None).map_err(|error| Error::Run(error.to_string()))?;
        let mut cells: Vec<String> =
            features.iter().zip(row).map(|(feature, value)| cell(&feature.kind, *value)).collect();
        cells.extend(raw.iter().map(|score| exact(*score)));
        match model.prediction(&raw) {
            Prediction::Number(number) => cells.push(exact(number)),
            Prediction::Numbers(numbers) => cells.extend(numbers.into_iter().map(exact)),
            Prediction::Class { class, probabilities } => {
                cells.extend(probabilities.iter().map(|likely| exact(*likely)));
                let classes = model.schema.target.kind.classes();
                cells.push(classes.get(class as usize).map_or(String::new(), |name| quoted(name)));
            }
        }
        line(&mut text, &cells);
    }
    Ok(text)
}

fn line(text: &mut String, cells: &[String]) {
    text.push_str(&cells.join(","));
    text.push('\n');
}

/// A value as a cell: empty if it is missing.
/// How a part of a date is computed.
fn part_text(date: &DateColumn, part: DatePart) -> String {
    let name = inline(&date.name);
    match part {
        DatePart::Year => format!("numbers: the year of {name}"),
        DatePart::Month => format!("numbers: the month of {name}, from 1 to 12"),
        DatePart::DayOfWeek => {
            format!("numbers: the day of the week of {name}, 0 for Monday to 6 for Sunday")
        }
        DatePart::Hour => format!("numbers: the hour of {name}, from 0 to 23"),
        DatePart::Elapsed => format!(
            "numbers: days from {} to {name}, with the time of the day as a fraction",
            date.origin
        ),
    }
}

fn cell(kind: &Kind, value: FeatureValue) -> String {
    match (kind, value) {
        (_, FeatureValue::Number(number)) if number.is_nan() => String::new(),
        (_, FeatureValue::Number(number)) => exact(number),
        (_, FeatureValue::Category(swarmwood_learn::data::MISSING)) => String::new(),
        (kind, FeatureValue::Category(code)) => {
            let levels = kind.levels();
            let new = || format!("new{}", levels.concat().chars().take(20).collect::<String>());
            quoted(&levels.get(code as usize).cloned().unwrap_or_else(new))
        }
    }
}

/// A text as a cell of a CSV file.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A line per format: whether it was run, and the largest differences.
fn verification_table(entries: &[BundleEntry]) -> String {
    let mut text = String::from(
        "format,file,verified,rows,largest_raw_difference,largest_prediction_difference,reason\n",
    );
    for entry in entries {
        let file = entry.files.first().cloned().unwrap_or_default();
        let (verified, rows, raw, prediction, reason) = match &entry.outcome {
            Ok(VerifyReport { outcome, .. }) => match outcome {
                VerifyOutcome::Verified { rows, raw, prediction } => {
                    let prediction = prediction.map_or(String::new(), exact);
                    ("yes", rows.to_string(), exact(*raw), prediction, String::new())
                }
                VerifyOutcome::Unavailable(reason) => {
                    ("no", String::new(), String::new(), String::new(), reason.clone())
                }
            },
            Err(reason) => ("no", String::new(), String::new(), String::new(), reason.clone()),
        };
        let cells = [
            entry.format.clone(),
            file,
            verified.to_string(),
            rows,
            raw,
            prediction,
            quoted(&reason),
        ];
        line(&mut text, &cells);
    }
    text
}

/// What the model predicts, from what, and which file is for which program.
fn readme(model: &Model, entries: &[BundleEntry]) -> String {
    let schema = &model.schema;
    let mut text = format!("# A model of {}\n\n", inline(&schema.target.name));
    let _ = match &schema.target.kind {
        TargetKind::Number => write!(text, "It predicts a number"),
        TargetKind::Numbers(columns) => {
            let names: Vec<String> = columns.iter().map(|column| inline(column)).collect();
            write!(text, "It predicts these numbers, in this order: {}", names.join(", "))
        }
        TargetKind::Classes(classes) => {
            let names: Vec<String> = classes.iter().map(|class| inline(class)).collect();
            write!(text, "It predicts the probabilities of these classes: {}", names.join(", "))
        }
    };
    let link = match model.link {
        Link::Identity => "the raw score is the prediction",
        Link::Exp => "the prediction is exp(raw score)",
        Link::ExpM1 => "the prediction is exp(raw score) - 1",
        Link::Sigmoid => "the probability of the second class is 1 / (1 + exp(-raw score))",
        Link::Softmax => "probabilities are the softmax of the raw scores",
    };
    let _ = write!(text, "; {link}.\n\n## Columns\n\n| column | values |\n|---|---|\n");
    for (feature, source) in schema.features.iter().zip(schema.sources()) {
        let values = match (&feature.kind, source) {
            (_, FeatureSource::Date(date, part)) => part_text(date, part),
            (Kind::Number, _) => "numbers".to_string(),
            (Kind::Category { levels }, _) => {
                let names: Vec<String> =
                    levels.iter().take(50).map(|level| inline(level)).collect();
                let more = if levels.len() > 50 { ", ..." } else { "" };
                format!("{} categories: {}{more}", levels.len(), names.join(", "))
            }
        };
        let _ = writeln!(text, "| {} | {values} |", inline(&feature.name));
    }
    text.push_str(
        "\nValues may be missing. A category that is not listed is treated as a missing value.\n\n\
         ## Files\n\n| format | files | verified |\n|---|---|---|\n",
    );
    for entry in entries {
        let verified = match &entry.outcome {
            Ok(VerifyReport { outcome: VerifyOutcome::Verified { rows, raw, .. }, .. }) => {
                format!("on {rows} rows, largest difference of raw scores {}", exact(*raw))
            }
            Ok(VerifyReport { outcome: VerifyOutcome::Unavailable(reason), .. }) => {
                format!("no: {}", inline_text(reason))
            }
            Err(reason) => format!("not written: {}", inline_text(reason)),
        };
        let _ = writeln!(text, "| {} | {} | {verified} |", entry.format, entry.files.join(", "));
    }
    text.push_str(
        "\n`verification.csv` has the same as a table. `vectors.csv` has rows on both sides of every \
         threshold of the model, with\nmissing values and new categories, and what the model predicts \
         for them: whoever deploys an export can check it\nwith them. Numbers are written with all \
         digits that they need to be read back exactly.\n",
    );
    text
}

/// A name in Markdown: as code, without what would end it or a table's cell.
fn inline(name: &str) -> String {
    format!("`{}`", inline_text(name))
}

fn inline_text(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    let more = if text.chars().nth(100).is_some() { "..." } else { "" };
    let plain = |letter: char| match letter {
        '`' => '\'',
        '|' => '/',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    short.chars().map(plain).chain(more.chars()).collect()
}
