//! A tree as a short, unordered set of decision rules with a default rule.
//!
//! The path to each leaf is a rule already, but a long one. Here the leaves with the same
//! prediction (a class, or a number) are covered by few boxes with few conditions, prediction by
//! prediction ([`RuleMerge::Cover`]), and the prediction that would need the most conditions
//! becomes the default. Rules with different predictions never match the same row, rules with the
//! same prediction may; so their order does not matter, and on every input, missing values
//! included, the rules predict what the tree predicts. Phase 3 of Jun, Cho, Lee 2012 is included
//! for comparison ([`RuleMerge::Cells`]).
//!
//! **Invariant:** the rules and the tree agree on every input.

mod additive;
mod cells;
mod cover;
mod merge;
mod relax;
mod score_card;
mod space;
mod stats;

#[cfg(test)]
pub(crate) mod tests;

pub use additive::{
    AdditiveGroup, AdditiveRule, AdditiveRules, AdditiveRulesError, MAX_TABLE_LEAVES,
};
pub use merge::merge_ascending;
pub use stats::{RuleCounts, RuleStats};

use crate::predict::{FeatureValue, MISSING, Prediction};
use crate::schema::{Feature, Schema};
use crate::single_tree::SingleTree;
use crate::tree::{Child, LevelSet, Tree};
use cover::CoverProblem;
use space::{Region, TreeSpace};

/// How leaves are merged into rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleMerge {
    /// Each prediction is covered by few boxes with few conditions.
    #[default]
    Cover,
    /// Neighbouring cells of the grid of all thresholds are merged, as published.
    Cells,
}

impl RuleMerge {
    /// The names of the variants with a description each; the first one is the default.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("cover", "cover the leaves of each prediction with few boxes of few conditions"),
        ("cells", "merge neighbouring cells of the grid of all thresholds, as published"),
    ];

    /// The variant with a name.
    pub fn from_name(name: &str) -> Option<RuleMerge> {
        match name {
            "cover" => Some(RuleMerge::Cover),
            "cells" => Some(RuleMerge::Cells),
            _ => None,
        }
    }
}

/// Leaves of the largest tree whose leaves are merged: the work grows faster than their square, and
/// nobody reads so many rules.
pub const MAX_RULE_LEAVES: usize = 2000;

/// Why a tree cannot be converted to rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The tree has too many leaves.
    #[error(
        "the tree has {leaves} leaves, and at most {MAX_RULE_LEAVES} are merged into rules; train \
         with fewer leaves or prune the tree"
    )]
    Leaves {
        /// Number of leaves.
        leaves: usize,
    },
    /// The grid is too large to be merged cell by cell.
    #[error(
        "the grid of all thresholds has {cells} cells, and at most {limit} are merged one by one; merge with 'cover', \
         which needs no grid and makes fewer rules"
    )]
    Grid {
        /// Number of cells of the grid.
        cells: f64,
        /// Maximum number of cells.
        limit: usize,
    },
}

/// What a rule predicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RulePrediction {
    /// A class, an index into the target's classes.
    Class(u32),
    /// A number.
    Number(f64),
}

/// A condition on one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCondition {
    /// Position in [`Schema::features`].
    pub feature: u32,
    /// The values that fulfil it.
    pub values: ValueSet,
    /// Whether a missing value (or a level without a code in the schema) fulfils it too.
    pub missing: bool,
}

/// The values that fulfil a condition, apart from missing ones.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueSet {
    /// Numbers in a half-open interval; without bounds every number.
    Interval {
        /// The exclusive lower bound.
        above: Option<f64>,
        /// The inclusive upper bound.
        at_most: Option<f64>,
    },
    /// These levels.
    Levels(LevelSet),
    /// No value: only a missing one fulfils the condition.
    Nothing,
}

/// A prediction for all rows that fulfil some conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionRule {
    /// All of them must be fulfilled; at most one per feature.
    pub conditions: Vec<RuleCondition>,
    /// What the model predicts for rows that fulfil them.
    pub prediction: RulePrediction,
    /// Statistics of the rows that fulfil them.
    pub stats: RuleStats,
}

/// The size of a set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleSetSize {
    /// Number of rules, the default not counted.
    pub rules: usize,
    /// Number of conditions of all rules; an interval with two bounds counts twice.
    pub conditions: usize,
}

/// An unordered set of rules, and the default for rows that match none of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSet<'a> {
    /// The names of features, levels and classes.
    pub schema: &'a Schema,
    /// The rules: prediction by prediction, those for most rows first.
    pub rules: Vec<DecisionRule>,
    /// The default: a rule without conditions for rows that match no other.
    pub default_rule: DecisionRule,
    /// The size of the paths to the leaves of the tree, for comparison.
    pub paths: RuleSetSize,
    /// Number of rows that the statistics are computed from, if known.
    pub rows: Option<f64>,
    /// Whether the statistics were counted on data.
    pub counted_on_data: bool,
}

impl RuleCondition {
    /// Whether a value fulfils the condition. A level that the model does not know counts as
    /// missing.
    pub fn matches(&self, value: FeatureValue, schema: &Schema) -> bool {
        let levels = schema
            .features
            .get(self.feature as usize)
            .map_or(0, |feature| feature.kind.levels().len());
        match value {
            FeatureValue::Number(number) if number.is_nan() => self.missing,
            FeatureValue::Category(code) if code == MISSING || code as usize >= levels => {
                self.missing
            }
            FeatureValue::Number(number) => match self.values {
                ValueSet::Interval { above, at_most } => {
                    above.is_none_or(|above| number > above)
                        && at_most.is_none_or(|at_most| number <= at_most)
                }
                _ => false,
            },
            FeatureValue::Category(code) => {
                matches!(&self.values, ValueSet::Levels(levels) if levels.contains(code))
            }
        }
    }

    /// The feature.
    pub(crate) fn feature_in<'s>(&self, schema: &'s Schema) -> &'s Feature {
        &schema.features[self.feature as usize]
    }

    /// The names of the levels that fulfil the condition and of those that do not, in code order.
    pub(crate) fn levels_in<'s>(&self, schema: &'s Schema) -> (Vec<&'s str>, Vec<&'s str>) {
        let names = self.feature_in(schema).kind.levels().iter().map(String::as_str).enumerate();
        let fulfils = |code: usize| match &self.values {
            ValueSet::Levels(set) => set.contains(code as u32),
            _ => false,
        };
        let (mut yes, mut no) = (Vec::new(), Vec::new());
        names.for_each(|(code, name)| if fulfils(code) { yes.push(name) } else { no.push(name) });
        (yes, no)
    }

    /// Number of conditions that it counts as: an interval with two bounds is two.
    pub fn size(&self) -> usize {
        if matches!(self.values, ValueSet::Interval { above: Some(_), at_most: Some(_) }) {
            2
        } else {
            1
        }
    }
}

impl DecisionRule {
    /// Whether a row, given by its value of each feature, fulfils all conditions.
    pub fn matches(&self, value: impl Fn(u32) -> FeatureValue, schema: &Schema) -> bool {
        self.conditions.iter().all(|condition| condition.matches(value(condition.feature), schema))
    }
}

impl RuleSet<'_> {
    /// The size of the rules.
    pub fn size(&self) -> RuleSetSize {
        let conditions =
            self.rules.iter().flat_map(|rule| &rule.conditions).map(RuleCondition::size).sum();
        RuleSetSize { rules: self.rules.len(), conditions }
    }

    /// The name of a class; `None` if the prediction is a number.
    pub(crate) fn class_name(&self, prediction: RulePrediction) -> Option<&str> {
        match prediction {
            RulePrediction::Class(class) => {
                self.schema.target.kind.classes().get(class as usize).map(String::as_str)
            }
            RulePrediction::Number(_) => None,
        }
    }

    /// What the rules predict for a row, given by its value of each feature.
    pub fn predict(&self, value: impl Fn(u32) -> FeatureValue) -> RulePrediction {
        let matching = self.rules.iter().find(|rule| rule.matches(&value, self.schema));
        matching.unwrap_or(&self.default_rule).prediction
    }
}

impl From<&Prediction> for RulePrediction {
    fn from(prediction: &Prediction) -> RulePrediction {
        match prediction {
            Prediction::Class { class, .. } => RulePrediction::Class(*class),
            // Zero and minus zero are the same prediction.
            Prediction::Number(number) => RulePrediction::Number(number + 0.0),
            // Models of several numbers have rules with points alone.
            Prediction::Numbers(_) => RulePrediction::Number(f64::NAN),
        }
    }
}

/// The leaves that some input reaches, with their boxes and predictions.
struct ReachableLeaves<'a> {
    single: &'a SingleTree<'a>,
    space: TreeSpace,
    /// Number in the tree, box, and prediction as a position in `predictions`.
    leaves: Vec<(usize, Region, usize)>,
    predictions: Vec<RulePrediction>,
}

impl<'a> ReachableLeaves<'a> {
    fn new(single: &'a SingleTree<'a>) -> Self {
        let (space, regions) = TreeSpace::new(&single.tree, &single.model.schema);
        let mut predictions: Vec<RulePrediction> = Vec::new();
        let mut leaves = Vec::new();

        // From left to right, because neighbours in this order are close in space.
        for leaf in single.tree.leaves_left_to_right() {
            let Some(region) = regions[leaf].clone() else { continue };
            let prediction = RulePrediction::from(&single.predictions[leaf]);
            let position = predictions.iter().position(|other| *other == prediction);
            let at = position.unwrap_or_else(|| {
                predictions.push(prediction);
                predictions.len() - 1
            });
            leaves.push((leaf, region, at));
        }
        ReachableLeaves { single, space, leaves, predictions }
    }

    /// For each prediction the boxes that cover it.
    fn covers(&self, merge: RuleMerge) -> Result<Vec<Vec<Region>>, RulesError> {
        if merge == RuleMerge::Cells {
            let leaves: Vec<(&Region, usize)> =
                self.leaves.iter().map(|(_, region, at)| (region, *at)).collect();
            return cells::merge(&self.space, &leaves, self.predictions.len());
        }

        let regions = |prediction: usize, own: bool| {
            let leaves = self.leaves.iter().filter(move |(_, _, at)| (*at == prediction) == own);
            leaves.map(|(_, region, _)| region).collect()
        };
        let problem = |prediction| CoverProblem {
            space: &self.space,
            own: regions(prediction, true),
            others: regions(prediction, false),
        };

        let large = self.leaves.len() > cover::MAX_LEAVES;
        let cover =
            |problem: CoverProblem<'_>| if large { problem.relaxed() } else { problem.cover() };
        Ok((0..self.predictions.len()).map(|prediction| cover(problem(prediction))).collect())
    }
}

impl<'a> SingleTree<'a> {
    /// The tree as an unordered set of rules; they predict what the tree predicts on every input.
    ///
    /// ```
    /// # use swarmwood_model::{*, rules::*};
    /// # let split = |feature, above| Split { feature, test: Test::Above(above), missing_right: false };
    /// # let leaf = |value| Leaf { value, cover: 1.0 };
    /// # let node = |split, left, right| Node { split, left, right, gain: 1.0, cover: 2.0 };
    /// # let nodes = vec![
    /// #     node(split(0, 30.0), Child::Node(1), Child::Node(2)),
    /// #     node(split(1, 5.0), Child::Leaf(0), Child::Leaf(1)),
    /// #     node(split(1, 5.0), Child::Leaf(2), Child::Leaf(3)),
    /// # ];
    /// # let tree = Tree { nodes, leaves: vec![leaf(1.0), leaf(1.0), leaf(1.0), leaf(2.0)] };
    /// # let feature = |name: &str| Feature { name: name.into(), kind: Kind::Number };
    /// # let model = Model {
    /// #     schema: Schema {
    /// #         features: vec![feature("age"), feature("dose")],
    /// #         target: Target { name: "price".into(), kind: TargetKind::Number },
    /// #         dates: Vec::new(),
    /// #     },
    /// #     link: Link::Identity,
    /// #     objective: "squared".into(),
    /// #     base: vec![0.0],
    /// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
    /// #     provenance: Provenance::default(),
    /// #     calibration: Calibration::default(),
    /// # };
    /// // Four leaves, age <= 30 and dose <= 5 crossed, of which only the last predicts 2: eight conditions become two.
    /// let single = model.single_tree().unwrap();
    /// let rules = single.rules(RuleMerge::Cover)?;
    /// assert_eq!((rules.paths.conditions, rules.size().conditions), (8, 2));
    /// assert_eq!(rules.predict(|_| FeatureValue::Number(31.0)), RulePrediction::Number(2.0));
    /// # Ok::<(), RulesError>(())
    /// ```
    pub fn rules(&'a self, merge: RuleMerge) -> Result<RuleSet<'a>, RulesError> {
        let leaves = self.tree.leaves.len();
        if leaves > MAX_RULE_LEAVES {
            return Err(RulesError::Leaves { leaves });
        }

        let leaves = ReachableLeaves::new(self);
        let covers = leaves.covers(merge)?;

        let size = |boxes: &Vec<Region>| {
            let conditions: usize = boxes.iter().map(|region| leaves.space.cost(region)).sum();
            (conditions, boxes.len())
        };
        // The prediction with the most conditions becomes the default; the first one of ties.
        let default = (0..covers.len())
            .rev()
            .max_by_key(|&prediction| size(&covers[prediction]))
            .unwrap_or(0);

        let mut rules = Vec::new();
        for (prediction, boxes) in
            covers.iter().enumerate().filter(|(prediction, _)| *prediction != default)
        {
            rules.extend(boxes.iter().map(|region| DecisionRule {
                conditions: leaves.space.describe(region),
                prediction: leaves.predictions[prediction],
                stats: leaves.stats(region, prediction),
            }));
        }
        stats::sort_rules(&mut rules);

        let default_rule = DecisionRule {
            conditions: Vec::new(),
            // A tree has at least one leaf that some input reaches.
            prediction: leaves
                .predictions
                .get(default)
                .copied()
                .unwrap_or(RulePrediction::Number(0.0)),
            stats: leaves.stats_of_prediction(default),
        };

        let (schema, paths, rows) = (&self.model.schema, paths(&self.tree), self.rows());
        Ok(RuleSet { schema, rules, default_rule, paths, rows, counted_on_data: false })
    }
}

/// The size of the paths from the root to the leaves.
fn paths(tree: &Tree) -> RuleSetSize {
    let mut size = RuleSetSize::default();
    let mut open = vec![(tree.root(), 0)];
    while let Some((at, depth)) = open.pop() {
        match at {
            Child::Leaf(_) => {
                size = RuleSetSize { rules: size.rules + 1, conditions: size.conditions + depth }
            }
            Child::Node(node) => {
                let node = &tree.nodes[node as usize];
                open.extend([(node.left, depth + 1), (node.right, depth + 1)]);
            }
        }
    }
    size
}
