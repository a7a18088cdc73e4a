//! Support, confidence and lift of rules: from the leaves of the tree, or counted on data.
//!
//! Support is the share of the rows that a rule matches, confidence the share of these whose class
//! is the rule's, lift the confidence divided by the share of the class among all rows. Rules with
//! the same prediction may overlap; a row counts for each of them. Leaves know the number and the
//! classes of their training rows. A rule that consists of whole leaves has exact statistics; one
//! that cuts through a leaf has an interval of support, from the leaves that are inside to those
//! that it intersects, and the confidence of the leaves inside. Counting rows of data
//! ([`RuleSet::count_row`]) gives exact statistics.

use std::cmp::Reverse;

use super::space::Region;
use super::{DecisionRule, ReachableLeaves, RulePrediction, RuleSet};
use crate::predict::FeatureValue;

/// Statistics of the rows that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RuleStats {
    /// The share of all rows that it matches; a lower bound if it is not known exactly.
    pub support: f64,
    /// The upper bound of the support; equal to `support` if it is known exactly.
    pub max_support: f64,
    /// The share of these rows whose class is the rule's; `None` for regression and without rows.
    pub confidence: Option<f64>,
    /// The confidence divided by the share of the class among all rows.
    pub lift: Option<f64>,
    /// For regression, if counted on data: the root mean squared error of the prediction.
    pub error: Option<f64>,
}

impl RuleStats {
    /// Whether the support is known exactly.
    pub(crate) fn is_exact(&self) -> bool {
        (self.max_support - self.support).abs() <= 1e-9
    }
}

impl ReachableLeaves<'_> {
    /// The statistics of a box with a prediction.
    pub(super) fn stats(&self, region: &Region, prediction: usize) -> RuleStats {
        let inside = self
            .leaves
            .iter()
            .filter(|(_, leaf, _)| region.contains(leaf))
            .map(|(leaf, _, _)| *leaf);
        let intersecting =
            self.leaves.iter().filter(|(_, leaf, _)| self.space.intersects(region, leaf));
        let max_support = intersecting.map(|(leaf, _, _)| self.single.shares[*leaf]).sum();
        self.stats_of_leaves(&inside.collect::<Vec<_>>(), max_support, prediction)
    }

    /// The statistics of all leaves with a prediction: they are whole, so these are exact.
    pub(super) fn stats_of_prediction(&self, prediction: usize) -> RuleStats {
        let own: Vec<usize> = self
            .leaves
            .iter()
            .filter(|(_, _, at)| *at == prediction)
            .map(|(leaf, _, _)| *leaf)
            .collect();
        let support = own.iter().map(|leaf| self.single.shares[*leaf]).sum();
        self.stats_of_leaves(&own, support, prediction)
    }

    fn stats_of_leaves(&self, inside: &[usize], max_support: f64, prediction: usize) -> RuleStats {
        let support: f64 = inside.iter().map(|leaf| self.single.shares[*leaf]).sum();
        let confidence = match self.predictions.get(prediction) {
            Some(RulePrediction::Class(class)) if support > 0.0 => {
                self.single.distribution(inside.iter().copied()).get(*class as usize).copied()
            }
            _ => None,
        };
        let lift = match (self.predictions.get(prediction), confidence) {
            (Some(RulePrediction::Class(class)), Some(confidence)) => {
                let all = self.single.distribution(0..self.single.predictions.len());
                lift(confidence, all.get(*class as usize).copied().unwrap_or(0.0))
            }
            _ => None,
        };
        RuleStats { support, max_support, confidence, lift, error: None }
    }
}

fn lift(confidence: f64, base: f64) -> Option<f64> {
    (base > 0.0).then(|| confidence / base)
}

/// Sorts rules by prediction, and within a prediction by decreasing support.
pub(super) fn sort_rules(rules: &mut [DecisionRule]) {
    rules.sort_by(|a, b| {
        let predictions = match (a.prediction, b.prediction) {
            (RulePrediction::Number(a), RulePrediction::Number(b)) => a.total_cmp(&b),
            (RulePrediction::Class(a), RulePrediction::Class(b)) => a.cmp(&b),
            _ => std::cmp::Ordering::Equal,
        };
        let rows = b.stats.max_support.total_cmp(&a.stats.max_support);
        predictions.then(rows).then(Reverse(b.conditions.len()).cmp(&Reverse(a.conditions.len())))
    });
}

/// Counts of the rows that match each rule, by weight.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCounts {
    rows: u64,
    weight: f64,
    /// Weight of the rows of each class; empty for numbers.
    classes: Vec<f64>,
    /// One per rule, and a last one for the default.
    rules: Vec<RuleCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct RuleCount {
    weight: f64,
    /// Weight of the rows whose class is the rule's.
    right: f64,
    /// Weighted squared errors of the rule's prediction.
    squares: f64,
}

impl RuleCount {
    fn add(&mut self, prediction: RulePrediction, target: f64, weight: f64) {
        self.weight += weight;
        match prediction {
            RulePrediction::Class(class) if f64::from(class) == target => self.right += weight,
            RulePrediction::Class(_) => {}
            RulePrediction::Number(number) => {
                self.squares += weight * (target - number) * (target - number)
            }
        }
    }
}

impl RuleSet<'_> {
    /// Counts before the first row.
    pub fn empty_counts(&self) -> RuleCounts {
        let classes = vec![0.0; self.schema.target.kind.classes().len()];
        RuleCounts {
            rows: 0,
            weight: 0.0,
            classes,
            rules: vec![RuleCount::default(); self.rules.len() + 1],
        }
    }

    /// Counts a row, given by its value of each feature, its target (for classes an index) and its
    /// weight.
    pub fn count_row(
        &self,
        counts: &mut RuleCounts,
        value: impl Fn(u32) -> FeatureValue,
        target: f64,
        weight: f64,
    ) {
        counts.rows += 1;
        counts.weight += weight;
        if let Some(class) = counts.classes.get_mut(target as usize) {
            *class += weight;
        }

        let mut matched = false;
        for (rule, count) in self.rules.iter().zip(&mut counts.rules) {
            if rule.matches(&value, self.schema) {
                matched = true;
                count.add(rule.prediction, target, weight);
            }
        }

        if let Some(default) = counts.rules.last_mut().filter(|_| !matched) {
            default.add(self.default_rule.prediction, target, weight);
        }
    }

    /// Replaces the statistics of the leaves by the counts. Support is by weight; rows without a
    /// weight count 1.
    pub fn set_counts(&mut self, counts: &RuleCounts) {
        let total = counts.weight;
        let rules = self.rules.iter_mut().chain([&mut self.default_rule]);
        for (rule, count) in rules.zip(&counts.rules) {
            let support = if total > 0.0 { count.weight / total } else { 0.0 };
            let has_rows = count.weight > 0.0;
            let (confidence, error, base) = match rule.prediction {
                RulePrediction::Class(class) => {
                    let base =
                        counts.classes.get(class as usize).map_or(0.0, |weight| weight / total);
                    (has_rows.then(|| count.right / count.weight), None, base)
                }
                RulePrediction::Number(_) => {
                    (None, has_rows.then(|| (count.squares / count.weight).sqrt()), 0.0)
                }
            };
            let lift = confidence.and_then(|confidence| lift(confidence, base));
            rule.stats = RuleStats { support, max_support: support, confidence, lift, error };
        }

        self.rows = Some(counts.rows as f64);
        self.counted_on_data = true;
        sort_rules(&mut self.rules);
    }
}
