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
        parts.clone().filter(begins_below).last().or_else(|| parts.clone().next())
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
