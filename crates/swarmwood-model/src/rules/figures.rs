//! Support, confidence and lift of rules: from what the leaves tell, or counted on data.
//!
//! Support is the share of the rows a rule holds for, confidence the share of these whose class is
//! the rule's, lift the confidence divided by the share of the class among all rows. Rules of one
//! answer may overlap; a row counts for each of them. The leaves tell how many training rows they
//! have and of which classes. A rule that is made of whole leaves has exact figures; one that cuts
//! through a leaf has an interval of support, from the leaves that are wholly inside to those that
//! are touched, and its confidence is that of the leaves inside. What [`RuleSet::count`] finds on
//! data is exact.

use std::cmp::Reverse;

use super::space::Region;
use super::{DecisionRule, ReachableLeaves, RulePrediction, RuleSet};
use crate::predict::FeatureValue;

/// What is known of the rows a rule holds for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RuleStats {
    /// The share of all rows it holds for, at least.
    pub support: f64,
    /// The share of all rows it holds for, at most; equal to `support` where it is exact.
    pub support_at_most: f64,
    /// The share of these rows whose class is the rule's; `None` for numbers and where there are no
    /// rows.
    pub confidence: Option<f64>,
    /// The confidence divided by the share of the class among all rows.
    pub lift: Option<f64>,
    /// For numbers counted on data: the root of the mean squared distance of the rows' targets from
    /// the answer.
    pub error: Option<f64>,
}

impl RuleStats {
    /// Whether the support is known exactly.
    pub fn is_exact(&self) -> bool {
        (self.support_at_most - self.support).abs() <= 1e-9
    }
}

impl ReachableLeaves<'_> {
    /// What the leaves tell of a box with an answer.
    pub(super) fn figures(&self, region: &Region, answer: usize) -> RuleStats {
        let inside = self
            .reached
            .iter()
            .filter(|(_, leaf, _)| region.contains(leaf))
            .map(|(leaf, _, _)| *leaf);
        let touched = self.reached.iter().filter(|(_, leaf, _)| self.space.meet(region, leaf));
        let support_at_most = touched.map(|(leaf, _, _)| self.single.shares[*leaf]).sum();
        self.of_leaves(&inside.collect::<Vec<_>>(), support_at_most, answer)
    }

    /// What the leaves tell of everything with an answer: they are whole, so it is exact.
    pub(super) fn figures_of_answer(&self, answer: usize) -> RuleStats {
        let own: Vec<usize> = self
            .reached
            .iter()
            .filter(|(_, _, at)| *at == answer)
            .map(|(leaf, _, _)| *leaf)
            .collect();
        let support = own.iter().map(|leaf| self.single.shares[*leaf]).sum();
        self.of_leaves(&own, support, answer)
    }

    fn of_leaves(&self, inside: &[usize], support_at_most: f64, answer: usize) -> RuleStats {
        let support: f64 = inside.iter().map(|leaf| self.single.shares[*leaf]).sum();
        let confidence = match self.answers.get(answer) {
            Some(RulePrediction::Class(class)) if support > 0.0 => {
                self.single.distribution(inside.iter().copied()).get(*class as usize).copied()
            }
            _ => None,
        };
        let lift = match (self.answers.get(answer), confidence) {
            (Some(RulePrediction::Class(class)), Some(confidence)) => {
                let all = self.single.distribution(0..self.single.predictions.len());
                lift(confidence, all.get(*class as usize).copied().unwrap_or(0.0))
            }
            _ => None,
        };
        RuleStats { support, support_at_most, confidence, lift, error: None }
    }
}

fn lift(confidence: f64, base: f64) -> Option<f64> {
    (base > 0.0).then(|| confidence / base)
}

/// Answers together, classes in their order and numbers in theirs; within an answer the rule for
/// most rows first.
pub(super) fn in_reading_order(rules: &mut [DecisionRule]) {
    rules.sort_by(|a, b| {
        let answers = match (a.answer, b.answer) {
            (RulePrediction::Number(a), RulePrediction::Number(b)) => a.total_cmp(&b),
            (RulePrediction::Class(a), RulePrediction::Class(b)) => a.cmp(&b),
            _ => std::cmp::Ordering::Equal,
        };
        let rows = b.figures.support_at_most.total_cmp(&a.figures.support_at_most);
        answers.then(rows).then(Reverse(b.conditions.len()).cmp(&Reverse(a.conditions.len())))
    });
}

/// Rows counted for rules: weights, if rows have them.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCounts {
    rows: u64,
    weight: f64,
    /// Weight of the rows of each class; empty for numbers.
    classes: Vec<f64>,
    /// One a rule, and a last one for "otherwise".
    rules: Vec<RuleCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct RuleCount {
    weight: f64,
    /// Weight of the rows whose class is the rule's.
    right: f64,
    /// Weighted squared distances of targets from the rule's number.
    squares: f64,
}

impl RuleCount {
    fn add(&mut self, answer: RulePrediction, target: f64, weight: f64) {
        self.weight += weight;
        match answer {
            RulePrediction::Class(class) if f64::from(class) == target => self.right += weight,
            RulePrediction::Class(_) => {}
            RulePrediction::Number(number) => {
                self.squares += weight * (target - number) * (target - number)
            }
        }
    }
}

impl RuleSet<'_> {
    /// RuleCounts of no rows yet.
    pub fn no_counts(&self) -> RuleCounts {
        let classes = vec![0.0; self.schema.target.kind.classes().len()];
        RuleCounts {
            rows: 0,
            weight: 0.0,
            classes,
            rules: vec![RuleCount::default(); self.rules.len() + 1],
        }
    }

    /// RuleCounts a row: its value of each feature, its target (for classes an index) and its weight.
    pub fn count(
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
        let mut held = false;
        for (rule, count) in self.rules.iter().zip(&mut counts.rules) {
            if rule.holds(&value, self.schema) {
                held = true;
                count.add(rule.answer, target, weight);
            }
        }
        if let Some(otherwise) = counts.rules.last_mut().filter(|_| !held) {
            otherwise.add(self.otherwise.answer, target, weight);
        }
    }

    /// Puts what was counted in place of what the leaves told. Support is in weights; rows without
    /// weights weigh 1.
    pub fn set_counts(&mut self, counts: &RuleCounts) {
        let total = counts.weight;
        let rules = self.rules.iter_mut().chain([&mut self.otherwise]);
        for (rule, count) in rules.zip(&counts.rules) {
            let support = if total > 0.0 { count.weight / total } else { 0.0 };
            let seen = count.weight > 0.0;
            let (confidence, error, base) = match rule.answer {
                RulePrediction::Class(class) => {
                    let base =
                        counts.classes.get(class as usize).map_or(0.0, |weight| weight / total);
                    (seen.then(|| count.right / count.weight), None, base)
                }
                RulePrediction::Number(_) => {
                    (None, seen.then(|| (count.squares / count.weight).sqrt()), 0.0)
                }
            };
            let lift = confidence.and_then(|confidence| lift(confidence, base));
            rule.figures = RuleStats { support, support_at_most: support, confidence, lift, error };
        }
        self.rows = Some(counts.rows as f64);
        self.counted = true;
        in_reading_order(&mut self.rules);
    }
}
