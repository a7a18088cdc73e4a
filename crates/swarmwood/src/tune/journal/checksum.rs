//! The checksum at the end of every line of a journal.
//!
//! It is over the line and the checksum before it, so that a line that was changed, moved, added or
//! removed is recognized. It protects from accidents and careless edits, not from somebody who
//! computes it anew; what lines say is checked against each other, too.

use swarmwood_search::rng::fingerprint;

use super::MAGIC;

/// The first version whose lines have checksums.
const FIRST_VERSION: u64 = 3;

/// What stands before the checksum.
const KEY: &str = ",\"checksum\":\"";

/// What stands behind it.
const END: &str = "\"}";

/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;

/// The lines of a journal up to some line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineChain {
    /// `None` before the first line; whether lines have checksums.
    sealed: Option<bool>,
    last: u64,
}

impl LineChain {
    /// The next line with its checksum.
    pub(super) fn seal(&mut self, line: &str) -> String {
        if !self.is_sealed(line) {
            return line.to_string();
        }
        let sum = self.next(line);
        format!("{}{KEY}{sum:0DIGITS$x}{END}", line.strip_suffix('}').unwrap_or(line))
    }

    /// The next line without its checksum; the error says what is wrong with it.
    pub(super) fn open(&mut self, line: &str) -> Result<String, String> {
        if !self.is_sealed(line) {
            return Ok(line.to_string());
        }

        let (rest, sum) = split(line).ok_or("is damaged: it has no checksum")?;
        let body = format!("{rest}}}");
        if self.next(&body) != sum {
            return Err(
                "is damaged: the checksum does not fit; the line, or one before it, was changed"
                    .to_string(),
            );
        }
        Ok(body)
    }

    /// Whether lines have checksums: the first line tells the version.
    fn is_sealed(&mut self, line: &str) -> bool {
        *self.sealed.get_or_insert_with(|| {
            let digits = line.strip_prefix(MAGIC).unwrap_or_default();
            let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse() == Ok(FIRST_VERSION)
        })
    }

    fn next(&mut self, line: &str) -> u64 {
        let bytes = line.bytes().map(u64::from);
        self.last = fingerprint([self.last].into_iter().chain(bytes)) as u64;
        self.last
    }
}

/// A line up to its checksum, and the checksum.
fn split(line: &str) -> Option<(&str, u64)> {
    let rest = line.strip_suffix(END)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    Some((rest.strip_suffix(KEY)?, u64::from_str_radix(digits, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> Vec<String> {
        let mut chain = LineChain::default();
        let head = format!("{MAGIC}3,\"seed\":1}}");
        [&*head, "{\"a\":{\"b\":1}}", "{\"c\":2}", "{\"c\":2}"].map(|line| chain.seal(line)).into()
    }

    fn first_fault<'l>(lines: impl IntoIterator<Item = &'l String>) -> Option<usize> {
        let mut chain = LineChain::default();
        lines.into_iter().position(|line| chain.open(line).is_err())
    }

    #[test]
    fn changed_moved_and_missing_lines_are_recognized() {
        let lines = sealed();
        assert_eq!(first_fault(&lines), None);
        assert_ne!(lines[2], lines[3], "equal lines have checksums of their own");
        let mut chain = LineChain::default();
        assert_eq!(chain.open(&lines[0]), Ok(format!("{MAGIC}3,\"seed\":1}}")));
        assert_eq!(chain.open(&lines[1]).as_deref(), Ok("{\"a\":{\"b\":1}}"));

        assert_eq!(first_fault([&lines[0], &lines[2], &lines[3]]), Some(1));
        assert_eq!(first_fault([&lines[0], &lines[1], &lines[3], &lines[2]]), Some(2));
        for at in 0..lines.len() {
            for byte in 0..lines[at].len() {
                let mut changed = lines.clone();
                let mut bytes = changed[at].clone().into_bytes();
                bytes[byte] ^= 1;
                changed[at] = String::from_utf8(bytes).unwrap();
                // The beginning of the first line is checked when the journal is opened.
                assert!(at == 0 && byte <= MAGIC.len() || first_fault(&changed).is_some());
            }
        }
    }

    #[test]
    fn older_versions_have_no_checksums() {
        let mut chain = LineChain::default();
        for line in [&*format!("{MAGIC}2,\"seed\":1}}"), "{\"a\":1}"] {
            assert_eq!(chain.seal(line), line);
        }
    }
}
