//! The model in other formats, inside the page.

use swarmwood::model::Model;
use swarmwood::model::export::{ExportContent, ExportInput, ExportOptions, export, find};

use super::html::{Html, note};
use super::sha256::base64;

/// Formats with the name of the link.
const FORMATS: [(&str, &str); 4] =
    [("json", "model file (JSON)"), ("c", "C"), ("sql", "SQL"), ("onnx", "ONNX")];

/// Larger files are not put into the page.
const MAX_BYTES: usize = 100_000;

/// Bytes of all files together: a page stays below a megabyte.
const MAX_TOTAL: usize = 250_000;

/// Links to the model in formats that other programs run.
pub fn downloads(model: &Model) -> Html {
    let mut left = MAX_TOTAL;
    let (mut items, mut too_large) = (String::new(), Vec::new());
    for (name, title) in FORMATS {
        for (file, bytes) in files(model, name) {
            if bytes.len() > MAX_BYTES.min(left) {
                too_large.push(title);
                continue;
            }
            left -= bytes.len();
            let size = (bytes.len() as f64 / 1000.0).ceil();
            let data = base64(&bytes);
            items += &format!(
                "<li><a download='{file}' href='data:application/octet-stream;base64,{data}'>\
                 {title}: {file}</a> <small>{size} kB</small></li>\n"
            );
        }
    }

    let links = match items.as_str() {
        "" => Html::default(),
        items => Html::from_escaped(format!("<ul class='downloads'>\n{items}</ul>\n")),
    };
    too_large.dedup();
    let absent = match too_large.as_slice() {
        [] => Html::default(),
        names => note(&format!(
            "Too large for this page: {}. 'swarmwood export' writes every format.",
            names.join(", ")
        )),
    };
    links.and(absent)
}

/// The files of a format; none if the model cannot be written in it.
fn files(model: &Model, name: &str) -> Vec<(String, Vec<u8>)> {
    let Some(format) = find(ExportContent::Model, name) else { return Vec::new() };
    let input = ExportInput::new(model).with_file_stem("model");
    let options = ExportOptions::default();
    let Ok(bytes) = export(format, &input, &options) else { return Vec::new() };
    let extension = format.extensions().first().copied().unwrap_or(name);
    let companions = format.companions(&input, &options).unwrap_or_default();
    let companions =
        companions.into_iter().map(|file| (format!("model.{}", file.extension), file.bytes));
    [(format!("model.{extension}"), bytes)].into_iter().chain(companions).collect()
}
