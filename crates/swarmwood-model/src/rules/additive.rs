//! A sum of trees as a table of rules with points: every group has one rule for each row, and the
//! score is the intercept plus the points of these rules.
//!
//! A group is a tree, or the trees of a round that have the same splits. A leaf without points, or
//! else the one with the most conditions, is the group's default, which needs none: the others
//! cover all other inputs. For readers, trees of one feature are added up (`score_card.rs`).
//!
//! **Invariant:** points add up to the raw score of the model on every input, to the bit.

use std::borrow::Cow;

use super::RuleCondition;
use super::space::TreeSpace;
use crate::ensemble::{Body, Member, Model, Shape};
use crate::predict::FeatureValue;
use crate::schema::Schema;
use crate::single_tree::same_splits;
use crate::tree::Tree;

/// Leaves of the largest sum that is written as a table: nobody reads more rules.
pub const MAX_TABLE_LEAVES: usize = 1000;

/// Why a model has no table of points.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdditiveRulesError {
    /// There are no trees.
    #[error("the model is linear; only trees can be written as rules")]
    Linear,
    /// The trees have too many leaves.
    #[error(
        "the trees have {leaves} leaves, and at most {MAX_TABLE_LEAVES} are written as rules; train a \
         smaller model: --method tree-sum --total-splits 15, or --method swarm-tree for one tree"
    )]
    Leaves {
        /// Number of leaves.
        leaves: usize,
    },
}

/// A rule that adds points to the score.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveRule {
    /// All of them must be fulfilled; at most one per feature. The default of a group has none.
    pub conditions: Vec<RuleCondition>,
    /// What it adds to each output of the group.
    pub points: Vec<f64>,
    /// The share of the rows that it applies to; `None` if it is unknown.
    pub support: Option<f64>,
}

/// Rules of which one applies to each row: the first that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveGroup {
    /// The feature of all conditions, if every rule states its own values of it.
    pub feature: Option<u32>,
    /// The outputs of the model that get points, one per number of a rule's points.
    pub outputs: Vec<u32>,
    /// The rules, the default last; a group of one feature has no default.
    pub rules: Vec<AdditiveRule>,
}

/// A model as groups of rules with points.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveRules<'a> {
    /// The model.
    pub model: &'a Model,
    /// What each score begins with.
    pub intercept: Vec<f64>,
    /// The groups.
    pub groups: Vec<AdditiveGroup>,
    /// Number of rows that the support is computed from, if known.
    pub rows: Option<f64>,
    /// Whether the support was counted on data.
    pub counted_on_data: bool,
}

impl Model {
    /// The model as a table of rules with points, if it is a sum of trees with few leaves.
    ///
    /// ```
    /// # use swarmwood_model::*;
    /// # let split = |feature, above| Split { feature, test: Test::Above(above), missing_right: false };
    /// # let tree = |feature, above, values: [f64; 2]| {
    /// #     let leaves = values.map(|value| Leaf { value, cover: 1.0 }).to_vec();
    /// #     let (left, right) = (Child::Leaf(0), Child::Leaf(1));
    /// #     let node = Node { split: split(feature, above), left, right, gain: 1.0, cover: 2.0 };
    /// #     Member { output: 0, shape: Shape::Ordinary(Tree { nodes: vec![node], leaves }) }
    /// # };
    /// # let feature = |name: &str| Feature { name: name.into(), kind: Kind::Number };
    /// # let model = Model {
    /// #     schema: Schema {
    /// #         features: vec![feature("age"), feature("dose")],
    /// #         target: Target { name: "price".into(), kind: TargetKind::Number },
    /// #         dates: Vec::new(),
    /// #     },
    /// #     link: Link::Identity,
    /// #     objective: "squared".into(),
    /// #     base: vec![0.5],
    /// #     body: Body::Trees(vec![tree(0, 30.0, [1.0, 2.0]), tree(1, 5.0, [0.0, 4.0])]),
    /// #     provenance: Provenance::default(),
    /// #     calibration: Calibration::default(),
    /// # };
    /// // 0.5, plus 2 if age > 30, else 1, plus 4 if dose > 5, else 0.
    /// let table = model.additive_rules()?;
    /// assert_eq!(table.groups.len(), 2);
    /// assert_eq!(table.scores(|_| FeatureValue::Number(6.0)), [5.5]);
    /// # Ok::<(), AdditiveRulesError>(())
    /// ```
    pub fn additive_rules(&self) -> Result<AdditiveRules<'_>, AdditiveRulesError> {
        Ok(self.rules_of_trees(&self.output_trees()?))
    }

    /// The trees of the model, one for each output that they add to, if they are few enough for a
    /// table.
    pub(super) fn output_trees(&self) -> Result<Vec<OutputTree<'_>>, AdditiveRulesError> {
        let Body::Trees(members) = &self.body else { return Err(AdditiveRulesError::Linear) };
        let trees: Vec<OutputTree<'_>> =
            members.iter().enumerate().flat_map(output_trees).collect();
        let leaves = by_splits(&trees).iter().map(|group| group[0].tree.leaves.len()).sum();
        match leaves > MAX_TABLE_LEAVES {
            true => Err(AdditiveRulesError::Leaves { leaves }),
            false => Ok(trees),
        }
    }

    /// Some trees of the model as a table.
    pub(super) fn rules_of_trees(&self, trees: &[OutputTree<'_>]) -> AdditiveRules<'_> {
        let group = |group: &Vec<&OutputTree<'_>>| {
            let trees: Vec<&Tree> = group.iter().map(|one| &*one.tree).collect();
            let shares = self.leaf_shares(group[0].at, trees[0]);
            let rules = rules_of_trees(&trees, &shares, &self.schema);
            let outputs = group.iter().map(|one| one.output).collect();
            AdditiveGroup { feature: None, outputs, rules }
        };
        let rows = (self.provenance.rows > 0).then_some(self.provenance.rows as f64);
        AdditiveRules {
            model: self,
            intercept: self.base.clone(),
            groups: by_splits(trees).iter().map(group).collect(),
            rows,
            counted_on_data: false,
        }
    }
}

/// Neighbouring trees with the same splits together, each of another output.
fn by_splits<'a, 't>(trees: &'a [OutputTree<'t>]) -> Vec<Vec<&'a OutputTree<'t>>> {
    let mut groups: Vec<Vec<&OutputTree<'_>>> = Vec::new();
    for tree in trees {
        // The trees of a round follow each other.
        match groups.last_mut() {
            Some(group)
                if same_splits(&group[0].tree, &tree.tree)
                    && group.iter().all(|other| other.output < tree.output) =>
            {
                group.push(tree);
            }
            _ => groups.push(vec![tree]),
        }
    }
    groups
}

/// A tree and the output that it adds to.
pub(super) struct OutputTree<'a> {
    pub(super) output: u32,
    /// Which tree of the model it is.
    pub(super) at: usize,
    pub(super) tree: Cow<'a, Tree>,
}

/// A member as one tree for each output that it adds to.
fn output_trees((at, member): (usize, &Member)) -> Vec<OutputTree<'_>> {
    match &member.shape {
        Shape::Vector(vector) => (0..vector.outputs())
            .map(|output| OutputTree {
                output: output as u32,
                at,
                tree: Cow::Owned(vector.to_tree(output)),
            })
            .collect(),
        shape => vec![OutputTree { output: member.output, at, tree: shape.to_tree() }],
    }
}

/// The rules of trees with the same splits; the default last.
fn rules_of_trees(trees: &[&Tree], shares: &[f64], schema: &Schema) -> Vec<AdditiveRule> {
    let (space, regions) = TreeSpace::new(trees[0], schema);
    let is_known = shares.iter().any(|share| *share > 0.0);
    let rule = |leaf: usize| {
        let region = regions[leaf].as_ref()?;
        Some(AdditiveRule {
            conditions: space.describe(region),
            points: trees.iter().map(|tree| tree.leaves[leaf].value).collect(),
            support: is_known.then(|| shares[leaf]),
        })
    };
    let mut rules: Vec<AdditiveRule> =
        trees[0].leaves_left_to_right().into_iter().filter_map(rule).collect();

    let size = |rule: &AdditiveRule| rule.conditions.iter().map(RuleCondition::size).sum::<usize>();
    let default = (0..rules.len()).reduce(|a, b| {
        let rank =
            |rule: &AdditiveRule| (!rule.has_points(), size(rule), rule.support.unwrap_or(0.0));
        let sizes = [a, b].map(|at| rank(&rules[at]));
        if sizes[1] > sizes[0] { b } else { a }
    });
    if let Some(default) = default {
        let mut rule = rules.remove(default);
        rule.conditions.clear();
        rules.push(rule);
    }
    rules
}

impl AdditiveRule {
    /// Whether it changes any score.
    pub fn has_points(&self) -> bool {
        self.points.iter().any(|points| *points != 0.0)
    }
}

impl AdditiveGroup {
    /// The position of the rule that applies to a row.
    pub fn rule_of(&self, value: impl Fn(u32) -> FeatureValue, schema: &Schema) -> usize {
        let matches = |rule: &AdditiveRule| {
            rule.conditions.iter().all(|one| one.matches(value(one.feature), schema))
        };
        self.rules.iter().position(matches).unwrap_or(self.rules.len().saturating_sub(1))
    }
}

impl AdditiveRules<'_> {
    /// The names of features, levels and classes.
    pub fn schema(&self) -> &Schema {
        &self.model.schema
    }

    /// The raw scores of a row, given by its value of each feature.
    pub fn scores(&self, value: impl Fn(u32) -> FeatureValue) -> Vec<f64> {
        let mut scores = self.intercept.clone();
        for group in &self.groups {
            let rule = group.rule_of(&value, self.schema());
            let points = group.rules.get(rule).map_or(&[][..], |rule| &rule.points);
            group
                .outputs
                .iter()
                .zip(points)
                .for_each(|(&at, points)| scores[at as usize] += points);
        }
        scores
    }

    /// Number of rules, defaults included.
    pub fn rule_count(&self) -> usize {
        self.groups.iter().map(|group| group.rules.len()).sum()
    }

    /// Replaces the support by weights of rows: one sum per rule of each group.
    pub fn set_support(&mut self, weights: &[Vec<f64>], rows: u64) {
        for (group, weights) in self.groups.iter_mut().zip(weights) {
            let total: f64 = weights.iter().sum();
            for (rule, weight) in group.rules.iter_mut().zip(weights) {
                rule.support = (total > 0.0).then(|| weight / total);
            }
        }
        self.rows = Some(rows as f64);
        self.counted_on_data = true;
    }
}
