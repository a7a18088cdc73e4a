//! Mutations of text in lines and fields: tables, TOML, LightGBM's models.

use swarmwood::search::rng::Stream;

use crate::mutate::{below, special_text};

/// Removes, repeats, swaps or copies a line.
pub fn mutate_lines(input: &mut Vec<u8>, stream: &mut Stream) {
    let mut lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, two) = (below(stream, lines.len()), below(stream, lines.len()));
    match below(stream, 4) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(two, lines[one].clone()),
        2 => lines.swap(one, two),
        _ => lines[one] = lines[two].clone(),
    }
    *input = lines.join(&b'\n');
}

/// Replaces a field by a special value or by another field, removes it or repeats it. Fields lie
/// between separators of the formats that are read.
pub fn mutate_fields(input: &mut Vec<u8>, stream: &mut Stream) {
    let is_separator = |byte: &u8| b",;\t|\n= []{}:".contains(byte);
    let mut fields = Vec::new();
    let mut start = 0;
    for (at, byte) in input.iter().enumerate() {
        if is_separator(byte) {
            fields.push(start..at);
            start = at + 1;
        }
    }
    fields.push(start..input.len());

    let one = fields[below(stream, fields.len())].clone();
    match below(stream, 4) {
        0 | 1 => {
            let text = special_text(stream);
            input.splice(one, text.bytes());
        }
        2 => {
            let other = fields[below(stream, fields.len())].clone();
            let text = input[other].to_vec();
            input.splice(one, text);
        }
        _ => {
            let end = (one.end + 1).min(input.len());
            let text = input[one.start..end].to_vec();
            if below(stream, 2) == 0 {
                input.drain(one.start..end);
            } else {
                input.splice(one.start..one.start, text);
            }
        }
    }
}

/// Quotes a field, or begins a quotation that does not end.
pub fn mutate_quotes(input: &mut Vec<u8>, stream: &mut Stream) {
    let at = below(stream, input.len() + 1);
    input.insert(at, b'"');
    if below(stream, 2) == 0 {
        let end = at + 1 + below(stream, (input.len() - at).min(12));
        input.insert(end.min(input.len()), b'"');
    }
}
