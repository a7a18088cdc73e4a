//! The text of a LightGBM model cut into its sections: a header, one section a tree, and what
//! follows the trees.

use std::collections::BTreeMap;

use crate::format::document::{Document, Found};

/// All of a file.
pub(super) struct Sections<'a> {
    pub(super) header: Section<'a>,
    pub(super) trees: Vec<Section<'a>>,
    /// Whether predictions are means over the trees, as in a random forest.
    pub(super) average: bool,
    /// Whether what follows the trees is there too.
    pub(super) whole: bool,
    /// The levels of the data frame's categories, which stand last.
    pub(super) pandas: Option<Document>,
}

/// Lines of the form `key=value`.
#[derive(Default)]
pub(super) struct Section<'a> {
    entries: BTreeMap<&'a str, &'a str>,
}

impl<'a> Sections<'a> {
    pub(super) fn of(text: &'a str) -> Found<Sections<'a>> {
        let mut found = Sections {
            header: Section::default(),
            trees: Vec::new(),
            average: false,
            whole: false,
            pandas: None,
        };
        let mut lines = text.lines();
        if lines.next() != Some("tree") {
            return Err("the first line must be `tree`".into());
        }
        let mut ended = false;
        for line in lines.by_ref() {
            if line == "end of trees" {
                ended = true;
                break;
            }
            if line == "average_output" {
                found.average = true;
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            if key == "Tree" {
                found.trees.push(Section::default());
            }
            let section = found.trees.last_mut().unwrap_or(&mut found.header);
            if section.entries.insert(key, value).is_some() {
                return Err(format!("`{key}` occurs twice in a section; the file is damaged"));
            }
        }
        // Parameters have an end of their own.
        let mut open = !ended;
        for line in lines {
            open = (open || line == "parameters:") && line != "end of parameters";
            found.whole |= line == "end of parameters";
            if let Some(levels) = line.strip_prefix("pandas_categorical:") {
                found.pandas = Some(Document::from_json(levels.as_bytes())?);
            }
        }
        if open { Err("the file ends early; it is damaged".into()) } else { Ok(found) }
    }
}

impl<'a> Section<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.entries.get(key).copied()
    }

    pub(super) fn need(&self, key: &str) -> Found<&'a str> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    pub(super) fn count(&self, key: &str) -> Found<usize> {
        self.need(key)?.trim().parse().map_err(|_| format!("`{key}` must be a count"))
    }

    /// A list of numbers of any length.
    pub(super) fn all_numbers(&self, key: &str) -> Found<Vec<f64>> {
        let number = |word: &str| {
            word.parse().map_err(|_| format!("`{key}` holds '{word}', which is no number"))
        };
        self.need(key)?.split_ascii_whitespace().map(number).collect()
    }

    /// A list of `count` numbers.
    pub(super) fn numbers(&self, key: &str, count: usize) -> Found<Vec<f64>> {
        let numbers = self.all_numbers(key)?;
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(format!("`{key}` has {} entries where {count} are needed", numbers.len()))
        }
    }
}
