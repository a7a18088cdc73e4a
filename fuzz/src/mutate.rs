//! Mutations that know nothing of the format: bytes, runs of bytes, numbers in binary and in text.

use swarmwood::search::rng::Stream;

use crate::target::MAX_INPUT;

/// Numbers at the ends of types and around powers of two.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Values as text that readers treat in special ways.
pub const TEXTS: [&str; 40] = [
    "",
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e309",
    "5e-324",
    "1e-300",
    "0.1",
    "1.5",
    "NaN",
    "inf",
    "-inf",
    "null",
    "NA",
    "true",
    "false",
    "\"",
    "\"\"",
    "\"a\"",
    "[]",
    "{}",
    "é",
    "\u{0}",
];

/// A number below `end`; 0 if there is none.
pub fn below(stream: &mut Stream, end: usize) -> usize {
    if end == 0 { 0 } else { stream.below(end as u64) as usize }
}

/// One of the special texts.
pub fn special_text(stream: &mut Stream) -> &'static str {
    TEXTS[below(stream, TEXTS.len())]
}

/// Changes an input at random; `other` is another input of the corpus, to take parts from.
pub fn mutate_bytes(input: &mut Vec<u8>, other: &[u8], stream: &mut Stream) {
    if input.is_empty() {
        input.push(stream.next_u32() as u8);
    }
    match below(stream, 12) {
        0 => {
            let at = below(stream, input.len());
            input[at] ^= 1 << below(stream, 8);
        }
        1 => {
            let at = below(stream, input.len());
            input[at] = stream.next_u32() as u8;
        }
        2 => {
            let at = below(stream, input.len());
            input[at] = input[at].wrapping_add(below(stream, 9) as u8).wrapping_sub(4);
        }
        3 => overwrite_number(input, stream),
        4 => {
            let (start, end) = range(input.len(), stream);
            input.drain(start..end);
        }
        5 => {
            let (start, end) = range(input.len(), stream);
            let part = input[start..end].to_vec();
            insert(input, &part, stream);
        }
        6 => {
            let (start, end) = range(input.len(), stream);
            let part = input[start..end].to_vec();
            let at = below(stream, input.len());
            for (to, from) in input[at..].iter_mut().zip(part) {
                *to = from;
            }
        }
        7 => insert(input, special_text(stream).as_bytes(), stream),
        8 => replace_text_number(input, stream),
        9 => {
            let (start, end) = range(other.len(), stream);
            insert(input, &other[start..end], stream);
        }
        10 => {
            // The beginning of one and the end of another.
            let at = below(stream, input.len());
            let from = below(stream, other.len());
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            let at = below(stream, input.len() + 1);
            input.truncate(at);
        }
    }
    input.truncate(MAX_INPUT);
}

/// A short range within a length, now and then a long one.
fn range(length: usize, stream: &mut Stream) -> (usize, usize) {
    let start = below(stream, length);
    let longest = if below(stream, 8) == 0 { length } else { 32 };
    let end = (start + 1 + below(stream, longest)).min(length);
    (start, end)
}

fn insert(input: &mut Vec<u8>, part: &[u8], stream: &mut Stream) {
    let at = below(stream, input.len() + 1);
    input.splice(at..at, part.iter().copied());
}

/// Overwrites 1, 2, 4 or 8 bytes by a special number, or adds a little to what is there.
fn overwrite_number(input: &mut [u8], stream: &mut Stream) {
    let width = 1 << below(stream, 4);
    if input.len() < width {
        return;
    }
    let at = below(stream, input.len() - width + 1);
    let number = NUMBERS[below(stream, NUMBERS.len())];
    let bytes = match below(stream, 2) {
        0 => number.to_le_bytes()[..width].to_vec(),
        _ => number.to_be_bytes()[8 - width..].to_vec(),
    };
    input[at..at + width].copy_from_slice(&bytes);
}

/// Replaces a number in text by a special one.
fn replace_text_number(input: &mut Vec<u8>, stream: &mut Stream) {
    let from = below(stream, input.len());
    let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let Some(start) = input[from..].iter().position(is_number).map(|at| from + at) else { return };
    let length = input[start..].iter().position(|byte| !is_number(byte));
    let end = length.map_or(input.len(), |length| start + length);
    let text = special_text(stream);
    input.splice(start..end, text.bytes());
}
