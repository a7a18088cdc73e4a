//! Splits the text of a LightGBM model into sections: a header, one section per tree, and what
//! follows the trees.

use std::collections::BTreeMap;

use crate::format::document::{Document, ImportResult};

/// The sections of a file.
pub(super) struct TextSections<'a> {
    pub(super) header: TextSection<'a>,
    pub(super) trees: Vec<TextSection<'a>>,
    /// Whether predictions are means over the trees, as in a random forest.
    pub(super) average: bool,
    /// Whether the part that follows the trees is present.
    pub(super) complete: bool,
    /// The levels of the data frame's categories, which come last.
    pub(super) pandas: Option<Document>,
}

/// Lines of the form `key=value`.
#[derive(Default)]
pub(super) struct TextSection<'a> {
    entries: BTreeMap<&'a str, &'a str>,
}

impl<'a> TextSections<'a> {
    pub(super) fn parse(text: &'a str) -> ImportResult<TextSections<'a>> {
        let mut sections = TextSections {
            header: TextSection::default(),
            trees: Vec::new(),
            average: false,
            complete: false,
            pandas: None,
        };

        let mut lines = text.lines();
        if lines.next() != Some("tree") {
            return Err("the first line must be `tree`".into());
        }

        let mut has_end = false;
        for line in lines.by_ref() {
            if line == "end of trees" {
                has_end = true;
                break;
            }
            if line == "average_output" {
                sections.average = true;
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            if key == "Tree" {
                sections.trees.push(TextSection::default());
            }
            let section = sections.trees.last_mut().unwrap_or(&mut sections.header);
            if section.entries.insert(key, value).is_some() {
                return Err(format!("`{key}` occurs twice in a section; the file is damaged"));
            }
        }

        // The parameters have an end marker of their own.
        let mut open = !has_end;
        for line in lines {
            open = (open || line == "parameters:") && line != "end of parameters";
            sections.complete |= line == "end of parameters";
            if let Some(levels) = line.strip_prefix("pandas_categorical:") {
                sections.pandas = Some(Document::from_json(levels.as_bytes())?);
            }
        }
        if open { Err("the file ends early; it is damaged".into()) } else { Ok(sections) }
    }
}

impl<'a> TextSection<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.entries.get(key).copied()
    }

    pub(super) fn need(&self, key: &str) -> ImportResult<&'a str> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    pub(super) fn count(&self, key: &str) -> ImportResult<usize> {
        self.need(key)?.trim().parse().map_err(|_| format!("`{key}` must be a count"))
    }

    /// A list of numbers of any length.
    pub(super) fn all_numbers(&self, key: &str) -> ImportResult<Vec<f64>> {
        let number = |text: &str| {
            text.parse().map_err(|_| format!("`{key}` holds '{text}', which is not a number"))
        };
        self.need(key)?.split_ascii_whitespace().map(number).collect()
    }

    /// A list of `count` numbers.
    pub(super) fn numbers(&self, key: &str, count: usize) -> ImportResult<Vec<f64>> {
        let numbers = self.all_numbers(key)?;
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(format!("`{key}` has {} entries where {count} are needed", numbers.len()))
        }
    }
}
