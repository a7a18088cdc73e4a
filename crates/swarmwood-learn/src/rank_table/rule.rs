//! Rules over ranks and splits over values.

use swarmwood_model::{Split, Test};

use super::{CodeMeaning, RankColumn, RankTable};
use crate::rule::{BitSet, Cut, RankRule, RankSet};

impl RankRule {
    /// The rule over codes for a split over values. A threshold between values that share a code is
    /// treated as lying below all of them.
    pub fn from_split(split: &Split, column: &RankColumn) -> Self {
        let cut = match &split.test {
            Test::Above(threshold) => Cut::Above(column.code_at_threshold(*threshold)),
            Test::In(levels) => Cut::In(RankSet::from_iter(
                (1..=column.max_code).filter(|&code| levels.contains(u32::from(code) - 1)),
            )),
        };
        RankRule { feature: split.feature, cut, missing_right: split.missing_right }
    }

    /// Whether the table has the feature, and its kind is the one that the rule tests.
    pub(crate) fn fits(&self, table: &RankTable) -> bool {
        let column = table.columns().get(self.feature as usize);
        column.is_some_and(|column| column.is_category() == matches!(self.cut, Cut::In(_)))
    }

    /// The rule as a split over values; `near` are the codes next to the cut among the rows of the
    /// node.
    pub fn to_split(&self, column: &RankColumn, near: [u16; 2]) -> Split {
        let test = match (&self.cut, &column.meaning) {
            (Cut::Above(_), CodeMeaning::Number(_)) => {
                Test::Above(column.threshold_between(near[0], near[1]).0)
            }
            (Cut::In(set), CodeMeaning::Category) => Test::In(
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
