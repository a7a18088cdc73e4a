//! A tree of plain values, as XGBoost and CatBoost keep their models in: what JSON and UBJ have in
//! common.
//!
//! Lists of numbers are kept as such, so that a document costs a small multiple of its text.
//! Readers ask for keys and get either what they need or a sentence that says what is wrong with
//! the file.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What was looked for in somebody else's file, or what is wrong with it.
pub(super) type Found<T> = Result<T, String>;

/// A value of any kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
    /// A list that holds nothing but numbers, or nothing at all.
    Numbers(Vec<f64>),
    /// Any other list.
    List(Vec<Document>),
    Object(BTreeMap<String, Document>),
}

impl Document {
    /// Reads JSON.
    pub(super) fn from_json(bytes: &[u8]) -> Found<Document> {
        serde_json::from_slice(bytes).map_err(|error| format!("{error}; the file is damaged"))
    }

    /// The value of a key, if this is an object that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Document> {
        match self {
            Document::Object(entries) => entries.get(key),
            _ => None,
        }
    }

    /// The value of a key.
    pub(super) fn need(&self, key: &str) -> Found<&Document> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str) -> Found<&str> {
        match self.need(key)? {
            Document::Text(text) => Ok(text),
            _ => Err(format!("`{key}` must be text")),
        }
    }

    /// The numbers of a key.
    pub(super) fn numbers(&self, key: &str) -> Found<&[f64]> {
        match self.need(key)? {
            Document::Numbers(numbers) => Ok(numbers),
            _ => Err(format!("`{key}` must be a list of numbers")),
        }
    }

    /// The values of a key, which are not all numbers.
    pub(super) fn list(&self, key: &str) -> Found<&[Document]> {
        match self.need(key)? {
            Document::List(values) => Ok(values),
            Document::Numbers(numbers) if numbers.is_empty() => Ok(&[]),
            _ => Err(format!("`{key}` must be a list of objects or texts")),
        }
    }

    /// The count of a key, which may be written as text; none if the key is not there.
    pub(super) fn count(&self, key: &str) -> Found<Option<usize>> {
        let found = match self.get(key) {
            None => return Ok(None),
            Some(Document::Number(number)) => index(*number),
            Some(Document::Text(text)) => text.parse().ok(),
            Some(_) => None,
        };
        found.map(Some).ok_or_else(|| format!("`{key}` must be a count"))
    }

    /// The names of a key: a list of texts, numbers or truth values. Nothing if the key is not
    /// there.
    pub(super) fn names(&self, key: &str) -> Found<Vec<String>> {
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
            Document::Truth(truth) => Some(truth.to_string()),
            _ => None,
        }
    }
}

/// The position a number stands for, if it can be one.
pub(super) fn index(number: f64) -> Option<usize> {
    let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    whole.then_some(number as usize)
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Document, E> {
        Ok(Document::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Document, E> {
        Ok(Document::Truth(truth))
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
        let mut list = Listing::default();
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

/// A list while it grows: numbers alone until something else comes.
#[derive(Default)]
pub(super) struct Listing {
    numbers: Vec<f64>,
    mixed: Vec<Document>,
}

impl Listing {
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
