//! Rules over codes: what a split is before it is expressed in values.
//!
//! Binned features have codes of one byte ([`BinRule`]), the in-memory table of single trees has
//! ranks of two ([`RankRule`]), and particles that may ask about every distinct value have codes of
//! one, two or four bytes. Code 0 is a missing value in all of them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use swarmwood_search::{Datum, Error};

/// A rule over the bin codes of a feature.
pub type BinRule = Rule<u8>;

/// A rule over the ranks of a feature's values.
pub type RankRule = Rule<u16>;

/// A number that stands for a value of a feature.
pub trait Code:
    Copy + Default + Ord + Hash + Debug + Send + Sync + From<u8> + Into<u64> + TryFrom<u64> + 'static
{
    /// The code of a missing value.
    const MISSING: Self;

    /// The greatest code.
    const GREATEST: Self;

    /// A set of codes.
    type Set: BitSet<Self> + Send + Sync;

    /// The code of a number that must not be above the greatest code.
    fn from_index(index: usize) -> Self;

    /// The code as a number.
    fn index(self) -> usize;

    /// The difference modulo the number of codes.
    fn minus(self, other: Self) -> Self;

    /// The codes as bytes, if they are bytes.
    fn as_bytes(codes: &[Self]) -> Option<&[u8]>;
}

macro_rules! code {
    ($number:ty, $set:ty, $as_bytes:expr) => {
        impl Code for $number {
            const MISSING: Self = 0;
            const GREATEST: Self = <$number>::MAX;
            type Set = $set;

            #[inline(always)]
            fn from_index(index: usize) -> Self {
                debug_assert!(<$number>::try_from(index).is_ok());
                index as $number
            }

            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn as_bytes(codes: &[Self]) -> Option<&[u8]> {
                let as_bytes: fn(&[Self]) -> Option<&[u8]> = $as_bytes;
                as_bytes(codes)
            }
        }
    };
}

code!(u8, CodeSet, |codes| Some(codes));
code!(u16, RankSet, |_| None);
code!(u32, RankSet, |_| None);

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

/// A set of codes of several bytes, shared between its clones; its length follows the greatest code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankSet(Arc<[u64]>);

macro_rules! rank_set {
    ($($number:ty),*) => {$(
        impl FromIterator<$number> for RankSet {
            fn from_iter<I: IntoIterator<Item = $number>>(codes: I) -> Self {
                let mut words = Vec::new();
                for code in codes {
                    let word = code.index() / 64;
                    if word >= words.len() {
                        words.resize(word + 1, 0_u64);
                    }
                    words[word] |= 1 << (code % 64);
                }
                RankSet(words.into())
            }
        }

        impl BitSet<$number> for RankSet {
            #[inline]
            fn contains(&self, code: $number) -> bool {
                self.0.get(code.index() / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
            }

            /// The bits.
            fn to_numbers(&self) -> Vec<u64> {
                self.0.to_vec()
            }

            fn from_numbers(numbers: &[u64]) -> Option<Self> {
                Some(RankSet(numbers.into()))
            }
        }
    )*};
}

rank_set!(u16, u32);

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
    fn rules_of_every_code_width_follow_their_definition() {
        let codes: Vec<u8> = (0..=u8::MAX).collect();
        check(&codes, 63, &[0, 1, 63, 64, 255]);
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        check(&codes, 300, &[0, 1, 64, 300, 40_000]);
        check(&codes, u16::MAX, &[]);
        let codes: Vec<u32> = (0..2000).chain([65_535, 65_536, 1 << 20, u32::MAX]).collect();
        check(&codes, 65_535, &[0, 7, 300, 1 << 20]);
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
