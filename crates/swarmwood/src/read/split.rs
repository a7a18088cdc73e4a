//! Bytes to records and fields, after RFC 4180.
//!
//! A field may be quoted; inside quotes a quote is written twice and line ends are text. Blanks
//! around a field are dropped unless they are quoted, lines with nothing on them are skipped, and
//! lines end with LF, CRLF or CR. The reader keeps one buffer; a record's fields are slices of it,
//! so no cell costs an allocation.

use std::io::{self, Read};

/// A record longer than this is a quote that was never closed rather than data.
const LONGEST_RECORD: usize = 64 << 20;
const FIRST_BUFFER: usize = 256 << 10;

/// Why no further record can be had.
#[derive(Debug)]
pub(super) enum SplitError {
    /// The source failed.
    Read(io::Error),
    /// The quote that opened on this line was not closed.
    OpenQuote(u64),
    /// The quoted field that opened on the first line goes on after its closing quote on the
    /// second.
    AfterQuote(u64, u64),
    /// The record that starts on this line has no end in sight.
    LongRecord(u64),
}

/// A field's place in the buffer.
#[derive(Debug, Clone, Copy)]
struct FieldSpan {
    start: usize,
    end: usize,
    /// Only a quoted field can hold a line end.
    quoted: bool,
    /// Doubled quotes are still to be made single.
    doubled: bool,
}

/// The outcome of scanning the buffer for one record.
enum RecordScan {
    /// The record ends before this position.
    Record(usize),
    /// The buffer holds no complete record.
    Incomplete,
}

/// Splits a source into records.
#[derive(Debug)]
pub(super) struct Splitter<R> {
    input: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// The source has nothing more.
    ended: bool,
    delimiter: u8,
    terminator: u8,
    spans: Vec<FieldSpan>,
    /// Line the current record started on, and the line after it.
    line: u64,
    next_line: u64,
}

impl<R: Read> Splitter<R> {
    /// A splitter over `input`, with the bytes already taken from it.
    pub(super) fn new(head: Vec<u8>, input: R, delimiter: u8, terminator: u8) -> Splitter<R> {
        let end = head.len();
        let mut buffer = head;
        buffer.resize(end.max(FIRST_BUFFER), 0);
        Splitter {
            input,
            buffer,
            start: 0,
            end,
            ended: false,
            delimiter,
            terminator,
            spans: Vec::new(),
            line: 1,
            next_line: 1,
        }
    }

    /// Moves to the next record; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, SplitError> {
        loop {
            self.skip_empty_lines();
            if self.start == self.end {
                if self.ended {
                    return Ok(false);
                }
                self.refill()?;
                continue;
            }
            match self.scan()? {
                RecordScan::Record(end) => {
                    self.line = self.next_line;
                    self.finish_record(end);
                    return Ok(true);
                }
                RecordScan::Incomplete => self.refill()?,
            }
        }
    }

    /// Number of fields of the current record.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// A field of the current record.
    pub(super) fn field(&self, index: usize) -> &[u8] {
        let span = self.spans[index];
        &self.buffer[span.start..span.end]
    }

    /// Whether the current record is a line of nothing but blanks.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.spans[..], [FieldSpan { start, end, quoted: false, .. }] if start == end)
    }

    /// The line the current record starts on, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The line the current record ends on.
    pub(super) fn last_line(&self) -> u64 {
        self.next_line - 1
    }

    fn skip_empty_lines(&mut self) {
        while self.start < self.end {
            match self.buffer[self.start] {
                byte if byte == self.terminator => self.next_line += 1,
                b'\r' if self.start + 1 < self.end && self.buffer[self.start + 1] == b'\n' => {}
                b'\r' if self.start + 1 == self.end && self.ended => {}
                _ => return,
            }
            self.start += 1;
        }
    }

    /// Finds the fields of the record at `start` without changing the buffer, so that it can be
    /// tried again with more.
    fn scan(&mut self) -> Result<RecordScan, SplitError> {
        self.spans.clear();
        let bytes = &self.buffer[..self.end];
        let mut at = self.start;
        loop {
            let begin = at;
            while at < self.end && is_blank(bytes[at], self.delimiter) {
                at += 1;
            }
            let stop;
            if at < self.end && bytes[at] == b'"' {
                let Some((span, after)) = quoted(bytes, at, self.ended) else {
                    if !self.ended {
                        return Ok(RecordScan::Incomplete);
                    }
                    return Err(SplitError::OpenQuote(self.line_at(at)));
                };
                stop = find_either(bytes, after, self.delimiter, self.terminator);
                let ends_line = stop == self.end || bytes[stop] == self.terminator;
                if !trim(bytes, after, stop, ends_line, self.delimiter).is_empty() {
                    return Err(SplitError::AfterQuote(self.line_at(at), self.line_at(after)));
                }
                self.spans.push(span);
            } else {
                // The byte the blanks stopped at may itself be the field's end.
                stop = find_either(bytes, at, self.delimiter, self.terminator);
                let ends_line = stop == self.end || bytes[stop] == self.terminator;
                let range = trim(bytes, begin, stop, ends_line, self.delimiter);
                self.spans.push(FieldSpan {
                    start: range.start,
                    end: range.end,
                    quoted: false,
                    doubled: false,
                });
            }
            if stop == self.end {
                return Ok(if self.ended {
                    RecordScan::Record(stop)
                } else {
                    RecordScan::Incomplete
                });
            }
            at = stop + 1;
            if bytes[stop] == self.terminator {
                return Ok(RecordScan::Record(at));
            }
        }
    }

    /// Takes the scanned record: makes doubled quotes single, in place, and counts the lines it
    /// covered.
    fn finish_record(&mut self, end: usize) {
        let mut lines = 1;
        for span in &mut self.spans {
            if !span.quoted {
                continue;
            }
            let field = &mut self.buffer[span.start..span.end];
            lines += memchr::memchr_iter(self.terminator, field).count() as u64;
            if span.doubled {
                span.end = span.start + undouble(field);
            }
        }
        self.next_line += lines;
        self.start = end;
    }

    fn refill(&mut self) -> Result<(), SplitError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end > self.buffer.len() / 2 {
            if self.end > LONGEST_RECORD {
                return Err(SplitError::LongRecord(self.next_line));
            }
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(SplitError::Read(error)),
            }
            return Ok(());
        }
    }

    fn line_at(&self, position: usize) -> u64 {
        self.next_line
            + memchr::memchr_iter(self.terminator, &self.buffer[self.start..position]).count()
                as u64
    }
}

fn is_blank(byte: u8, delimiter: u8) -> bool {
    (byte == b' ' || byte == b'\t') && byte != delimiter
}

/// Drops blanks at both ends, and the CR of a CRLF.
fn trim(
    bytes: &[u8],
    start: usize,
    end: usize,
    ends_line: bool,
    delimiter: u8,
) -> std::ops::Range<usize> {
    let (mut start, mut end) = (start, end);
    if ends_line && end > start && bytes[end - 1] == b'\r' {
        end -= 1;
    }
    while end > start && is_blank(bytes[end - 1], delimiter) {
        end -= 1;
    }
    while start < end && is_blank(bytes[start], delimiter) {
        start += 1;
    }
    start..end
}

/// The content of the quoted field that opens at `open`, and the position after its closing quote;
/// `None` if the field does not end in these bytes, or if only the next byte would tell.
fn quoted(bytes: &[u8], open: usize, ended: bool) -> Option<(FieldSpan, usize)> {
    let mut at = open + 1;
    let mut doubled = false;
    loop {
        let quote = at + memchr::memchr(b'"', &bytes[at..])?;
        match bytes.get(quote + 1) {
            Some(b'"') => {
                doubled = true;
                at = quote + 2;
            }
            None if !ended => return None,
            _ => {
                return Some((
                    FieldSpan { start: open + 1, end: quote, quoted: true, doubled },
                    quote + 1,
                ));
            }
        }
    }
}

/// Makes every doubled quote single; returns the new length.
fn undouble(field: &mut [u8]) -> usize {
    let (mut from, mut to) = (0, 0);
    while from < field.len() {
        field[to] = field[from];
        from += if field[from] == b'"' { 2 } else { 1 };
        to += 1;
    }
    to
}

/// The first position at or after `from` that holds one of two bytes, or the end. Eight bytes are
/// compared at a time: fields are short, so a call into a vectorised search would cost more than it
/// saves.
fn find_either(bytes: &[u8], from: usize, one: u8, other: u8) -> usize {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let (ones, others) = (LOW * u64::from(one), LOW * u64::from(other));
    let mut at = from;
    while let Some(word) = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()) {
        let word = u64::from_le_bytes(word);
        let (a, b) = (word ^ ones, word ^ others);
        // The lowest set high bit marks the first zero byte of either.
        let hits = ((a.wrapping_sub(LOW) & !a) | (b.wrapping_sub(LOW) & !b)) & HIGH;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    bytes[at..]
        .iter()
        .position(|&byte| byte == one || byte == other)
        .map_or(bytes.len(), |offset| at + offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hands out a few bytes at a time, so that every record crosses a refill.
    struct SlowReader<'a>(&'a [u8], usize);

    impl Read for SlowReader<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let take = self.1.min(self.0.len()).min(into.len());
            into[..take].copy_from_slice(&self.0[..take]);
            self.0 = &self.0[take..];
            Ok(take)
        }
    }

    fn all(text: &str, step: usize) -> Result<Vec<(u64, Vec<String>)>, SplitError> {
        let mut splitter =
            Splitter::new(Vec::new(), SlowReader(text.as_bytes(), step), b',', b'\n');
        let mut records = Vec::new();
        while splitter.advance()? {
            let fields = (0..splitter.len())
                .map(|i| String::from_utf8_lossy(splitter.field(i)).into_owned())
                .collect();
            records.push((splitter.line(), fields));
        }
        Ok(records)
    }

    fn expect(text: &str, expected: &[(u64, &[&str])]) {
        for step in [1, 2, 3, 7, 1000] {
            let records = all(text, step).unwrap();
            let records: Vec<(u64, Vec<&str>)> = records
                .iter()
                .map(|(line, fields)| (*line, fields.iter().map(String::as_str).collect()))
                .collect();
            let expected: Vec<(u64, Vec<&str>)> =
                expected.iter().map(|(line, fields)| (*line, fields.to_vec())).collect();
            assert_eq!(records, expected, "{text:?} in steps of {step}");
        }
    }

    #[test]
    fn splits_plain_and_quoted_fields() {
        expect("a,b\n1,2\n", &[(1, &["a", "b"]), (2, &["1", "2"])]);
        expect("a,b\r\n1,2\r\n\r\n3,\r\n", &[(1, &["a", "b"]), (2, &["1", "2"]), (4, &["3", ""])]);
        expect("a\n\n\nb", &[(1, &["a"]), (4, &["b"])]);
        expect(
            "\"x,\"\"y\"\"\nz\", b ,\" c \"\nq",
            &[(1, &["x,\"y\"\nz", "b", " c "]), (3, &["q"])],
        );
        expect(",\n,", &[(1, &["", ""]), (2, &["", ""])]);
        expect("\"\",\"\"\"\"", &[(1, &["", "\""])]);
        expect("5\" pipe, \"q\" ,x", &[(1, &["5\" pipe", "q", "x"])]);
        expect("", &[]);
        expect("\n\r\n\n", &[]);
        expect("   \na", &[(1, &[""]), (2, &["a"])]);
    }

    #[test]
    fn names_the_line_where_a_quote_opened() {
        for step in [1, 5, 1000] {
            assert!(matches!(all("a,b\n1,\"x\ny\n", step), Err(SplitError::OpenQuote(2))));
            assert!(matches!(all("a\n\"x\ny\" z\n", step), Err(SplitError::AfterQuote(2, 3))));
        }
    }

    fn field() -> impl Strategy<Value = String> {
        proptest::string::string_regex("[a-c,;\"\r\n \té]{0,9}").unwrap()
    }

    proptest! {
        #[test]
        fn reads_back_whatever_was_quoted(
            rows in proptest::collection::vec(proptest::collection::vec(field(), 1..5), 1..6),
            step in 1_usize..40,
        ) {
            let mut text = String::new();
            for row in &rows {
                let cells: Vec<String> = row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
                text += &cells.join(",");
                text += "\r\n";
            }
            let records: Vec<Vec<String>> = all(&text, step).unwrap().into_iter().map(|(_, fields)| fields).collect();
            prop_assert_eq!(records, rows);
        }

        #[test]
        fn never_panics(text in "[a,\"\r\n ]{0,40}", step in 1_usize..9) {
            let _ = all(&text, step);
        }
    }
}
