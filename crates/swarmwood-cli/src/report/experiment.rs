//! The section of an experiment: a directory with text in Markdown, figures and raw results.

use std::path::{Path, PathBuf};

use swarmwood::{Error, Result};

use super::html::{Html, TableCell, details, gallery, table};
use super::markdown::{self, RenderedMarkdown};
use super::page::PageSection;
use super::runs::EXPERIMENT_FILES;
use crate::format::grouped_count;

/// Raw rows on the page.
const ROWS: usize = 20;

/// The text of an experiment with its figures, the other figures, and the first raw rows.
pub fn section(number: usize, folder: &Path) -> Result<PageSection> {
    let name = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut section = PageSection::new(number, name, "experiment");
    let mut used: Vec<PathBuf> = Vec::new();

    for (file, title) in EXPERIMENT_FILES.into_iter().zip(["Tables", "About"]) {
        let Some(text) = read(&folder.join(file))? else { continue };
        let RenderedMarkdown { html, figures } = markdown::render(&text, folder);
        used.extend(figures);
        section.part(title, html);
    }

    let unused: Vec<PathBuf> =
        figures(folder)?.into_iter().filter(|path| !used.contains(path)).collect();
    section.part(
        "Figures",
        gallery(unused.iter().filter_map(|path| markdown::image_figure(path, ""))),
    );
    if let Some(text) = read(&folder.join("raw.csv"))? {
        section.part("Raw results", raw_rows(&text));
    }
    Ok(section)
}

/// The text of a file, if it exists.
fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_path_buf(), source }),
    }
}

/// The SVG files of a directory, by name.
fn figures(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| Error::Read { path: folder.to_path_buf(), source };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(unreadable))
        .collect::<Result<Vec<_>>>()?;
    let mut images: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "svg")).collect();
    images.sort();
    Ok(images)
}

/// The first raw rows. Quoted fields may contain commas, but no line breaks.
fn raw_rows(text: &str) -> Html {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let Some(head) = lines.next() else { return Html::default() };
    let heads = fields(head);
    let all = lines.clone().count();
    let cell = |text: String| {
        if text.parse::<f64>().is_ok() { TableCell::Number(text) } else { TableCell::Text(text) }
    };
    let rows: Vec<Vec<TableCell>> =
        lines.take(ROWS).map(|line| fields(line).into_iter().map(cell).collect()).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let caption =
        format!("The first {} of {} in raw.csv", rows.len(), grouped_count(all as u64, "row"));
    details(&caption, false, table(&caption, &heads, &rows))
}

/// The fields of a line of CSV (RFC 4180).
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let (mut quoted, mut letters) = (false, line.chars().peekable());

    while let Some(letter) = letters.next() {
        let Some(field) = fields.last_mut() else { break };
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => field.push(letter),
        }
    }

    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_rows_are_counted_and_escaped() {
        assert_eq!(fields("a,\"b, \"\"c\"\"\",,1"), ["a", "b, \"c\"", "", "1"]);
        let lines: Vec<String> = (0..30).map(|at| format!("<b>,{at}")).collect();
        let html = raw_rows(&format!("set,value\n{}\n", lines.join("\n")));
        assert!(html.as_str().contains("The first 20 of 30 rows in raw.csv"), "{html:?}");
        assert_eq!(html.as_str().matches("&lt;b&gt;").count(), 20);
        assert!(raw_rows("").is_empty());
    }
}
