//! `swarmwood inspect --plot`: a drawing of the tree, or a map of predictions over two features.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use swarmwood::error::Violation;
use swarmwood::model::export::{
    ExportContent, ExportFormat, ExportInput, ExportOptions, export, find_extension, formats,
};
use swarmwood::model::{FeatureValue, Kind, MISSING, Model};
use swarmwood::nearest::nearest;
use swarmwood::write::write_atomically;
use swarmwood::{Error, Result};

/// Maps have one format.
const MAP_EXTENSION: &str = "svg";

/// Draws what the flags request; returns the file.
pub fn draw<'a>(
    flags: &'a ArgMatches,
    model: &Model,
    model_path: &Path,
) -> Result<Option<&'a PathBuf>> {
    let map: Vec<&String> = flags.get_many("map").into_iter().flatten().collect();
    let Some(path) = flags.get_one::<PathBuf>("plot") else { return Ok(None) };
    let extension =
        path.extension().map(|text| text.to_string_lossy().to_lowercase()).unwrap_or_default();
    let model_error =
        |message: String| Error::Model { path: model_path.to_path_buf(), message: message.into() };
    let Some(format) = find_extension(ExportContent::Drawing, &extension) else {
        let message = format!("'{}' must end in {}", path.display(), extensions());
        return Err(violation("plot", message));
    };

    let bytes = if map.is_empty() {
        export(format, &ExportInput::new(model), &ExportOptions::default())
            .map_err(|error| model_error(error.to_string()))?
    } else {
        if extension != MAP_EXTENSION {
            let message = format!("a map is drawn as .{MAP_EXTENSION}, not as .{extension}");
            return Err(violation("plot", message));
        }
        let [across, up] = map[..] else {
            let message =
                format!("needs two features separated by a comma, and was given {}", map.len());
            return Err(violation("map", message));
        };
        let (across, up) = (feature(model, "map", across)?, feature(model, "map", up)?);
        let fixed = fixed(flags, model)?;
        let svg = model.to_map(across, up, &fixed);
        svg.map_err(|error| violation("map", error.to_string()))?.into_bytes()
    };

    write_atomically(path, |out| out.write_all(&bytes))?;
    Ok(Some(path))
}

/// The extensions of drawings, each with what it stands for.
fn extensions() -> String {
    let extension = |format: &dyn ExportFormat| {
        let first = format.extensions().first().copied().unwrap_or_default();
        format!(".{first} ({})", format.description())
    };
    formats(ExportContent::Drawing).map(extension).collect::<Vec<_>>().join(" or ")
}

fn violation(name: &str, message: String) -> Error {
    Error::Parameters(vec![Violation::new(name, message)])
}

/// The position of a feature.
fn feature(model: &Model, flag: &str, name: &str) -> Result<usize> {
    let names = || model.schema.features.iter().map(|feature| feature.name.as_str());
    names().position(|other| other == name).ok_or_else(|| {
        let meant = nearest(name, names())
            .map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        violation(flag, format!("the model has no feature '{name}'{meant}"))
    })
}

/// The values of the features that `--at` fixes.
fn fixed(flags: &ArgMatches, model: &Model) -> Result<Vec<Option<FeatureValue>>> {
    let mut fixed = vec![None; model.schema.features.len()];
    for text in flags.get_many::<String>("at").into_iter().flatten() {
        let Some((name, value)) = text.split_once('=') else {
            return Err(violation(
                "at",
                format!("is '{text}', must be a feature and its value, such as age=30"),
            ));
        };
        let at = feature(model, "at", name)?;
        fixed[at] = Some(parse(&model.schema.features[at].kind, name, value)?);
    }
    Ok(fixed)
}

/// Parses a value; `?` is a missing value.
fn parse(kind: &Kind, name: &str, text: &str) -> Result<FeatureValue> {
    match kind {
        Kind::Number if text == "?" => Ok(FeatureValue::Number(f64::NAN)),
        Kind::Category { .. } if text == "?" => Ok(FeatureValue::Category(MISSING)),
        Kind::Number => match text.parse::<f64>() {
            Ok(number) if !number.is_nan() => Ok(FeatureValue::Number(number)),
            _ => Err(violation(
                "at",
                format!(
                    "'{name}' is numeric, and '{text}' is not a number; '?' is a missing value"
                ),
            )),
        },
        Kind::Category { levels } => match levels.iter().position(|level| level == text) {
            Some(code) => Ok(FeatureValue::Category(code as u32)),
            None => {
                let near = nearest(text, levels.iter().map(String::as_str));
                let meant = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                Err(violation(
                    "at",
                    format!("'{name}' has no level '{text}'{meant}; '?' is a missing value"),
                ))
            }
        },
    }
}
