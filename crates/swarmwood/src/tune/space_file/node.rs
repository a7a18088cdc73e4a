//! TOML and JSON as the same nodes, in the order of the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::error::SpaceFault;

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SpaceNode {
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<SpaceNode>),
    Table(Vec<Key>),
    /// Something no parameter has, in words.
    Other(&'static str),
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub name: String,
    pub line: Option<usize>,
    pub node: SpaceNode,
}

impl SpaceNode {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            SpaceNode::Whole(_) => "a whole number",
            SpaceNode::Number(_) => "a number",
            SpaceNode::Text(_) => "a string",
            SpaceNode::List(_) => "a list",
            SpaceNode::Table(_) => "a table",
            SpaceNode::Other(kind) => kind,
        }
    }
}

/// The keys of a TOML document.
pub(super) fn from_toml(file: &str, text: &str) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        vec![SpaceFault::of_file(file, Some(line), message)]
    })?;
    Ok(toml_keys(text, table.into_inner()))
}

fn toml_keys(text: &str, table: DeTable<'_>) -> Vec<Key> {
    // The parsed table is sorted by key; people mean the order of their file.
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let key =
        |(key, value): (toml::Spanned<std::borrow::Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| {
            Key {
                line: Some(line_of(text, key.span().start)),
                name: key.into_inner().into_owned(),
                node: toml_node(text, value.into_inner()),
            }
        };
    entries.into_iter().map(key).collect()
}

fn toml_node(text: &str, value: DeValue<'_>) -> SpaceNode {
    match value {
        DeValue::String(words) => SpaceNode::Text(words.into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(SpaceNode::Other("a whole number too large to hold"), SpaceNode::Whole),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(SpaceNode::Other("no number"), SpaceNode::Number)
        }
        DeValue::Boolean(_) => SpaceNode::Other("a truth value"),
        DeValue::Datetime(_) => SpaceNode::Other("a date"),
        DeValue::Array(items) => SpaceNode::List(
            items.into_iter().map(|item| toml_node(text, item.into_inner())).collect(),
        ),
        DeValue::Table(table) => SpaceNode::Table(toml_keys(text, table)),
    }
}

/// The line, counted from 1, of a byte.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|&b| b == b'\n').count()
}

/// The parameters of a JSON document: an object of them, or a list of objects with names.
pub(super) fn from_json_text(file: &str, text: &str) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let node: SpaceNode = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let what = words.split(" at line ").next().unwrap_or_default();
        let message = format!("column {}: {what}", error.column());
        vec![SpaceFault::of_file(file, Some(error.line()), message)]
    })?;
    named(file, node)
}

/// The same of a value that is parsed already.
pub(super) fn from_json_value(file: &str, value: &Value) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let node = SpaceNode::deserialize(value)
        .map_err(|error| vec![SpaceFault::of_file(file, None, error.to_string())])?;
    named(file, node)
}

fn named(file: &str, node: SpaceNode) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let items = match node {
        SpaceNode::Table(keys) => return Ok(keys),
        SpaceNode::List(items) => items,
        other => {
            let message = format!("is {}, must be an object or a list", other.kind());
            return Err(vec![SpaceFault::of_file(file, None, message)]);
        }
    };
    let name_of = |(at, item): (usize, SpaceNode)| {
        let SpaceNode::Table(mut keys) = item else {
            let message = format!("parameter {}: is {}, must be an object", at + 1, item.kind());
            return Err(SpaceFault::of_file(file, None, message));
        };
        match keys.iter().position(|key| key.name == "name").map(|at| keys.remove(at).node) {
            Some(SpaceNode::Text(name)) => {
                Ok(Key { name, line: None, node: SpaceNode::Table(keys) })
            }
            _ => {
                let message = format!("parameter {}: has no key 'name' with a string", at + 1);
                Err(SpaceFault::of_file(file, None, message))
            }
        }
    };
    let (mut keys, mut faults) = (Vec::new(), Vec::new());
    for found in items.into_iter().enumerate().map(name_of) {
        found.map_or_else(|fault| faults.push(fault), |key| keys.push(key));
    }
    if faults.is_empty() { Ok(keys) } else { Err(faults) }
}

impl<'de> Deserialize<'de> for SpaceNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Reads JSON in order, which a map of its values would not keep.
struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = SpaceNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<SpaceNode, E> {
        Ok(SpaceNode::Other("a truth value"))
    }

    fn visit_unit<E>(self) -> Result<SpaceNode, E> {
        Ok(SpaceNode::Other("null"))
    }

    fn visit_i64<E>(self, number: i64) -> Result<SpaceNode, E> {
        Ok(SpaceNode::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<SpaceNode, E> {
        Ok(i64::try_from(number)
            .map_or(SpaceNode::Other("a whole number too large to hold"), SpaceNode::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<SpaceNode, E> {
        Ok(SpaceNode::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<SpaceNode, E> {
        Ok(SpaceNode::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SpaceNode, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(SpaceNode::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<SpaceNode, A::Error> {
        let mut keys = Vec::new();
        while let Some((name, node)) = entries.next_entry()? {
            keys.push(Key { name, line: None, node });
        }
        Ok(SpaceNode::Table(keys))
    }
}
