//! Rules over codes.

use std::sync::Arc;

use swarmwood_model::{Split, Test};
use swarmwood_search::{Datum, Error};

use super::{CodeMeaning, RankColumn, RankTable};

/// A binary test of the code of one feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RankRule {
    /// Which column.
    pub feature: u32,
    /// The test; rows that pass go right.
    pub cut: RankCut,
    /// Whether missing values go right.
    pub missing_right: bool,
}

/// The test of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RankCut {
    /// Codes greater than this one pass.
    Above(u16),
    /// Codes of the set pass.
    In(RankSet),
}

/// A set of codes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RankSet(Arc<[u64]>);

impl RankSet {
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
        RankSet(words.into())
    }

    /// Whether a code is in the set.
    #[inline]
    pub fn contains(&self, code: u16) -> bool {
        self.0.get(usize::from(code) / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }
}

impl RankRule {
    /// The rule over codes for a split over values. A threshold between values that share a code is
    /// treated as lying below all of them.
    pub fn from_split(split: &Split, column: &RankColumn) -> Self {
        let cut = match &split.test {
            Test::Above(threshold) => RankCut::Above(column.code_at_threshold(*threshold)),
            Test::In(levels) => RankCut::In(RankSet::new(
                (1..=column.max_code).filter(|&code| levels.contains(u32::from(code) - 1)),
            )),
        };
        RankRule { feature: split.feature, cut, missing_right: split.missing_right }
    }

    /// The rule as a part of a stored state.
    pub(crate) fn to_datum(&self) -> Datum {
        let cut = match &self.cut {
            RankCut::Above(cut) => Datum::Natural(u64::from(*cut)),
            RankCut::In(set) => Datum::List(set.0.iter().copied().map(Datum::Natural).collect()),
        };
        let feature = Datum::Natural(u64::from(self.feature));
        Datum::List(vec![feature, cut, Datum::flag(self.missing_right)])
    }

    /// The rule that [`RankRule::to_datum`] stored; an error if it does not fit the table.
    pub(crate) fn from_datum(datum: &Datum, table: &RankTable) -> Result<Self, Error> {
        let unfit = || Error::Snapshot("holds a rule of another table; it is damaged".to_string());
        let [feature, cut, missing_right] = datum.tuple()?;
        let feature = u32::try_from(feature.natural()?).map_err(|_| unfit())?;
        let column = table.columns().get(feature as usize).ok_or_else(unfit)?;
        let cut = match cut {
            Datum::Natural(cut) if !column.is_category() => {
                RankCut::Above(u16::try_from(*cut).map_err(|_| unfit())?)
            }
            Datum::List(words) if column.is_category() => {
                let words = words.iter().map(Datum::natural).collect::<Result<Vec<u64>, _>>()?;
                RankCut::In(RankSet(words.into()))
            }
            _ => return Err(unfit()),
        };
        Ok(RankRule { feature, cut, missing_right: missing_right.to_flag()? })
    }

    /// Whether rows with this code go right.
    #[inline]
    pub fn goes_right(&self, code: u16) -> bool {
        if code == 0 {
            return self.missing_right;
        }
        match &self.cut {
            RankCut::Above(cut) => code > *cut,
            RankCut::In(set) => set.contains(code),
        }
    }

    /// The rule as a split over values; `near` are the codes next to the cut among the rows of the
    /// node.
    pub fn to_split(&self, column: &RankColumn, near: [u16; 2]) -> Split {
        let test = match (&self.cut, &column.meaning) {
            (RankCut::Above(_), CodeMeaning::Number(_)) => {
                Test::Above(column.threshold_between(near[0], near[1]).0)
            }
            (RankCut::In(set), CodeMeaning::Category) => Test::In(
                (1..=column.max_code)
                    .filter(|&code| set.contains(code))
                    .map(|code| u32::from(code) - 1)
                    .collect(),
            ),
            _ => unreachable!("numbers are cut at thresholds and categories by sets"),
        };
        Split { feature: self.feature, test, missing_right: self.missing_right }
    }
}
