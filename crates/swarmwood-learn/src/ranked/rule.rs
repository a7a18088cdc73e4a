//! Rules over codes.

use std::sync::Arc;

use swarmwood_model::{Split, Test};

use super::{Meaning, Ranks};

/// A question about the code of one feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Which column.
    pub feature: u32,
    /// The test; rows that pass go right.
    pub cut: Cut,
    /// Whether missing values go right.
    pub missing_right: bool,
}

/// The test of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cut {
    /// Codes greater than this one pass.
    Above(u16),
    /// Codes of the set pass.
    In(CodeSet),
}

/// A set of codes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodeSet(Arc<[u64]>);

impl CodeSet {
    /// The set of the given codes.
    pub fn new(codes: impl IntoIterator<Item = u16>) -> Self {
        let mut words = Vec::new();
        for code in codes {
            let word = usize::from(code) / 64;
            if word >= words.len() {
                words.resize(word + 1, 0_u64);
            }
            words[word] |= 1 << (code % 64);
        }
        CodeSet(words.into())
    }

    /// Whether a code is in the set.
    #[inline]
    pub fn contains(&self, code: u16) -> bool {
        self.0.get(usize::from(code) / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }
}

impl Rule {
    /// The rule over codes that a split over values is. Where a code stands for several values, a
    /// threshold among them counts as lying below them.
    pub fn of_split(split: &Split, column: &Ranks) -> Self {
        let cut = match &split.test {
            Test::Above(threshold) => Cut::Above(column.cut_at(*threshold)),
            Test::In(levels) => Cut::In(CodeSet::new(
                (1..=column.top).filter(|&code| levels.contains(u32::from(code) - 1)),
            )),
        };
        Rule { feature: split.feature, cut, missing_right: split.missing_right }
    }

    /// The side of a code.
    #[inline]
    pub fn right(&self, code: u16) -> bool {
        if code == 0 {
            return self.missing_right;
        }
        match &self.cut {
            Cut::Above(cut) => code > *cut,
            Cut::In(set) => set.contains(code),
        }
    }

    /// The rule as a split over values, given the codes nearest to the cut that rows of its node
    /// have.
    pub fn split(&self, column: &Ranks, near: [u16; 2]) -> Split {
        let test = match (&self.cut, &column.meaning) {
            (Cut::Above(_), Meaning::Number(_)) => Test::Above(column.between(near[0], near[1]).0),
            (Cut::In(set), Meaning::Category) => Test::In(
                (1..=column.top)
                    .filter(|&code| set.contains(code))
                    .map(|code| u32::from(code) - 1)
                    .collect(),
            ),
            _ => unreachable!("numbers are cut at thresholds and categories by sets"),
        };
        Split { feature: self.feature, test, missing_right: self.missing_right }
    }
}
