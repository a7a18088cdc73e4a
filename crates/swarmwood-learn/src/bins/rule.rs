//! A rule over bin codes: what a split is before it is told in terms of values.

/// A question about the code of one feature; rows that pass go right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The feature's position in the layout; mostly that in the schema.
    pub feature: u32,
    /// The question.
    pub cut: Cut,
    /// Whether the missing code goes right.
    pub missing_right: bool,
}

/// The question of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// Passes if the code is greater.
    Above(u8),
    /// Passes if the code is in the set.
    In(CodeSet),
}

/// A set of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CodeSet([u64; 4]);

impl CodeSet {
    /// Adds a code.
    pub fn insert(&mut self, code: u8) {
        self.0[usize::from(code / 64)] |= 1 << (code % 64);
    }

    /// Whether the set holds the code.
    pub fn contains(&self, code: u8) -> bool {
        self.0[usize::from(code / 64)] >> (code % 64) & 1 == 1
    }
}

impl CodeSet {
    /// The set as bits, code 0 first.
    pub(crate) fn words(&self) -> [u64; 4] {
        self.0
    }

    /// The set of these bits.
    pub(crate) fn from_words(words: [u64; 4]) -> Self {
        CodeSet(words)
    }
}

impl Rule {
    /// Which side a code of the feature goes to; `true` is right.
    pub fn right(&self, code: u8) -> bool {
        match (code, self.cut) {
            (0, _) => self.missing_right,
            (code, Cut::Above(threshold)) => code > threshold,
            (code, Cut::In(set)) => set.contains(code),
        }
    }
}
