//! Text in other encodings than UTF-8, decoded while it is read.

use std::io::{Cursor, Read};

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};
use encoding_rs_io::DecodeReaderBytesBuilder;

use super::source::{TextInput, read_fault, read_head};
use crate::Result;

/// The encoding of a text file, by its label, such as `utf-16le` or `windows-1252`.
///
/// ```
/// use swarmwood::read::TextEncoding;
/// assert!(TextEncoding::of("latin1").is_some());
/// assert!(TextEncoding::of("klingon").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// The encoding with a label of the WHATWG's list.
    pub fn of(label: &str) -> Option<TextEncoding> {
        Encoding::for_label(label.as_bytes()).map(TextEncoding)
    }
}

/// The text in UTF-8, and a warning where its encoding was guessed.
pub(super) fn decode(
    input: TextInput,
    given: Option<TextEncoding>,
) -> Result<(TextInput, Option<String>)> {
    let found = match given {
        Some(TextEncoding(encoding)) => Some(encoding),
        None => find(&input.head),
    };
    let Some(encoding) = found.filter(|encoding| *encoding != encoding_rs::UTF_8) else {
        return Ok((input, None));
    };
    let is_guess = given.is_none() && encoding == WINDOWS_1252;
    let warning = is_guess.then(|| {
        format!(
            "{}: the text is not UTF-8 and is read as Windows-1252; if letters come out wrong, name \
             the encoding (--encoding)",
            input.location.file
        )
    });

    let TextInput { location, head, rest, compressed, meter } = input;
    let mut builder = DecodeReaderBytesBuilder::new();
    builder.encoding(Some(encoding)).bom_override(true).strip_bom(true);
    let mut rest: Box<dyn Read> = Box::new(builder.build(Cursor::new(head).chain(rest)));
    let head = read_head(&mut rest).map_err(|error| read_fault(&location, compressed, error))?;
    Ok((TextInput { location, head, rest, compressed, meter }, warning))
}

/// The encoding of a text that begins so, if it is not UTF-8.
fn find(head: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return Some(encoding);
    }
    if head.contains(&0) {
        return utf_16(head);
    }
    match std::str::from_utf8(head) {
        Ok(_) => None,
        // The end of the head may cut a letter.
        Err(error) if error.error_len().is_none() => None,
        // Letters of UTF-8 before it: one that is broken.
        Err(error) if !head[..error.valid_up_to()].is_ascii() => None,
        Err(_) => Some(WINDOWS_1252),
    }
}

/// UTF-16 without a mark: nearly all letters of a header have one zero byte, on the same side.
fn utf_16(head: &[u8]) -> Option<&'static Encoding> {
    let head = &head[..head.len().min(1000)];
    let zeros =
        |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (high, low) = (zeros(0), zeros(1));
    let most = head.len() / 2 * 9 / 10;
    match (high, low) {
        (0, low) if low > most => Some(UTF_16LE),
        (high, 0) if high > most => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_encodings() {
        let utf_16le: Vec<u8> = "name,y\na,1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf_16be: Vec<u8> = "name,y\na,1\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let with_mark = [&[0xFF, 0xFE][..], &utf_16le].concat();
        for (head, expected) in [
            (&b"a,b\n"[..], None),
            ("ä,b\n".as_bytes(), None),
            (&"ä,ö".as_bytes()[..4], None),
            (&b"\xE4,b\n"[..], Some(WINDOWS_1252)),
            (&b"\xC3\xA4,\xE4\n"[..], None),
            (&utf_16le[..], Some(UTF_16LE)),
            (&utf_16be[..], Some(UTF_16BE)),
            (&with_mark[..], Some(UTF_16LE)),
            (&b"a\0b,c,d,e"[..], None),
        ] {
            assert_eq!(find(head), expected, "{head:?}");
        }
    }
}
