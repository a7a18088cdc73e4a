//! Rules over codes: what a split is before it is expressed in values.
//!
//! Binned features have codes of one byte ([`BinRule`]), the in-memory table of single trees has
//! ranks of two ([`RankRule`]). Code 0 is a missing value in both.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use swarmwood_search::{Datum, Error};

/// A rule over the bin codes of a feature.
pub type BinRule = Rule<u8>;

/// A rule over the ranks of a feature's values.
pub type RankRule = Rule<u16>;

/// A number that stands for a value of a feature.
pub trait Code: Copy + Ord + Hash + Debug + Into<u64> + TryFrom<u64> {
    /// The code of a missing value.
    const MISSING: Self;

    /// A set of codes.
    type Set: BitSet<Self>;
}

impl Code for u8 {
    const MISSING: u8 = 0;
    type Set = CodeSet;
}

impl Code for u16 {
    const MISSING: u16 = 0;
    type Set = RankSet;
}

/// A set of codes, one bit per code.
pub trait BitSet<C>: Clone + Ord + Hash + Debug + FromIterator<C> {
    /// Whether the set holds the code.
    fn contains(&self, code: C) -> bool;

    /// The set as numbers to store.
    fn to_numbers(&self) -> Vec<u64>;

    /// The set that [`BitSet::to_numbers`] stored; `None` if a number is out of range.
    fn from_numbers(numbers: &[u64]) -> Option<Self>;
}

/// A binary test of the code of one feature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule<C: Code> {
    /// The feature's position: in the layout of bins, or in the schema for ranks.
    pub feature: u32,
    /// The test; rows that pass go right.
    pub cut: Cut<C>,
    /// Whether missing values go right.
    pub missing_right: bool,
}

/// The test of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut<C: Code> {
    /// Codes greater than this one pass.
    Above(C),
    /// Codes of the set pass.
    In(C::Set),
}

impl<C: Code> Copy for Rule<C> where C::Set: Copy {}

impl<C: Code> Rule<C> {
    /// Whether rows with this code go right.
    #[inline]
    pub fn goes_right(&self, code: C) -> bool {
        if code == C::MISSING {
            return self.missing_right;
        }
        match &self.cut {
            Cut::Above(threshold) => code > *threshold,
            Cut::In(set) => set.contains(code),
        }
    }

    /// The rule as parts of a stored state.
    pub(crate) fn to_data(&self) -> [Datum; 3] {
        let cut = match &self.cut {
            Cut::Above(threshold) => Datum::Natural((*threshold).into()),
            Cut::In(set) => Datum::List(set.to_numbers().into_iter().map(Datum::Natural).collect()),
        };
        [Datum::Natural(u64::from(self.feature)), cut, Datum::flag(self.missing_right)]
    }

    /// The rule that [`Rule::to_data`] stored; an error if a number is out of range.
    pub(crate) fn from_data([feature, cut, missing_right]: [&Datum; 3]) -> Result<Self, Error> {
        let damaged =
            || Error::Snapshot("holds a rule that is out of range; it is damaged".to_string());

        let feature = u32::try_from(feature.natural()?).map_err(|_| damaged())?;
        let cut = match cut {
            Datum::List(numbers) => {
                let numbers: Vec<u64> =
                    numbers.iter().map(Datum::natural).collect::<Result<_, Error>>()?;
                Cut::In(C::Set::from_numbers(&numbers).ok_or_else(damaged)?)
            }
            threshold => Cut::Above(C::try_from(threshold.natural()?).map_err(|_| damaged())?),
        };
        Ok(Rule { feature, cut, missing_right: missing_right.to_flag()? })
    }
}

/// A set of one-byte codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodeSet([u64; 4]);

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

impl FromIterator<u8> for CodeSet {
    fn from_iter<I: IntoIterator<Item = u8>>(codes: I) -> Self {
        let mut words = [0; 4];
        for code in codes {
            words[usize::from(code / 64)] |= 1 << (code % 64);
        }
        CodeSet(words)
    }
}

impl BitSet<u8> for CodeSet {
    #[inline]
    fn contains(&self, code: u8) -> bool {
        self.0[usize::from(code / 64)] >> (code % 64) & 1 == 1
    }

    /// The codes.
    fn to_numbers(&self) -> Vec<u64> {
        (0..=u8::MAX).filter(|&code| self.contains(code)).map(u64::from).collect()
    }

    fn from_numbers(numbers: &[u64]) -> Option<Self> {
        numbers.iter().map(|&number| u8::try_from(number).ok()).collect()
    }
}

/// A set of two-byte codes, shared between its clones; its length follows the greatest code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankSet(Arc<[u64]>);

impl FromIterator<u16> for RankSet {
    fn from_iter<I: IntoIterator<Item = u16>>(codes: I) -> Self {
        let mut words = Vec::new();
        for code in codes {
            let word = usize::from(code) / 64;
            if word >= words.len() {
                words.resize(word + 1, 0_u64);
            }
            words[word] |= 1 << (code % 64);
        }
        RankSet(words.into())
    }
}

impl BitSet<u16> for RankSet {
    #[inline]
    fn contains(&self, code: u16) -> bool {
        self.0.get(usize::from(code) / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }

    /// The bits.
    fn to_numbers(&self) -> Vec<u64> {
        self.0.to_vec()
    }

    fn from_numbers(numbers: &[u64]) -> Option<Self> {
        Some(RankSet(numbers.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rule sends each code where its definition says, before and after it was stored.
    fn check<C: Code>(codes: &[C], threshold: C, members: &[C]) {
        let cuts = [Cut::Above(threshold), Cut::In(members.iter().copied().collect())];
        for (cut, missing_right) in cuts.iter().flat_map(|cut| [(cut, false), (cut, true)]) {
            let rule = Rule { feature: 70_000, cut: cut.clone(), missing_right };
            let [feature, stored, side] = rule.to_data();
            let loaded = Rule::from_data([&feature, &stored, &side]).unwrap();
            assert_eq!(loaded, rule);
            for &code in codes {
                let passes = match cut {
                    Cut::Above(_) => code > threshold,
                    Cut::In(_) => members.contains(&code),
                };
                let right = if code == C::MISSING { missing_right } else { passes };
                assert_eq!(loaded.goes_right(code), right, "{rule:?} {code:?}");
            }
        }
    }

    #[test]
    fn rules_of_both_code_widths_follow_their_definition() {
        let codes: Vec<u8> = (0..=u8::MAX).collect();
        check(&codes, 63, &[0, 1, 63, 64, 255]);
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        check(&codes, 300, &[0, 1, 64, 300, 40_000]);
        check(&codes, u16::MAX, &[]);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let number = Datum::Natural;
        let set = Datum::List(vec![number(256)]);
        let unsound = [
            [number(1 << 32), number(1), number(0)],
            [number(0), number(256), number(0)],
            [number(0), set, number(0)],
            [number(0), number(1), number(2)],
        ];
        for [feature, cut, side] in &unsound {
            assert!(BinRule::from_data([feature, cut, side]).is_err());
        }
        let [_, cut, side] = &unsound[1];
        assert!(RankRule::from_data([&number(0), cut, side]).is_ok());
    }
}
