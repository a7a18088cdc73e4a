//! TOML and JSON as the same nodes, in the order of the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::error::SpaceFault;

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Key>),
    /// Something no parameter has, in words.
    Other(&'static str),
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub name: String,
    pub line: Option<usize>,
    pub node: Node,
}

impl Node {
    /// What it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Whole(_) => "a whole number",
            Node::Number(_) => "a number",
            Node::Text(_) => "a string",
            Node::List(_) => "a list",
            Node::Table(_) => "a table",
            Node::Other(kind) => kind,
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

fn toml_node(text: &str, value: DeValue<'_>) -> Node {
    match value {
        DeValue::String(words) => Node::Text(words.into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Node::Other("a whole number too large to hold"), Node::Whole),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(Node::Other("no number"), Node::Number)
        }
        DeValue::Boolean(_) => Node::Other("a truth value"),
        DeValue::Datetime(_) => Node::Other("a date"),
        DeValue::Array(items) => {
            Node::List(items.into_iter().map(|item| toml_node(text, item.into_inner())).collect())
        }
        DeValue::Table(table) => Node::Table(toml_keys(text, table)),
    }
}

/// The line, counted from 1, of a byte.
fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|&b| b == b'\n').count()
}

/// The parameters of a JSON document: an object of them, or a list of objects with names.
pub(super) fn from_json_text(file: &str, text: &str) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let node: Node = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let what = words.split(" at line ").next().unwrap_or_default();
        let message = format!("column {}: {what}", error.column());
        vec![SpaceFault::of_file(file, Some(error.line()), message)]
    })?;
    named(file, node)
}

/// The same of a value that is parsed already.
pub(super) fn from_json_value(file: &str, value: &Value) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let node = Node::deserialize(value)
        .map_err(|error| vec![SpaceFault::of_file(file, None, error.to_string())])?;
    named(file, node)
}

fn named(file: &str, node: Node) -> Result<Vec<Key>, Vec<SpaceFault>> {
    let items = match node {
        Node::Table(keys) => return Ok(keys),
        Node::List(items) => items,
        other => {
            let message = format!("is {}, must be an object or a list", other.kind());
            return Err(vec![SpaceFault::of_file(file, None, message)]);
        }
    };
    let name_of = |(at, item): (usize, Node)| {
        let Node::Table(mut keys) = item else {
            let message = format!("parameter {}: is {}, must be an object", at + 1, item.kind());
            return Err(SpaceFault::of_file(file, None, message));
        };
        match keys.iter().position(|key| key.name == "name").map(|at| keys.remove(at).node) {
            Some(Node::Text(name)) => Ok(Key { name, line: None, node: Node::Table(keys) }),
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

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Reads JSON in order, which a map of its values would not keep.
struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other("a truth value"))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other("null"))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(i64::try_from(number)
            .map_or(Node::Other("a whole number too large to hold"), Node::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut keys = Vec::new();
        while let Some((name, node)) = entries.next_entry()? {
            keys.push(Key { name, line: None, node });
        }
        Ok(Node::Table(keys))
    }
}
