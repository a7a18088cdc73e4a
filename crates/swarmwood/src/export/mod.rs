//! Exports of models to files, and their verification.

mod bundle;
mod runtime;
mod verify;
mod zip;

use std::path::{Path, PathBuf};

use swarmwood_model::Model;
use swarmwood_model::export::{
    ExportContent, ExportError, ExportFormat, ExportInput, ExportOptions, export, find,
    find_extension, formats,
};

pub use bundle::{BUNDLE, BundleEntry, BundleReport, BundleRequest, is_bundle, write_bundle};
pub use verify::{VerifyOutcome, VerifyReport, VerifyRequest, verify};

use crate::error::Violation;
use crate::nearest::nearest;
use crate::read::Source;
use crate::write::Output;
use crate::{Error, Result};

/// What is exported, how and where to.
pub struct ExportRequest<'a> {
    /// The model.
    pub model: &'a Model,
    /// The file that the model was read from, which is never overwritten.
    pub model_path: Option<&'a Path>,
    /// The format.
    pub format: &'static dyn ExportFormat,
    /// Its options.
    pub options: ExportOptions,
    /// The file to write.
    pub path: &'a Path,
    /// Whether and how the export is run before it is written.
    pub verify: Option<VerifyRequest<'a>>,
}

/// What was written.
#[derive(Debug)]
pub struct ExportReport {
    /// The file, and files that belong to it.
    pub files: Vec<PathBuf>,
    /// Size of all files.
    pub bytes: u64,
    /// A fact about the export.
    pub note: Option<String>,
    /// The result of the verification, if one was requested.
    pub verification: Option<VerifyReport>,
    /// Warnings about the data of the verification.
    pub warnings: Vec<String>,
}

/// The format with a name or, without one, the format of a file's extension. Errors list what is
/// allowed.
pub fn choose_format(name: Option<&str>, path: &Path) -> Result<&'static dyn ExportFormat> {
    let names = || formats(ExportContent::Model).map(|format| format.name()).chain([BUNDLE]);
    let list = || names().collect::<Vec<_>>().join(", ");
    let violation = |message: String| Error::Parameters(vec![Violation::new("format", message)]);
    match name {
        Some(name) => find(ExportContent::Model, name).ok_or_else(|| {
            let meant = nearest(name, names())
                .map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            violation(format!("is '{name}', must be one of {}{meant}", list()))
        }),
        None => {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            find_extension(ExportContent::Model, &extension).ok_or_else(|| {
                let file = path.display();
                violation(format!(
                    "'{file}' has the extension of no format; name one of {}",
                    list()
                ))
            })
        }
    }
}

/// Exports a model. If the verification finds a difference, nothing is written.
pub fn write_export(request: &ExportRequest<'_>) -> Result<ExportReport> {
    let stem = request.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let input = ExportInput::new(request.model).with_file_stem(&stem);
    let error = |error: ExportError| export_error(error, request);

    let bytes = export(request.format, &input, &request.options).map_err(error)?;
    let companions = request.format.companions(&input, &request.options).map_err(error)?;
    let note = request.format.note(&input, &request.options).map_err(error)?;

    let mut files = vec![(request.path.to_path_buf(), bytes)];
    for companion in companions {
        files.push((request.path.with_extension(companion.extension), companion.bytes));
    }
    for (path, _) in &files {
        check_not_input(path, request)?;
    }

    let mut warnings = Vec::new();
    let verification = match &request.verify {
        Some(how) => Some(verify(request, how, &mut warnings)?),
        None => None,
    };

    // All files are complete before the first takes its place.
    let mut outputs = Vec::new();
    for (path, bytes) in &files {
        let mut output = Output::create(path)?;
        std::io::Write::write_all(&mut output, bytes).map_err(|source| output.fault(source))?;
        outputs.push(output);
    }
    outputs.into_iter().try_for_each(Output::commit)?;

    Ok(ExportReport {
        bytes: files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        files: files.into_iter().map(|(path, _)| path).collect(),
        note,
        verification,
        warnings,
    })
}

fn export_error(error: ExportError, request: &ExportRequest<'_>) -> Error {
    let violation = |name: &str, message: String| {
        Error::Parameters(vec![Violation::new(name.to_string(), message)])
    };
    match error {
        ExportError::Option { name, message } => violation(&name, message),
        ExportError::FileName { message } => violation("out", message),
        other => {
            let name = request.format.name();
            violation("format", format!("the model cannot be written as {name}: {other}"))
        }
    }
}

/// An export must not replace the model it is made from, nor the rows it is verified on.
fn check_not_input(path: &Path, request: &ExportRequest<'_>) -> Result<()> {
    let data = request.verify.as_ref().and_then(|verify| match verify.data {
        Some((Source::File(path), _)) => Some(path.as_path()),
        _ => None,
    });
    let same = |input: &Path| matches!((path.canonicalize(), input.canonicalize()), (Ok(a), Ok(b)) if a == b);
    for input in [request.model_path, data].into_iter().flatten() {
        if same(input) {
            let message =
                format!("'{}' is an input of this command; name another file", path.display());
            return Err(Error::Parameters(vec![Violation::new("out", message)]));
        }
    }
    Ok(())
}
