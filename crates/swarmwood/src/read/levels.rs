//! The texts of a category column and their codes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::token;

/// More distinct texts than this in one column are refused: they are identifiers or free text,
/// nothing can be learned from them as categories, and every one of them would be stored in the
/// model.
pub(super) const MOST_LEVELS: usize = 1_000_000;
/// The same limit for all the text of one column's levels, in bytes.
const MOST_TEXT: usize = 256 << 20;

type Codes = HashMap<Box<[u8]>, u32, BuildHasherDefault<WordHasher>>;

/// Why a text cannot become a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LevelError {
    /// There are too many levels already.
    TooMany,
    /// The text is not UTF-8.
    NotUtf8,
}

/// How often a level occurs and where it was first seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelStats {
    pub(super) count: u64,
    pub(super) first: u64,
}

/// Levels collected while reading; codes are given in order of appearance and put in order at the
/// end.
#[derive(Debug, Default)]
pub(super) struct LevelCollector {
    codes: Codes,
    seen: Vec<LevelStats>,
    text: usize,
}

impl LevelCollector {
    /// The code of a text, a new one if it is new.
    pub(super) fn code(&mut self, text: &[u8], at: u64) -> Result<u32, LevelError> {
        if let Some(&code) = self.codes.get(text) {
            self.seen[code as usize].count += 1;
            return Ok(code);
        }
        if std::str::from_utf8(text).is_err() {
            return Err(LevelError::NotUtf8);
        }
        self.text += text.len();
        if self.seen.len() == MOST_LEVELS || self.text > MOST_TEXT {
            return Err(LevelError::TooMany);
        }
        let code = self.seen.len() as u32;
        self.codes.insert(text.into(), code);
        self.seen.push(LevelStats { count: 1, first: at });
        Ok(code)
    }

    /// The level names with what was seen of them, in code order.
    pub(super) fn into_names(self) -> Vec<(String, LevelStats)> {
        let mut names: Vec<(String, LevelStats)> =
            self.seen.iter().map(|&seen| (String::new(), seen)).collect();
        for (text, code) in self.codes {
            names[code as usize].0 = String::from_utf8(text.into()).unwrap_or_default();
        }
        names
    }
}

/// The levels of a schema, to look texts up in.
///
/// A text that is not a level as it stands is taken for one that means the same: the same number
/// written differently (`1` and `1.0`, as an integer column with gaps comes out of some writers),
/// or a boolean in other letters (`true` and `True`).
#[derive(Debug, Default)]
pub(super) struct KnownLevels {
    codes: Codes,
    numbers: HashMap<u64, u32>,
    booleans: [Option<u32>; 2],
}

impl KnownLevels {
    /// Prepares a list of names; a name's code is its position.
    pub(super) fn new(names: &[String]) -> KnownLevels {
        let mut known = KnownLevels::default();
        for (code, name) in names.iter().enumerate() {
            let code = code as u32;
            known.codes.insert(name.as_bytes().into(), code);
            if let Some(number) = token::number(name.as_bytes()) {
                known.numbers.entry(bits(number)).or_insert(code);
            }
            if let Some(truth) = boolean(name.as_bytes()) {
                known.booleans[usize::from(truth)].get_or_insert(code);
            }
        }
        known
    }

    /// The code of a text, if it is a level.
    pub(super) fn code(&self, text: &[u8]) -> Option<u32> {
        self.codes.get(text).copied().or_else(|| self.same_meaning(text))
    }

    #[cold]
    fn same_meaning(&self, text: &[u8]) -> Option<u32> {
        if let Some(number) = token::number(text) {
            return self.numbers.get(&bits(number)).copied();
        }
        self.booleans[usize::from(boolean(text)?)]
    }
}

/// The truth value of `true` and `false` in any case.
fn boolean(text: &[u8]) -> Option<bool> {
    if text.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// A number's bits, the same for both zeros.
pub(super) fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Multiplies words into a state: level texts are short and looked up once a cell, where the
/// standard hash would take most of the time.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(word.try_into().map_or(0, u64::from_le_bytes));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl WordHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_codes_in_order_of_appearance_and_counts() {
        let mut levels = LevelCollector::default();
        let codes: Vec<u32> = ["b", "a", "b", "a longer text", "a"]
            .iter()
            .enumerate()
            .map(|(at, text)| levels.code(text.as_bytes(), at as u64).unwrap())
            .collect();
        assert_eq!(codes, [0, 1, 0, 2, 1]);
        assert_eq!(levels.code(&[0xFF], 9), Err(LevelError::NotUtf8));
        let names = levels.into_names();
        assert_eq!(names[0].0, "b");
        assert_eq!((names[1].1.count, names[1].1.first), (2, 1));
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn takes_another_spelling_of_the_same_value() {
        let names = ["1", "2.50", "true", "False", "x"].map(String::from);
        let known = KnownLevels::new(&names);
        for (text, code) in [("1", 0), ("1.0", 0), ("2.5", 1), ("TRUE", 2), ("false", 3), ("x", 4)]
        {
            assert_eq!(known.code(text.as_bytes()), Some(code), "{text}");
        }
        for text in ["X", "3", "yes", ""] {
            assert_eq!(known.code(text.as_bytes()), None, "{text}");
        }
    }
}
