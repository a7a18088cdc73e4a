//! Texts and lists as literals of programming languages.

use std::fmt::Write;

/// A text in double quotes as Python and JavaScript read it. Control characters, line separators
/// and characters that change the direction of writing are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => literal.extend(['\\', letter]),
            letter if letter.is_control() || is_invisible(letter) => {
                // Writing to a string cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(letter));
            }
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

/// Characters of four hexadecimal digits that editors do not show, or show elsewhere.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text for a comment to the end of the line: ASCII letters and little else, 60 at most.
pub(super) fn comment(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-.,()%".contains(c);
    let mut comment: String =
        text.chars().take(60).map(|c| if plain(c) { c } else { '_' }).collect();
    if text.chars().nth(60).is_some() {
        comment.push_str("...");
    }
    comment
}

/// Entries with commas, broken into lines of at most 100 columns that are indented.
pub(super) fn list<T: AsRef<str>>(entries: impl IntoIterator<Item = T>, indent: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for entry in entries {
        let entry = entry.as_ref();
        if column == 0 || column + entry.len() + 2 > 100 {
            if column > 0 {
                text.push('\n');
            }
            text.push_str(indent);
            column = indent.len();
        } else {
            text.push(' ');
            column += 1;
        }
        text.push_str(entry);
        text.push(',');
        column += entry.len() + 1;
    }
    if column > 0 {
        text.push('\n');
    }
    text
}
