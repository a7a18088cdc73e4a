//! A tree as a short set of rules in no order, with an "otherwise".
//!
//! The way to each leaf is a rule already, but a long-winded one. Here the leaves of one answer (a
//! class, or a number) are covered by few boxes with few conditions, answer by answer
//! ([`RuleMerge::Cover`]), and the answer that would need the most conditions becomes "otherwise".
//! Rules of different answers never hold for the same row, rules of one answer may; so their order
//! does not matter, and on every input, whatever is missing, the rules say what the tree says.
//! Phase 3 of Jun, Cho, Lee 2012 is there for comparison ([`RuleMerge::Cells`]).
//!
//! **Invariant:** the rules and the tree agree on every input.

mod cells;
mod cover;
mod figures;
mod relax;
mod space;
mod write;

#[cfg(test)]
mod tests;

pub use figures::{RuleCounts, RuleStats};
pub use write::RuleFormat;

pub(crate) use write::{number, percent, short};

use crate::predict::{FeatureValue, MISSING, Prediction};
use crate::schema::Schema;
use crate::single_tree::SingleTree;
use crate::tree::{Child, LevelSet, Tree};
use cover::CoverProblem;
use space::{Region, TreeSpace};

/// How leaves become rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RuleMerge {
    /// Each answer is covered by few boxes with few conditions.
    #[default]
    Cover,
    /// Neighbouring cells of the grid of all thresholds are merged, as published.
    Cells,
}

/// Why a tree cannot become rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The grid is too large to be merged cell by cell.
    #[error(
        "the grid of all thresholds has {cells} cells, and at most {limit} are merged one by one; merge with 'cover', \
         which needs no grid and makes fewer rules"
    )]
    Grid {
        /// The cells of the grid.
        cells: f64,
        /// The most that are allowed.
        limit: usize,
    },
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RulePrediction {
    /// A class, an index into the target's classes.
    Class(u32),
    /// A number.
    Number(f64),
}

/// What must hold of one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCondition {
    /// Position in [`Schema::features`].
    pub feature: u32,
    /// The values that fulfil it.
    pub holds: ValueSet,
    /// Whether a missing value (or a level the model never saw) fulfils it too.
    pub missing: bool,
}

/// The values that fulfil a condition, missing ones apart.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueSet {
    /// Numbers above the one bound and not above the other; without bounds every number.
    Interval {
        /// The bound that is not inside.
        above: Option<f64>,
        /// The bound that is inside.
        at_most: Option<f64>,
    },
    /// These levels.
    Levels(LevelSet),
    /// No value: the condition asks for a missing one.
    Nothing,
}

/// If all conditions hold, the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionRule {
    /// All of them must hold; one per feature at most.
    pub conditions: Vec<RuleCondition>,
    /// What the model predicts where they hold.
    pub answer: RulePrediction,
    /// What is known of the training rows they hold for.
    pub figures: RuleStats,
}

/// How much there is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuleSetSize {
    /// Rules, "otherwise" not counted.
    pub rules: usize,
    /// Conditions of all rules; an interval with two ends counts twice.
    pub conditions: usize,
}

/// Rules in no order, and what is said where none holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSet<'a> {
    /// The names of features, levels and classes.
    pub schema: &'a Schema,
    /// The rules: answer by answer, those for most rows first.
    pub rules: Vec<DecisionRule>,
    /// The rule without conditions that holds where no other does.
    pub otherwise: DecisionRule,
    /// What there would be to read in the ways to the leaves of the tree.
    pub paths: RuleSetSize,
    /// The rows that figures are about, where their number is known.
    pub rows: Option<f64>,
    /// Whether the figures were counted on data.
    pub counted: bool,
}

impl RuleCondition {
    /// Whether a value fulfils the condition. A level the model does not know counts as missing.
    pub fn is_met_by(&self, value: FeatureValue, schema: &Schema) -> bool {
        let levels = schema
            .features
            .get(self.feature as usize)
            .map_or(0, |feature| feature.kind.levels().len());
        match value {
            FeatureValue::Number(number) if number.is_nan() => self.missing,
            FeatureValue::Category(code) if code == MISSING || code as usize >= levels => {
                self.missing
            }
            FeatureValue::Number(number) => match self.holds {
                ValueSet::Interval { above, at_most } => {
                    above.is_none_or(|above| number > above)
                        && at_most.is_none_or(|at_most| number <= at_most)
                }
                _ => false,
            },
            FeatureValue::Category(code) => {
                matches!(&self.holds, ValueSet::Levels(levels) if levels.contains(code))
            }
        }
    }

    /// How many conditions it counts as: an interval with two ends is two.
    pub fn size(&self) -> usize {
        if matches!(self.holds, ValueSet::Interval { above: Some(_), at_most: Some(_) }) {
            2
        } else {
            1
        }
    }
}

impl DecisionRule {
    /// Whether the rule holds for a row, given its value of each feature.
    pub fn holds(&self, value: impl Fn(u32) -> FeatureValue, schema: &Schema) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.is_met_by(value(condition.feature), schema))
    }
}

impl RuleSet<'_> {
    /// How much there is to read.
    pub fn size(&self) -> RuleSetSize {
        let conditions =
            self.rules.iter().flat_map(|rule| &rule.conditions).map(RuleCondition::size).sum();
        RuleSetSize { rules: self.rules.len(), conditions }
    }

    /// What the rules say of a row, given its value of each feature.
    pub fn answer(&self, value: impl Fn(u32) -> FeatureValue) -> RulePrediction {
        let holding = self.rules.iter().find(|rule| rule.holds(&value, self.schema));
        holding.unwrap_or(&self.otherwise).answer
    }
}

impl From<&Prediction> for RulePrediction {
    fn from(prediction: &Prediction) -> RulePrediction {
        match prediction {
            Prediction::Class { class, .. } => RulePrediction::Class(*class),
            // Zero and minus zero are one answer.
            Prediction::Number(number) => RulePrediction::Number(number + 0.0),
        }
    }
}

/// The leaves some input reaches, with their boxes and answers.
struct ReachableLeaves<'a> {
    single: &'a SingleTree<'a>,
    space: TreeSpace,
    /// Number in the tree, box, and answer as a position in `answers`.
    reached: Vec<(usize, Region, usize)>,
    answers: Vec<RulePrediction>,
}

impl<'a> ReachableLeaves<'a> {
    fn new(single: &'a SingleTree<'a>) -> Self {
        let (space, regions) = TreeSpace::of(&single.tree, &single.model.schema);
        let mut answers: Vec<RulePrediction> = Vec::new();
        let mut reached = Vec::new();
        // In the order of the tree, left to right, where neighbours are close in space.
        for leaf in left_to_right(&single.tree) {
            let Some(region) = regions[leaf].clone() else { continue };
            let answer = RulePrediction::from(&single.predictions[leaf]);
            let known = answers.iter().position(|other| *other == answer);
            let at = known.unwrap_or_else(|| {
                answers.push(answer);
                answers.len() - 1
            });
            reached.push((leaf, region, at));
        }
        ReachableLeaves { single, space, reached, answers }
    }

    /// For each answer the boxes that cover it.
    fn covers(&self, merge: RuleMerge) -> Result<Vec<Vec<Region>>, RulesError> {
        if merge == RuleMerge::Cells {
            let leaves: Vec<(&Region, usize)> =
                self.reached.iter().map(|(_, region, at)| (region, *at)).collect();
            return cells::merge(&self.space, &leaves, self.answers.len());
        }
        let of = |answer: usize, own: bool| {
            let wanted = self.reached.iter().filter(move |(_, _, at)| (*at == answer) == own);
            wanted.map(|(_, region, _)| region).collect()
        };
        let task = |answer| CoverProblem {
            space: &self.space,
            own: of(answer, true),
            others: of(answer, false),
        };
        let large = self.reached.len() > cover::MOST_LEAVES;
        let cover = |task: CoverProblem<'_>| if large { task.relaxed() } else { task.cover() };
        Ok((0..self.answers.len()).map(|answer| cover(task(answer))).collect())
    }
}

impl<'a> SingleTree<'a> {
    /// The tree as rules in no order; they say what the tree says on every input.
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
    /// #     },
    /// #     link: Link::Identity,
    /// #     objective: "squared".into(),
    /// #     base: vec![0.0],
    /// #     body: Body::Trees(vec![Member { output: 0, shape: Shape::Ordinary(tree) }]),
    /// #     provenance: Provenance::default(),
    /// # };
    /// // Four leaves, age <= 30 and dose <= 5 crossed, of which only the last says 2: eight conditions become two.
    /// let single = model.single_tree().unwrap();
    /// let rules = single.rules(RuleMerge::Cover)?;
    /// assert_eq!((rules.paths.conditions, rules.size().conditions), (8, 2));
    /// assert_eq!(rules.answer(|_| FeatureValue::Number(31.0)), RulePrediction::Number(2.0));
    /// # Ok::<(), RulesError>(())
    /// ```
    pub fn rules(&'a self, merge: RuleMerge) -> Result<RuleSet<'a>, RulesError> {
        let leaves = ReachableLeaves::new(self);
        let covers = leaves.covers(merge)?;
        let size = |boxes: &Vec<Region>| {
            let conditions: usize = boxes.iter().map(|region| leaves.space.cost(region)).sum();
            (conditions, boxes.len())
        };
        // The first of equals, so that the choice does not hang on a whim.
        let otherwise =
            (0..covers.len()).rev().max_by_key(|&answer| size(&covers[answer])).unwrap_or(0);
        let mut rules = Vec::new();
        for (answer, boxes) in covers.iter().enumerate().filter(|(answer, _)| *answer != otherwise)
        {
            rules.extend(boxes.iter().map(|region| DecisionRule {
                conditions: leaves.space.describe(region),
                answer: leaves.answers[answer],
                figures: leaves.figures(region, answer),
            }));
        }
        figures::in_reading_order(&mut rules);
        let otherwise = DecisionRule {
            conditions: Vec::new(),
            // A tree has at least one leaf, and its first is reached by somebody.
            answer: leaves.answers.get(otherwise).copied().unwrap_or(RulePrediction::Number(0.0)),
            figures: leaves.figures_of_answer(otherwise),
        };
        let (schema, paths, rows) = (&self.model.schema, paths(&self.tree), self.rows());
        Ok(RuleSet { schema, rules, otherwise, paths, rows, counted: false })
    }
}

/// What there is to read in the ways from the root to the leaves.
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

/// The leaves in the order in which a drawing of the tree shows them.
pub(crate) fn left_to_right(tree: &Tree) -> Vec<usize> {
    let mut order = Vec::with_capacity(tree.leaves.len());
    let mut open = vec![tree.root()];
    while let Some(at) = open.pop() {
        match at {
            Child::Leaf(leaf) => order.push(leaf as usize),
            Child::Node(node) => {
                let node = &tree.nodes[node as usize];
                open.extend([node.right, node.left]);
            }
        }
    }
    order
}
