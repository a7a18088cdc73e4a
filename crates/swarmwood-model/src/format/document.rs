//! A dynamically typed document: the data model that JSON and UBJ share, in which XGBoost and
//! CatBoost store their models.
//!
//! Lists of numbers are stored as `Vec<f64>`, so that a document needs a small multiple of the
//! memory of its text. The accessors return the value of a key, or a message that says what is
//! wrong with the file.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A part of another library's file, or a message that says what is wrong with it.
pub(super) type ImportResult<T> = Result<T, String>;

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Null,
    Boolean(bool),
    Number(f64),
    Text(String),
    /// A list that contains only numbers, or nothing.
    Numbers(Vec<f64>),
    /// Any other list.
    List(Vec<Document>),
    Object(BTreeMap<String, Document>),
}

impl Document {
    /// Reads JSON.
    pub(super) fn from_json(bytes: &[u8]) -> ImportResult<Document> {
        serde_json::from_slice(bytes).map_err(|error| format!("{error}; the file is damaged"))
    }

    /// The value of a key; `None` if this is not an object or has no such key.
    pub(super) fn get(&self, key: &str) -> Option<&Document> {
        match self {
            Document::Object(entries) => entries.get(key),
            _ => None,
        }
    }

    /// The value of a required key.
    pub(super) fn need(&self, key: &str) -> ImportResult<&Document> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str) -> ImportResult<&str> {
        match self.need(key)? {
            Document::Text(text) => Ok(text),
            _ => Err(format!("`{key}` must be text")),
        }
    }

    /// The numbers of a key.
    pub(super) fn numbers(&self, key: &str) -> ImportResult<&[f64]> {
        match self.need(key)? {
            Document::Numbers(numbers) => Ok(numbers),
            _ => Err(format!("`{key}` must be a list of numbers")),
        }
    }

    /// The list of a key whose values are not all numbers.
    pub(super) fn list(&self, key: &str) -> ImportResult<&[Document]> {
        match self.need(key)? {
            Document::List(values) => Ok(values),
            Document::Numbers(numbers) if numbers.is_empty() => Ok(&[]),
            _ => Err(format!("`{key}` must be a list of objects or texts")),
        }
    }

    /// The count of a key, which may be written as text; `None` if there is no such key.
    pub(super) fn count(&self, key: &str) -> ImportResult<Option<usize>> {
        let count = match self.get(key) {
            None => return Ok(None),
            Some(Document::Number(number)) => index(*number),
            Some(Document::Text(text)) => text.parse().ok(),
            Some(_) => None,
        };
        count.map(Some).ok_or_else(|| format!("`{key}` must be a count"))
    }

    /// The names of a key: a list of texts, numbers or booleans. Empty if there is no such key.
    pub(super) fn names(&self, key: &str) -> ImportResult<Vec<String>> {
        match self.get(key) {
            None | Some(Document::Null) => Ok(Vec::new()),
            Some(Document::Numbers(numbers)) => Ok(numbers.iter().map(f64::to_string).collect()),
            Some(Document::List(values)) => values
                .iter()
                .map(|value| value.name().ok_or_else(|| format!("`{key}` must be names")))
                .collect(),
            Some(_) => Err(format!("`{key}` must be a list of names")),
        }
    }

    /// The value as a name.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Document::Text(text) => Some(text.clone()),
            Document::Number(number) => Some(number.to_string()),
            Document::Boolean(boolean) => Some(boolean.to_string()),
            _ => None,
        }
    }
}

/// The number as an index, if it is whole and in range.
pub(super) fn index(number: f64) -> Option<usize> {
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    whole.then_some(number as usize)
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Document, E> {
        Ok(Document::Null)
    }

    fn visit_bool<E: Error>(self, boolean: bool) -> Result<Document, E> {
        Ok(Document::Boolean(boolean))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Document, E> {
        Ok(Document::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Document, E> {
        Ok(Document::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Document, E> {
        Ok(Document::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Document, E> {
        Ok(Document::Text(text.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Document, A::Error> {
        let mut list = ListBuilder::default();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(list.into_document())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Document, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Document>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            object.insert(key, value);
        }
        Ok(Document::Object(object))
    }
}

/// A list under construction: numbers until the first value of another type.
#[derive(Default)]
pub(super) struct ListBuilder {
    numbers: Vec<f64>,
    mixed: Vec<Document>,
}

impl ListBuilder {
    pub(super) fn push(&mut self, value: Document) {
        match value {
            Document::Number(number) if self.mixed.is_empty() => self.numbers.push(number),
            other => {
                self.mixed
                    .extend(std::mem::take(&mut self.numbers).into_iter().map(Document::Number));
                self.mixed.push(other);
            }
        }
    }

    pub(super) fn into_document(self) -> Document {
        if self.mixed.is_empty() {
            Document::Numbers(self.numbers)
        } else {
            Document::List(self.mixed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_stay_numbers() {
        let document =
            Document::from_json(br#"{"a":[1,2.5],"b":[],"c":[1,"x",true],"n":"12","bad":1.5}"#)
                .unwrap();
        assert_eq!(document.numbers("a"), Ok([1.0, 2.5].as_slice()));
        assert_eq!(document.numbers("b"), Ok([].as_slice()));
        assert_eq!(document.list("b"), Ok([].as_slice()));
        assert_eq!(document.names("c").unwrap(), ["1", "x", "true"]);
        assert_eq!(document.count("n"), Ok(Some(12)));
        assert_eq!(document.count("absent"), Ok(None));
        assert!(
            document.count("bad").is_err()
                && document.numbers("c").is_err()
                && document.text("a").is_err()
        );
    }

    #[test]
    fn deep_and_repeated_are_errors() {
        assert!(Document::from_json("[".repeat(100_000).as_bytes()).is_err());
        assert!(
            Document::from_json(br#"{"a":1,"a":2}"#).unwrap_err().contains("duplicate key `a`")
        );
    }

    #[test]
    fn positions_are_whole_and_small() {
        assert_eq!(index(3.0), Some(3));
        for number in [-1.0, 0.5, f64::NAN, f64::INFINITY, 1e10] {
            assert_eq!(index(number), None, "{number}");
        }
    }
}
