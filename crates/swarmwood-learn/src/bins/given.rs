//! Bins in which given splits can be said, and the rules that say them.

use swarmwood_model::Test;

use super::Layout;
use super::layout::{FeatureBins, FeaturePlace};
use crate::given_splits::{GivenSplit, GivenSplits};
use crate::rule::{BinRule, Cut};

/// A given split over the codes of a layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GivenRule {
    /// The rule, with missing values on the left where their side is chosen.
    pub(crate) rule: BinRule,
    /// Whether each tree chooses the side of missing values.
    pub(crate) chooses_missing: bool,
    /// The given splits below it, left and right.
    pub(crate) children: [Option<usize>; 2],
}

impl Layout {
    /// The same bins with the thresholds of given splits among them. The features of these splits
    /// are stored in columns of their own, also if they are constant in the sample.
    #[must_use]
    pub fn with_given_splits(&self, given: &GivenSplits) -> Self {
        if given.is_empty() {
            return self.clone();
        }
        let sources = given.features();
        let mut features = self.features().to_vec();
        for &source in &sources {
            for threshold in given.thresholds(source) {
                let at = self.part_of(source, threshold, &features);
                if let Some(FeatureBins::Number(edges)) = at.map(|at| &mut features[at]) {
                    *edges = edges.with_threshold(threshold);
                }
            }
        }
        self.stored_alone(features, &sources)
    }

    /// The feature of the layout whose thresholds are nearest: a number may be several.
    fn part_of(&self, source: usize, threshold: f64, features: &[FeatureBins]) -> Option<usize> {
        let parts = (0..features.len()).filter(|&at| self.sources()[at] as usize == source);
        let begins_below = |&at: &usize| match &features[at] {
            FeatureBins::Number(edges) => {
                edges.thresholds().first().is_none_or(|&first| first <= threshold)
            }
            FeatureBins::Category(_) => true,
        };
        parts.clone().rfind(begins_below).or_else(|| parts.clone().next())
    }

    /// The rules of given splits; the feature of the schema whose split the bins cannot say, if
    /// there is one.
    pub(crate) fn given_rules(&self, given: &GivenSplits) -> Result<Vec<GivenRule>, usize> {
        let rule = |split: &GivenSplit| {
            let rule = self.given_rule(split).ok_or(split.feature)?;
            let chooses_missing = split.missing_right.is_none();
            Ok(GivenRule { rule, chooses_missing, children: split.children })
        };
        given.splits().iter().map(rule).collect()
    }

    /// The first feature of the schema whose given split the bins cannot say.
    pub fn unsayable_split(&self, given: &GivenSplits) -> Option<usize> {
        self.given_rules(given).err()
    }

    fn given_rule(&self, split: &GivenSplit) -> Option<BinRule> {
        let missing_right = split.missing_right.unwrap_or(false);
        let parts = (0..self.features().len()).filter(|&at| {
            self.sources()[at] as usize == split.feature
                && self.places()[at] != FeaturePlace::Dropped
        });
        parts.into_iter().find_map(|at| {
            let cut = match (&self.features()[at], &split.test) {
                (FeatureBins::Number(edges), Test::Above(threshold)) => {
                    let position = edges.thresholds().iter().position(|edge| edge == threshold)?;
                    Cut::Above(position as u8 + 1)
                }
                (FeatureBins::Category(levels), Test::In(set)) => {
                    let codes = 1..=levels.bins() as u8;
                    let passes = |code: u8| {
                        levels.levels_of(code).filter(|&level| set.contains(level)).count()
                    };
                    // Rare levels may share a code, and must then be on one side.
                    let is_whole =
                        |code: u8| [0, levels.levels_of(code).count()].contains(&passes(code));
                    if !codes.clone().all(is_whole) {
                        return None;
                    }
                    Cut::In(codes.filter(|&code| passes(code) > 0).collect())
                }
                _ => return None,
            };
            Some(BinRule { feature: at as u32, cut, missing_right })
        })
    }
}

#[cfg(test)]
mod tests {
    use swarmwood_model::{Feature, Kind, LevelSet};

    use super::*;
    use crate::data::Column;
    use crate::pool::Pool;

    fn given(feature: usize, test: Test) -> GivenSplits {
        let children = [None; 2];
        GivenSplits::new(vec![GivenSplit { feature, test, missing_right: Some(true), children }])
    }

    /// A number with so many values, flags that share a column, a constant, and a category of so many
    /// levels.
    fn layout(values: usize, levels: usize) -> Layout {
        let features: Vec<Feature> = ["x", "a", "b", "constant", "level"]
            .into_iter()
            .map(|name| Feature { name: name.into(), kind: Kind::Number })
            .collect();
        let mut features = features;
        let names = (0..levels).map(|level| level.to_string()).collect();
        features[4].kind = Kind::Category { levels: names };
        let flag = |at: usize| (0..1200).map(|row| f64::from(u8::from(row % 4 == at))).collect();
        let sample = |at: usize| match at {
            0 => Column::Number((0..1200).map(|row| (row % values) as f64).collect()),
            3 => Column::Number(vec![5.0; 1200]),
            4 => Column::Category((0..1200).map(|row| (row % levels) as u32).collect()),
            flags => Column::Number(flag(flags)),
        };
        Layout::fit(sample, &features, 255, &Pool::new(1).unwrap())
    }

    #[test]
    fn thresholds_come_back_exactly_whatever_bins_there_are() {
        for values in [2, 10, 254, 255, 256, 1200] {
            for (feature, threshold) in [(0, 0.37), (0, -4.0), (0, 1e9), (1, 0.9), (3, 7.5)] {
                let given = given(feature, Test::Above(threshold));
                let layout = layout(values, 3).with_given_splits(&given);
                assert!(layout.codes() <= 256);
                let rule = layout.given_rules(&given).unwrap()[0];
                let split = layout.split(&rule.rule);
                assert_eq!(split.test, Test::Above(threshold), "{values} values");
                assert!(split.missing_right && split.feature as usize == feature);
            }
        }
    }

    #[test]
    fn levels_that_share_a_code_cannot_be_separated() {
        let one_level = |level: u32| given(4, Test::In([level].into_iter().collect::<LevelSet>()));
        let few = one_level(2);
        let rule = layout(9, 5).with_given_splits(&few).given_rules(&few).unwrap()[0].rule;
        assert_eq!(layout(9, 5).split(&rule).test, few.splits()[0].test);

        // The last ones of 300 levels share a code.
        let rare = one_level(290);
        assert_eq!(layout(9, 300).with_given_splits(&rare).unsayable_split(&rare), Some(4));
    }
}
