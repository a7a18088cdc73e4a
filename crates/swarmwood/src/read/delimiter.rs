//! Finds the field separator from the first lines.

use super::split::Splitter;

const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
const LINES: usize = 50;

/// The separator that cuts the header into most fields and every other line into as many; failing
/// that, the one that cuts the header into most fields.
pub(super) fn find(head: &[u8], terminator: u8) -> u8 {
    // The last line may be cut off by the end of the head.
    let whole = memchr::memrchr(terminator, head).map_or(head, |end| &head[..end]);
    let mut best = (b',', (false, 1));
    for candidate in CANDIDATES {
        let found = score(whole, candidate, terminator);
        if found.1 > 1 && found > best.1 {
            best = (candidate, found);
        }
    }
    best.0
}

/// Whether all lines have as many fields as the header, and how many that has.
fn score(text: &[u8], delimiter: u8, terminator: u8) -> (bool, usize) {
    let mut splitter = Splitter::new(text.to_vec(), std::io::empty(), delimiter, terminator);
    if !matches!(splitter.advance(), Ok(true)) {
        return (false, 1);
    }
    let fields = splitter.len();
    for _ in 1..LINES {
        match splitter.advance() {
            Ok(true) if splitter.len() == fields || splitter.is_blank() => {}
            Ok(true) => return (false, fields),
            // A quoted field that the head cuts off speaks neither for nor against.
            Ok(false) | Err(_) => break,
        }
    }
    (true, fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_separator() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb c\n1\t2,3\n", b'\t'),
            ("a|b|c\n1|2;|3\n", b'|'),
            ("\"a;b;c\",d\n1,2\n", b','),
            ("name, first;age;size\nx;1;2\n", b';'),
            ("only\n1\n2\n", b','),
            ("", b','),
            ("a,b,c", b','),
        ] {
            assert_eq!(find(text.as_bytes(), b'\n'), expected, "{text}");
        }
    }
}
