//! XML, element by element.

use std::fmt::Write;

/// A document that is written from its beginning to its end.
pub(super) struct XmlWriter {
    text: String,
    /// The elements that are open.
    open: Vec<&'static str>,
}

/// Attributes, in the order in which they are written.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

impl XmlWriter {
    pub(super) fn new() -> XmlWriter {
        let text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        XmlWriter { text, open: Vec::new() }
    }

    /// Begins an element that has others inside.
    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes, ">\n");
        self.open.push(name);
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes, "/>\n");
    }

    /// A constant number.
    pub(super) fn constant(&mut self, value: f64) {
        self.indent();
        let value = crate::number_format::exact(value);
        let _ = writeln!(self.text, "<Constant dataType=\"double\">{value}</Constant>");
    }

    /// Ends the last element that is open.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// The text, with every element ended.
    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>, end: &str) {
        self.indent();
        self.text.push('<');
        self.text.push_str(name);
        for (attribute, value) in attributes {
            let _ = write!(self.text, " {attribute}=\"{}\"", escaped(value));
        }
        self.text.push_str(end);
    }

    fn indent(&mut self) {
        // The depth of trees would make files of their indents.
        self.text.extend(std::iter::repeat_n(' ', self.open.len().min(MAX_INDENT)));
    }
}

/// Deeper elements are not indented further.
const MAX_INDENT: usize = 12;

/// The text of an attribute: every character but the plainest is a reference, so that readers that
/// normalise white space keep it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_plain = letter == ' ' || letter.is_alphanumeric() || letter.is_ascii_punctuation();
        if is_plain && !"&<>\"'".contains(letter) {
            escaped.push(letter);
        } else {
            let _ = write!(escaped, "&#{};", u32::from(letter));
        }
    }
    escaped
}

/// Whether XML has a form for every character of a text.
pub(super) fn is_representable(text: &str) -> bool {
    let is_allowed = |letter: char| match letter {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        letter => letter >= ' ',
    };
    text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_quotes() {
        let mut xml = XmlWriter::new();
        xml.open("a", &[("name", "\"><b x='&\n]]>")]);
        xml.empty("c", &[]);
        let text = xml.finish();
        let expected = "<a name=\"&#34;&#62;&#60;b x=&#39;&#38;&#10;]]&#62;\">\n <c/>\n</a>\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(is_representable("µ\t\n") && !is_representable("\u{1}") && !is_representable("\0"));
    }
}
