//! The intermediate form that the formats for other runtimes are written from.
//!
//! Every kind of model becomes start values, a list of ordinary trees (or linear functions) and a
//! link. A test of a node has one meaning in all of them: `x <= threshold` in 64 bits with a side
//! for missing values, or membership in a list of levels, where missing and new levels are never
//! members. The second is why a split whose missing values go along with the levels of its set
//! tests for the other levels: no runtime needs a notion of an unknown level.

use crate::ensemble::{Body, LinearFunction, Link, Model, Shape};
use crate::schema::{Kind, Schema};
use crate::tree::{Child, Leaf, Test, Tree};

/// A model in the intermediate form.
pub(super) struct ScoringForm<'a> {
    pub(super) schema: &'a Schema,
    pub(super) link: Link,
    /// Two classes: the raw score above which the second one is predicted.
    pub(super) cut: f64,
    /// The start value of each output.
    pub(super) base: &'a [f64],
    /// The trees in the order in which their values are added; empty if the model is linear.
    pub(super) trees: Vec<ScoringTree>,
    /// One function per output; empty if the model has trees.
    pub(super) linear: &'a [LinearFunction],
    /// What all leaf values are whole multiples of, if the model has points.
    pub(super) unit: Option<f64>,
}

/// A tree and the output that it adds to. Node 0 is the root unless the tree is a single leaf.
pub(super) struct ScoringTree {
    pub(super) output: usize,
    pub(super) nodes: Vec<ScoringNode>,
    pub(super) leaves: Vec<Leaf>,
}

/// An inner node.
pub(super) struct ScoringNode {
    pub(super) feature: usize,
    /// How many levels the feature has; 0 for a number.
    pub(super) level_count: usize,
    pub(super) test: ScoringTest,
    /// Where rows go for which the test holds.
    pub(super) yes: Child,
    /// Where other rows go.
    pub(super) no: Child,
    pub(super) gain: f64,
    pub(super) cover: f64,
}

/// The test of a node.
pub(super) enum ScoringTest {
    /// The number is at most the threshold; it also holds for missing values if `missing`.
    AtMost { threshold: f64, missing: bool },
    /// The level is one of these, in ascending order; it never holds for missing and new levels.
    OneOf(Vec<u32>),
}

impl ScoringNode {
    /// The threshold; `None` for a category.
    pub(super) fn threshold(&self) -> Option<f64> {
        match self.test {
            ScoringTest::AtMost { threshold, .. } => Some(threshold),
            ScoringTest::OneOf(_) => None,
        }
    }

    /// The levels of a test for membership; `None` for a number.
    pub(super) fn levels(&self) -> Option<&[u32]> {
        match &self.test {
            ScoringTest::AtMost { .. } => None,
            ScoringTest::OneOf(levels) => Some(levels),
        }
    }

    /// Whether missing values follow the rows for which the test holds.
    pub(super) fn missing_yes(&self) -> bool {
        matches!(self.test, ScoringTest::AtMost { missing: true, .. })
    }
}

impl ScoringTree {
    /// A tree of one leaf: how a start value is written where sums begin at 0.
    pub(super) fn constant(output: usize, value: f64) -> ScoringTree {
        ScoringTree { output, nodes: Vec::new(), leaves: vec![Leaf { value, cover: 0.0 }] }
    }

    pub(super) fn new(schema: &Schema, output: usize, tree: &Tree) -> ScoringTree {
        let nodes = tree.nodes.iter().map(|node| {
            let feature = node.split.feature as usize;
            let level_count = schema.features[feature].kind.levels().len();
            let (test, swapped) = match &node.split.test {
                Test::Above(threshold) => {
                    let missing = !node.split.missing_right;
                    (ScoringTest::AtMost { threshold: *threshold, missing }, false)
                }
                Test::In(set) if node.split.missing_right => {
                    let others =
                        (0..level_count as u32).filter(|code| !set.contains(*code)).collect();
                    (ScoringTest::OneOf(others), false)
                }
                Test::In(set) => (ScoringTest::OneOf(set.iter().collect()), true),
            };
            let (yes, no) = if swapped { (node.right, node.left) } else { (node.left, node.right) };
            let (gain, cover) = (node.gain, node.cover);
            ScoringNode { feature, level_count, test, yes, no, gain, cover }
        });
        ScoringTree { output, nodes: nodes.collect(), leaves: tree.leaves.clone() }
    }

    /// Where every row starts.
    pub(super) fn root(&self) -> Child {
        if self.nodes.is_empty() { Child::Leaf(0) } else { Child::Node(0) }
    }

    /// The number of tests on the longest path.
    pub(super) fn depth(&self) -> usize {
        // Children come after their parent, so one backward pass sees every child first.
        let mut depths = vec![0_usize; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let below = |child| match child {
                Child::Node(node) => depths[node as usize],
                Child::Leaf(_) => 0,
            };
            depths[index] = 1 + below(node.yes).max(below(node.no));
        }
        depths.first().copied().unwrap_or(0)
    }
}

impl<'a> ScoringForm<'a> {
    /// The form of a model.
    pub(super) fn new(model: &'a Model) -> ScoringForm<'a> {
        let (trees, linear) = match &model.body {
            Body::Linear(functions) => (Vec::new(), functions.as_slice()),
            Body::Trees(members) => {
                let tree =
                    |output: usize, tree: &Tree| ScoringTree::new(&model.schema, output, tree);
                // A vector tree becomes one tree per output: no other runtime has vectors in leaves.
                let trees = members.iter().flat_map(|member| match &member.shape {
                    Shape::Vector(vector) => (0..vector.outputs())
                        .map(|output| tree(output, &vector.to_tree(output)))
                        .collect::<Vec<_>>(),
                    shape => vec![tree(member.output as usize, &shape.to_tree())],
                });
                (trees.collect(), [].as_slice())
            }
        };
        ScoringForm {
            schema: &model.schema,
            link: model.link,
            cut: model.calibration.raw_threshold(),
            base: &model.base,
            trees,
            linear,
            unit: model.calibration.points_unit,
        }
    }

    /// The trees with the start values before them, as trees of one leaf, so that sums that begin
    /// at 0 add the same numbers in the same order. Start values of 0 are left out if there are
    /// trees.
    pub(super) fn trees_with_base(self) -> Vec<ScoringTree> {
        let start = |(output, &value): (usize, &f64)| ScoringTree::constant(output, value);
        let mut trees: Vec<ScoringTree> =
            match self.base.iter().all(|value| *value == 0.0) && !self.trees.is_empty() {
                true => Vec::new(),
                false => self.base.iter().enumerate().map(start).collect(),
            };
        trees.extend(self.trees);
        trees
    }

    /// The link's name in exported programs.
    pub(super) fn link_name(&self) -> &'static str {
        match self.link {
            Link::Identity => "identity",
            Link::Exp => "exp",
            Link::ExpM1 => "expm1",
            Link::Sigmoid => "sigmoid",
            Link::Softmax => "softmax",
        }
    }

    /// Number of levels of each feature; `None` for numbers.
    pub(super) fn level_counts(&self) -> Vec<Option<usize>> {
        let count = |kind: &Kind| match kind {
            Kind::Number => None,
            Kind::Category { levels } => Some(levels.len()),
        };
        self.schema.features.iter().map(|feature| count(&feature.kind)).collect()
    }

    /// The thresholds of each feature in ascending order, each once; none for categories.
    pub(super) fn thresholds(&self) -> Vec<Vec<f64>> {
        let mut thresholds = vec![Vec::new(); self.schema.features.len()];
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            thresholds[node.feature].extend(node.threshold());
        }
        for list in &mut thresholds {
            list.sort_by(f64::total_cmp);
            // Both zeros are one threshold.
            list.dedup_by(|later, earlier| later == earlier);
        }
        thresholds
    }

    /// Whether a feature is used by a tree or a linear term.
    pub(super) fn is_used(&self) -> Vec<bool> {
        let mut used = vec![!self.linear.is_empty(); self.schema.features.len()];
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            used[node.feature] = true;
        }
        used
    }

    /// The columns of the target if it has several.
    pub(super) fn columns(&self) -> &'a [String] {
        self.schema.target.kind.columns()
    }

    /// The names of the classes; none for regression.
    pub(super) fn classes(&self) -> &'a [String] {
        self.schema.target.kind.classes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::predict::FeatureValue;
    use crate::predict::MISSING;
    use crate::samples::{any_model, rows};

    /// The raw scores by the intermediate form.
    fn raw(form: &ScoringForm<'_>, row: &[FeatureValue]) -> Vec<f64> {
        let counts = form.level_counts();
        let mut raw = form.base.to_vec();
        for tree in &form.trees {
            let mut at = tree.root();
            let leaf = loop {
                match at {
                    Child::Leaf(leaf) => break leaf,
                    Child::Node(index) => {
                        let node = &tree.nodes[index as usize];
                        let holds = match (row[node.feature], &node.test) {
                            (
                                FeatureValue::Number(number),
                                ScoringTest::AtMost { threshold, missing },
                            ) => number <= *threshold || number.is_nan() && *missing,
                            (FeatureValue::Category(code), ScoringTest::OneOf(levels)) => {
                                assert!(code != MISSING || !levels.contains(&code));
                                let count = counts[node.feature].unwrap();
                                (code as usize) < count && levels.contains(&code)
                            }
                            _ => panic!("a test of the wrong kind"),
                        };
                        at = if holds { node.yes } else { node.no };
                    }
                }
            };
            raw[tree.output] += tree.leaves[leaf as usize].value;
        }
        raw
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_form_scores_as_the_model(model in any_model(), seed in any::<u64>()) {
            let form = ScoringForm::new(&model);
            prop_assume!(form.linear.is_empty());
            for row in rows(seed, &model, 30) {
                prop_assert_eq!(raw(&form, &row), model.raw_row(&row, None).unwrap());
            }
            let depth = form.trees.iter().map(ScoringTree::depth).max();
            prop_assert_eq!(depth, model.members().iter().map(|member| member.shape.depth()).max());
        }
    }
}
