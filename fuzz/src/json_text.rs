//! Mutations of JSON as text: values stay values, whatever else changes.

use std::ops::Range;

use swarmwood::search::rng::Stream;

use crate::mutate::{below, special_text};

/// Where a value is, and where the item that it belongs to is: `"key": value` in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ValueSpan {
    item: Range<usize>,
    value: Range<usize>,
}

/// Values at the ends of what readers expect.
const VALUES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967296",
    "18446744073709551615",
    "1e308",
    "-1e308",
    "1e999",
    "5e-324",
    "0.5",
    "null",
    "true",
    "false",
    "\"\"",
    "\"0\"",
    "[]",
    "{}",
    "[0]",
    "[[]]",
];

/// Replaces a value by a special one or by another value of the text, removes an item, or repeats
/// one.
pub fn mutate_json(input: &mut Vec<u8>, stream: &mut Stream) {
    let spans = value_spans(input);
    if spans.is_empty() {
        return;
    }
    let one = spans[below(stream, spans.len())].clone();
    let other = spans[below(stream, spans.len())].clone();
    match below(stream, 8) {
        0 | 1 => drop(input.splice(one.value, VALUES[below(stream, VALUES.len())].bytes())),
        2 => {
            let text = format!("\"{}\"", special_text(stream).replace(['"', '\u{0}'], ""));
            input.splice(one.value, text.bytes());
        }
        3 => {
            let value = input[other.value].to_vec();
            input.splice(one.value, value);
        }
        4 => remove_item(input, &one.item),
        5 => {
            let mut item = input[one.item.clone()].to_vec();
            item.push(b',');
            input.splice(one.item.start..one.item.start, item);
        }
        6 => {
            // An array that grows fast meets limits that single items do not.
            let item = input[one.item.clone()].to_vec();
            if item.len() < 40 {
                let many: Vec<u8> = [&item[..], b","].concat().repeat(1 + below(stream, 64));
                input.splice(one.item.start..one.item.start, many);
            }
        }
        _ => {
            let item = input[other.item].to_vec();
            input.splice(one.item, item);
        }
    }
}

fn remove_item(input: &mut Vec<u8>, item: &Range<usize>) {
    let comma_behind = input.get(item.end) == Some(&b',');
    let comma_before = item.start > 0 && input[item.start - 1] == b',';
    let range = match (comma_behind, comma_before) {
        (true, _) => item.start..item.end + 1,
        (false, true) => item.start - 1..item.end,
        (false, false) => item.clone(),
    };
    input.drain(range);
}

/// All values of a text, as far as it is JSON.
fn value_spans(text: &[u8]) -> Vec<ValueSpan> {
    let mut spans = Vec::new();
    let mut at = 0;
    // Journals have one value per line.
    while at < text.len() && spans.len() < 20_000 {
        let start = skip_space(text, at);
        match value(text, start, start, 0, &mut spans) {
            Some(end) => at = end,
            None => at = start + 1,
        }
    }
    spans
}

fn skip_space(text: &[u8], at: usize) -> usize {
    let length = text[at..].iter().position(|byte| !byte.is_ascii_whitespace());
    length.map_or(text.len(), |length| at + length)
}

/// The end of the value that begins at `at`, whose item begins at `item`.
fn value(
    text: &[u8],
    item: usize,
    at: usize,
    depth: usize,
    spans: &mut Vec<ValueSpan>,
) -> Option<usize> {
    let end = match text.get(at)? {
        b'{' | b'[' if depth < 60 => container(text, at, depth, spans)?,
        b'"' => string_end(text, at)?,
        _ => {
            let is_end = |byte: &u8| b",]}:".contains(byte) || byte.is_ascii_whitespace();
            let length = text[at..].iter().position(is_end).unwrap_or(text.len() - at);
            (length > 0).then_some(at + length)?
        }
    };
    spans.push(ValueSpan { item: item..end, value: at..end });
    Some(end)
}

fn container(text: &[u8], at: usize, depth: usize, spans: &mut Vec<ValueSpan>) -> Option<usize> {
    let is_object = text[at] == b'{';
    let mut at = skip_space(text, at + 1);
    loop {
        match text.get(at)? {
            b'}' | b']' => return Some(at + 1),
            b',' => at = skip_space(text, at + 1),
            _ => {
                let item = at;
                if is_object {
                    let key = skip_space(text, string_end(text, at)?);
                    if text.get(key) != Some(&b':') {
                        return None;
                    }
                    at = skip_space(text, key + 1);
                }
                at = skip_space(text, value(text, item, at, depth + 1, spans)?);
            }
        }
    }
}

fn string_end(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_items_are_found() {
        let text = br#"{"a": [1, "x\"]"], "b": null}"#;
        let found: Vec<&str> = value_spans(text)
            .into_iter()
            .map(|span| std::str::from_utf8(&text[span.value]).unwrap())
            .collect();
        assert_eq!(found[..4], ["1", "\"x\\\"]\"", "[1, \"x\\\"]\"]", "null"]);
    }

    #[test]
    fn an_item_is_removed_with_its_comma() {
        let mut text = br#"{"a":1,"b":2}"#.to_vec();
        remove_item(&mut text, &(7..12));
        assert_eq!(text, br#"{"a":1}"#);
        remove_item(&mut text, &(1..6));
        assert_eq!(text, b"{}");
    }
}
